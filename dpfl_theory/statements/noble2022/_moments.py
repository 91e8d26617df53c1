"""DP-SCAFFOLD-warm and DP-FedAvg on one-dimensional quadratics, with all moments of its rounds as exact fractions.

With :math:`F_i'(x) = a_i x - b_i` every model, control variate and lagged point is an affine form in the state before
the round and in the errors of the stochastic gradients. Each error has variance V, so that `Moments` has their second
moments. As in the paper, users outside the cohort take their local steps too, unseen: the user drift counts all M
users.

The checks: T rounds of DP-FedAvg, for Theorem C.2 repaired; and one user with one local step, with all rounds and the
prescribed step rounded down, for Lemmas C.8 and C.9 and Theorem C.1 repaired. There c^{t-1} - c_i^{t-1} is 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from types import SimpleNamespace
from typing import Any

from dpfl_theory.algorithms.averaging import Averaging
from dpfl_theory.algorithms.scaffold import Scaffold
from dpfl_theory.algorithms.two_step_sizes import TwoSidedFedAvg
from dpfl_theory.core import Check, Statement, Values, checks
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import prescription_of, symbols_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import Vector, World, average, expected
from dpfl_theory.semantics.moments import Moments
from dpfl_theory.semantics.operations import RoundResult, WorldOperations, run_round
from dpfl_theory.semantics.rational import Quadratics
from dpfl_theory.statements.instances import edges_of


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

    @cached_property
    def world(self) -> Quadratics:
        """Its errors have variance V."""
        return Quadratics(self.curvatures, self.offsets, {"error": self.variance})

    @property
    def minimiser(self) -> Fraction:
        """x*, where F' = 0."""
        return Fraction(self.world.minimiser.known)

    def played(self, now: RoundResult, control: bool, unseen: bool = False) -> RoundResult:
        """The round after this state: of DP-SCAFFOLD or, without ``control``, of DP-FedAvg."""
        kind: type[Averaging] = Scaffold if control else TwoSidedFedAvg
        algorithm = kind(local_step=self.eta_l, global_step=self.eta_g, local_steps=self.local_steps)
        return run_round(algorithm, self.world, *now.following, size=self.size, errors=True, unseen=unseen)

    def first(self, control: bool) -> Lagged:
        """The state before the first round."""
        x, K = Vector(self.start), self.local_steps
        return Lagged.warm(self.world, x, K) if control else Lagged(RoundResult(x), ((x,) * K,) * self.world.clients)


class RoundMoments(SimpleNamespace):
    """Expectations of one round: ``move`` (x^t - x^{t-1})^2, ``drift`` E_t, ``lag`` F_{t-1} and ``lag_after`` F_t,
    ``gap`` F(x^{t-1}) - F(x*), ``slope`` F'(x^{t-1})^2 and ``slope_after`` F'(x^t)^2, ``distance`` (x - x*)^2 before
    and ``distance_after`` it."""


@dataclass(frozen=True)
class Lagged:
    """The state after a round, and the points of each user's local steps when it last took part."""

    run: RoundResult
    points: tuple[tuple[Vector, ...], ...]

    @classmethod
    def warm(cls, world: World, x: Vector, K: int) -> Lagged:
        """Before the first round of DP-SCAFFOLD-warm."""
        return cls(warm_start(world, x, K), ((x,) * K,) * world.clients)

    def after(self, now: RoundResult) -> Lagged:
        """After the next round: what the one after it needs."""
        points = (now.paths[i][: len(old)] if i in now.cohort else old for i, old in enumerate(self.points))
        return Lagged(RoundResult(*now.following), tuple(points))

    def known(self, law: Any, star: Vector) -> dict[str, Any]:
        """What Lemmas C.4 to C.7 say of this state (`RoundMoments`), in a world or by a law of it."""
        return {"lag": mean_square(law, self.points, self.run.x), "distance": law.square(self.run.x - star)}

    def observed(self, law: Any, now: RoundResult, star: Vector) -> dict[str, Any]:
        """What they say of the next round."""
        return {
            "move": law.square(now.x - self.run.x),
            "drift": mean_square(law, [path[1:] for path in now.paths if path], self.run.x),
            "lag_after": mean_square(law, self.after(now).points, now.x),
            "distance_after": law.square(now.x - star),
        }


def warm_start(world: World, x: Vector, K: int) -> RoundResult:
    """Before the first round: each user's control variate is the mean of K stochastic gradients at x, whose errors are
    called ("error", "warm", i, k)."""
    o = WorldOperations(world, t="warm", errors=True)
    own = o.each(o.everyone, lambda i: average([o.gradient(i, x) for _ in range(K)]))
    return RoundResult(x, (average(own), own))


def users_of(instance: Mapping[str, Any]) -> Users:
    """From an instance: curvatures, offsets, K, size, start, V as numbers or texts; ``eta~ nu`` and eta_g set eta_l."""
    curvatures, offsets = (tuple(Fraction(str(v)) for v in instance[name]) for name in ("curvatures", "offsets"))
    K, eta_g = int(instance["K"]), Fraction(str(instance.get("eta_g", 1)))
    nu = max(abs(a) for a in curvatures)
    eta_l = Fraction(str(instance["eta~ nu"])) / nu / K / eta_g
    start, variance = (Fraction(str(instance[name])) for name in ("start", "V"))
    return Users(curvatures, offsets, K, eta_l, eta_g, int(instance["size"]), start, variance)


def single_user(curvature: Fraction, step: Fraction, start: Fraction, variance: Fraction, **more: Any) -> Users:
    """One user with F(x) = a x^2/2, and one local step of eta~ = ``step``."""
    eta_g = Fraction(more.get("eta_g", 1))
    return Users((curvature,), (Fraction(0),), 1, step / eta_g, eta_g, 1, start, variance)


def squares(users: Users, count: int, control: bool = True) -> list[Fraction]:
    """E (x^t - x*)^2 for t = 0, ..., count: of DP-SCAFFOLD-warm or, without ``control``, of DP-FedAvg.

    >>> alone = single_user(Fraction(1), Fraction(1, 2), Fraction(2), Fraction(3))
    >>> squares(alone, 2)  # z' = z/2 + xi/2, E xi^2 = 3
    [Fraction(4, 1), Fraction(7, 4), Fraction(19, 16)]
    >>> squares(alone, 2, control=False) == squares(alone, 2)
    True
    """
    start = users.first(control).run
    laws = Moments.from_state(users.world, start).along(
        lambda now: RoundResult(*users.played(now, control).following), count
    )
    return [law.square(law.state.x - users.world.minimiser) for law in laws]


def rounds(users: Users, count: int, control: bool = True) -> list[RoundMoments]:
    """The moments of the first ``count`` rounds after the warm start, over all errors and all cohorts. Without
    ``control`` the control variates stay zero: DP-FedAvg, which has no warm start.

    >>> alone = single_user(Fraction(1), Fraction(1, 24), Fraction(1), Fraction(2))
    >>> first = rounds(alone, 1)[0]
    >>> first.move == Fraction(1, 24) ** 2 * (1 + 2), first.lag_after == first.move
    (True, True)
    >>> rounds(alone, 1, control=False)[0].move == first.move
    True
    """

    def played(state: Lagged) -> RoundResult:
        return users.played(state.run, control, unseen=True)

    def moments(law: Moments[Lagged]) -> RoundMoments:
        now, star, a = law.state, users.world.minimiser, users.mean_curvature
        found = now.known(law, star) | expected(law.world, lambda: now.observed(law, played(now), star))
        before, after = found["distance"], found["distance_after"]
        return RoundMoments(**found, gap=a / 2 * before, slope=a**2 * before, slope_after=a**2 * after)

    laws = Moments.from_state(users.world, users.first(control))
    return [moments(law) for law in laws.along(lambda state: state.after(played(state)), count - 1)]


def mean_square(law: Any, paths: Iterable[Sequence[Vector]], x: Vector) -> Any:
    """The mean of ||y - x||^2 over all points of the paths."""
    return average([law.square(y - x) for path in paths for y in path])


def weighted(values: Sequence[Fraction], rate: Fraction) -> Fraction:
    """The mean with weights (1 - rate)^{-t}, t = 1, 2, ...

    >>> weighted([Fraction(1), Fraction(3)], Fraction(0)), weighted([Fraction(1), Fraction(3)], Fraction(1, 2))
    (Fraction(2, 1), Fraction(7, 3))
    """
    weights, found, weight = Fraction(0), Fraction(0), Fraction(1)
    for value in values:
        weight /= 1 - rate
        weights, found = weights + weight, found + weight * value
    return found / weights


def below(value: Any, parts: int) -> Fraction:
    """A fraction of at most the value, a positive number or sympy number, a part or two below it."""
    return Fraction(int(value * parts) - 1, parts)


def dissimilarity(users: Users, B: Fraction) -> Fraction:
    """The least G^2 of Assumption 4: the largest value over x of (1/M) sum_i F_i'(x)^2 - B^2 F'(x)^2.

    Raises ValueError where none exists.
    """
    M, star = len(users.curvatures), users.minimiser
    rests = [a * star - b for a, b in zip(users.curvatures, users.offsets)]  # F_i' = a_i z + rest_i; they add up to 0
    square = sum((a * a for a in users.curvatures), Fraction(0)) / M - (B * users.mean_curvature) ** 2
    mixed = sum((a * r for a, r in zip(users.curvatures, rests)), Fraction(0)) / M
    rest = sum((r * r for r in rests), Fraction(0)) / M
    if square < 0:
        return rest - mixed * mixed / square
    if square or mixed:
        raise ValueError(f"no G serves B = {B}: the curvatures differ too much")
    return rest


def all_rounds(statement: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """The mean of E F(x^t) - F* or of E F'(x^t)^2 over t < T, rounded up at the 30th digit. It has weights (1 - mu
    eta~/2)^{-t} where the statement has mu. The rounds are those of DP-FedAvg where it has G; else of DP-SCAFFOLD-warm,
    with the warm round, which stays at x^0. There is only one record, so that V is Sigma^2.

    The step is the prescribed one, rounded down to a fraction, or ``eta~ nu`` of the instance where none is prescribed.
    ``longer`` of the instance multiplies a prescribed one. One user with F(x) = x^2/2 starts at 1, unless the instance
    says otherwise.
    """
    own = symbols_of(statement)
    warm, kind = "G" not in own, "slope" if "slope" in own else "excess"
    given: dict[str, Any] = {"eta~ nu": 1, **_ALONE, **instance}
    if not warm:
        given["eta_g"] = root = math.isqrt(int(given["size"]))
        if root**2 != given["size"]:
            raise ValueError(f"lM = {given['size']} is no square: eta_g = sqrt(lM) must be rational")
    for start, T, V in product(_listed(given["start"]), given["T"], given["V"]):
        u = users_of({**given, "start": start, "V": V})
        away, curvature = u.start - u.minimiser, u.mean_curvature
        values = {
            **{"eta": u.step, "eta_g": u.eta_g, "nu": u.smoothness, "mu": min(u.curvatures), "T": T},
            **{"K": u.local_steps, "l": u.share, "M": len(u.curvatures)},
            **{"varsigma": 0, "s": 1, "R": 1, "Sigma": sp.sqrt(sp.Rational(u.variance))},
            **{"D0": abs(away), "F0": curvature / 2 * away**2, "slope0": curvature**2 * away**2},
        }
        if not warm:
            B = Fraction(str(given["B"]))
            G2 = Fraction(given["G^2"]) if "G^2" in given else dissimilarity(u, B)
            values |= {"B": B, "G": sp.sqrt(sp.Rational(G2))}
        if statement.prescription is not None:
            name = "eta" if "eta" in own else "eta_l"
            values[name] = _step(statement, values, name, 10**9, warm) * Fraction(given.get("longer", 1))
            u = replace(u, eta_l=values[name] / (u.local_steps * u.eta_g if name == "eta" else 1))
        # No control variate is defined by steps of length 0.
        passed = squares(u, T - 1, control=warm and u.step > 0)
        rate = min(u.curvatures) * u.step / 2 if "mu" in own else Fraction(0)
        mean = weighted([*passed[:warm], *passed], rate)
        values[kind] = _up((curvature**2 if kind == "slope" else curvature / 2) * mean)
        known = {name: value for name, value in values.items() if name in own}
        yield Values(known, {"x^0": u.start, "T": T, "V": V, "eta~ nu": u.step * u.smoothness})


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


_ALONE: dict[str, Any] = {"curvatures": ["1"], "offsets": ["0"], "size": 1, "K": 1, "start": "1"}
_EQUAL = {"curvatures": ["1", "1"], "offsets": ["1", "-1"], "size": 1, "start": "2", "B": 1}
_FEDAVG: dict[str, dict[str, Any]] = {
    "one of two users, equal curvatures": {**_EQUAL, "K": 2, "T": [1, 32, 200], "V": ["0", "1/4", "100"]},
    "one of two users, curvatures 1 and 1/2": {
        **_EQUAL, "curvatures": ["1", "1/2"], "start": "-3", "B": 2, "K": 3, "T": [80, 200], "V": ["0", "1"],
    },
    "four of six users": {
        "curvatures": ["1", "1", "3/4", "3/4", "1/2", "1/2"], "offsets": ["3", "-3", "1", "-1", "2", "-2"], "size": 4,
        "start": "1", "B": 2, "K": 2, "T": [80, 200], "V": ["0", "1"],
    },
    "one user alone": {
        "curvatures": ["1"], "offsets": ["0"], "size": 1, "start": "1", "B": 1, "K": 4, "T": [32, 200],
        "V": ["1/100", "100"],
    },
    "one of two users, one of them concave": {
        **_EQUAL, "curvatures": ["1", "-1/2"], "start": "2", "B": 4, "K": 3, "T": [1, 200], "V": ["0", "1"],
    },
}  # fmt: skip


def of_fedavg(kind: str) -> Iterator[Check]:
    """Few rounds and many, without noise and with much of it; concave users where they are allowed; and the edges of
    the hypotheses, for one user."""
    chosen = {n: i for n, i in _FEDAVG.items() if kind == "non-convex" or "concave" not in n}
    one = {**chosen["one user alone"], "B": "5/2", "V": ["1"], "T": [100]}
    outside: dict[str, dict[str, Any]] = {"B >= 1": {"B": "99/100", "G^2": "1"}}
    inside: dict[str, dict[str, Any]] = {"B >= 1": {"B": "1"}}
    if kind == "strongly convex":
        chosen = {name: {**i, "T": [T for T in i["T"] if T > 1]} for name, i in chosen.items()}
        outside["T >= 8 (1 + B^2) nu/mu"], inside["T >= 8 (1 + B^2) nu/mu"] = {"T": [57]}, {"T": [58]}
    yield from checks("exact", all_rounds, {f"all rounds, {name}": i for name, i in chosen.items()})
    yield from edges_of("exact", all_rounds, one, outside, inside)


def _alone(T: Any, V: Fraction, **more: Any) -> dict[str, Any]:
    """One user, one local step, one record, D_0 = 1."""
    one = {"M": 1, "l": 1, "K": 1, "s": 1, "R": 1, "varsigma": 0, "eta_g": 1, "D0": 1}
    return {**one, "T": int(T), "Sigma": sp.sqrt(sp.Rational(V)), **more}


def _step(statement: Statement, values: Mapping[str, Any], name: str, parts: int, exactly: bool = True) -> Fraction:
    """The prescribed step, rounded down to a multiple of 1/parts; ``exactly``: unless it is a fraction."""
    chosen = evaluate(prescription_of(statement)[name], values)
    return chosen if exactly and isinstance(chosen, Fraction) else below(chosen, parts)


def _up(value: Fraction) -> Fraction:
    """Rounded up to thirty digits."""
    return Fraction(math.ceil(value * 10**30), 10**30)


def one_step(statement: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """Theorem C.1 (1) repaired on F(x) = nu x^2/2 or mu x^2/2: weights (1 - mu eta/2)^{-t} on x^{t-1}."""
    for nu, T, V in product(*(map(Fraction, instance[name]) for name in ("nu", "T", "V"))):
        values = _alone(T, V, nu=nu, mu=1)
        eta = _step(statement, values, "eta_l", 10**4)
        for curvature in dict.fromkeys((nu, Fraction(1))):
            alone = single_user(curvature, eta, Fraction(1), V)
            left = curvature / 2 * weighted(squares(alone, int(T) - 1), eta / 2)
            named = {"T": T, "V": V, "nu": nu, "curvature": curvature, "eta~": eta}
            yield Values({**values, "eta_l": eta, "excess": left}, named)


def averaged_steps(statement: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """Theorem C.1 (2) repaired on F(x) = nu x^2/2 from x^0 = 1: the output is the mean of x^0, ..., x^{T-1}.

    With x' = (1 - h) x + eta e, h = eta nu, E e^2 = V/2 (the noise's second moment is half of Sigma^2), step t's error
    enters the mean with the weight sum_{j < T-1-t} (1 - h)^j/T.
    """
    for nu, T, V in product(*(map(Fraction, instance[name]) for name in ("nu", "T", "V"))):
        values = _alone(T, V, nu=nu)
        eta = _step(statement, values, "eta_l", 10**6)
        kept, sums = 1 - eta * nu, [Fraction(0)]  # (1 - h)^0 + ... + (1 - h)^(n-1), n = 0, 1, ...
        for _ in range(int(T)):
            sums.append(_up(1 + kept * sums[-1]))
        square = sums[-1] ** 2 + eta**2 * V / 2 * sum((p**2 for p in sums[:-1]), Fraction(0))
        values |= {"eta_l": eta, "excess": _up(nu / 2 * square / T**2)}
        yield Values(values, {"T": T, "V": V, "nu": nu, "eta~": eta})


def of_all_rounds(apart: str) -> Iterator[Check]:
    """The runs of one user, and the edges of the hypotheses. apart: the hypothesis on x^0, in words."""
    limit, last, first = "eta~ <= l^(2/3)/(24 nu)", {"T": [400], "V": ["1"]}, {"T": [1], "V": ["1/1000"]}
    yield Check("exact", "all rounds, one user", all_rounds, {"T": [1, 100, 400], "V": ["1/1000", "1"]})
    outside = {"eta_g >= 1": {**last, "eta_g": "99/100"}, limit: {**first, "longer": "101/100"}}
    inside = {"eta_g >= 1": {**last, "eta_g": "1"}, limit: first}
    inside[apart] = {"T": [100], "V": ["1/1000000"], "start": "1/1000"}
    yield from edges_of("exact", all_rounds, {}, {**outside, apart: {"T": [100], "V": ["1"], "start": "0"}}, inside)
