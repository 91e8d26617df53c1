"""The private algorithms whose hyper-parameters a search can choose: those that have a mechanism."""

from __future__ import annotations

from dpfl_theory.descriptions import algorithms
from dpfl_theory.recommend.tuned.base import Axis, Budget, Tuned
from dpfl_theory.recommend.tuned.described import space

__all__ = ["Axis", "Budget", "Tuned", "tuned"]


def tuned() -> dict[str, type[Tuned]]:
    """All of them by the algorithm's name.

    >>> "dp-fedavg" in tuned()
    True
    """
    return {name: space(one) for name, one in algorithms().items() if one.mechanism() is not None}  # type: ignore[arg-type]
