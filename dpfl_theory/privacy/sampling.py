r"""The release of one round about one client, for each sampling scheme and neighbouring relation.

The server adds up the messages of a cohort; every message has norm at most 1 (the clipping threshold is the unit), and
the sum has Gaussian noise. Neighbouring data sets differ in one client: its message is replaced by noise only
(**zero-out**), or by another message of norm at most 1 (**replace**). ``z`` is the noise's standard deviation in the
sum.

The other clients' messages matter. When the cohort's size is fixed, another client replaces one that is not drawn, and
its message may be the opposite one, at distance 2. The other mixture component of the textbook pair is at distance 1.
So that pair is wrong for sampling of a fixed size under zero-out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from dpfl_theory.lazy import stats
from dpfl_theory.privacy.events import Release, gaussian
from dpfl_theory.privacy.tails import (
    GaussianMixturePair,
    Mixture,
    Replaced,
    SampledUnit,
    SampledUnitReversed,
    SubstitutedUnit,
    SubstitutedUnitReversed,
    Tails,
)

GROUPS = 64
"""Number of groups of cohort sizes. Each counts as its most revealing member in upper limits, and as its least
revealing one in lower limits."""


def full(z: float, replace: bool) -> Release:
    """Every client in every round: a Gaussian mechanism of sensitivity 1, or 2 for replace.

    >>> full(4.0, replace=True).forward
    FullParticipation(z=2.0)
    """
    return gaussian(z / 2 if replace else z)


def poisson(rate: float, z: float, replace: bool) -> Release:
    """Each client independently with probability ``rate``; the noise does not depend on the cohort's size.

    Exact for both relations. Zero-out is the textbook pair; for replace see `dpfl_theory.privacy.tails`.
    """
    if rate == 1:
        return full(z, replace)
    if replace:
        return Release(Replaced(rate, z), Replaced(rate, z))
    return Release(SampledUnit(rate, z), SampledUnitReversed(rate, z))


def fixed_size(rate: float, z: float, replace: bool) -> Release:
    """A cohort of fixed size without replacement, which a client enters with probability ``rate``.

    For replace the bound is that of Zhu, Dong and Wang (AISTATS 2022); for zero-out it is the pair whose other
    component is the opposite message, and in the other order the textbook pair. The two orders need different data
    sets, so that under composition the bound can exceed every occurring pair slightly.
    """
    if rate == 1:
        return full(z, replace)
    if replace:
        half = z / 2
        return Release(
            SampledUnit(rate, half),
            SampledUnit(rate, half),
            ((SampledUnit(rate, half), SampledUnitReversed(rate, half)),),
        )
    attacks = (
        (SubstitutedUnit(rate, z), SubstitutedUnitReversed(rate, z)),
        (SampledUnitReversed(rate, z), SampledUnit(rate, z)),
    )
    return Release(SubstitutedUnit(rate, z), SampledUnit(rate, z), attacks)


def poisson_own_noise(clients: int, cohort: float, z: float, replace: bool) -> Release:
    r"""Poisson sampling when every client adds its own noise; the noise of ``cohort`` clients has the standard
    deviation z.

    With m clients the noise has standard deviation :math:`z\sqrt{m/r}`, and given m the cohort is one of fixed size.
    The bound lets the observer see m. In many dimensions it can, from the length of the noise, and so the lower limit
    is that of many dimensions too.
    """
    rate = cohort / clients
    if rate == 1:
        return full(z, replace)
    groups = _groups(clients, rate)
    weights = tuple(w for w, _, _ in groups)

    def mixture(kind: Callable[[float, float], Tails], maximum: bool) -> Tails:
        parts = []
        for _, small, large in groups:
            sizes = (large, small) if maximum else (small, large)
            parts.append(kind(sizes[0] / clients, z * math.sqrt(sizes[1] / cohort)))
        return Mixture(weights, tuple(parts))

    def halved(kind: Callable[[float, float], Tails]) -> Callable[[float, float], Tails]:
        return lambda q, s: kind(q, s / 2)

    if replace:
        bound = mixture(halved(SampledUnit), True)
        return Release(
            bound, bound, ((mixture(halved(SampledUnit), False), mixture(halved(SampledUnitReversed), False)),)
        )
    return Release(
        mixture(SubstitutedUnit, True),
        mixture(SampledUnit, True),
        (
            (mixture(SubstitutedUnit, False), mixture(SubstitutedUnitReversed, False)),
            (mixture(SampledUnitReversed, False), mixture(SampledUnit, False)),
        ),
    )


def with_replacement(clients: int, draws: int, z: float, replace: bool) -> Release:
    r"""A cohort of ``draws`` clients drawn with replacement; a client that is drawn j times sends j messages.

    Let :math:`w_j` be the probability of j draws. For a test S and a >= 1 the gain is :math:`\sum_{j \ge 1} w_j [P_j(S)
    - a Q_j(S)] - (a-1) w_0 P_0(S)`. Give j the share :math:`\lambda_j = w_j/(1-w_0)` of the last term and bound each j
    separately. This gives, with probability :math:`\lambda_j` and visible to everyone, a cohort of fixed size that the
    client enters with probability :math:`1-w_0`, with messages j times as long.
    """
    if clients == 1:
        return fixed_size(1.0, z / draws, replace)
    log_none = draws * math.log1p(-1 / clients)
    rate, none = -math.expm1(log_none), math.exp(log_none)
    every = stats.binom.pmf(np.arange(1, draws + 1), draws, 1 / clients)
    times = [j + 1 for j in np.flatnonzero(every).tolist()]  # those whose probability is a double
    chances = [float(every[j - 1]) for j in times]
    shares = tuple(w / sum(chances) for w in chances)
    parts = [fixed_size(rate, z / j, replace) for j in times]
    up, weights = tuple(map(float, times)), tuple(chances)
    if none > 0:
        up, weights = (0.0, *up), (none, *weights)
    down, nothing = tuple(-x for x in up), (0.0,) * len(up)
    if replace:
        attack = GaussianMixturePair(weights, up, down, z), GaussianMixturePair(weights, up, down, z)
    else:
        attack = GaussianMixturePair(weights, up, nothing, z), GaussianMixturePair(weights, nothing, down, z)
    return Release(
        Mixture(shares, tuple(p.forward for p in parts)), Mixture(shares, tuple(p.backward for p in parts)), (attack,)
    )


def _groups(clients: int, rate: float) -> list[tuple[float, int, int]]:
    """(probability, smallest, largest) of groups that together hold every cohort size from 1 on."""
    low, high = (int(stats.binom.ppf(p, clients, rate)) for p in (1e-9, 1 - 1e-9))
    edges = np.unique(np.linspace(max(low, 1), max(high, 1) + 1, GROUPS - 1).astype(int))
    starts = [1, *(int(e) for e in edges if e > 1), clients + 1]
    groups = []
    for first, after in pairwise(starts):
        weight = float(stats.binom.cdf(after - 1, clients, rate) - stats.binom.cdf(first - 1, clients, rate))
        if after - 1 > clients * rate:  # the difference of two survival functions keeps small tails
            weight = float(stats.binom.sf(first - 1, clients, rate) - stats.binom.sf(after - 1, clients, rate))
        if weight > 0:
            groups.append((weight, first, after - 1))
    return groups
