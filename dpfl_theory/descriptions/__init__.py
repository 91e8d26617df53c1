"""The algorithms, each described once: parameters, named parts of the round, privacy, known faults in code."""

from __future__ import annotations

from functools import cache

from dpfl_theory.core.algorithm import Algorithm
from dpfl_theory.errors import InputError, unknown_name

__all__ = ["REGISTERED", "algorithms", "get", "register"]

REGISTERED: dict[str, type[Algorithm]] = {}
"""The algorithms of users, by name."""


@cache
def _own() -> dict[str, type[Algorithm]]:
    from dpfl_theory.descriptions import error_feedback, fedavg, record_level, scaffnew, scaffold, two_step_sizes

    modules = (fedavg, two_step_sizes, scaffnew, scaffold, record_level, error_feedback)
    return {one.name: one for module in modules for one in module.ALGORITHMS}


def algorithms() -> dict[str, type[Algorithm]]:
    """All algorithms by name.

    >>> sorted(algorithms())[:2]
    ['dp-clip21', 'dp-fedavg']
    """
    return dict(sorted({**_own(), **REGISTERED}.items()))


def get(name: str) -> type[Algorithm]:
    """The algorithm of this name. Raises InputError for an unknown name, with the nearest one.

    >>> get("dp-fedavg").protects
    'client'
    """
    known = algorithms()
    if name not in known:
        raise unknown_name("algorithm", name, known)
    return known[name]


def register(algorithm: type[Algorithm]) -> type[Algorithm]:
    """Add an algorithm, for use in `simulate`, sweeps, `conform` and privacy; a class decorator.

    Raises InputError where the name is empty or taken by another algorithm of this package.
    """
    if not algorithm.name or algorithm.name in _own():
        raise InputError(f"the algorithm's name is {algorithm.name!r}: give its class a name of its own")
    REGISTERED[algorithm.name] = algorithm
    return algorithm
