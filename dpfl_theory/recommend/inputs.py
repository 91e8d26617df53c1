"""The inputs of a paper's formulas as fields of a `Setting`, described by the symbols that they are in the paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from dpfl_theory.core import Symbol
from dpfl_theory.core.algorithm import Algorithm

__all__ = ["calibration", "constant", "given", "of_budget", "parameter", "relation", "unit_text", "view"]

KINDS: Mapping[str, str] = {"integer": "count"}
"""The kinds of the symbols' domains that have another name."""


def parameter(
    help_: str,
    kind: str,
    *,
    choices: tuple[str, ...] = (),
    default: Any = None,
    optional: bool = False,
    free: bool = False,
    measured: str = "",
    symbol: str = "",
) -> Any:
    """A field with the text of its command-line option and its allowed numbers (``NEEDS``) or words.

    free: a hyper-parameter that a rule may choose itself; other rules need it as an input. measured: the constant of a
    problem that data give for it (a key of `constants_from_data.MEASURES`). symbol: in the paper.
    """
    said = {"help": help_, "kind": kind, "choices": choices, "optional": optional, "free": free, "measured": measured}
    return field(default=default, metadata=said | {"symbol": symbol})


def given(symbol: Symbol, measured: str = "", *, kind: str = "", more: str = "", **described: Any) -> Any:
    """The field of a symbol, whose meaning, unit and domain it has.

    kind: where less is allowed than in the domain. more: a remark for the text. Others are as in `parameter`.

    >>> given(Symbol("L", "smoothness constant of every f_i", (1, -2), "positive")).metadata["help"]
    'smoothness constant of every f_i (L) [F/X^2]'
    """
    unit = unit_text(symbol.unit)
    text = f"{symbol.meaning.removeprefix('the ')} ({symbol.name}){f' [{unit}]' if unit else ''}{more}"
    kind = kind or KINDS.get(symbol.domain, symbol.domain)
    return parameter(text, kind, measured=measured, symbol=symbol.name, **described)


def unit_text(powers: tuple[int, int]) -> str:
    """A unit as a fraction.

    >>> unit_text((1, -2)), unit_text((0, 1)), unit_text((2, -2))
    ('F/X^2', 'X', 'F^2/X^2')
    """
    above, below = (
        "".join(base + (f"^{sign * e}" if sign * e > 1 else "") for base, e in zip("FX", powers) if sign * e > 0)
        for sign in (1, -1)
    )
    return f"{above}/{below}" if below else above


def of_budget(name: str, optional: bool = False) -> Any:
    """The field for epsilon or delta."""
    kind = "probability" if name == "delta" else "positive"
    return parameter(f"{name} of the budget", kind, optional=optional, symbol=name)


def calibration(default: str = "accountant") -> Any:
    """The field for the source of the noise, which every algorithm has."""
    text = "source of the noise: a certified accountant (default), or the paper's formula with `constant`"
    return parameter(text, "word", choices=("paper", "accountant"), default=default)


def relation(algorithm: type[Algorithm]) -> Any:
    """The field for the neighbouring relation that the noise is certified for."""
    text = "neighbouring relation that the noise is certified for; zero-out for clients, replace for records"
    return parameter(text, "word", choices=algorithm.relations, default=algorithm.relations[0])


def view(default: str = "third-party") -> Any:
    """The field for the view that the noise is certified for."""
    text = "observer: sees the averages of all rounds, or every message"
    return parameter(text, "word", choices=("third-party", "server"), default=default)


def constant(symbol: str, usual: float | None = None) -> Any:
    """The field for the constant of the paper's noise."""
    text = "constant of the noise" if usual is None else f"constant of the noise, {usual:g} by default"
    return parameter(text, "positive", optional=True, symbol=symbol)
