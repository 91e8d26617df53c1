"""The worst case of one round of DP-FedAvg: the step behind Theorem V of Karimireddy et al. (2020b)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations
from typing import Any

from dpfl_theory.statements.claims import Performance
from dpfl_theory.statements.model import Check
from dpfl_theory.statements.noble2022._round_performance import local_paths, mean

__all__ = ["checks", "performance"]


def performance(instance: Mapping[str, Any], drift: float = 18.0, sampling: float = 4.0) -> Performance:
    """E||x^t - x*||^2 + eta~ (F(x) - F*) <= ||x - x*||^2 + eta~^2 V (1 + lM/eta_g^2)/(KlM) + 4 eta~^2 (1 - l)
    G^2/(lM) + 18 nu eta~^3 G^2, for eta~ = step/(8 (1 + B^2) nu), nu = 1.

    Assumption 4 is asked for at x alone; the errors of the local steps are +xi or -xi with xi^2 <= V.
    """
    from PEPit import PEP, Expression, Point
    from PEPit.functions import SmoothConvexFunction

    M, size, K = (int(instance[name]) for name in ("M", "size", "K"))
    eta_g, B = float(instance.get("eta_g", 1)), float(instance["B"])
    step = float(Fraction(str(instance["step"]))) / (8 * (1 + B**2))
    eta, factor, share = step / (K * eta_g), eta_g / size, size / M
    problem = PEP()
    functions = [problem.declare_function(SmoothConvexFunction, L=1.0) for _ in range(M)]
    star = Point(is_leaf=False, decomposition_dict={})
    rest = star
    for f in functions[:-1]:
        rest = rest - f.gradient(star)
    functions[-1].add_point((star, rest, Expression()))
    x, V, G2 = problem.set_initial_point(), Expression(), Expression()
    gradients = [f.gradient(x) for f in functions]
    problem.add_constraint(V >= 0)
    problem.add_constraint(G2 >= 0)
    problem.add_constraint(mean([g**2 for g in gradients]) <= G2 + B**2 * mean(gradients) ** 2)
    errors = [[Point() for _ in range(K - 1)] for _ in range(M)]
    for e in (e for user in errors for e in user):
        problem.add_constraint(e**2 <= V)
    paths = [local_paths(f, x, eta, K, star, e) for f, e in zip(functions, errors)]
    distances = []
    for cohort in combinations(range(M), size):
        sent = [[path[K] - x for path in paths[i]] for i in cohort]
        means = [mean(leaves) for leaves in sent]
        spread = [mean([v**2 for v in leaves]) - m**2 + eta**2 * V for leaves, m in zip(sent, means)]
        total = sum(means[1:], means[0])
        distances.append((x + factor * total) ** 2 + factor**2 * sum(spread[1:], spread[0]))
    gap = mean([f(x) - f(star) for f in functions])
    noise = step**2 / (K * size) * (1 + size / eta_g**2) * V
    right = x**2 + noise + (sampling * step**2 / size * (1 - share) + drift * step**3) * G2
    return Performance(problem, mean(distances) + step * gap, right, "progress of one round of DP-FedAvg")


_SIZES: tuple[dict[str, Any], ...] = (
    {"M": 1, "size": 1, "K": 2, "B": 1},
    {"M": 2, "size": 1, "K": 1, "B": 1},
    {"M": 2, "size": 1, "K": 2, "B": 1},
    {"M": 2, "size": 2, "K": 2, "B": 1},
    {"M": 2, "size": 1, "K": 2, "B": 3},
    {"M": 3, "size": 1, "K": 1, "B": 2},
    {"M": 3, "size": 2, "K": 1, "B": 1, "eta_g": 1.5},
)


def checks() -> tuple[Check, ...]:
    """The round for several numbers of users and local steps, at the longest step and at a tenth of it."""
    return tuple(
        Check(
            "worst-case",
            f"one round, M = {i['M']}, lM = {i['size']}, K = {i['K']}, B = {i['B']}, step {step}",
            performance,
            {**i, "step": step},
        )
        for i in _SIZES
        for step in (("1", "1/10") if i["K"] == 2 else ("1",))
    )
