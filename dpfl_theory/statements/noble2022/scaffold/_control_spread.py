"""Corollary C.1 on quadratics as fractions, for every cohort, and one user's control variate in the worst case."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations
from typing import Any

from dpfl_theory.statements.claims import Values, WorstCase
from dpfl_theory.statements.model import Statement
from dpfl_theory.statements.noble2022.scaffold._round_instances import noise
from dpfl_theory.statements.noble2022.scaffold._round_performance import sizes
from dpfl_theory.worlds.base import Vector, expected
from dpfl_theory.worlds.performance import FunctionClass
from dpfl_theory.worlds.rounds.scaffold import Scaffold, scaffold

__all__ = ["cases", "performance", "user"]


def user(curvature: Fraction, eta: Fraction, steps: int) -> tuple[Fraction, Fraction]:
    """For F_i'(x) = a x - b: K^2 Var c_i^t, and K^2 E(c_i^t - (1/K) sum grad F_i(y^{k-1}))^2, both over V.

    All are linear in the independent errors: c_i^t = c_i - c + (x - y^K)/(K eta), its constant part left out.
    """
    y, true = [Fraction(0)] * steps, [Fraction(0)] * steps
    for k in range(steps):
        slope = [curvature * v for v in y]
        true = [p + q for p, q in zip(true, slope)]
        slope[k] += 1
        y = [p - eta * q for p, q in zip(y, slope)]
    total = [-v / eta for v in y]
    errors = [p - q for p, q in zip(total, true)]
    return sum((v * v for v in total), Fraction(0)), sum((v * v for v in errors), Fraction(0))


def _runs(instance: Mapping[str, Any]) -> list[tuple[dict[str, Any], list[Fraction], int, int, Fraction]]:
    found = []
    for curvatures in instance["curvatures"]:
        for K in instance["K"]:
            for step in instance["eta_l nu"]:
                a = [Fraction(str(v)) for v in curvatures]
                eta = Fraction(str(step)) / max(abs(v) for v in a)
                for size in range(1, len(a) + 1):
                    values = {"curvatures": tuple(a), "K": K, "eta_l nu": step, "lM": size}
                    found.append((values, a, K, size, eta))
    return found


def cases(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """One of the three displays on quadratics with V = 1, for every cohort: part ``first``, ``second`` or ``third``.

    In the third the cohort is given, as the corollary's first sentence has it, and old control variates are fixed.
    """
    out = []
    for values, a, K, size, eta in _runs(instance):
        M, part = len(a), instance["part"]
        spreads = [user(v, eta, K)[1 if part == "first" else 0] for v in a]
        divisor = (K * (M if part == "third" else size)) ** 2
        letters = {"K": K, "M": M, "l": Fraction(size, M), "eta_l": eta, "nu": max(abs(v) for v in a)}
        letters |= noise(Fraction(1))
        for cohort in combinations(range(M), size):
            left = sum((spreads[i] for i in cohort), Fraction(0)) / divisor
            out.append(Values({**letters, "spread": left}, {**values, "cohort": cohort}))
    return out


def performance(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """Var c_i^t for one user over all functions of a class, from any point and any control variate; errors are +-xi."""
    from PEPit import PEP, Expression, Point
    from PEPit.functions import SmoothConvexFunction, SmoothFunction

    K, eta = int(instance["K"]), float(Fraction(str(instance["eta_l nu"])))
    problem, V = PEP(), Expression()
    kind = {"convex": SmoothConvexFunction, "non-convex": SmoothFunction}[instance["class"]]
    problem.add_constraint(V >= 0)
    world = FunctionClass(problem, [problem.declare_function(kind, L=1.0)], V)
    before = Scaffold(Vector(problem.set_initial_point()), world.zero, (Vector(Point()),))

    def observed() -> Mapping[str, Any]:
        (variate,) = scaffold(world, before, eta, 1.0, K, 1).c_i
        return {"mean": world.settled(variate).known, "square": world.square(variate)}

    found = expected(world, observed)
    spread = found["square"] - found["mean"] ** 2
    values = {**sizes(1, 1, K, V), "nu": 1, "eta_l": eta, "spread": spread}
    return WorstCase(problem, values, f"variance of a control variate of {K} steps against V/K")
