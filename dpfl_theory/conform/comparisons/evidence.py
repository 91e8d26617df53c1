"""Where the function differs from the nearest reading, with numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpfl_theory.conform.case import Case, player_of
from dpfl_theory.conform.fault_search import ObservedDifference
from dpfl_theory.conform.probes import Spread, agree
from dpfl_theory.problems.base import Array


def difference(case: Case, seen: Sequence[ObservedDifference]) -> str:
    """The first probe in which the function differs from the nearest reading, with numbers."""
    for one in seen:
        player = player_of(case.reference, case.reading or case.reference.readings[0])
        expected = one.probe.outcome(player, one.choices)
        if agree(one.probe, one.value, expected):
            continue
        if isinstance(one.probe, Spread):
            a, b = (deviation(one.probe, x) for x in (one.value, expected))
            if abs(a - b) > 1e-6 * b:
                return f"{one.probe.name}: the standard deviation is {a:.6g} in a round, and {b:.6g} in the algorithm"
            return f"{one.probe.name}: its dependence between coordinates or rounds is not the algorithm's"
        k = next(k for k in range(len(expected)) if not np.allclose(one.value[k], expected[k], rtol=1e-9, atol=0.0))
        if not np.isfinite(one.value[k]).all():
            return f"{one.probe.name}: in round {k + 1} w is not finite"
        at = one.probe.world.start if k == 0 else expected[k - 1]
        a, b = (float(np.linalg.norm(x[k] - at)) for x in (one.value, expected))
        apart = float(np.linalg.norm(one.value[k] - expected[k]))
        if abs(a - b) <= 1e-4 * b:
            return (
                f"{one.probe.name}: in round {k + 1} w moves as far, {a:.6g}, in another direction, {apart:.3g} apart"
            )
        return f"{one.probe.name}: in round {k + 1} w moves by {a:.6g} and not {b:.6g}, {apart:.3g} apart"
    return ""


def of_role(seen: Sequence[ObservedDifference], role: str) -> list[ObservedDifference]:
    """The probes, with those that show a fault of this role first."""
    return sorted(seen, key=lambda one: isinstance(one.probe, Spread) != (role == "noise"))


def deviation(probe: Spread, covariance: Array) -> float:
    """The standard deviation of a coordinate after the first round, averaged over coordinates."""
    d = probe.path.world.d
    return math.sqrt(max(float(np.trace(covariance[:d, :d])) / d, 0.0))
