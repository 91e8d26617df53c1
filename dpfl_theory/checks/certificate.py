"""Certificates of worst-case bounds in rational arithmetic.

A performance estimation problem maximises <A_0, G> + a_0.F over Gram matrices G >= 0 and function values F, subject to
<A_i, G> + a_i.F + c_i <= 0. Multipliers l_i >= 0 with

    sum_i l_i a_i = a_0    and    S = sum_i l_i A_i - A_0 positive semidefinite

prove that the maximum is at most -sum_i l_i c_i. A solver finds them up to rounding; here they are made exact, and the
three conditions are decided with fractions, so that a proof does not depend on any tolerance. In the same way a
counterexample is a rational G = V V^T and F for which every constraint is checked exactly.

Coefficients are the binary fractions that floating point holds: with dyadic step sizes, such as 1/4, they are exactly
the intended ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Form", "is_positive_semidefinite", "prove", "satisfies", "solve_exactly", "solved"]

Matrix = list[list[Fraction]]
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Form:
    """<A, G> + a.F + c: matrix A (k, k) symmetric, vector a (m,), constant c; ``equality`` when it must be 0."""

    matrix: Array
    vector: Array
    constant: float
    equality: bool = False

    def at(self, gram: Array, values: Array) -> float:
        """Its value in floating point."""
        return float(np.sum(self.matrix * gram) + self.vector @ values + self.constant)

    def exactly_at(self, gram: Matrix, values: Sequence[Fraction]) -> Fraction:
        """Its value in rational arithmetic."""
        total = Fraction(self.constant)
        for i, j in zip(*np.nonzero(self.matrix)):
            total += Fraction(float(self.matrix[i, j])) * gram[i][j]
        for i in np.nonzero(self.vector)[0]:
            total += Fraction(float(self.vector[i])) * values[int(i)]
        return total


def is_positive_semidefinite(matrix: Matrix) -> bool:
    """Whether a symmetric rational matrix is positive semidefinite, by exact elimination (S = L D L^T, D >= 0).

    >>> one = Fraction(1)
    >>> is_positive_semidefinite([[one, one], [one, one]]), is_positive_semidefinite([[one, 2 * one], [2 * one, one]])
    (True, False)
    """
    rest = [row[:] for row in matrix]
    while rest:
        pivot, row = rest[0][0], rest[0]
        if pivot < 0 or (pivot == 0 and any(row)):
            return False
        rest = [
            [rest[i][j] - (row[i] * row[j] / pivot if pivot else 0) for j in range(1, len(row))]
            for i in range(1, len(row))
        ]
    return True


def solve_exactly(rows: Matrix, right: Sequence[Fraction], guess: Sequence[Fraction]) -> list[Fraction] | None:
    """The solution of rows x = right that moves the largest entries of a nearby guess; None when there is no solution.

    Small entries of the guess keep their value, so that nonnegative multipliers stay nonnegative.
    """
    residual = [b - sum((a * x for a, x in zip(row, guess)), Fraction(0)) for row, b in zip(rows, right)]
    system = [[*row, e] for row, e in zip(rows, residual)]
    moved: list[tuple[int, int]] = []
    used = 0
    for column in sorted(range(len(guess)), key=lambda k: -abs(guess[k])):
        pivot = next((i for i in range(used, len(system)) if system[i][column]), None)
        if pivot is None:
            continue
        system[used], system[pivot] = system[pivot], system[used]
        scale = system[used][column]
        system[used] = [v / scale for v in system[used]]
        for i, row in enumerate(system):
            if i != used and row[column]:
                factor = row[column]
                system[i] = [v - factor * p for v, p in zip(row, system[used])]
        moved.append((column, used))
        used += 1
    if any(row[-1] for row in system[used:]):
        return None
    solution = list(guess)
    for column, i in moved:
        solution[column] += system[i][-1]
    return solution


def prove(objective: Form, constraints: Sequence[Form], bound: Fraction, multipliers: Array) -> list[Fraction] | None:
    """Rational multipliers that prove objective <= bound, found near the given ones; None when no attempt succeeds.

    The multipliers of the optimum are rounded to simple fractions first, which is what tight bounds need (their S is
    singular). Then others are tried that prove the bound: ones in the interior, which leave room for rounding, and the
    smallest ones, which are few. Multipliers below a threshold are taken for the solver's rounding of zero.
    """
    attempts: tuple[tuple[Callable[[], Array | None], int], ...] = (
        (lambda: multipliers, 2**10),
        (lambda: _alternative(objective, constraints, bound, deep=True), 2**40),
        (lambda: _alternative(objective, constraints, bound, deep=False), 2**10),
    )
    for candidate, denominator in attempts:
        found = candidate()
        if found is None:
            continue
        for threshold in (1e-7, 1e-4):
            guess = [
                Fraction(float(v)).limit_denominator(denominator) if abs(v) > threshold else Fraction(0) for v in found
            ]
            exact = _repair(objective, constraints, guess)
            if exact is not None and _proves(objective, constraints, bound, exact):
                return exact
    return None


def _absent(objective: Form, constraints: Sequence[Form]) -> list[int]:
    """Indices of points whose square occurs nowhere: their rows of S must vanish."""
    return [k for k in range(len(objective.matrix)) if not any(f.matrix[k, k] for f in (objective, *constraints))]


def _conditions(objective: Form, constraints: Sequence[Form]) -> tuple[Matrix, list[Fraction]]:
    """The linear equations that the multipliers satisfy: no function value remains, and the absent rows vanish."""
    rows: Matrix = []
    right: list[Fraction] = []
    for m in range(len(objective.vector)):
        rows.append([Fraction(float(f.vector[m])) for f in constraints])
        right.append(Fraction(float(objective.vector[m])))
    for k in _absent(objective, constraints):
        for j in range(len(objective.matrix)):
            rows.append([Fraction(float(f.matrix[k, j])) for f in constraints])
            right.append(Fraction(float(objective.matrix[k, j])))
    return rows, right


def _repair(objective: Form, constraints: Sequence[Form], guess: Sequence[Fraction]) -> list[Fraction] | None:
    rows, right = _conditions(objective, constraints)
    return solve_exactly(rows, right, guess)


def _proves(objective: Form, constraints: Sequence[Form], bound: Fraction, multipliers: Sequence[Fraction]) -> bool:
    """Decides the conditions of the module's first paragraph with fractions, trusting nothing computed before."""
    if any(v < 0 and not f.equality for f, v in zip(constraints, multipliers)):
        return False
    for m in range(len(objective.vector)):
        total = sum((v * Fraction(float(f.vector[m])) for f, v in zip(constraints, multipliers)), Fraction(0))
        if total != Fraction(float(objective.vector[m])):
            return False
    if (
        -sum((v * Fraction(f.constant) for f, v in zip(constraints, multipliers)), -Fraction(objective.constant))
        > bound
    ):
        return False
    size = len(objective.matrix)
    slack = [
        [
            sum((v * Fraction(float(f.matrix[i, j])) for f, v in zip(constraints, multipliers) if v), Fraction(0))
            - Fraction(float(objective.matrix[i, j]))
            for j in range(size)
        ]
        for i in range(size)
    ]
    return is_positive_semidefinite(slack)


def _alternative(objective: Form, constraints: Sequence[Form], bound: Fraction, deep: bool) -> Array | None:
    """Multipliers that prove the bound up to rounding: with S deepest inside the cone, or with the least sum."""
    import cvxpy as cp

    absent = sorted(_absent(objective, constraints))
    kept = [k for k in range(len(objective.matrix)) if k not in set(absent)]
    if not kept:
        return None
    signed = [i for i, f in enumerate(constraints) if not f.equality]
    multipliers, depth = cp.Variable(len(constraints)), cp.Variable()
    slack = sum(multipliers[i] * f.matrix for i, f in enumerate(constraints)) - objective.matrix
    conditions = [
        np.array([f.vector for f in constraints]).T @ multipliers == objective.vector,
        -np.array([f.constant for f in constraints]) @ multipliers + objective.constant <= float(bound),
        slack[np.ix_(kept, kept)] >> depth * np.eye(len(kept)),
        depth <= 1.0 if deep else depth == 0.0,
        multipliers[signed] >= 0,
    ]
    if absent:
        conditions.append(slack[absent, :] == 0)
    goal = cp.Maximize(depth) if deep else cp.Minimize(cp.sum(multipliers[signed]))
    if not signed or not solved(cp.Problem(goal, conditions)) or (deep and float(depth.value) <= 0.0):
        return None
    return np.asarray(multipliers.value, dtype=float)


def solved(problem: Any) -> bool:
    """Solve a cvxpy problem with Clarabel, quietly; whether it left a point, which the caller must judge itself."""
    import cvxpy as cp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate": every use decides with fractions
        try:
            problem.solve(solver="CLARABEL")
        except cp.error.SolverError:
            return False
    return all(v.value is not None for v in problem.variables())


def satisfies(constraints: Sequence[Form], vectors: Array, values: Array) -> tuple[Matrix, list[Fraction]] | None:
    """Gram matrix and values as fractions when points (rows of ``vectors``) and values meet every constraint exactly.

    Floating-point numbers are fractions, so nothing is rounded: G = V V^T is positive semidefinite by construction.
    """
    points = [[Fraction(float(x)) for x in row] for row in vectors]
    gram = [[sum((a * b for a, b in zip(p, q)), Fraction(0)) for q in points] for p in points]
    exact_values = [Fraction(float(v)) for v in values]
    for form in constraints:
        value = form.exactly_at(gram, exact_values)
        if value > 0 or (form.equality and value != 0):
            return None
    return gram, exact_values
