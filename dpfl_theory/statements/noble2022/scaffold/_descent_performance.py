"""Worst case of one round of DP-SCAFFOLD for smooth functions: the descent behind Lemma C.9 repaired.

Every error of a local step is +xi or -xi with xi^2 <= V, the last step's too, since F at the new model is not of degree
two in it; the expectation over the cohorts is a finite sum. Old errors of the control variates are as in
`_round_performance`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, product
from typing import Any

from dpfl_theory.statements.claims import Performance
from dpfl_theory.statements.model import Check, Statement
from dpfl_theory.statements.model import checks as each
from dpfl_theory.statements.noble2022.scaffold._round_performance import mean
from dpfl_theory.statements.noble2022.scaffold._smooth_descent import PART, Kept, kept

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
    x, V, least = problem.set_initial_point(), Expression(), Expression()
    problem.add_constraint(V >= 0)
    lagged = [[Point() for _ in range(K)] for _ in range(M)]
    own = [mean([f.gradient(p) for p in points]) for f, points in zip(functions, lagged)]
    errors = [[Point() for _ in range(K)] for _ in range(M)]
    for i in range(M):
        old = Point()
        problem.add_constraint(K * old**2 <= V)
        own[i] = own[i] + old
        for e in errors[i]:
            problem.add_constraint(e**2 <= V)
    c = mean(own)
    slope = mean([f.gradient(x) for f in functions]) ** 2
    start = mean([f(x) for f in functions]) - least
    problem.add_constraint(start >= 0)
    paths = [_paths(f, x, eta, own[i] - c, errors[i]) for i, f in enumerate(functions)]
    after, lags = [], []
    for cohort in combinations(range(M), size):
        for chosen in product(*(paths[i] for i in cohort)):
            new = x + eta_g * mean([path[K] - x for path in chosen])
            value = mean([f(new) for f in functions]) - least
            problem.add_constraint(value >= 0)
            after.append(value)
            points = [chosen[cohort.index(i)][:K] if i in cohort else lagged[i] for i in range(M)]
            lags.append(mean([(p - new) ** 2 for own_points in points for p in own_points]))
    weight = 12 * step**2 / share
    before = mean([(p - x) ** 2 for points in lagged for p in points])
    left = mean(after) + weight * mean(lags) + gain * step * slope
    right = start + weight * before + step**2 * (alone + shared * size / eta_g**2) / (K * size) * V
    return Performance(problem, left, right, "descent over one round, the gain on the left")


def _paths(f: Any, x: Any, eta: float, correction: Any, errors: list[Any]) -> list[list[Any]]:
    """y^0, ..., y^K for every choice of the errors' signs."""
    known: dict[tuple[int, ...], Any] = {}
    found = []
    for signs in product((1, -1), repeat=len(errors)):
        path = [x]
        for k, sign in enumerate(signs):
            if signs[:k] not in known:
                known[signs[:k]] = f.gradient(path[k])
            path.append(path[k] - eta * (known[signs[:k]] + sign * errors[k] - correction))
        found.append(path)
    return found


_SIZES: tuple[dict[str, Any], ...] = (
    {"M": 1, "size": 1, "K": 2},
    {"M": 2, "size": 1, "K": 1},
    {"M": 2, "size": 2, "K": 1, "eta_g": 1.4},
)


def checks() -> tuple[Check, ...]:
    """The descent for several numbers of users and local steps, at the longest step."""
    chosen = {f"descent, M = {i['M']}, lM = {i['size']}, K = {i['K']}": i for i in _SIZES}
    return each("worst-case", performance, chosen, part=PART)
