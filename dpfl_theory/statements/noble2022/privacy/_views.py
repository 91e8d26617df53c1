r"""The views of DP-SCAFFOLD and DP-FedAvg: exact values and limits for the claims about them.

The data behind the lower limits. Losses are absolute deviations |p x - b|, convex with gradients of norm at most C. One
record of user 0 has p = (1, kappa) in one data set and (-1, kappa) in the other, in units of C/sqrt(1 + kappa^2), with
b > 0: its gradients differ along the first coordinate only. In round 1 the model moves along the second coordinate, so
far that both gradients change sign. Further coordinates show which users take part: there the users' gradients differ.

* s = 1: user 0's other records have gradient 0; the other users' records have p near the second axis, and their
  gradients change sign too. For more than two rounds each loss is the largest of as many functions p_t x - b_t.
* s < 1: user 0's other records are like the first of the two, so that nothing moves if the record is not drawn. If
  user 0 takes part in round 1, the other users' constant gradients cancel what its records do along the first
  coordinate; other sequences of cohorts count as if they showed nothing.

The record's move is 1/sqrt(1 + kappa^2) of the largest possible one, with kappa = 0.01. The distances along the other
coordinates grow with R, so that for R = 10^9 a failure has probability below `UNSEEN`.

`LinearRun` has both algorithms in exact arithmetic, where everything that is released is linear in the noise.

User 0's record moves its noisy gradient by +-1 (the unit is 2C/(sR)) in every local step, with a sign that may depend
on the round; all other gradients are affine functions of the user's model. Every released number is then a linear form
in the record's presence and in independent normal variables of variance :math:`\sigma_g^2`. So a view is a Gaussian
vector whose mean is moved by some v and whose covariance is :math:`\sigma_g^2 \Sigma`: its privacy is that of one
Gaussian release with noise multiplier :math:`\sigma_g/\mu`, :math:`\mu^2 = v^\top \Sigma^{-1} v`.

`Masses` are for lower limits of the privacy that one round, the same in both at T = 1, gives a third party. The unit is
2C/(sR), the largest move of a noisy gradient, times eta_l; the noise of a step has deviation sigma_g, b is the batch
sR, m the cohort lM. All losses are convex quadratics or linear functions of one variable. One of user 0's records
differs between the data sets. The sum Z of the cohort's updates is seen, and each test below is a range of Z, so that
its masses are sums of normal tails; the probability that clipping changes something is conceded.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from dpfl_theory.algorithms.scaffold import Scaffold
from dpfl_theory.algorithms.two_step_sizes import TwoSidedFedAvg
from dpfl_theory.lazy import mpmath, special, stats
from dpfl_theory.lazy import numpy as np
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.operations import RoundResult, run_round
from dpfl_theory.semantics.rational import Quadratics
from dpfl_theory.statements.noble2022.privacy import _formulas as formulas
from dpfl_theory.statements.prescribed_noise import over_random_rounds

Form = list[Fraction]
"""Coefficients of the record's presence and of each noise variable."""


class LinearWorld(Quadratics):
    """Users with gradients a_i x, to which the record adds ``sign`` for user 0; errors of variance 1; the cohort is
    given."""

    def __init__(self, observed: tuple[int, ...], curvatures: Sequence[Fraction], sign: int = 1) -> None:
        super().__init__(curvatures, [-sign, *[0] * (len(curvatures) - 1)], {"error": 1})
        self.heard = observed

    def cohort(self, size: int, replacement: bool = False) -> tuple[int, ...]:
        return self.heard


@dataclass(frozen=True)
class LinearRun:
    """One run in one dimension with M users and K local steps of size eta_l, eta_g, for a given sequence of cohorts.

    signs: of the record's move in each round; curvatures: of each user's loss, 0 where its gradient is constant.
    """

    users: int
    cohorts: tuple[tuple[int, ...], ...]
    local_steps: int = 1
    signs: tuple[int, ...] = ()
    curvatures: tuple[Fraction, ...] = ()
    local_step: Fraction = Fraction(1)
    global_step: Fraction = Fraction(1)

    def views(self, control: bool) -> tuple[list[Form], list[Form], list[Form]]:
        """The views of the server (all messages), of third parties in all rounds, and of third parties in the last one:
        of DP-SCAFFOLD, or of DP-FedAvg without ``control``."""
        K, zero, size = self.local_steps, Vector(Fraction(0)), len(self.cohorts[0])
        now = RoundResult(zero, (zero, (zero,) * self.users) if control else None)
        kind = Scaffold if control else TwoSidedFedAvg
        algorithm = kind(local_step=self.local_step, global_step=self.global_step, local_steps=K)
        messages: list[Vector] = []
        models: list[list[Vector]] = []
        for t, cohort in enumerate(self.cohorts):
            sign = self.signs[t] if self.signs else 1
            world = LinearWorld(cohort, self.curvatures or (Fraction(0),) * self.users, sign)
            before, now = now, run_round(algorithm, world, *now.following, t=t, size=size, errors=True)
            for i in cohort:
                messages.append(now.paths[i][-1] - before.x)
                messages += [now.state[1][i] - before.state[1][i]] if control else []
            models.append([now.x, now.state[0]] if control else [now.x])
        forms = forms_of([*messages, *(v for seen in models for v in seen)])
        return forms[: len(messages)], forms[len(messages) :], forms[-len(models[-1]) :]


def forms_of(vectors: Sequence[Vector]) -> list[Form]:
    """Their coefficients: of the record's presence, which is their known part, and of each error in any of them.

    >>> forms_of([Vector(Fraction(1), {"e": Fraction(2)}), Vector(Fraction(0), {"f": Fraction(3)})])
    [[Fraction(1, 1), Fraction(2, 1), Fraction(0, 1)], [Fraction(0, 1), Fraction(0, 1), Fraction(3, 1)]]
    """
    names = list(dict.fromkeys(name for v in vectors for name in v.errors))
    return [[v.known, *(v.errors.get(name, Fraction(0)) for name in names)] for v in vectors]


def squared_distance(view: Sequence[Form]) -> Fraction:
    r""":math:`\mu^2 \sigma_g^{2} = v^\top \Sigma^{-1} v` of a view, by orthogonalising its noise; dependent numbers add
    nothing.

    >>> squared_distance([[Fraction(1), Fraction(1), Fraction(1)], [Fraction(2), Fraction(2), Fraction(2)]])
    Fraction(1, 2)
    """
    basis: list[Form] = []
    total = Fraction(0)
    for form in view:
        rest = list(form)
        for known in basis:
            share = _inner(rest, known) / _inner(known, known)
            rest = [p - share * q for p, q in zip(rest, known)]
        size = _inner(rest, rest)
        if size:
            basis.append(rest)
            total += rest[0] ** 2 / size
        elif rest[0]:
            raise ValueError("a number without noise depends on the record: nothing is private")
    return total


def cohort_sequences(users: int, size: int, rounds: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    """All sequences of cohorts, which are equally likely."""
    return product(combinations(range(users), size), repeat=rounds)


def _inner(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    """The inner product of the noise coefficients."""
    return sum((p * q for p, q in zip(a[1:], b[1:])), Fraction(0))


UNSEEN = 1e-30
"""Probability that is conceded for a sign or a cohort that is not as described."""

SHORTER = Fraction(10_000, 10_001)
"""The squared length of the record's move, 1/(1 + kappa^2)."""


def alternating(rounds: int) -> tuple[int, ...]:
    """The sign of the record's move in each round: opposite in consecutive ones."""
    return tuple(1 - 2 * (t % 2) for t in range(rounds))


def participations(point: Mapping[str, Any], deviation: Any) -> tuple[Any, Any]:
    """delta (low, high) when a user takes part in a binomial number j of rounds, which everyone sees. Its releases are
    together one Gaussian release with noise multiplier deviation/sqrt(j).

    At s = 1 no data do worse: every round is a Gaussian mechanism, whatever the earlier ones released.
    """
    from dpfl_theory.privacy.gaussian import gaussian_delta

    rate = Fraction(point["m"], point["M"])
    of_rounds = lambda j: gaussian_delta(point["epsilon"], deviation / mpmath.sqrt(j))  # noqa: E731
    return over_random_rounds(of_rounds, point["T"], rate)


def third_party_low(point: Mapping[str, Any]) -> Any:
    """A delta that DP-SCAFFOLD's last models (x^T, c^T) certainly show at s = K = 1, by the data described above."""
    from dpfl_theory.privacy.gaussian import gaussian_delta

    epsilon, sigma, users, size, rounds = (point[k] for k in ("epsilon", "sigma_g", "M", "m", "T"))
    signs = alternating(rounds)
    found: Counter[Fraction] = Counter()
    for cohorts in cohort_sequences(users, size, rounds):
        _, seen, last = LinearRun(users, cohorts, signs=signs).views(True)
        found[squared_distance(last if rounds <= 2 else seen)] += 1
    with mpmath.workdps(40):
        total = mpmath.mpf(0)
        for distance, count in found.items():
            if distance:
                square = distance * SHORTER
                mu = mpmath.sqrt(mpmath.mpf(square.numerator) / square.denominator)
                total += count * gaussian_delta(epsilon, mpmath.mpf(sigma) / mu)[0]
        return total / sum(found.values()) - (1 + mpmath.exp(epsilon)) * UNSEEN


def sampled_low(point: Mapping[str, Any]) -> float:
    """The same for s < 1, where no one sees in which of its rounds the record was drawn.

    For each sequence of cohorts one test: the sum u of the models that separates best when the record is always drawn,
    and the best of many thresholds. Any test gives a lower limit.
    """
    epsilon, sigma, rate = point["epsilon"], point["sigma_g"], point["s"]
    users, size, rounds = point["M"], point["m"], point["T"]
    signs = alternating(rounds)
    total, sequences = 0.0, list(cohort_sequences(users, size, rounds))
    for cohorts in sequences:
        rows = [[float(x) for x in form] for form in LinearRun(users, cohorts, signs=signs).views(True)[1]]
        mine = [t for t, cohort in enumerate(cohorts) if 0 in cohort]
        if 0 not in mine:
            continue
        moves, weights = [], []
        for drawn in product((0, 1), repeat=len(mine)):
            kept = tuple(signs[t] if t in mine and drawn[mine.index(t)] else 0 for t in range(rounds))
            moves.append([float(form[0]) for form in LinearRun(users, cohorts, signs=kept).views(True)[1]])
            weights.append(rate ** sum(drawn) * (1 - rate) ** (len(drawn) - sum(drawn)))
        noise = np.array(rows)[:, 1:]
        covariance = noise @ noise.T
        u = np.linalg.pinv(covariance, rcond=1e-10) @ np.array(moves[-1])
        shifts = np.array(moves) @ u * float(SHORTER) ** 0.5
        deviation = sigma * float(np.linalg.norm(noise.T @ u))
        thresholds = np.linspace(-3 * deviation, shifts.max() + 12 * deviation, 2001)[:, None]
        seen = special.ndtr((shifts - thresholds) / deviation) @ np.array(weights)
        total += float(np.max(seen - np.exp(epsilon) * special.ndtr(-thresholds[:, 0] / deviation)))
    return total / len(sequences) * (1 - 1e-9) - UNSEEN * (1 + float(np.exp(epsilon)))


def symbols_at(point: Mapping[str, Any]) -> dict[str, Any]:
    """The symbols' values at a point, which is given by M, the cohort's size m, T, s, sigma_g, R and epsilon."""
    known = {"M": point["M"], "l": point["m"] / point["M"], "T": point["T"], "K": point.get("K", 1)}
    return {**known, **{k: point[k] for k in ("s", "R", "sigma_g", "epsilon")}}


def delta_limits(name: str, point: Mapping[str, Any], view: str) -> Any:
    """Its certified limits of delta at the point's epsilon."""
    from dpfl_theory.privacy.accounting import account

    return account(formulas.mechanism(name, symbols_at(point), view), epsilon=float(point["epsilon"])).delta


SMALL = {"M": 3, "m": 2, "T": 2, "s": 1, "R": 10**9}
"""The smallest instance: T = 2 and m = 2 < M; a cohort of one, or of all, hides as little from a third party."""


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
    parts = []
    for first, second in ((0, 0), (0, 1), (1, 0), (1, 1)):
        weight = (rate if first else 1 - rate) * (rate if second else 1 - rate)
        factor = gain * (1 - second / batch) - 1
        deviation = sigma * math.sqrt(factor**2 + 1 + 2 * (cohort - 1))
        parts.append((weight, factor * first - second / 2, deviation))
    scale = sigma * math.sqrt((gain - 1) ** 2 + 1 + 2 * (cohort - 1))

    def inside(low: Any, high: Any) -> tuple[Any, Any]:
        """For -Z between low and high."""
        p = sum(w * (special.ndtr((mean - low) / dev) - special.ndtr((mean - high) / dev)) for w, mean, dev in parts)
        return p, special.ndtr(-np.asarray(low) / scale) - special.ndtr(-np.asarray(high) / scale)

    spoiled = 2 * float(special.ndtr(-(batch / (2 * gain) - 1) / sigma))
    outside = float(special.ndtr(-1.5 * batch / (sigma * math.sqrt(2 * cohort))))
    return Masses(inside, scale, math.inf, spoiled, outside)


def contracted(batch: int, rate: float, cohort: int, sigma: float, steps: int) -> Masses:
    """K steps of size 1/nu: the other users' quadratics forget all but their last step's noise.

    Their curvature is 1/eta_l, their minimum x^0; user 0's gradients are constant, C, and -C for the record. So the
    noise of the sum has variance (m - 1 + K) sigma_g^2, and the record moves it by the number of steps that use it.
    With user 0 the sum lies K b/2 lower. Clipping acts where a step's noise exceeds b/2.
    """
    number = np.arange(steps + 1)
    weights = stats.binom.pmf(number, steps, rate)
    kept = weights > 1e-25
    number, weights = number[kept], weights[kept]
    scale = sigma * math.sqrt(cohort - 1 + steps)

    def inside(low: Any, high: Any) -> tuple[Any, Any]:
        low, high = np.asarray(low, float), np.asarray(high, float)
        moved = special.ndtr((number - low[..., None]) / scale) - special.ndtr((number - high[..., None]) / scale)
        return moved @ weights, special.ndtr(-low / scale) - special.ndtr(-high / scale)

    spoiled = cohort * steps * 2 * float(special.ndtr(-batch / (2 * sigma)))
    border = steps * batch / 4
    return Masses(inside, scale, border, spoiled, float(special.ndtr(-border / (sigma * math.sqrt(cohort)))))


def largest_epsilon(masses: Masses, share: float, delta: float) -> float:
    """An epsilon at which delta is not enough, when user 0 takes part with probability ``share``: the largest that some
    one-sided test shows."""
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
    edges = np.linspace(-3.0, 60.0, 1261) * masses.scale
    edges = np.concatenate([[-math.inf], edges[edges < masses.reach], [masses.reach]])
    p, q = masses.inside(edges[:-1], edges[1:])
    seen = p > 1e-9 + masses.spoiled
    p, q = p[seen] * (1 - 1e-6) - masses.spoiled, q[seen] * (1 + 1e-9) + masses.spoiled + 1e-30
    moment = float(np.sum(np.exp(order * np.log(p) + (1 - order) * np.log(q))))
    return math.log(moment) / (order - 1) if moment > 0 else 0.0
