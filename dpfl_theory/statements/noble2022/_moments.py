r"""DP-SCAFFOLD-warm and DP-FedAvg on one-dimensional quadratics, with all moments of its rounds as exact fractions.

With :math:`F_i'(x) = a_i x - b_i` every model, control variate and lagged point is an affine form in the state before
the round and in the errors of the stochastic gradients. Each error has variance V, so that `Moments` has their second
moments. As in the paper, users outside the cohort take their local steps too, unseen: the user drift counts all M
users.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dpfl_theory.algorithms.averaging import Averaging
from dpfl_theory.algorithms.scaffold import Scaffold
from dpfl_theory.algorithms.two_step_sizes import TwoSidedFedAvg
from dpfl_theory.semantics.base import Vector, World, average, expected
from dpfl_theory.semantics.moments import Moments
from dpfl_theory.semantics.operations import RoundResult, WorldOperations, run_round
from dpfl_theory.semantics.rational import Quadratics


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

    def algorithm(self, control: bool) -> Averaging:
        """DP-SCAFFOLD or, without ``control``, DP-FedAvg."""
        kind: type[Averaging] = Scaffold if control else TwoSidedFedAvg
        return kind(local_step=self.eta_l, global_step=self.eta_g, local_steps=self.local_steps)

    @property
    def world(self) -> Quadratics:
        return Quadratics(self.curvatures, self.offsets, {"error": self.variance})

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


@dataclass(frozen=True)
class _Lagged:
    """The state after a round, and the points of each user's local steps when it last took part."""

    run: RoundResult
    points: tuple[tuple[Vector, ...], ...]


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
    world = users.world
    laws = Moments.from_state(world, _initial_run(users, world, control)).along(
        lambda now: _bare(_played(users, world, now, control)), count
    )
    return [law.square(law.state.x - world.minimiser) for law in laws]


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
    world, K, start = users.world, users.local_steps, Vector(users.start)

    def played(state: _Lagged) -> tuple[RoundResult, _Lagged]:
        """The round, and the state after it."""
        now = _played(users, world, state.run, control, unseen=True)
        points = tuple(now.paths[i][:K] if i in now.cohort else old for i, old in enumerate(state.points))
        return now, _Lagged(_bare(now), points)

    started = _Lagged(_initial_run(users, world, control), ((start,) * K,) * world.clients)
    laws = list(Moments.from_state(world, started).along(lambda state: played(state)[1], count))
    return [_moments(users, before, after, played) for before, after in pairwise(laws)]


def _initial_run(users: Users, world: Quadratics, control: bool) -> RoundResult:
    """The state before the first round."""
    x = Vector(users.start)
    return warm_start(world, x, users.local_steps) if control else RoundResult(x)


def _played(users: Users, world: Quadratics, now: RoundResult, control: bool, unseen: bool = False) -> RoundResult:
    """One round."""
    algorithm = users.algorithm(control)
    return run_round(algorithm, world, *now.following, size=users.size, errors=True, unseen=unseen)


def _bare(now: RoundResult) -> RoundResult:
    """The part of it that the next round needs."""
    return replace(now, paths=(), cohort=())


def _moments(
    users: Users,
    before: Moments[_Lagged],
    after: Moments[_Lagged],
    played: Callable[[_Lagged], tuple[RoundResult, _Lagged]],
) -> RoundMoments:
    """The expectations of one round, from the moments before and after it."""
    x, found = before.state.run.x, {}

    def observed() -> Mapping[str, Fraction]:
        now, _ = played(before.state)
        return {"move": before.square(now.x - x), "drift": mean_square(before, [path[1:] for path in now.paths], x)}

    for when, law in (("", before), ("_after", after)):
        distance = law.square(law.state.run.x - users.world.minimiser)
        found[f"lag{when}"] = mean_square(law, law.state.points, law.state.run.x)
        found |= {f"distance{when}": distance, f"slope{when}": users.mean_curvature**2 * distance}
    gap = users.mean_curvature / 2 * found["distance"]
    return RoundMoments(**expected(before.world, observed), **found, gap=gap)


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
