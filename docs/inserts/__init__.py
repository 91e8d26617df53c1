"""The parts of the texts that are generated from the code: one module each, whose ``insert`` returns Markdown."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Sequence

from dpfl_theory.errors import unknown_name

__all__ = ["named", "plain", "table"]


def named(name: str) -> Callable[..., str]:
    """The function ``insert`` of that module. Raises InputError for another name."""
    known = {info.name for info in pkgutil.iter_modules(__path__)}
    if name not in known:
        raise unknown_name("insert", name, sorted(known))
    found: Callable[..., str] = importlib.import_module(f"{__name__}.{name}").insert
    return found


def plain(text: object) -> str:
    """Text of the code as Markdown that shows the same characters; backquotes stay.

    >>> plain("a*b | ``c_d``  in\\n [X]")
    'a\\\\*b \\\\| ``c_d`` in \\\\[X\\\\]'
    """
    parts = re.split(r"(``.+?``|`[^`]+`)", " ".join(str(text).split()))
    return "".join(p if i % 2 else re.sub(r"([\\*_|<>\[\]{}$#~])", r"\\\1", p) for i, p in enumerate(parts))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> str:
    """A table in Markdown; the columns ``right`` are numbers.

    >>> print(table(["a", "b"], [["x", "1"]], right=[1]), end="")
    | a | b |
    | --- | ---: |
    | x | 1 |
    """
    rule = ["---:" if i in right else "---" for i in range(len(heads))]
    return "".join(f"| {' | '.join(row)} |\n" for row in (heads, rule, *rows))
