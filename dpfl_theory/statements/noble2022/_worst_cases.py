"""Worst cases of one round over smooth functions and errors: of DP-SCAFFOLD, also over lagged points, for Lemmas C.4 to
C.7 and C.9, and of DP-FedAvg for Theorem C.2 repaired.

The expectation over the cohorts is a finite sum. The error of a local step is +xi or -xi with xi^2 <= V; the last
step's only adds its variance. The errors that the control variates carry from earlier rounds have second moment V/K.
They may depend on x^{t-1} and on the lagged points in any way, which is more than the algorithm allows (a relaxation).
So no independence of the past is assumed where the proof has none. A condition that a worst case is found to need,
Algorithm 1 may not need.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.algorithms.scaffold import Scaffold
from dpfl_theory.algorithms.two_step_sizes import TwoSidedFedAvg
from dpfl_theory.core import Check, Performance, Statement, WorstCase
from dpfl_theory.core import checks as checks_of
from dpfl_theory.lazy import PEPit
from dpfl_theory.semantics.base import Vector, average, expected
from dpfl_theory.semantics.operations import RoundResult, run_round
from dpfl_theory.semantics.performance import FunctionClass, declared
from dpfl_theory.statements.noble2022._moments import Lagged
from dpfl_theory.statements.noble2022._step_size import RoundConstants, round_constants
from dpfl_theory.statements.noble2022._symbols import ROUND_PART

Opened = tuple[FunctionClass, Vector, Any]


def opened(kind: str, users: int, mu: float = 0.0, errs: bool = True) -> Opened:
    """Users with any 1-smooth functions of a class, ``convex``, ``strongly convex`` with mu or ``non-convex``; x^{t-1},
    and V, the errors' second moment; without ``errs`` it is 0."""
    problem = PEPit.PEP()
    V = PEPit.Expression() if errs else 0.0
    if errs:
        problem.add_constraint(V >= 0)
    world = FunctionClass(problem, declared(problem, kind, users, mu), V)
    return world, Vector(problem.set_initial_point()), V


def floats(instance: Mapping[str, Any], **usual: float) -> tuple[float, ...]:
    """Numbers of an instance, which may be texts of fractions; usual: the values where it has none.

    >>> floats({"step": "1/10"}, step=1, mu=0)
    (0.1, 0.0)
    """
    return tuple(float(Fraction(str(instance.get(name, value)))) for name, value in usual.items())


def scaffold_round(statement: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """One round with nu = 1, by the symbols of Lemmas C.4 to C.7. x* is the origin; without ``gap`` among the
    statement's symbols no minimiser is assumed.

    instance: class; M, size, K, eta_g; ``eta~ nu`` over l^power/24 is ``step``; noise: whether gradients err. One half
    of V is the records', the other the noise's.
    """
    M, size, K = (int(instance[name]) for name in ("M", "size", "K"))
    eta_g, mu, step, power = floats(instance, eta_g=1, mu=0, step=1, power=0)
    share, noise = size / M, bool(instance["noise"])
    step = step * share**power / 24
    if mu:
        step = min(step, share / (54 * mu))
    world, x, V = opened(instance["class"], M, mu)
    star = any(symbol.name == "gap" for symbol in statement.symbols)
    if star:
        world.minimiser_at_origin()
    before = earlier_rounds(world, x, K, V, noise)
    algorithm = Scaffold(eta_l=step / (K * eta_g), eta_g=eta_g, K=K)

    def observed() -> Mapping[str, Any]:
        now = run_round(algorithm, world, *before.run.following, size=size, errors=noise, unseen=True)
        return before.observed(world, now, world.zero)

    values = {
        **{"nu": 1.0, "mu": mu, "eta": step, "eta_g": eta_g, "alpha": Fraction(str(instance["power"]))},
        **{"slope": world.square(world.mean_gradient(x)), **before.known(world, world.zero)},
        **sizes(M, size, K, V),
        **expected(world, observed),
    }
    return WorstCase(world.problem, {**values, "gap": world.suboptimality(x)} if star else values)


def earlier_rounds(world: FunctionClass, x: Vector, K: int, V: Any, noise: bool = True) -> Lagged:
    """The state that earlier rounds may have left at x, and the points where each user's control variate was set; with
    ``noise`` it has an error of its own."""
    users = range(world.clients)
    lagged = tuple(tuple(Vector(PEPit.Point()) for _ in range(K)) for _ in users)
    own = tuple(average([world.gradient(i, p) for p in lagged[i]]) for i in users)
    if noise:
        old = tuple(Vector(PEPit.Point()) for _ in users)
        for e in old:
            world.problem.add_constraint(K * world.square(e) <= V)
        own = tuple(variate + e for variate, e in zip(own, old))
    return Lagged(RoundResult(x, (average(own), own)), lagged)


def sizes(M: int, size: int, K: int, V: Any) -> dict[str, Any]:
    """The symbols of V/(KlM), where steps of two of four records make one half of V, and the noise the other."""
    return {"M": M, "l": Fraction(size, M), "K": K, "R": 4, "s": Fraction(1, 2), "varsigma^2": V, "Sigma^2": 0.5 * V}


_SCAFFOLD: list[dict[str, Any]] = [
    dict(zip(("M", "size", "K"), sizes)) for sizes in ((1, 1, 1), (1, 1, 3), (2, 1, 1), (2, 1, 2), (2, 2, 2), (3, 1, 1))
]
_SCAFFOLD.append({"M": 3, "size": 2, "K": 1, "eta_g": 2})


def of_scaffold(
    kind: str,
    powers: tuple[str, ...] = ("2/3",),
    of: Callable[[Mapping[str, Any]], bool] = lambda at: True,
    **more: Any,
) -> tuple[Check, ...]:
    """A round's inequality for several numbers of users and local steps, at the largest step size, with errors.

    of: which numbers (M, size, K, perhaps eta_g)."""
    found = {}
    for at in filter(of, _SCAFFOLD):
        for power in powers if at["size"] < at["M"] else powers[:1]:
            name = f"one round, {kind}, M = {at['M']}, lM = {at['size']}, K = {at['K']}"
            name += f", step l^({power})" if len(powers) > 1 else ""
            name += f", eta~ nu = {Fraction(more['step']) / 24}" if "step" in more else ""
            found[name] = {"class": kind, **at, "step": "1", "power": power, "noise": at["K"] < 3, **more}
    return checks_of("worst-case", scaffold_round, found)


def price(kind: str, theta: Any, ratio: Any, split: Any) -> Any:
    """The cost of the drift E for a round, of its direction and its move: in units of eta~ nu E, or eta~ nu^2 E for
    ``non-convex``. ratio: mu/nu."""
    moved = theta * (1 + 1 / split)
    if kind == "non-convex":
        return (1 + moved) / 2
    return 1 + (ratio if kind == "strongly convex" else 0) + moved


def fedavg_round(statement: Statement, instance: Mapping[str, Any], claim: RoundConstants | None = None) -> Performance:
    """The requirement of the statement's bound on one round of DP-FedAvg (`round_constants`), for eta~ = step/(8 (1 +
    B^2) nu), nu = 1.

    Assumption 4 is required only at x; the errors of the local steps are +xi or -xi with xi^2 <= V.
    """
    kind = str(instance["class"])
    stated = claim or round_constants(statement, kind)
    M, size, K = (int(instance[name]) for name in ("M", "size", "K"))
    B, mu, step = floats(instance, B=1, mu=0, step=1)
    step, eta_g = step / (8 * (1 + B**2)), math.sqrt(size)
    (world, x, V), G2 = opened(kind, M, mu), PEPit.Expression()
    world.problem.add_constraint(G2 >= 0)
    slope, squares = world.square(world.mean_gradient(x)), [world.square(world.gradient(i, x)) for i in range(M)]
    world.problem.add_constraint(average(squares) <= G2 + B**2 * slope)
    right = step**2 * (float(stated.noise) * V / (K * size) + float(stated.users) * (1 - size / M) / size * G2)
    right = right + float(stated.drift) * step**3 / size * G2
    algorithm = TwoSidedFedAvg(eta_l=step / (K * eta_g), eta_g=eta_g, Q=K)
    before, after, progress = _kept(kind, world, x, lambda: run_round(algorithm, world, x, size=size, errors=True).x)
    left = after + float(stated.gain) * step * progress
    return Performance(world.problem, left, (1 - mu * step / 2) * before + right, f"one round of DP-FedAvg, {kind}")


def _kept(kind: str, world: FunctionClass, x: Vector, following: Callable[[], Vector]) -> tuple[Any, Any, Any]:
    """||x - x*||^2, its expectation after the round, where the last errors only add their variance, and F(x) - F*; for
    ``non-convex`` F(x) - F*, its expectation after the round, and ||grad F(x)||^2."""
    smooth = kind == "non-convex"
    if not smooth:
        world.minimiser_at_origin()
    kept = world.excess if smooth else world.square
    before, after = kept(x), expected(world, lambda: {"after": kept(following())})["after"]
    return before, after, world.square(world.mean_gradient(x)) if smooth else world.suboptimality(x)


def free_step(statement: Statement, instance: Mapping[str, Any], cost: float | None = None) -> Performance:
    """The cost of one local step from anywhere: x^t = x - eta~ grad f(y) for a free y, one user, B = 1, no errors.

    The round keeps the gain that the statement's bound needs for ``cost`` eta~ ||y - x||^2, by default the `price` of
    the drift in the proof.
    """
    kind, (mu, step) = str(instance["class"]), floats(instance, mu=0, step=1)
    step, claim = step / 16, round_constants(statement, kind)
    cost = float(price(kind, step, mu, float(claim.split))) if cost is None else cost
    (world, x, _), y = opened(kind, 1, mu, errs=False), Vector(PEPit.Point())
    before, after, progress = _kept(kind, world, x, lambda: x - step * world.gradient(0, y))
    right = (1 - mu * step / 2) * before + cost * step * world.square(y - x)
    left = after + float(claim.gain) * step * progress
    return Performance(world.problem, left, right, f"one step from a free point, {kind}")


_FEDAVG: list[dict[str, Any]] = [
    dict(zip(("M", "size", "K", "B"), sizes))
    for sizes in ((1, 1, 2, 1), (2, 1, 1, 1), (2, 1, 2, 1), (2, 2, 2, 1), (2, 1, 2, 3), (3, 1, 1, 2), (3, 2, 1, 1))
]
MORE: dict[str, dict[str, Any]] = {"convex": {}, "strongly convex": {"mu": "1/2"}, "non-convex": {}}
_FREE = (
    "It decides the largest cost of a step from a free point for a round. The drift up to that point, which the proof "
    "of the round has, and the sum over T rounds remain."
)


def of_fedavg(kind: str) -> Iterator[Check]:
    """Worst cases for several numbers of users and local steps, with the longest step and a tenth of it; for smooth
    functions, whose values enter at every end, there are fewer."""
    first, smooth = {"class": kind, **MORE[kind], "step": "1"}, kind == "non-convex"
    yield Check("worst-case", "one step from a free point", free_step, first, part=_FREE)
    flat, both = {"M": 2, "size": 1, "K": 1, "B": 1, "mu": "1/100"}, {"M": 2, "size": 2, "K": 1, "B": 1}
    for i in (*_FEDAVG, *([both] if smooth else [flat] if kind == "strongly convex" else [])):
        large = smooth and i["M"] * i["K"] > 2
        if large and (i["B"] > 2 or i["size"] > 1):
            continue
        for step in ("1", "1/10") if i["K"] == 2 and not large else ("1",):
            at = f"M = {i['M']}, lM = {i['size']}, K = {i['K']}, B = {i['B']}, step {step}"
            at += f", mu = {i['mu']}" if "mu" in i else ""
            yield Check("worst-case", f"one round, {at}", fedavg_round, {**first, **i, "step": step}, part=ROUND_PART)
