r"""Rounds of DP-SCAFFOLD-warm as fractions, for Lemmas C.4 to C.7: on quadratics, and over every draw of records, signs
and cohorts for users with Huber losses, whose errors depend on where they are.

A record's gradient is :math:`a\,\mathrm{clip}(x - c, -w, w)` (Huber loss for a > 0), so gradients are bounded, a user's
own is piecewise linear, and the records' variance has a largest value over all x. A local step draws a subset of the
records and adds +tau or -tau, which has the second moment of the privacy noise: Sigma_g^2 is 2 tau^2 (twice the noise's
second moment, see Lemma C.1), and all outcomes are equally likely.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise, product
from typing import Any

from dpfl_theory.algorithms.scaffold import Scaffold
from dpfl_theory.core import Check, Statement, Values
from dpfl_theory.core import checks as each
from dpfl_theory.semantics.base import Vector, average, expected
from dpfl_theory.semantics.operations import run_round
from dpfl_theory.semantics.rational import RationalWorld
from dpfl_theory.statements.instances import Instance
from dpfl_theory.statements.noble2022._instances import QUADRATICS
from dpfl_theory.statements.noble2022._moments import Lagged, RoundMoments, Users, rounds, users_of
from dpfl_theory.statements.symbolic import root

Limit = Callable[[Fraction], Fraction | None]
"""eta~ nu by l; None where it is no fraction."""


def noise(V: Fraction) -> dict[str, Any]:
    """Symbols with varsigma^2/(sR) + Sigma_g^2 = V: 8/9 of it is that of two of four records, rational with V's root.

    >>> noise(Fraction(9))["varsigma"], noise(Fraction(9))["Sigma"]
    (Fraction(4, 1), Fraction(1, 1))
    """
    return {"s": Fraction(1, 2), "R": 4, "varsigma": root(16 * V / 9), "Sigma": root(V / 9)}


def symbols(users: Users, moments: RoundMoments, instance: Mapping[str, Any]) -> dict[str, Any]:
    """One round by the symbols of Lemmas C.4 to C.7. ``l`` of an instance takes the place of lM over M, of which
    Algorithm 1 draws a whole number of users; ``mu`` that of the least curvature."""
    steps = {"eta": users.step, "eta_g": users.eta_g, "nu": users.smoothness}
    sizes = {"K": users.local_steps, "l": Fraction(instance.get("l", users.share)), "M": len(users.curvatures)}
    exponent = {"alpha": Fraction(instance["alpha"])} if "alpha" in instance else {}
    steps["mu"] = Fraction(instance["mu"]) if "mu" in instance else min(users.curvatures)
    return {**vars(moments), **steps, **sizes, **exponent, **noise(users.variance)}


def every_round(instance: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], Users, RoundMoments]]:
    """Every round from every start and at every variance of the instance, with these in words."""
    for start, V in product(instance["start"], instance["V"]):
        users = users_of({**instance, "start": start, "V": V})
        at = {"x^0": start, "V": V, "M": len(users.curvatures), "lM": users.size, "K": instance["K"]}
        for t, moments in enumerate(rounds(users, int(instance["T"])), 1):
            yield {"t": t, **at}, users, moments


def rounds_of(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """The same by the symbols of Lemmas C.4 to C.7."""
    for at, users, moments in every_round(instance):
        yield Values(symbols(users, moments, instance), at)


def at_limit(
    limit: Limit, instances: Mapping[str, Instance], named: str = "{}, eta~ nu = {}", **more: Any
) -> dict[str, Instance]:
    """The instances at the step size ``limit`` of their l, where it is a fraction. named: from name and step size."""
    found = {}
    for name, instance in instances.items():
        users = instance["curvatures" if "curvatures" in instance else "users"]
        step = limit(Fraction(int(instance["size"]), len(users)))
        if step is not None:
            found[named.format(name, step)] = {**instance, "eta~ nu": str(step), **more}
    return found


def checks(limit: Limit, tags: str, named: str = "{}, eta~ nu = {}", **more: Any) -> tuple[Check, ...]:
    """One check an instance with these tags."""
    return each("exact", rounds_of, at_limit(limit, QUADRATICS[tags], named, **more))


def outside(hypothesis: str, step: Fraction, instance: Mapping[str, Any] | None = None, **more: Any) -> Check:
    """A user for whom only this hypothesis is not met, by 1%, at this eta~ nu."""
    one = instance or QUADRATICS["user"]["one user"]
    name = f"just outside {hypothesis}, eta~ nu = {step}"
    return Check("exact", name, rounds_of, {**one, "eta~ nu": str(step), **more}, "not-applicable")


def power(base: Fraction, exponent: Fraction) -> Fraction | None:
    """base^exponent where it is a fraction, else None.

    >>> power(Fraction(1, 8), Fraction(2, 3)), power(Fraction(1, 2), Fraction(1, 2))
    (Fraction(1, 4), None)
    """
    p, q = exponent.numerator, exponent.denominator
    roots = [round(v ** (1 / q)) for v in (base.numerator, base.denominator)]
    root = Fraction(roots[0], roots[1])
    return root**p if root**q == base else None


@dataclass(frozen=True)
class RecordUser:
    """records: (a, c, w) each.

    >>> one, two = (Fraction(1), Fraction(-1), Fraction(5)), (Fraction(1), Fraction(1), Fraction(5))
    >>> user = RecordUser((one, two))
    >>> user.gradient(Fraction(3)) == 3, user.smoothness == 1, user.spread == 1
    (True, True, True)
    """

    records: tuple[tuple[Fraction, ...], ...]

    def of_records(self, x: Fraction) -> list[Fraction]:
        """The records' gradients at x."""
        return [a * max(-w, min(w, x - c)) for a, c, w in self.records]

    def gradient(self, x: Fraction) -> Fraction:
        """F_i'(x)."""
        return average(self.of_records(x))

    def value(self, x: Fraction) -> Fraction:
        """F_i(x), the mean of the Huber losses."""
        far = ((a, abs(x - c), w) for a, c, w in self.records)
        return average([a * (y * y / 2 if y <= w else w * y - w * w / 2) for a, y, w in far])

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
        return max(average([(g - self.gradient(x)) ** 2 for g in self.of_records(x)]) for x in self.bends)


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
    users = [RecordUser(tuple(tuple(map(Fraction, one)) for one in records)) for records in instance["users"]]
    return Records(users, int(instance["drawn"]), Fraction(instance["noise"]))


def _minimiser(users: Sequence[RecordUser]) -> Fraction:
    """Where the piecewise linear F' vanishes, for convex users."""
    for p, q in pairwise(sorted({b for u in users for b in u.bends})):
        a, b = (sum((u.gradient(x) for u in users), Fraction(0)) for x in (p, q))
        if a <= 0 <= b:
            return p if a == b else p - a * (q - p) / (b - a)
    raise ValueError("F' has no zero between its bends: F has no minimiser")


def enumerated_rounds(
    world: Records, K: int, eta: Fraction, size: int, eta_g: Fraction, start: Fraction, count: int
) -> list[RoundMoments]:
    """The moments of the first rounds, over all outcomes. Every user is as likely in the cohort, which so shows the
    drift of all of them.

    >>> one = RecordUser(((Fraction(1), Fraction(-1), Fraction(9)), (Fraction(1), Fraction(1), Fraction(9))))
    >>> world = Records([one], 1, Fraction(0))
    >>> (found,) = enumerated_rounds(world, 1, Fraction(1, 24), 1, Fraction(1), Fraction(2), 1)
    >>> found.move == Fraction(1, 24) ** 2 * (4 + 1), found.gap == 2, found.lag_after == found.move
    (True, True, True)
    """
    star, algorithm = Vector(_minimiser(world.users)), Scaffold(eta_l=eta, eta_g=eta_g, K=K)

    def observed() -> Mapping[tuple[int, str], Fraction]:
        found: dict[tuple[int, str], Fraction] = {}
        state = Lagged.warm(world, Vector(start), K)
        for t in range(count):
            x, now = state.run.x, run_round(algorithm, world, *state.run.following, t=t, size=size, errors=True)
            gap = average([world.value(i, x) - world.value(i, star) for i in range(world.clients)])
            seen = state.known(world, star) | state.observed(world, now, star)
            seen |= {"gap": gap, "slope": world.square(world.mean_gradient(x))}
            found |= {(t, name): value for name, value in seen.items()}
            state = state.after(now)
        return found

    found = expected(world, observed)
    return [RoundMoments(**{name: value for (t, name), value in found.items() if t == s}) for s in range(count)]


def draws_of(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """Every round by the symbols of Lemmas C.4 to C.7, with mu = 0."""
    world, K, size = records_of(instance), int(instance["K"]), int(instance["size"])
    given = {name: Fraction(instance[name]) for name in ("start", "eta_g", "eta~ nu", "alpha") if name in instance}
    M, nu, eta_g, start = world.clients, world.smoothness, given["eta_g"], given["start"]
    eta, at = given["eta~ nu"] / nu, {"M": M, "lM": size, "K": K, "sR": world.drawn, "V": world.variance_bound}
    known = {**given, "eta": eta, "nu": nu, "mu": 0, "K": K, "l": Fraction(size, M), "M": M}
    found = enumerated_rounds(world, K, eta / (K * eta_g), size, eta_g, start, int(instance["T"]))
    for t, m in enumerate(found, 1):
        yield Values({**vars(m), **known, **world.symbols}, {"t": t, **at})


_FAR = {"users": [[["1", "9", "9"], ["1", "11", "9"]], [["1", "-9", "9"], ["1/2", "-11", "9"]]], "drawn": 1}
_TWO = {"users": [[["1", "-1", "3"], ["1", "1", "3"]], [["1/2", "6", "2"], ["0", "0", "1"]]], "drawn": 1, "noise": "0"}
HUBER: dict[str, dict[str, Any]] = {
    "one of two users, two rounds": {**_FAR, "K": 1, "size": 1, "eta_g": "1", "noise": "1/4", "start": "3", "T": 2},
    "one of two users, two steps": {**_TWO, "K": 2, "size": 1, "eta_g": "1", "start": "4", "T": 2},
    "both users, two steps": {**_TWO, "K": 2, "size": 2, "eta_g": "3/2", "start": "1", "T": 1},
}


def draws(limit: Limit, **more: Any) -> tuple[Check, ...]:
    """One check an instance of two users with Huber losses, at the step size ``limit`` of its l."""
    return each("exact", draws_of, at_limit(limit, HUBER, "every draw, {}, eta~ nu = {}", **more))
