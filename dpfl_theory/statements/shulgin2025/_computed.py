"""What the numbers in the words of shulgin2025 are computed with (`dpfl_theory.statements.numbers`)."""

from __future__ import annotations

import math

from dpfl_theory.core.formula import evaluate_side
from dpfl_theory.statements.instances import problem
from dpfl_theory.statements.prescribed_noise import one_release
from dpfl_theory.statements.shulgin2025._runs import accurate, least
from dpfl_theory.statements.shulgin2025.eq12 import EQ12

LOG = math.log(1e5)


def delta_of_rounds(epsilon: float, squared: float) -> float:
    """The exact delta at epsilon of Gaussian releases whose noise multiplier, taken together, has this square."""
    return float(one_release(epsilon, squared)[1])


def stopping_run() -> float:
    """min_k ||grad f(x^k)|| of alpha-NormEC without noise on f = (x_1^2 + 0.3 x_2^2)/2 from (1, 1): L = 1, K = 1000, M
    = sqrt(2 (f(x^0) - f_inf)), R = M/(20 sqrt(K + 1)), alpha = R/10, beta = 0.999 (alpha + R), gamma = M/sqrt(K + 1),
    v^0 shorter than grad f(x^0) by R."""
    own = {"problem": problem("diagonal", curvatures=[1.0, 0.3]), "point": [1.0, 1.0], "distance": math.sqrt(2)}
    run = accurate(EQ12, {**own, "K": 1000, "D": 0.05, "alpha": 0.1, "beta": 0.999, "step": 0})
    return float(least(run)[0])


def restored_bound() -> float:
    """(12) as restored for that run: D = M/20."""
    return float(evaluate_side(EQ12, "rhs", {"K": 1000, "L": 1.0, "gap": 0.65, "D": math.sqrt(1.3) / 20}))
