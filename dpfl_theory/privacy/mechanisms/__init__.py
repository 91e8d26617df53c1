"""The mechanism of each algorithm: that of its description, or one of a module here with ``MECHANISMS``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from dpfl_theory.algorithms import algorithms
from dpfl_theory.errors import InputError, unknown_name
from dpfl_theory.privacy.mechanisms.base import Mechanism

__all__ = ["Mechanism", "get", "mechanisms"]

ELSEWHERE = {
    "dp-sgd-record": "it is dp-fedavg-record with `user_rate=1` and `local_steps=1`, whose epsilon is the same",
}
"""Names of other commands that are a special case here."""


def mechanisms() -> dict[str, type[Mechanism]]:
    """Every described algorithm by name.

    >>> sorted(mechanisms())[:3]
    ['dp-clip21', 'dp-distributed-gd', 'dp-fedavg']
    """
    known: list[Any] = [one for one in algorithms().values() if one.is_reference and one.protects and one.mechanism]
    named = {one.name: _named(one) for one in known}
    return dict(sorted({**_own(), **named}.items()))


@cache
def _modules() -> tuple[Any, ...]:
    return tuple(importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__))


@cache
def _own() -> dict[str, type[Mechanism]]:
    return {kind.name: kind for module in _modules() for kind in getattr(module, "MECHANISMS", ())}


def _kind(name: str) -> Any:
    """The class of this name in a module here."""
    return next(vars(module)[name] for module in _modules() if name in vars(module))


@cache
def _named(algorithm: Any) -> type[Mechanism]:
    """The mechanism of an algorithm, under its name."""
    own: dict[str, Any] = {name: getattr(algorithm, name) for name in ("name", "title", "source", "sigma_of")}
    kind, level = _kind(algorithm.mechanism), algorithm.parameters.get("threshold")
    own["bound"] = "1" if level is None else level.symbol
    own |= {"__doc__": kind.__doc__, "__reduce__": lambda self: (_restored, (algorithm.name, vars(self)))}
    return dataclass(frozen=True, kw_only=True)(type(algorithm.__name__, (kind,), own))


def _restored(algorithm: str, values: Mapping[str, Any]) -> Mechanism:
    """A mechanism that was sent to another process."""
    found: Any = algorithms()[algorithm]
    return _named(found)(**values)


def get(name: str) -> Any:  # parameters differ from class to class
    """The mechanism of one algorithm by name; InputError for an unknown one, with the nearest name.

    >>> get("dp-fedavg").protects
    'client'
    """
    known = mechanisms()
    if name in ELSEWHERE:
        raise InputError(f"unknown algorithm {name!r}: {ELSEWHERE[name]}")
    if name not in known:
        raise unknown_name("algorithm", name, known)
    return known[name]
