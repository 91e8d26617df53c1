"""Where the function differs from the nearest reading, with numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpfl_theory.conform.case import Case
from dpfl_theory.conform.fault_search import ObservedDifference, candidate
from dpfl_theory.conform.probes import Spread, agree
from dpfl_theory.conform.result import joined
from dpfl_theory.core.algorithm import Fault
from dpfl_theory.problems.base import Array


def difference(case: Case, seen: Sequence[ObservedDifference], others: Sequence[Fault] = ()) -> str:
    """The first probe in which the function differs from the nearest reading, with numbers.

    others: deviations that are named, too. The reading has them, so that what is left is due to this one."""
    player = candidate(case.reference, case.reading or case.reference.readings[0], others).player
    whose = "without this deviation" if others else "in the algorithm"
    for one in seen:
        expected = one.probe.outcome(player, one.choices)
        if agree(one.probe, one.value, expected):
            continue
        if isinstance(one.probe, Spread):
            a, b = (deviation(one.probe, x) for x in (one.value, expected))
            if abs(a - b) > 1e-6 * b:
                return (
                    f"{one.probe.name}: the standard deviation is {a:.6g} in a round, and {b:.6g} {whose}"
                    f"{_bare(one.probe, one.value, expected)}"
                )
            return f"{one.probe.name}: {dependence(one.probe, one.value, expected, whose)}"
        k = next(k for k in range(len(expected)) if not np.allclose(one.value[k], expected[k], rtol=1e-9, atol=0.0))
        if not np.isfinite(one.value[k]).all():
            return f"{one.probe.name}: in round {k + 1} w is not finite"
        at = one.probe.world.start if k == 0 else expected[k - 1]
        a, b = (float(np.linalg.norm(x[k] - at)) for x in (one.value, expected))
        apart = float(np.linalg.norm(one.value[k] - expected[k]))
        if abs(a - b) <= 1e-2 * apart:
            moves = f"as far, {a:.6g}, {f'as {whose}, but ' if others else ''}in another direction"
        else:
            moves = f"by {a:.6g}, and by {b:.6g} {whose}" if others else f"by {a:.6g} and not {b:.6g}"
        return f"{one.probe.name}: in round {k + 1} w moves {moves}, {apart:.3g} apart"
    return difference(case, seen) if others else ""


def _bare(probe: Spread, found: Array, expected: Array) -> str:
    """The coordinates without noise, where the algorithm has noise in them and the others have some."""
    own, needed = (np.diag(x)[: probe.path.world.d] for x in (found, expected))
    none = np.flatnonzero((own <= 1e-12 * np.max(own)) & (needed > 0.0))
    return f"; the coordinates {joined([str(j) for j in none])} have no noise" if 0 < len(none) < len(own) else ""


def dependence(probe: Spread, found: Array, expected: Array, whose: str = "in the algorithm") -> str:
    """How noise differs from the algorithm's that has the same standard deviation in the first round: by coordinates,
    by a later round, or in the correlation of two of its numbers."""
    d = probe.path.world.d
    deviations = [np.sqrt(np.maximum(np.diag(x), 0.0)).reshape(-1, d) for x in (found, expected)]
    off = np.argwhere(np.abs(deviations[0] - deviations[1]) > 1e-3 * np.max(deviations[1], initial=1e-300))
    if off.size:
        k, j = off[0]
        a, b = (float(x[k, j]) for x in deviations)
        where = "in a round" if k == 0 else f"after round {k + 1}"
        return f"the standard deviation of coordinate {j} is {a:.6g} {where}, and {b:.6g} {whose}"
    sizes = np.maximum(np.outer(*2 * [deviations[1].ravel()]), 1e-300)
    one, other = found / sizes, expected / sizes
    at = np.unravel_index(int(np.argmax(np.abs(one - other))), one.shape)
    (k, i), (m, j) = (divmod(int(x), d) for x in sorted(at))
    what = f"rounds {k + 1} and {m + 1}" if k != m else f"coordinates {i} and {j}"
    what += "" if k == m or i == j else f" in coordinates {i} and {j}"
    return (
        f"the correlation of the noise in w of {what} is {one[at]:.4g}, and {other[at]:.4g} {whose}, with the same "
        "standard deviations"
    )


def of_role(seen: Sequence[ObservedDifference], role: str) -> list[ObservedDifference]:
    """The probes, with those that show a fault of this role first."""
    return sorted(seen, key=lambda one: isinstance(one.probe, Spread) != (role == "noise"))


def deviation(probe: Spread, covariance: Array) -> float:
    """The standard deviation of a coordinate after the first round, averaged over coordinates."""
    d = probe.path.world.d
    return math.sqrt(max(float(np.trace(covariance[:d, :d])) / d, 0.0))
