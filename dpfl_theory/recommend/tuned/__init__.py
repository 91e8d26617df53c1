"""The private algorithms whose hyper-parameters a search can choose: those that have a mechanism."""

from __future__ import annotations

from functools import cache
from typing import Any

from dpfl_theory.algorithms import algorithms
from dpfl_theory.algorithms.user_files import from_handle, handle
from dpfl_theory.problems.base import Problem
from dpfl_theory.recommend.tuned.base import Axis, Budget, Tuned
from dpfl_theory.recommend.tuned.record_level import RecordLevel

__all__ = ["Axis", "Budget", "Tuned", "tuned"]


def tuned() -> dict[str, type[Tuned]]:
    """All of them by the algorithm's name.

    >>> "dp-fedavg" in tuned()
    True
    """
    return {name: space(one) for name, one in algorithms().items() if one.protects and one.mechanism}  # type: ignore[arg-type]


def _restored(algorithm: str, problem: Problem, budget: Budget) -> Tuned:
    """A search space that was sent to another process."""
    return space(from_handle(algorithm))(problem, budget)  # type: ignore[arg-type]


@cache
def space(kind: Any) -> type[Tuned]:
    """The search space of an algorithm."""
    threshold = kind.parameters.get("threshold")
    described = {
        n: getattr(kind, n) for n in ("name", "title", "source", "protects", "relations", "samplings", "vectors")
    }
    described["__reduce__"] = lambda self: (_restored, (handle(kind), self.problem, self.budget))
    described |= {"__doc__": kind.__doc__, "kind": kind, "noise": kind.parameters[kind.noise_parameter()].symbol}
    described["threshold"] = threshold.symbol if threshold is not None and kind.clips else None
    return type(kind.__name__, (RecordLevel if kind.protects == "record" else Tuned,), described)
