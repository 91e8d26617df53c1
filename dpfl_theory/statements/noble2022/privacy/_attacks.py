r"""Lower limits of the privacy that one round of DP-FedAvg and DP-SCAFFOLD (the same at T = 1) gives a third party.

The unit is 2C/(sR), the largest move of a noisy gradient, times eta_l; the noise of a step has deviation sigma_g, b is
the batch sR, m the cohort lM. All losses are convex quadratics or linear functions of one variable. One of user 0's
records differs between the data sets. The sum Z of the cohort's updates is seen, and each test below is a range of Z,
so that its masses are sums of normal tails; the probability that clipping changes something is conceded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Masses", "amplified", "contracted", "largest_epsilon", "renyi_low"]


@dataclass(frozen=True)
class Masses:
    """The data that the tests of one attack need.

    inside: masses of Z in cells, given that user 0 takes part, with the record (P) and without it (Q); scale: Z's
    deviation; reach: where the cells end; spoiled: a bound of the probability that clipping acts; outside: of the
    probability that Z lies in some cell in a round without user 0.
    """

    inside: Callable[[Any, Any], tuple[Any, Any]]
    scale: float
    reach: float
    spoiled: float
    outside: float


def amplified(batch: int, rate: float, cohort: int, sigma: float, gain: float) -> Masses:
    """K = 2: user 0's second gradient multiplies what its first step has left, noise included, by 1 - gain.

    User 0's records are quadratics with curvature gain/eta_l whose minimum is one clipped step away. So after it they
    answer (gain) times the deviation v = B_1 - noise; the record's own gradient is the constant -C. The sum is then
    -(gain' - 1) v + B_2/2 less noise, where gain' = gain (1 - B_2/b), and B_1, B_2 say whether the record was drawn.
    The other users' gradients are -C: without user 0 the sum lies 1.5 b higher. Clipping acts where |v| > b/(2 gain).
    """
    import numpy as np
    from scipy.special import ndtr

    parts = []
    for first, second in ((0, 0), (0, 1), (1, 0), (1, 1)):
        weight = (rate if first else 1 - rate) * (rate if second else 1 - rate)
        factor = gain * (1 - second / batch) - 1
        deviation = sigma * math.sqrt(factor**2 + 1 + 2 * (cohort - 1))
        parts.append((weight, factor * first - second / 2, deviation))
    scale = sigma * math.sqrt((gain - 1) ** 2 + 1 + 2 * (cohort - 1))

    def inside(low: Any, high: Any) -> tuple[Any, Any]:
        """For -Z between low and high."""
        p = sum(w * (ndtr((mean - low) / dev) - ndtr((mean - high) / dev)) for w, mean, dev in parts)
        return p, ndtr(-np.asarray(low) / scale) - ndtr(-np.asarray(high) / scale)

    spoiled = 2 * float(ndtr(-(batch / (2 * gain) - 1) / sigma))
    outside = float(ndtr(-1.5 * batch / (sigma * math.sqrt(2 * cohort))))
    return Masses(inside, scale, math.inf, spoiled, outside)


def contracted(batch: int, rate: float, cohort: int, sigma: float, steps: int) -> Masses:
    """K steps of size 1/nu: the other users' quadratics forget all but their last step's noise.

    Their curvature is 1/eta_l, their minimum x^0; user 0's gradients are constant, C, and -C for the record. So the
    noise of the sum has variance (m - 1 + K) sigma_g^2, and the record moves it by the number of steps that use it.
    With user 0 the sum lies K b/2 lower. Clipping acts where a step's noise exceeds b/2.
    """
    import numpy as np
    from scipy.special import ndtr
    from scipy.stats import binom

    number = np.arange(steps + 1)
    weights = binom.pmf(number, steps, rate)
    kept = weights > 1e-25
    number, weights = number[kept], weights[kept]
    scale = sigma * math.sqrt(cohort - 1 + steps)

    def inside(low: Any, high: Any) -> tuple[Any, Any]:
        low, high = np.asarray(low, float), np.asarray(high, float)
        moved = ndtr((number - low[..., None]) / scale) - ndtr((number - high[..., None]) / scale)
        return moved @ weights, ndtr(-low / scale) - ndtr(-high / scale)

    spoiled = cohort * steps * 2 * float(ndtr(-batch / (2 * sigma)))
    border = steps * batch / 4
    return Masses(inside, scale, border, spoiled, float(ndtr(-border / (sigma * math.sqrt(cohort)))))


def largest_epsilon(masses: Masses, share: float, delta: float) -> float:
    """An epsilon at which delta is not enough, when user 0 takes part with probability ``share``: the largest that some
    one-sided test shows."""
    import numpy as np

    starts = np.linspace(0.0, 40.0, 4001) * masses.scale
    starts = starts[starts < min(masses.reach, math.inf)]
    p, q = masses.inside(starts, np.full_like(starts, masses.reach))
    p = share * (p * (1 - 1e-10) - masses.spoiled)
    q = share * (q * (1 + 1e-10) + masses.spoiled) + masses.outside + masses.spoiled + 1e-300
    enough = p > delta
    if not enough.any():
        return 0.0
    return max(0.0, float(np.max(np.log((p[enough] - delta) / q[enough])))) * (1 - 1e-9)


def renyi_low(masses: Masses, order: float) -> float:
    """A lower limit of the Renyi divergence of Z, given that user 0 takes part: that of the cell into which Z falls.

    Cells of which P has less than 1e-9 are left out, since rounding might matter in them.
    """
    import numpy as np

    edges = np.linspace(-3.0, 60.0, 1261) * masses.scale
    edges = np.concatenate([[-math.inf], edges[edges < masses.reach], [masses.reach]])
    p, q = masses.inside(edges[:-1], edges[1:])
    seen = p > 1e-9 + masses.spoiled
    p, q = p[seen] * (1 - 1e-6) - masses.spoiled, q[seen] * (1 + 1e-9) + masses.spoiled + 1e-30
    moment = float(np.sum(np.exp(order * np.log(p) + (1 - order) * np.log(q))))
    return math.log(moment) / (order - 1) if moment > 0 else 0.0
