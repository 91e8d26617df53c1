"""Command-line options generated from the fields of the mechanisms: a new mechanism adds its own."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, get_type_hints

from dpfl_theory.cli._options import add_options, number, text_option
from dpfl_theory.errors import InputError
from dpfl_theory.privacy.mechanisms import Mechanism
from dpfl_theory.runtime.console import option

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Parameter:
    """A parameter as one option of the algorithms ``takers``: a word out of ``choices`` or else a number."""

    name: str
    help: str
    choices: tuple[str, ...]
    defaults: tuple[str, ...]
    whole: bool
    takers: tuple[str, ...]


def takes(kind: type[Mechanism]) -> tuple[str, ...]:
    """The names of a mechanism's parameters, its own first."""
    names = [f.name for f in dataclasses.fields(kind)]
    shared = {f.name for f in dataclasses.fields(Mechanism)}
    return (*(n for n in names if n not in shared), *(n for n in names if n in shared))


def parameters(kinds: Iterable[type[Mechanism]]) -> dict[str, Parameter]:
    """The union of these mechanisms' parameters; where texts differ, that of the one with the most parameters."""
    ordered = sorted(kinds, key=lambda kind: -len(takes(kind)))
    found: dict[str, Parameter] = {}
    for kind in ordered:
        hints, fields = get_type_hints(kind), {f.name: f for f in dataclasses.fields(kind)}
        for name in takes(kind):
            f = fields[name]
            choices = tuple(f.metadata["choices"])
            default = (str(f.default),) if choices else ()
            old = found.get(name, Parameter(name, f.metadata["help"], (), (), "int" in str(hints[name]), ()))
            found[name] = dataclasses.replace(
                old,
                choices=tuple(dict.fromkeys((*old.choices, *choices))),
                defaults=tuple(dict.fromkeys((*old.defaults, *default))),
                takers=(*old.takers, kind.name),
            )
    shared = [f.name for f in dataclasses.fields(Mechanism)]
    return {name: found[name] for name in (*(n for n in found if n not in shared), *shared)}


def with_options(made: Iterable[Parameter], kinds: Mapping[str, type[Mechanism]]) -> Callable[[F], F]:
    """Add an option for each parameter and its other names to a command, after its first parameter; it gets them as
    ``**given``, as text.

    ``kinds`` are the algorithms of the command: the help of an option says which of them take it.
    """
    own = {p.name: p for p in made}
    others: dict[tuple[str, str], list[str]] = {}
    for name, kind in kinds.items():
        for pair in kind.aliases.items():
            others.setdefault(pair, []).append(name)
    return add_options(
        [
            *(_option(p, tuple(kinds)) for p in own.values()),
            *(
                text_option(alias, _metavar(own[meant]), f"another name for {option(meant)} with {', '.join(names)}.")
                for (alias, meant), names in others.items()
                if meant in own
            ),
        ]
    )


def _metavar(p: Parameter) -> str:
    return "|".join(p.choices) or ("N" if p.whole else "X")


def _option(p: Parameter, known: tuple[str, ...]) -> inspect.Parameter:
    text = p.help
    if len(p.defaults) == 1:
        text += f" ({p.defaults[0]} by default)"
    others = [name for name in known if name not in p.takers]
    if others:
        few = len(others) < len(p.takers)
        text += f" [not {', '.join(others)}]" if few else f" [{', '.join(sorted(p.takers))}]"
    return text_option(p.name, _metavar(p), text)


def build(kind: type[Mechanism], options: Mapping[str, str | None], computed: str | None = None) -> Mechanism:
    """The mechanism with the parameters given as text, without the one that the command computes.

    Raises InputError for an option that the mechanism does not take, and for an invalid number.
    """
    own = [name for name in takes(kind) if name != computed]
    names = {option(name): name for name in own}
    names |= {option(alias): name for alias, name in kind.aliases.items() if name != computed}
    values: dict[str, Any] = {}
    for given_as, text in ((option(name), text) for name, text in options.items() if text is not None):
        if given_as not in names:
            raise InputError(f"{kind.name} takes no {given_as}: it takes {', '.join(names)}")
        name = names[given_as]
        if name in values:
            alias = next(option(alias) for alias, meant in kind.aliases.items() if meant == name)
            raise InputError(f"{alias} is another name for {option(name)}: give one of them")
        hint = str(get_type_hints(kind)[name])
        values[name] = text if "str" in hint else number(given_as, text, whole="int" in hint)
    return kind(**values)
