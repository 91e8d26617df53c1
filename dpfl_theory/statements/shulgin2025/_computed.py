"""What the numbers in the words of shulgin2025 are computed with (`dpfl_theory.statements.numbers`)."""

from __future__ import annotations

import math

from dpfl_theory.core.formula import evaluate_side
from dpfl_theory.statements.prescribed_noise import one_release
from dpfl_theory.statements.shulgin2025.eq12 import EQ12

LOG = math.log(1e5)


def delta_of_rounds(epsilon: float, squared: float) -> float:
    """The exact delta at epsilon of Gaussian releases whose noise multiplier, taken together, has this square."""
    return float(one_release(epsilon, squared)[1])


def stopping_run() -> float:
    """min_k ||grad f(x^k)|| of alpha-NormEC without noise on f = (x_1^2 + 0.3 x_2^2)/2 from (1, 1): L = 1, K = 1000, M
    = sqrt(2 (f(x^0) - f_inf)), R = M/(20 sqrt(K + 1)), alpha = R/10, beta = 0.999 (alpha + R), gamma = M/sqrt(K + 1),
    v^0 shorter than grad f(x^0) by R."""
    import numpy as np

    curvature, x, K = np.array([1.0, 0.3]), np.ones(2), 1000
    M = math.sqrt(float(curvature.sum()))
    R, gamma = M / 20 / math.sqrt(K + 1), M / math.sqrt(K + 1)
    alpha, gradient = R / 10, curvature * x
    beta = 0.999 * (alpha + R)
    memory, least = gradient * (1 - R / float(np.linalg.norm(gradient))), math.inf
    for _ in range(K + 1):
        gradient = curvature * x
        least = min(least, float(np.linalg.norm(gradient)))
        missing = gradient - memory
        memory = memory + beta * missing / (alpha + float(np.linalg.norm(missing)))
        x = x - gamma * memory / float(np.linalg.norm(memory))
    return least


def restored_bound() -> float:
    """(12) as restored for that run: D = M/20."""
    return float(evaluate_side(EQ12, "rhs", {"K": 1000, "L": 1.0, "gap": 0.65, "D": math.sqrt(1.3) / 20}))
