"""Worst cases of one user's stochastic gradients: the errors of K local steps, and the records of one step.

What a user's gradients are does not enter: in the first display they cancel, and a sample is taken at one point, where
smooth functions may have any gradients. So gradients are arbitrary vectors here.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from dpfl_theory.statements.claims import Performance, WorstCase
from dpfl_theory.statements.model import Statement
from dpfl_theory.statements.noble2022.scaffold._round_performance import sizes

__all__ = ["error_of_a_sample", "errors_of_steps", "gradient_step"]


def errors_of_steps(_: Statement, instance: Mapping[str, Any], repeated: bool = False) -> WorstCase:
    """First display for one user: E||c_i^t - (1/K) sum_k g_k||^2 for all vectors g_k in place of the gradients.

    c_i^t is computed by Algorithm 1's line, c_i - c + (x - y^K)/(K eta_l). An error is +e or -e with e^2 <= V,
    and e and g_k may depend on all errors before; ``repeated`` is a fault: every step errs as the first one did.
    """
    from PEPit import PEP, Expression, Point

    K, eta = int(instance["K"]), float(Fraction(str(instance["eta_l nu"])))
    problem, V = PEP(), Expression()
    problem.add_constraint(V >= 0)
    x, correction = problem.set_initial_point(), Point()
    errors: dict[tuple[int, ...], Any] = {}
    gradients: dict[tuple[int, ...], Any] = {}
    left = 0.0 * V
    for signs in product((1, -1), repeat=K):
        y, true = x, 0.0 * x
        for k in range(K):
            past = signs[:k]
            if past not in gradients:
                gradients[past] = Point()
            node = () if repeated else past
            if node not in errors:
                errors[node] = Point()
                problem.add_constraint(errors[node] ** 2 <= V)
            true = true + gradients[past]
            y = y - eta * (gradients[past] + signs[0 if repeated else k] * errors[node] + correction)
        variate = (x - y) / (K * eta) - correction
        left = left + (variate - true / K) ** 2 / 2**K
    values = {**sizes(1, 1, K, V), "nu": 1, "eta_l": eta, "spread": left}
    return WorstCase(problem, values, f"the errors of {K} steps of a user against V/K")


def gradient_step(_: Statement, instance: Mapping[str, Any]) -> Performance:
    """||T(x) - T(y)||^2 <= ||x - y||^2 for T = id - eta_l grad F_i over all convex smooth functions."""
    from PEPit import PEP
    from PEPit.functions import SmoothConvexFunction

    eta, problem = float(Fraction(str(instance["eta_l nu"]))), PEP()
    f = problem.declare_function(SmoothConvexFunction, L=1.0)
    x, y = problem.set_initial_point(), problem.set_initial_point()
    left = (x - y - eta * (f.gradient(x) - f.gradient(y))) ** 2
    return Performance(problem, left, (x - y) ** 2, "how far a gradient step leaves two points apart")


def error_of_a_sample(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """Lemma C.1, part 2: the mean of sR of R vectors (the records' gradients at one point), plus noise in the
    directions +xi and -xi with xi^2 <= Sigma_g^2/2; varsigma^2 is at least the vectors' variance."""
    from PEPit import PEP, Expression, Point

    R, drawn = int(instance["R"]), int(instance["sR"])
    problem, spread, noise = PEP(), Expression(), Expression()
    xi = Point()
    problem.add_constraint(2 * xi**2 <= noise)
    found = [Point() for _ in range(R)]
    mean = sum(found[1:], found[0]) / R
    squares = [(g - mean) ** 2 for g in found]
    problem.add_constraint(sum(squares[1:], squares[0]) / R <= spread)
    samples = list(combinations(found, drawn))
    left = 0.0 * noise
    for chosen in samples:
        error = sum(chosen[1:], chosen[0]) / drawn - mean
        for sign in (1, -1):
            left = left + (error + sign * xi) ** 2 / (2 * len(samples))
    letters = {"R": R, "s": Fraction(drawn, R), "varsigma^2": spread, "Sigma^2": noise, "error": left}
    return WorstCase(problem, letters, f"the error of {drawn} of {R} records")
