r"""Users with records in one dimension, and the world in which they draw them, in rational arithmetic.

A record's gradient is :math:`a\,\mathrm{clip}(x - c, -w, w)` (Huber loss for a > 0), so gradients are bounded, a user's
own is piecewise linear, and the records' variance has a largest value over all x. A local step draws a subset of the
records and adds +tau or -tau, which has the second moment of the privacy noise: Sigma_g^2 is 2 tau^2 (twice the noise's
second moment, see Lemma C.1), and all outcomes are equally likely.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any

from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.rational import RationalWorld
from dpfl_theory.statements.noble2022.scaffold._round_instances import root

__all__ = ["RecordUser", "Records", "records_of"]


@dataclass(frozen=True)
class RecordUser:
    """records: (a, c, w) each.

    >>> one, two = (Fraction(1), Fraction(-1), Fraction(5)), (Fraction(1), Fraction(1), Fraction(5))
    >>> user = RecordUser((one, two))
    >>> user.gradient(Fraction(3)) == 3, user.smoothness == 1, user.spread == 1
    (True, True, True)
    """

    records: tuple[tuple[Fraction, Fraction, Fraction], ...]

    def of_records(self, x: Fraction) -> list[Fraction]:
        """The records' gradients at x."""
        return [a * max(-w, min(w, x - c)) for a, c, w in self.records]

    def gradient(self, x: Fraction) -> Fraction:
        """F_i'(x)."""
        return sum(self.of_records(x), Fraction(0)) / len(self.records)

    def value(self, x: Fraction) -> Fraction:
        """F_i(x), the mean of the Huber losses."""
        total = Fraction(0)
        for a, c, w in self.records:
            far = abs(x - c)
            total += a * (far * far / 2 if far <= w else w * far - w * w / 2)
        return total / len(self.records)

    @cached_property
    def bends(self) -> list[Fraction]:
        """Where a record's gradient bends."""
        return sorted({c + sign * w for _, c, w in self.records for sign in (-1, 1)})

    @cached_property
    def smoothness(self) -> Fraction:
        """The largest |F_i''|."""
        middles = [(p + q) / 2 for p, q in pairwise(self.bends)]
        second = [sum((a for a, c, w in self.records if abs(x - c) < w), Fraction(0)) for x in middles]
        return max(abs(v) for v in second) / len(self.records)

    @cached_property
    def spread(self) -> Fraction:
        """varsigma^2: the largest variance of the records' gradients; it is convex between bends, constant beyond."""
        return max(
            sum(((g - self.gradient(x)) ** 2 for g in self.of_records(x)), Fraction(0)) / len(self.records)
            for x in self.bends
        )


class Records(RationalWorld):
    """A world of users with records. A stochastic gradient is the mean over ``drawn`` of a user's records, each subset
    equally likely, and +tau or -tau (``noise``).

    >>> one, two = (Fraction(1), Fraction(-1), Fraction(5)), (Fraction(1), Fraction(1), Fraction(5))
    >>> world = Records([RecordUser((one, two))], 1, Fraction(0))
    >>> world.variance_bound
    Fraction(1, 1)
    """

    def __init__(self, users: Sequence[RecordUser], drawn: int, noise: Fraction) -> None:
        super().__init__(len(users))
        self.users, self.drawn, self.noise = tuple(users), drawn, noise

    def gradient(self, client: int, x: Vector) -> Vector:
        return Vector(self.users[client].gradient(x.known))

    def value(self, client: int, x: Vector) -> Fraction:
        """F_i(x)."""
        return self.users[client].value(x.known)

    def stochastic_gradient(self, client: int, x: Vector, *name: Hashable, run: int = 0) -> Vector:
        of_records, (chosen, sign) = self.users[client].of_records(x.known), self.draw(client, *name)
        return Vector(sum((of_records[j] for j in chosen), Fraction(0)) / self.drawn + sign * self.noise)

    def draw(self, client: int, *name: Hashable) -> tuple[tuple[int, ...], int]:
        """The records that a step draws, and the sign of its noise."""
        subsets = list(combinations(range(len(self.users[client].records)), self.drawn))
        return self.choose(subsets), self.choose((1, -1)) if self.noise else 1

    @property
    def smoothness(self) -> Fraction:
        """nu."""
        return max(u.smoothness for u in self.users)

    @property
    def variance_bound(self) -> Fraction:
        """V = varsigma^2/(sR) + Sigma_g^2."""
        return max(u.spread for u in self.users) / self.drawn + 2 * self.noise**2

    @property
    def symbols(self) -> dict[str, Any]:
        """The symbols that V is made of."""
        records = len(self.users[0].records)
        spread, Sigma = root(max(u.spread for u in self.users)), root(2 * self.noise**2)
        return {"varsigma": spread, "s": Fraction(self.drawn, records), "R": records, "Sigma": Sigma}


def records_of(instance: Mapping[str, Any]) -> Records:
    """``users``: records (a, c, w) of each user; ``drawn``; ``noise`` (tau)."""
    users = [
        RecordUser(tuple((Fraction(a), Fraction(c), Fraction(w)) for a, c, w in records))
        for records in instance["users"]
    ]
    return Records(users, int(instance["drawn"]), Fraction(instance["noise"]))
