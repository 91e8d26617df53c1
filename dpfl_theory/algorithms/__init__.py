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
    from dpfl_theory.algorithms.adaptive_clipping import AdaptiveClipping
    from dpfl_theory.algorithms.dp_ftrl import DPFTRL
    from dpfl_theory.algorithms.dp_mcmahan import DPMcMahanFedAvg
    from dpfl_theory.algorithms.dp_sgd import DPSGD
    from dpfl_theory.algorithms.error_feedback import Clip21, NormEC
    from dpfl_theory.algorithms.fedavg import DPFedAvg, DPNormFedAvg, FedAvg
    from dpfl_theory.algorithms.fedavgm import FedAvgM
    from dpfl_theory.algorithms.feddyn import FedDyn
    from dpfl_theory.algorithms.fednova import FedNova
    from dpfl_theory.algorithms.fedopt import FedAdagrad, FedAdam, FedYogi
    from dpfl_theory.algorithms.fedprox import FedProx
    from dpfl_theory.algorithms.local_dp import LocalDP
    from dpfl_theory.algorithms.mcmahan import McMahanFedAvg
    from dpfl_theory.algorithms.record_level import DPScaffold, DPSGDRecord, RecordLevelFedAvg
    from dpfl_theory.algorithms.scaffnew import DPScaffNew, ScaffNew
    from dpfl_theory.algorithms.scaffold import Scaffold
    from dpfl_theory.algorithms.two_step_sizes import DPTwoSidedFedAvg, TwoSidedFedAvg

    every: tuple[type[Algorithm], ...] = (FedAvg, DPFedAvg, DPNormFedAvg, TwoSidedFedAvg, DPTwoSidedFedAvg)
    every += (ScaffNew, DPScaffNew, Scaffold, DPScaffold, RecordLevelFedAvg, DPSGDRecord, Clip21, NormEC)
    every += (McMahanFedAvg, FedAvgM, FedProx, FedNova, FedAdam, FedYogi, FedAdagrad, FedDyn)
    every += (DPMcMahanFedAvg, AdaptiveClipping, LocalDP, DPSGD, DPFTRL)
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
