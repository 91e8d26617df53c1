r"""DP-SCAFFOLD-warm and DP-FedAvg on one-dimensional quadratics, with all moments of its rounds as exact fractions.

With :math:`F_i'(x) = a_i x - b_i` every model, control variate and lagged point is an affine form in the independent
errors of the stochastic gradients, each of variance V. So the expectations of Appendix C over these errors are sums of
squared coefficients, and those over the cohorts are finite sums. As in the paper, users outside the cohort take their
local steps too, unseen: the user drift counts all M users.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any

__all__ = ["RoundMoments", "Users", "rounds", "users_of"]

Form = tuple[Fraction, ...]
"""The coefficient of 1, then those of the errors."""


@dataclass(frozen=True)
class Users:
    """curvatures a_i, offsets b_i; K local steps of size eta_l, eta_g; cohorts of ``size`` = lM users; x^0; V."""

    curvatures: tuple[Fraction, ...]
    offsets: tuple[Fraction, ...]
    local_steps: int
    eta_l: Fraction
    eta_g: Fraction
    size: int
    start: Fraction
    variance: Fraction

    @property
    def smoothness(self) -> Fraction:
        """nu."""
        return max(abs(a) for a in self.curvatures)

    @property
    def share(self) -> Fraction:
        """l."""
        return Fraction(self.size, len(self.curvatures))

    @property
    def step(self) -> Fraction:
        """eta~ = K eta_l eta_g."""
        return self.local_steps * self.eta_l * self.eta_g

    @property
    def mean_curvature(self) -> Fraction:
        """F''."""
        return sum(self.curvatures, Fraction(0)) / len(self.curvatures)

    @property
    def minimiser(self) -> Fraction:
        """x*, where F' = 0."""
        return sum(self.offsets, Fraction(0)) / len(self.curvatures) / self.mean_curvature


@dataclass
class RoundMoments:
    """Expectations of one round: (x^t - x^{t-1})^2, drift E_t, lags F_{t-1} and F_t, F(x^{t-1}) - F(x*), F'(x^{t-1})^2,
    F'(x^t)^2 and (x - x*)^2 before and after."""

    move: Fraction = field(default_factory=Fraction)
    drift: Fraction = field(default_factory=Fraction)
    lag: Fraction = field(default_factory=Fraction)
    lag_after: Fraction = field(default_factory=Fraction)
    gap: Fraction = field(default_factory=Fraction)
    slope: Fraction = field(default_factory=Fraction)
    slope_after: Fraction = field(default_factory=Fraction)
    distance: Fraction = field(default_factory=Fraction)
    distance_after: Fraction = field(default_factory=Fraction)


def users_of(instance: Mapping[str, Any]) -> Users:
    """From an instance: curvatures, offsets, K, size, start, V as numbers or texts; ``eta~ nu`` and eta_g set eta_l."""
    curvatures, offsets = (tuple(Fraction(str(v)) for v in instance[name]) for name in ("curvatures", "offsets"))
    K, eta_g = int(instance["K"]), Fraction(str(instance.get("eta_g", 1)))
    nu = max(abs(a) for a in curvatures)
    eta_l = Fraction(str(instance["eta~ nu"])) / nu / K / eta_g
    start, variance = (Fraction(str(instance[name])) for name in ("start", "V"))
    return Users(curvatures, offsets, K, eta_l, eta_g, int(instance["size"]), start, variance)


def rounds(users: Users, count: int, control: bool = True) -> list[RoundMoments]:
    """The moments of the first ``count`` rounds after the warm start, over all errors and all cohorts. Without
    ``control`` the control variates stay zero: DP-FedAvg, which has no warm start.

    >>> alone = Users((Fraction(1),), (Fraction(0),), 1, Fraction(1, 24), Fraction(1), 1, Fraction(1), Fraction(2))
    >>> first = rounds(alone, 1)[0]
    >>> first.move == Fraction(1, 24) ** 2 * (1 + 2), first.lag_after == first.move
    (True, True)
    >>> rounds(alone, 1, control=False)[0].move == first.move
    True
    """
    M, K = len(users.curvatures), users.local_steps
    width = 1 + M * K * (1 + count)
    cohorts = list(combinations(range(M), users.size))
    out = [RoundMoments() for _ in range(count)]
    star = users.minimiser
    begin = _constant(users.start, width)
    warm = [_average([_plus(_gradient(users, i, begin), _error(i * K + k, width)) for k in range(K)]) for i in range(M)]
    if not control:
        warm = [_constant(Fraction(0), width)] * M

    def visit(t: int, weight: Fraction, x: Form, own: Sequence[Form], lagged: Sequence[Sequence[Form]]) -> None:
        if t == count:
            return
        moments, c = out[t], _average(own)
        before = _from(x, star)
        moments.distance += weight * _square(before, users.variance)
        moments.gap += weight * users.mean_curvature / 2 * _square(before, users.variance)
        moments.slope += weight * users.mean_curvature**2 * _square(before, users.variance)
        moments.lag += weight * _mean_square(lagged, x, users.variance)
        paths = []
        for i in range(M):
            path = [x]
            for k in range(K):
                error = _error((1 + t) * M * K + i * K + k, width)
                noisy = _plus(_gradient(users, i, path[-1]), error)
                path.append(_plus(path[-1], _plus(_plus(noisy, own[i], Fraction(-1)), c), -users.eta_l))
            paths.append(path)
        moments.drift += weight * _mean_square([path[1:] for path in paths], x, users.variance)
        for cohort in cohorts:
            share = weight / len(cohorts)
            sent = _average([_plus(paths[i][K], x, Fraction(-1)) for i in cohort])
            after = _plus(x, sent, users.eta_g)
            new, points = list(own), list(lagged)
            for i in cohort:
                if control:
                    change = _plus(x, paths[i][K], Fraction(-1))
                    new[i] = _plus(_plus(own[i], c, Fraction(-1)), change, 1 / (K * users.eta_l))
                points[i] = paths[i][:K]
            moments.move += share * users.eta_g**2 * _square(sent, users.variance)
            moments.lag_after += share * _mean_square(points, after, users.variance)
            moments.distance_after += share * _square(_from(after, star), users.variance)
            moments.slope_after += share * users.mean_curvature**2 * _square(_from(after, star), users.variance)
            visit(t + 1, share, after, new, points)

    visit(0, Fraction(1), begin, warm, [[begin] * K] * M)
    return out


def _constant(value: Fraction, width: int) -> Form:
    return (value, *(Fraction(0),) * (width - 1))


def _error(number: int, width: int) -> Form:
    return tuple(Fraction(int(k == 1 + number)) for k in range(width))


def _gradient(users: Users, i: int, x: Form) -> Form:
    a = users.curvatures[i]
    return (a * x[0] - users.offsets[i], *(a * v if v else v for v in x[1:]))


def _plus(a: Form, b: Form, factor: Fraction = Fraction(1)) -> Form:
    return tuple(p + factor * q if q else p for p, q in zip(a, b))


def _from(x: Form, value: Fraction) -> Form:
    return (x[0] - value, *x[1:])


def _average(forms: Sequence[Form]) -> Form:
    return tuple(sum(column, Fraction(0)) / len(forms) for column in zip(*forms))


def _square(form: Form, variance: Fraction) -> Fraction:
    """E form^2."""
    return form[0] ** 2 + variance * sum((v * v for v in form[1:] if v), Fraction(0))


def _mean_square(paths: Sequence[Sequence[Form]], x: Form, variance: Fraction) -> Fraction:
    """The mean over users and steps of E (point - x)^2."""
    points = [point for path in paths for point in path]
    return sum((_square(_plus(p, x, Fraction(-1)), variance) for p in points), Fraction(0)) / len(points)
