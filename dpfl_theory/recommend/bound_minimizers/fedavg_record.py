r"""noble2022 Theorem C.2, convex and repaired, over T and K, with the prescribed steps.

The variance of a local step is :math:`V = V_0 + c(K)^2 T K \log(2Tl/\delta)`, where the certified noise has one factor
c at K = 1 and another for all other K (`Noble2022FedAvg.summed`). The noise's term is a multiple of
:math:`\sqrt{V/(TK)}`, which first falls and then rises in T. All other terms fall with T. Otherwise only :math:`V_0/K`
depends on K, and it falls: the best K is one local step, or as many as are allowed.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from dpfl_theory.recommend.bound_minimizers import SHARE, Optimum, count_for
from dpfl_theory.recommend.bound_minimizers.rounds import ENOUGH, least_of

if TYPE_CHECKING:
    from dpfl_theory.recommend.algorithms.dp_fedavg_record import Noble2022FedAvg

__all__ = ["BOUND", "minimize_bound"]

BOUND = "noble2022.theoremC.2.convex.repaired"


EXACT, ROUGH = 1e-6, 1e-3
"""Relative distance of the lower limit from the least bound: for the answer, and for the search of K."""


class _Bounds:
    """The bound at given T and K, with their noise."""

    def __init__(self, setting: Noble2022FedAvg) -> None:
        self.setting, self.most = setting, setting.rounds or ENOUGH
        self.best = cache(self._best)

    def choice(self, T: int, K: int) -> dict[str, Any]:
        return {"statement": BOUND, "rounds": T, "local_steps": K}

    def _best(self, K: int, quiet: bool, exact: float = EXACT) -> tuple[int, float, float]:
        """The best T, the bound there and a lower limit; quiet: without V_0, as K grows; exact: as in `least_of`."""
        from dpfl_theory.recommend.evaluate import terms
        from dpfl_theory.statements import get

        setting = replace(self.setting, gradient_variance=0.0) if quiet else self.setting
        theorem, symbols = get(BOUND), setting.symbols()

        @cache
        def noise_and_rest(T: int) -> tuple[float, float]:
            found = terms(theorem, {**symbols, "T": T, "K": K, "Sigma": setting.sigma(T, K)})
            noise = found.pop("noise")
            return noise, math.fsum(found.values())

        return least_of(lambda T: noise_and_rest(T)[0], noise_and_rest, 1, self.most, exact)


def _local_steps(bounds: _Bounds) -> tuple[int, float, str]:
    """K where it is free, a lower limit for all K, and the reason."""
    setting = bounds.setting
    many = bounds.best(2, True)
    if setting.gradient_variance == 0:
        more, lower = 2, many[2]
    else:
        lower, trivial = many[2], setting.trivial()[0]
        enough = (1 + SHARE) * many[1]
        if many[1] < trivial:
            enough = min(enough, (many[1] + trivial) / 2)
        more = count_for(lambda K: bounds.best(max(2, K), False, ROUGH)[1] > enough)
    one = bounds.best(1, False)
    if one[1] <= bounds.best(max(2, more), False)[1]:
        why = "more local steps do not have a smaller bound"
        if setting.calibration == "accountant" and setting.summed(1) > 1:
            why += ", since the noise of all users hides only single ones"
        return 1, min(one[2], lower), why
    how = f"the bounds fall with K >= 2 towards {lower:.6g}; K is the least with a bound at most {SHARE:.0%} above that"
    return max(2, more), min(one[2], lower), how


def minimize_bound(setting: Noble2022FedAvg) -> Optimum:
    """The least bound, with its rounds and local steps."""
    bounds = _Bounds(setting)
    anything = bounds.choice(setting.rounds or 1, setting.local_steps or 1)
    if hopeless := setting.unmet(anything):
        return Optimum(anything, math.inf, math.inf, "no choice meets the hypotheses", tuple(hopeless))
    if setting.local_steps is not None:
        K, why = setting.local_steps, "its local steps are given"
        lower = bounds.best(K, False)[2]
    else:
        K, lower, why = _local_steps(bounds)
    T, value, _ = bounds.best(K, False)
    how = f"{why}; T is where the bound turns from falling to rising, or the largest allowed; the steps are prescribed"
    return Optimum(bounds.choice(T, K), value, min(value, lower), how)
