"""Corollary 1 and Theorem 1 of hou2023, from the catalogue, for one problem."""

from __future__ import annotations

import math

import numpy as np

from dpfl_theory import statements
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import evaluate_side, prescription_of

from ._setting import DELTA, Setting, V


class Theory:
    """Corollary 1 and Theorem 1 from the catalogue, for one problem."""

    def __init__(self, setting: Setting) -> None:
        problem, c = setting.problem, setting.problem.constants
        self.values = {
            "L": c.L_max,
            "mu": c.mu_min,
            "eta": setting.step,
            "N": problem.n,
            "d": problem.d,
            "C": setting.distance,
            "v": V,
            "delta": DELTA,
            "D": math.sqrt(problem.n) * setting.distance,
            "H": float(np.linalg.norm(problem.gradients_at_star)),
        }
        self.corollary = statements.get("hou2023.corollary1")
        self.theorem = statements.get("hou2023.theorem1")
        self.prescription = prescription_of(self.corollary)

    def prescribed(self, symbol: str, epsilon: float) -> float:
        """eta*, p* or T* (a real number)."""
        return float(evaluate(self.prescription[symbol], {**self.values, "epsilon": epsilon}, self.corollary.id))

    def psi_0(self, p: float) -> float:
        """psi at the start [X^2]."""
        return self.values["D"] ** 2 + (self.values["eta"] / p * self.values["H"]) ** 2

    def bound(self, p: float, T: float, epsilon: float) -> float:
        """Theorem 1's right side [X^2]."""
        values = {**self.values, "epsilon": epsilon, "p": p, "T": T, "psi_0": self.psi_0(p)}
        return float(evaluate_side(self.theorem, "rhs", values))

    def worthwhile(self) -> float:
        """The smallest epsilon with T* >= 1: T* is a constant plus 2 ln(epsilon)/rate."""
        rate = -math.log(1.0 - self.values["mu"] / self.values["L"])
        return math.exp((1.0 - self.prescribed("T", 1.0)) * rate / 2.0)
