"""Items of an inventory, and their parameters as read from a constructor's signature and docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any

from dpfl_theory.errors import unknown_name

__all__ = ["Item", "Kind", "Parameter", "first_sentence", "parameters_of", "split_unit"]

_UNIT = re.compile(r" ?\[((?:unit of )?[FX1^/*() a-z0-9-]+)\]")


@dataclass(frozen=True)
class Parameter:
    """One parameter: its name, its default as text (None where one must be given), its unit, its meaning."""

    name: str
    default: str | None
    unit: str = ""
    meaning: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"name": self.name, "default": self.default, "unit": self.unit or None, "meaning": self.meaning or None}


@dataclass(frozen=True)
class Item:
    """A named item: its description in one line, its parameters, and more facts by name; ``text`` is the full
    description."""

    name: str
    what: str
    parameters: tuple[Parameter, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    text: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        described = {"name": self.name, "what": self.what, "parameters": [p.to_json() for p in self.parameters]}
        return {**described, **{key.replace(" ", "_"): value for key, value in self.facts.items()}}


@dataclass(frozen=True)
class Kind:
    """A kind of items: its name in plural and singular, the purpose and a function that finds the items.

    Further fields are the usage of an item, with ``NAME`` in its place, and the names of the facts that a list shows.
    """

    name: str
    one: str
    what: str
    items: Callable[[], list[Item]]
    use: str
    brief: tuple[str, ...] = ()

    def get(self, name: str) -> Item:
        """The item of that name. Raises InputError for another name."""
        known = {item.name: item for item in self.items()}
        if name not in known:
            raise unknown_name(self.one, name, known)
        return known[name]


def split_unit(text: str) -> tuple[str, str]:
    """Split a meaning into the text without its unit, and the unit.

    >>> split_unit("local step [X^2/F]; 1/L without it")
    ('local step; 1/L without it', 'X^2/F')
    """
    found = _UNIT.search(text)
    return (text, "") if found is None else (text[: found.start()] + text[found.end() :], found[1])


def first_sentence(text: str | None) -> str:
    """The first sentence of a docstring, without backquotes.

    >>> first_sentence("Random ``quadratics``, with\\n  spread eigenvalues. More.")
    'Random quadratics, with spread eigenvalues'
    """
    plain = " ".join((text or "").partition("\n\n")[0].split()).replace("`", "")
    found = re.match(r".*?[^.]\.(?= |$)", plain)
    return (plain if found is None else found[0]).rstrip(".")


def parameters_of(constructor: Callable[..., Any]) -> tuple[Parameter, ...]:
    """A constructor's parameters with their defaults, and their meanings from its docstring.

    >>> def scaled(length: float = 1.0, /) -> None: "Vectors.\\n\\n    length: the norm [X];  more: nothing."
    >>> parameters_of(scaled)
    (Parameter(name='length', default='1.0', unit='X', meaning='the norm'),)
    """
    docs = inspect.getdoc(constructor) or ""
    made = {f.name: f.default_factory for f in fields(constructor)} if is_dataclass(constructor) else {}
    return tuple(
        Parameter(name, _default(p, made.get(name, MISSING)), *reversed(split_unit(_meaning(name, docs))))
        for name, p in inspect.signature(constructor).parameters.items()
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    )


def _default(parameter: inspect.Parameter, made: Any) -> str | None:
    if made is not MISSING:
        return f"{made.__name__}()"
    return None if parameter.default is parameter.empty else repr(parameter.default)


def _meaning(name: str, docs: str) -> str:
    """The text after ``name:`` in a docstring, up to the next name, the end of the sentence or of the paragraph."""
    found = re.search(rf"(?:^|[;.,]\s+|\n\s*){name}(?:, \w+)*: (.+?)(?=;\s|\.\s|\.$|\n\n|$)", docs, re.DOTALL)
    return "" if found is None else " ".join(found[1].split()).replace("`", "")
