r"""noble2022 Theorem C.2, convex and repaired, over T and K, with the prescribed steps.

The variance of a local step is :math:`V = V_0 + c(K)^2 T K \log(2Tl/\delta)`, where the certified noise may have one
factor c at K = 1 and another for all other K. The noise's term is a multiple of :math:`\sqrt{V/(TK)}`, which first
falls and then rises in T. All other terms fall with T. Otherwise only :math:`V_0/K` depends on K, and it falls: the
best K is one local step, or as many as are allowed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache

from dpfl_theory.core import Statement
from dpfl_theory.recommend.bound_minimizers import SHARE, Optimum, count_for, near_limit
from dpfl_theory.recommend.bound_minimizers.rounds import ENOUGH, least_of
from dpfl_theory.recommend.evaluate import terms

__all__ = ["minimize"]

EXACT, ROUGH = 1e-6, 1e-3
"""Relative distance of the lower limit from the least bound: for the answer, and for the search of K."""


class _Bounds:
    """The bound at given T and K; at: the values of all symbols there."""

    def __init__(self, theorem: Statement, at: Callable[[int, int], Mapping[str, float]], rounds: int | None) -> None:
        self.theorem, self.at, self.most = theorem, at, rounds or ENOUGH
        self.best = cache(self._best)

    def _best(self, K: int, quiet: bool, exact: float = EXACT) -> tuple[int, float, float]:
        """The best T, the bound there and a lower limit; quiet: without V_0, as K grows; exact: as in `least_of`."""
        silent = {"varsigma": 0.0} if quiet else {}

        @cache
        def noise_and_rest(T: int) -> tuple[float, float]:
            found = terms(self.theorem, {**self.at(T, K), **silent})
            noise = found.pop("noise")
            return noise, math.fsum(found.values())

        return least_of(lambda T: noise_and_rest(T)[0], noise_and_rest, 1, self.most, exact)


def _local_steps(bounds: _Bounds, trivial: float, hidden: bool) -> tuple[int, float, str]:
    """K where it is free, a lower limit for all K, and the reason."""
    _, limit, lower = bounds.best(2, True)
    more, enough = 2, near_limit(limit, trivial)
    if bounds.at(1, 1)["varsigma"] > 0:
        more = max(2, count_for(lambda K: bounds.best(max(2, K), False, ROUGH)[1] > enough))
    one = bounds.best(1, False)
    if one[1] <= bounds.best(more, False)[1]:
        why = "more local steps do not have a smaller bound"
        if hidden:
            why += ", since the noise of all users hides only single ones"
        return 1, min(one[2], lower), why
    how = f"the bounds fall with K >= 2 towards {lower:.6g}; K is the least with a bound at most {SHARE:.0%} above that"
    return more, min(one[2], lower), how


def minimize(
    theorem: Statement,
    at: Callable[[int, int], Mapping[str, float]],
    rounds: int | None,
    local_steps: int | None,
    trivial: float,
    hidden: bool,
) -> Optimum:
    """The rounds and local steps with the least bound.

    at: the values of the symbols at T and K. rounds: the largest T. hidden: whether the noise of all users hides a
    single local step.
    """
    bounds = _Bounds(theorem, at, rounds)
    if local_steps is not None:
        K, why, lower = local_steps, "its local steps are given", bounds.best(local_steps, False)[2]
    else:
        K, lower, why = _local_steps(bounds, trivial, hidden)
    how = f"{why}; T is where the bound turns from falling to rising, or the largest allowed; the steps are prescribed"
    return Optimum({"rounds": bounds.best(K, False)[0], "local_steps": K}, lower, how)
