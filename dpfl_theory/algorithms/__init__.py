"""The algorithms, each described once: parameters, named parts of the round, privacy, known faults in code.

The classes are attributes: ``algorithms.DPFedAvg`` is ``get("dp-fedavg")``.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from dpfl_theory.core.algorithm import Algorithm
from dpfl_theory.errors import InputError, unknown_name

__all__ = ["REGISTERED", "algorithms", "get", "register"]

REGISTERED: dict[str, type[Algorithm]] = {}
"""The algorithms of users, by name."""


@cache
def _own() -> dict[str, type[Algorithm]]:
    from dpfl_theory.algorithms.adaptive_clipping import ALGORITHMS as ADAPTIVE
    from dpfl_theory.algorithms.dp_ftrl import ALGORITHMS as DP_FTRL
    from dpfl_theory.algorithms.dp_mcmahan import ALGORITHMS as DP_MCMAHAN
    from dpfl_theory.algorithms.dp_sgd import ALGORITHMS as DP_SGD
    from dpfl_theory.algorithms.error_feedback import ALGORITHMS as ERROR_FEEDBACK
    from dpfl_theory.algorithms.fedavg import ALGORITHMS as FEDAVG
    from dpfl_theory.algorithms.fedavgm import ALGORITHMS as FEDAVGM
    from dpfl_theory.algorithms.feddyn import ALGORITHMS as FEDDYN
    from dpfl_theory.algorithms.fednova import ALGORITHMS as FEDNOVA
    from dpfl_theory.algorithms.fedopt import ALGORITHMS as FEDOPT
    from dpfl_theory.algorithms.fedprox import ALGORITHMS as FEDPROX
    from dpfl_theory.algorithms.local_dp import ALGORITHMS as LOCAL_DP
    from dpfl_theory.algorithms.mcmahan import ALGORITHMS as MCMAHAN
    from dpfl_theory.algorithms.record_level import ALGORITHMS as RECORD_LEVEL
    from dpfl_theory.algorithms.scaffnew import ALGORITHMS as SCAFFNEW
    from dpfl_theory.algorithms.scaffold import ALGORITHMS as SCAFFOLD
    from dpfl_theory.algorithms.two_step_sizes import ALGORITHMS as TWO_STEP_SIZES

    every: tuple[type[Algorithm], ...] = (
        *FEDAVG,
        *TWO_STEP_SIZES,
        *SCAFFNEW,
        *SCAFFOLD,
        *RECORD_LEVEL,
        *ERROR_FEEDBACK,
    )
    every += (*MCMAHAN, *FEDAVGM, *FEDPROX, *FEDNOVA, *FEDOPT, *FEDDYN)
    every += (*DP_MCMAHAN, *ADAPTIVE, *LOCAL_DP, *DP_SGD, *DP_FTRL)
    return {one.name: one for one in every}


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


def __getattr__(name: str) -> Any:
    if not name.startswith("_"):
        for one in _own().values():
            if one.__name__ == name:
                return one
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
