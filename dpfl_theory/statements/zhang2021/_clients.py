"""The local phase of one client in zhang2021: a scalar quadratic with stochastic gradients, in rational arithmetic.

f_i(x) = q (x - m)^2/2, q of either sign; every local step adds a noise of its own to the gradient, from a finite law
with mean 0 and variance 1 times s^2. All noise paths can be enumerated; the moments are known in closed form for any Q.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

__all__ = ["Client", "Moments", "Path", "mean_square", "shifted"]

F = Fraction
LAWS: dict[str, tuple[tuple[Fraction, Fraction], ...]] = {
    "even": ((F(1, 2), F(1)), (F(1, 2), F(-1))),
    "skew": ((F(4, 5), F(-1, 2)), (F(1, 5), F(2))),
}
"""(probability, value), mean 0 and variance 1."""


@dataclass(frozen=True)
class Moments:
    """First and second moment of a client's random number."""

    first: Fraction
    second: Fraction


@dataclass(frozen=True)
class Path:
    """One way in which a client's local phase can go: its probability, the sum of the stochastic gradients, the sum of
    the gradients at the same points, and the length of its longest stochastic gradient."""

    probability: Fraction
    total: Fraction
    exact: Fraction
    longest: Fraction


@dataclass(frozen=True)
class Client:
    """A scalar quadratic client, f_i(x) = q (x - m)^2/2, with q != 0."""

    q: Fraction
    m: Fraction

    def slope(self, x: Fraction) -> Fraction:
        return self.q * (x - self.m)

    def value(self, x: Fraction) -> Fraction:
        return self.q * (x - self.m) ** 2 / 2

    def paths(self, x: Fraction, eta: Fraction, Q: int, s: Fraction, law: str) -> Iterator[Path]:
        """All local phases from x."""
        noises = LAWS[law] if s else ((F(1), F(0)),)
        for drawn in itertools.product(noises, repeat=Q):
            at, probability, total, exact, longest = x, F(1), F(0), F(0), F(0)
            for p, n in drawn:
                slope = self.slope(at)
                g = slope + s * n
                at, probability = at - eta * g, probability * p
                total, exact, longest = total + g, exact + slope, max(longest, abs(g))
            yield Path(probability, total, exact, longest)

    def sums(self, x: Fraction, eta: Fraction, Q: int, s: Fraction) -> tuple[Moments, Moments]:
        """Moments of the sum of the stochastic gradients, and of the sum of the gradients at the same points.

        With r = 1 - eta q the sums are (1 - r^Q)(x - m)/eta plus the noises times r^j, and times r^j - 1, j < Q.
        """
        r = 1 - eta * self.q
        mean = (1 - r**Q) * (x - self.m) / eta
        own, kept = sum((r ** (2 * j) for j in range(Q)), F(0)), sum(((r**j - 1) ** 2 for j in range(Q)), F(0))
        return Moments(mean, mean**2 + s**2 * own), Moments(mean, mean**2 + s**2 * kept)

    def drifts(self, x: Fraction, eta: Fraction, Q: int, s: Fraction) -> Fraction:
        """E sum_q (f'(x_q) - f'(x))^2, with x_q - x = (r^q - 1)(x - m) - eta times the noises times r^j, j < q."""
        found = noise = F(0)
        for power in ((1 - eta * self.q) ** q for q in range(Q)):
            found += self.q**2 * (((power - 1) * (x - self.m)) ** 2 + noise)
            noise += (eta * s * power) ** 2
        return found


def mean_square(moments: Sequence[Moments], weights: Sequence[int], divisor: int) -> Fraction:
    """E((1/divisor) sum_i weights_i X_i)^2 for independent X_i."""
    first = sum((w * m.first for w, m in zip(weights, moments)), F(0))
    spread = sum((w * w * (m.second - m.first**2) for w, m in zip(weights, moments)), F(0))
    return (first**2 + spread) / divisor**2


def shifted(m: Moments, by: Fraction, sign: int) -> Moments:
    """Moments of by + sign X."""
    return Moments(by + sign * m.first, by**2 + 2 * sign * by * m.first + m.second)
