"""Worst cases of one user's stochastic gradients: the errors of K local steps, and the records of one step."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from dpfl_theory.statements.claims import Performance

__all__ = ["error_of_a_sample", "errors_of_steps"]

_CLASSES = {"convex": "SmoothConvexFunction", "non-convex": "SmoothFunction"}


def errors_of_steps(instance: Mapping[str, Any], repeated: bool = False) -> Performance:
    """First display for one user: E||c_i^t - (1/K) sum_k grad F_i(y_i^{k-1})||^2 <= V/K over all functions of a class.

    c_i^t is computed by Algorithm 1's line, c_i - c + (x - y^K)/(K eta_l). An error is +e or -e with e^2 <= V,
    and e may depend on all errors before it; ``repeated`` is a fault: every step errs as the first one did.
    """
    import PEPit.functions
    from PEPit import PEP, Expression, Point

    K, eta = int(instance["K"]), float(Fraction(str(instance["eta_l nu"])))
    problem, V = PEP(), Expression()
    problem.add_constraint(V >= 0)
    f = problem.declare_function(getattr(PEPit.functions, _CLASSES[instance["class"]]), L=1.0)
    x, correction = problem.set_initial_point(), Point()
    errors: dict[tuple[int, ...], Any] = {}
    gradients: dict[tuple[int, ...], Any] = {}
    left = 0.0 * V
    for signs in product((1, -1), repeat=K):
        y, true = x, 0.0 * x
        for k in range(K):
            past = signs[:k]
            if past not in gradients:
                gradients[past] = f.gradient(y)
            node = () if repeated else past
            if node not in errors:
                errors[node] = Point()
                problem.add_constraint(errors[node] ** 2 <= V)
            true = true + gradients[past]
            y = y - eta * (gradients[past] + signs[0 if repeated else k] * errors[node] + correction)
        variate = (x - y) / (K * eta) - correction
        left = left + (variate - true / K) ** 2 / 2**K
    return Performance(problem, left, V / K, f"the errors of {K} steps of a user against V/K")


def error_of_a_sample(instance: Mapping[str, Any], factor: float = 1.0, sharp: bool = False) -> Performance:
    """Lemma C.1, part 2: the mean of sR of R records' gradients, plus noise in the directions +xi and -xi with xi^2 <=
    Sigma_g^2/2, against factor varsigma^2/(sR) + Sigma_g^2, for R smooth records.

    The gradients' mean is that of F_i at the same point, and varsigma^2 is at least the records' variance there.
    ``sharp``: (1 - s)/(1 - 1/R) of the first term and half of the second.
    """
    import PEPit.functions
    from PEPit import PEP, Expression, Point

    R, drawn = int(instance["R"]), int(instance["sR"])
    problem, spread, noise = PEP(), Expression(), Expression()
    kind = getattr(PEPit.functions, _CLASSES[instance["class"]])
    records = [problem.declare_function(kind, L=1.0) for _ in range(R)]
    y, xi = problem.set_initial_point(), Point()
    problem.add_constraint(2 * xi**2 <= noise)
    found = [f.gradient(y) for f in records]
    mean = sum(found[1:], found[0]) / R
    squares = [(g - mean) ** 2 for g in found]
    problem.add_constraint(sum(squares[1:], squares[0]) / R <= spread)
    samples = list(combinations(found, drawn))
    left = 0.0 * noise
    for chosen in samples:
        error = sum(chosen[1:], chosen[0]) / drawn - mean
        for sign in (1, -1):
            left = left + (error + sign * xi) ** 2 / (2 * len(samples))
    sampling, rest = ((R - drawn) / (R - 1), 0.5) if sharp else (1.0, 1.0)
    right = factor * sampling * spread / drawn + rest * noise
    return Performance(problem, left, right, f"the error of {drawn} of {R} records")
