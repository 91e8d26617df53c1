r"""Users with records in one dimension, and every outcome of their local steps, in rational arithmetic.

A record's gradient is :math:`a\,\mathrm{clip}(x - c, -w, w)` (Huber loss for a > 0), so gradients are bounded, a user's
own is piecewise linear, and the records' variance has a largest value over all x. A local step draws a subset of the
records and adds +tau or -tau, which has the second moment of the privacy noise: Sigma_g^2 is 2 tau^2 (twice the noise's
second moment, see Lemma C.1), and all outcomes are equally likely.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise, product
from typing import Any

from dpfl_theory.statements.claims import Values
from dpfl_theory.statements.model import Statement
from dpfl_theory.statements.noble2022.scaffold._round_instances import root

__all__ = ["Outcome", "RecordUser", "Steps", "enumerated", "fresh", "noise_of", "steps_of", "users_of"]


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


@dataclass(frozen=True)
class Outcome:
    """One outcome of a user's K local steps: y^0, ..., y^K, and the sums of H~ and of the true gradients."""

    points: tuple[Fraction, ...]
    noisy: Fraction
    true: Fraction


@dataclass(frozen=True)
class Steps:
    """How local steps go: K of them, of size eta_l, ``drawn`` records each, noise +-tau."""

    K: int
    eta: Fraction
    drawn: int
    noise: Fraction


Draw = tuple[tuple[int, ...], int]
Draws = Callable[[Sequence[Draw], int], Sequence[Sequence[Draw]]]
"""From the possible draws of one step (records, sign) the equally likely draws of K steps."""


def fresh(single: Sequence[Draw], steps: int) -> list[tuple[Draw, ...]]:
    """Every step draws for itself."""
    return list(product(single, repeat=steps))


def steps_of(user: RecordUser, x: Fraction, correction: Fraction, steps: Steps, draws: Draws = fresh) -> list[Outcome]:
    """The equally likely outcomes of y^k = y^{k-1} - eta_l (H~(y^{k-1}) + correction) from y^0 = x."""
    signs = (1, -1) if steps.noise else (1,)
    single = [(chosen, z) for chosen in combinations(range(len(user.records)), steps.drawn) for z in signs]
    out = []
    for sequence in draws(single, steps.K):
        points, noisy, true = [x], Fraction(0), Fraction(0)
        for chosen, z in sequence:
            every = user.of_records(points[-1])
            H = sum((every[j] for j in chosen), Fraction(0)) / steps.drawn + z * steps.noise
            noisy, true = noisy + H, true + sum(every, Fraction(0)) / len(every)
            points.append(points[-1] - steps.eta * (H + correction))
        out.append(Outcome(tuple(points), noisy, true))
    return out


def users_of(instance: Mapping[str, Any]) -> tuple[list[RecordUser], Steps]:
    """``users``: records (a, c, w) of each user; ``K``, ``drawn``, ``noise`` (tau); ``eta_l nu``."""
    users = [
        RecordUser(tuple((Fraction(a), Fraction(c), Fraction(w)) for a, c, w in records))
        for records in instance["users"]
    ]
    eta = Fraction(instance["eta_l nu"]) / max(u.smoothness for u in users)
    return users, Steps(int(instance["K"]), eta, int(instance["drawn"]), Fraction(instance["noise"]))


def noise_of(users: Sequence[RecordUser], steps: Steps) -> tuple[Fraction, dict[str, Any]]:
    """V = varsigma^2/(sR) + Sigma_g^2, and the letters that it is made of."""
    spread, records = max(u.spread for u in users), len(users[0].records)
    letters = {"varsigma": root(spread), "s": Fraction(steps.drawn, records), "R": records}
    return spread / steps.drawn + 2 * steps.noise**2, {**letters, "Sigma": root(2 * steps.noise**2)}


def enumerated(_: Statement, instance: Mapping[str, Any], draws: Draws = fresh) -> list[Values]:
    """Corollary C.1 over all outcomes of each cohort's steps: part ``first``, ``second`` or ``third`` (given the
    cohort, with old control variates fixed). ``corrections``: c^{t-1} - c_i^{t-1} of each user."""
    users, steps = users_of(instance)
    M, K, part = len(users), steps.K, instance["part"]
    V, letters = noise_of(users, steps)
    letters |= {"M": M, "K": K, "eta_l": steps.eta, "nu": max(u.smoothness for u in users)}
    start = Fraction(instance["start"])
    found = [steps_of(u, start, Fraction(q), steps, draws) for u, q in zip(users, instance["corrections"])]
    out = []
    for size in range(1, M + 1):
        divisor = K * (M if part == "third" else size)
        for cohort in combinations(range(M), size):
            sums = [
                sum((o.noisy - o.true if part == "first" else o.noisy for o in outcome), Fraction(0)) / divisor
                for outcome in product(*(found[i] for i in cohort))
            ]
            centre = Fraction(0) if part == "first" else sum(sums, Fraction(0)) / len(sums)
            left = sum(((v - centre) ** 2 for v in sums), Fraction(0)) / len(sums)
            at = {"K": K, "lM": size, "cohort": cohort, "sR": steps.drawn, "tau": steps.noise, "V": V}
            out.append(Values({**letters, "l": Fraction(size, M), "spread": left}, at))
    return out
