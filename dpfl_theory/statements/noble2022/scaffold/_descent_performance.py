"""Worst case of one round of DP-SCAFFOLD for smooth functions: the descent behind Lemma C.9 repaired.

Every error of a local step is +xi or -xi with xi^2 <= V, the last step's too, since F at the new model is not of degree
two in it; the expectation over the cohorts is a finite sum. Old errors of the control variates are as in
`_round_performance`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.statements.claims import Performance
from dpfl_theory.statements.model import Check, Statement
from dpfl_theory.statements.model import checks as each
from dpfl_theory.statements.noble2022.scaffold._smooth_descent import PART, Kept, kept
from dpfl_theory.worlds.base import Vector, average, expected
from dpfl_theory.worlds.performance import FunctionClass
from dpfl_theory.worlds.rounds.scaffold import Scaffold, scaffold

__all__ = ["checks", "performance"]


def performance(statement: Statement, instance: Mapping[str, Any], claim: Kept | None = None) -> Performance:
    """E F(x^t) - F* + w F_t + gain eta~ ||grad F(x)||^2 <= F(x) - F* + w F_{t-1} + nu eta~^2 V/(KlM) (alone + shared
    lM/eta_g^2), w = 12 nu^3 eta~^2/l, nu = 1, eta~ = l^(2/3)/24, with what the statement's bound needs (`kept`)."""
    from PEPit import PEP, Expression, Point
    from PEPit.functions import SmoothFunction

    gain, alone, shared = (float(v) for v in claim or kept(statement))
    M, size, K = (int(instance[name]) for name in ("M", "size", "K"))
    share, eta_g = size / M, float(instance.get("eta_g", 1))
    step = share ** (2 / 3) / 24
    eta = step / (K * eta_g)
    problem = PEP()
    functions = [problem.declare_function(SmoothFunction, L=1.0) for _ in range(M)]
    x, V, least = Vector(problem.set_initial_point()), Expression(), Expression()
    problem.add_constraint(V >= 0)
    world = FunctionClass(problem, functions, V)
    lagged = tuple(tuple(Vector(Point()) for _ in range(K)) for _ in range(M))
    old = tuple(Vector(Point()) for _ in range(M))
    for e in old:
        problem.add_constraint(K * world.square(e) <= V)
    own = tuple(average([world.gradient(i, p) for p in lagged[i]]) + old[i] for i in range(M))
    slope = world.square(average([world.gradient(i, x) for i in range(M)]))

    def excess(point: Vector) -> Any:
        value = average([world.value(i, point) for i in range(M)]) - least
        problem.add_constraint(value >= 0)
        return value

    def observed() -> Mapping[str, Any]:
        after = scaffold(world, Scaffold(x, average(own), own), eta, eta_g, K, size)
        points = [after.paths[i][:K] if i in after.cohort else lagged[i] for i in range(M)]
        value = excess(after.x)
        return {
            "value": value,
            "lag": average([world.square(p - after.x) for own in points for p in own]),
        }

    start, found = excess(x), expected(world, observed)
    weight = 12 * step**2 / share
    before = average([world.square(p - x) for points in lagged for p in points])
    left = found["value"] + weight * found["lag"] + gain * step * slope
    right = start + weight * before + step**2 * (alone + shared * size / eta_g**2) / (K * size) * V
    return Performance(problem, left, right, "descent over one round, the gain on the left")


_SIZES: tuple[dict[str, Any], ...] = (
    {"M": 1, "size": 1, "K": 2},
    {"M": 2, "size": 1, "K": 1},
    {"M": 2, "size": 2, "K": 1, "eta_g": 1.4},
)


def checks() -> tuple[Check, ...]:
    """The descent for several numbers of users and local steps, at the longest step."""
    chosen = {f"descent, M = {i['M']}, lM = {i['size']}, K = {i['K']}": i for i in _SIZES}
    return each("worst-case", performance, chosen, part=PART)
