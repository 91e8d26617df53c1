"""The worst case of one round of DP-FedAvg with eta_g = sqrt(lM), for the three classes of `_fedavg_proof`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.statements.claims import Performance
from dpfl_theory.statements.model import Check, Statement
from dpfl_theory.statements.noble2022.fedavg._proof import cost
from dpfl_theory.statements.noble2022.fedavg._steps import RoundConstants
from dpfl_theory.statements.noble2022.fedavg._sums import kept
from dpfl_theory.statements.noble2022.scaffold._round_performance import declared, mean
from dpfl_theory.worlds.base import Vector, average, expected
from dpfl_theory.worlds.performance import FunctionClass
from dpfl_theory.worlds.rounds.fedavg import fedavg

__all__ = ["checks", "drift", "performance"]


_PART = (
    "Decided is what one round must keep so that T rounds add up to the bound; what remains, that they do, is decided "
    "by the algebra of the step size."
)
_STEP = (
    "Decided is what a step from a free point costs a round at most; what remains is the drift up to that point, which "
    "the proof of the round has, and the sum over T rounds."
)


def performance(statement: Statement, instance: Mapping[str, Any], claim: RoundConstants | None = None) -> Performance:
    """What the statement's bound asks of one round (`kept`), for eta~ = step/(8 (1 + B^2) nu), nu = 1.

    Assumption 4 is asked for at x alone; the errors of the local steps are +xi or -xi with xi^2 <= V.
    """
    from PEPit import PEP, Expression

    kind = str(instance["class"])
    stated = claim or kept(statement, kind)
    M, size, K = (int(instance[name]) for name in ("M", "size", "K"))
    B, mu = float(instance["B"]), float(Fraction(str(instance.get("mu", 0))))
    step = float(Fraction(str(instance["step"]))) / (8 * (1 + B**2))
    eta_g = math.sqrt(size)
    problem = PEP()
    functions = declared(problem, kind, M, mu)
    x, V, G2 = Vector(problem.set_initial_point()), Expression(), Expression()
    problem.add_constraint(V >= 0)
    problem.add_constraint(G2 >= 0)
    world = FunctionClass(problem, functions, V)
    gradients = [world.gradient(i, x) for i in range(M)]
    slope = world.square(average(gradients))
    problem.add_constraint(mean([world.square(g) for g in gradients]) <= G2 + B**2 * slope)
    share = size / M
    right = step**2 * (float(stated.noise) * V / (K * size) + float(stated.users) * (1 - share) / size * G2)
    right = right + float(stated.drift) * step**3 / size * G2
    sides = _descent if kind == "non-convex" else _distance

    def following() -> Vector:
        return fedavg(world, x, step / (K * eta_g), eta_g, K, size, errors=True).x

    before, after, progress = sides(world, x, following)
    left = after + float(stated.gain) * step * progress
    return Performance(problem, left, (1 - mu * step / 2) * before + right, f"one round of DP-FedAvg, {kind}")


def _distance(world: FunctionClass, x: Vector, following: Callable[[], Vector]) -> tuple[Any, Any, Any]:
    """||x - x*||^2, its expectation after the round, and F(x) - F*. The last errors only add their variance."""
    from PEPit import Expression

    star, users = world.zero, range(world.clients)
    rest = star
    for i in users[:-1]:
        rest = rest - world.gradient(i, star)
    world.functions[-1].add_point((star.known, rest.known, Expression()))
    after = expected(world, lambda: {"distance": world.square(following())})["distance"]
    return world.square(x), after, mean([world.value(i, x) - world.value(i, star) for i in users])


def _descent(world: FunctionClass, x: Vector, following: Callable[[], Vector]) -> tuple[Any, Any, Any]:
    """F(x) - F*, its expectation after the round, and ||grad F(x)||^2."""
    from PEPit import Expression

    least, users = Expression(), range(world.clients)

    def excess(point: Vector) -> Any:
        value = mean([world.value(i, point) for i in users]) - least
        world.problem.add_constraint(value >= 0)
        return value

    before = excess(x)
    after = expected(world, lambda: {"excess": excess(following())})["excess"]
    return before, after, world.square(average([world.gradient(i, x) for i in users]))


def drift(statement: Statement, instance: Mapping[str, Any], price: float | None = None) -> Performance:
    """What one local step from anywhere costs: x^t = x - eta~ grad f(y) for a free y, one user, B = 1, no errors.

    The round keeps the gain that the statement's bound needs for ``price`` eta~ ||y - x||^2, by default what the proof
    makes of the drift.
    """
    from PEPit import PEP, Expression, Point

    kind, mu = str(instance["class"]), float(Fraction(str(instance.get("mu", 0))))
    step, claim = float(Fraction(str(instance["step"]))) / 16, kept(statement, kind)
    if price is None:
        price = float(cost(kind, step, mu, float(claim.split)))
    problem = PEP()
    (f,) = declared(problem, kind, 1, mu)
    x, y = problem.set_initial_point(), Point()
    new = x - step * f.gradient(y)
    if kind == "non-convex":
        least = Expression()
        before, after, progress = f(x) - least, f(new) - least, f.gradient(x) ** 2
        problem.add_constraint(before >= 0)
    else:
        star = Point(is_leaf=False, decomposition_dict={})
        f.add_point((star, star, Expression()))
        before, after, progress = x**2, new**2, f(x) - f(star)
    right = (1 - mu * step / 2) * before + price * step * (y - x) ** 2
    left = after + float(claim.gain) * step * progress
    return Performance(problem, left, right, f"one step from a free point, {kind}")


_SIZES: tuple[dict[str, Any], ...] = (
    {"M": 1, "size": 1, "K": 2, "B": 1},
    {"M": 2, "size": 1, "K": 1, "B": 1},
    {"M": 2, "size": 1, "K": 2, "B": 1},
    {"M": 2, "size": 2, "K": 2, "B": 1},
    {"M": 2, "size": 1, "K": 2, "B": 3},
    {"M": 3, "size": 1, "K": 1, "B": 2},
    {"M": 3, "size": 2, "K": 1, "B": 1},
)
_MORE: dict[str, dict[str, Any]] = {"convex": {}, "strongly convex": {"mu": "1/2"}, "non-convex": {}}
_FLAT = {"M": 2, "size": 1, "K": 1, "B": 1, "mu": "1/100"}


def checks(kind: str) -> tuple[Check, ...]:
    """The round for several numbers of users and local steps, at the longest step and at a tenth of it; for smooth
    functions, whose values enter at every end, fewer of them."""
    first = {"class": kind, **_MORE[kind], "step": "1"}
    found = [Check("worst-case", "one step from a free point", drift, first, part=_STEP)]
    smooth = [{"M": 2, "size": 2, "K": 1, "B": 1}] if kind == "non-convex" else []
    flat = [_FLAT] if kind == "strongly convex" else []
    for i in (*_SIZES, *smooth, *flat):
        large = kind == "non-convex" and i["M"] * i["K"] > 2
        if large and (i["B"] > 2 or i["size"] > 1):
            continue
        for step in ("1", "1/10") if i["K"] == 2 and not large else ("1",):
            at = f"M = {i['M']}, lM = {i['size']}, K = {i['K']}, B = {i['B']}, step {step}"
            at += f", mu = {i['mu']}" if "mu" in i else ""
            instance = {"class": kind, **_MORE[kind], **i, "step": step}
            found.append(Check("worst-case", f"one round, {at}", performance, instance, part=_PART))
    return tuple(found)
