"""The search for certificates of worst-case bounds: multipliers of a solver, made rational.

A performance estimation problem maximises <A_0, G> + a_0.F over Gram matrices G >= 0 and function values F, subject to
<A_i, G> + a_i.F + c_i <= 0. Multipliers l_i >= 0 with

    sum_i l_i a_i = a_0    and    S = sum_i l_i A_i - A_0 positive semidefinite

prove that the maximum is at most -sum_i l_i c_i. A solver finds them up to rounding. Here they are rounded to simple
fractions and repaired, so that the equations hold exactly. Only `dpfl_theory.checks.verifier` decides whether the
result is a proof: a mistake in this module can lose a proof, not make one.

A `Numeric` has the rational form that the verifier reads, and the nearest doubles, which solvers read.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfl_theory.checks.verifier import Form, combined, proves

Matrix = list[list[Fraction]]
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Numeric:
    """A rational form, and <A, G> + a.F + c with the nearest doubles: matrix A (k, k) symmetric, vector a (m,)."""

    exact: Form
    matrix: Array
    vector: Array

    @property
    def constant(self) -> float:
        """The constant in floating point."""
        return float(self.exact.constant)

    @property
    def equality(self) -> bool:
        """Whether it must be 0 as a condition, not only at most 0."""
        return self.exact.equality

    def evaluate(self, gram: Array, values: Array) -> float:
        """Its value in floating point."""
        return float(np.sum(self.matrix * gram) + self.vector @ values + self.constant)

    def plus(self, factor: int, other: Form) -> Numeric:
        """Its sum with a multiple of another form, computed exactly."""
        terms = [(Fraction(1), self.exact), (Fraction(factor), other)]
        return numeric(combined(terms), len(self.matrix), len(self.vector))


def numeric(form: Form, vectors: int, values: int) -> Numeric:
    """A rational form of this many vectors and values, with its doubles."""
    matrix, vector = np.zeros((vectors, vectors)), np.zeros(values)
    for (i, j), c in form.products.items():
        matrix[i, j] += float(c) / 2
        matrix[j, i] += float(c) / 2
    for m, a in form.values.items():
        vector[m] = float(a)
    return Numeric(form, matrix, vector)


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


def prove(
    objective: Numeric, constraints: Sequence[Numeric], bound: Fraction, multipliers: Array
) -> list[Fraction] | None:
    """Rational multipliers that prove objective <= bound, found near the given ones; None when no attempt succeeds.

    The multipliers of the optimum are rounded to simple fractions first. Tight bounds need this, since their S is
    singular. Then other multipliers that prove the bound are tried: some in the interior, which leave room for
    rounding, and the smallest ones, which are few. Multipliers below a threshold count as the solver's rounding of
    zero.
    """
    attempts: tuple[tuple[Callable[[], Array | None], int], ...] = (
        (lambda: multipliers, 2**10),
        (lambda: _alternative(objective, constraints, bound, deep=True), 2**40),
        (lambda: _alternative(objective, constraints, bound, deep=False), 2**10),
    )
    rows, right = _equations(objective.exact, [c.exact for c in constraints], len(objective.vector))
    for candidate, denominator in attempts:
        found = candidate()
        if found is None:
            continue
        for threshold in (1e-7, 1e-4):
            guess = [
                Fraction(float(v)).limit_denominator(denominator) if abs(v) > threshold else Fraction(0) for v in found
            ]
            exact = solve_exactly(rows, right, guess)
            if exact is not None and proves(objective.exact, [c.exact for c in constraints], bound, exact):
                return exact
    return None


def _absent(objective: Form, constraints: Sequence[Form]) -> list[int]:
    """Vectors that occur and whose square occurs nowhere: their rows of S must vanish."""
    occurring = {pair for form in (objective, *constraints) for pair, c in form.products.items() if c}
    return sorted({i for pair in occurring for i in pair if (i, i) not in occurring})


def _equations(objective: Form, constraints: Sequence[Form], values: int) -> tuple[Matrix, list[Fraction]]:
    """The linear equations that the multipliers satisfy: no function value remains, and the absent rows vanish."""
    absent = set(_absent(objective, constraints))
    pairs = {pair for form in (objective, *constraints) for pair in form.products if absent & set(pair)}
    zero = Fraction(0)
    rows = [[f.values.get(m, zero) for f in constraints] for m in range(values)]
    rows += [[f.products.get(pair, zero) for f in constraints] for pair in sorted(pairs)]
    right = [objective.values.get(m, zero) for m in range(values)]
    return rows, right + [objective.products.get(pair, zero) for pair in sorted(pairs)]


def _alternative(objective: Numeric, constraints: Sequence[Numeric], bound: Fraction, deep: bool) -> Array | None:
    """Multipliers that prove the bound up to rounding: with S deepest inside the cone, or with the least sum."""
    import cvxpy as cp

    squares = {i for f in (objective, *constraints) for i, j in f.exact.products if i == j}
    kept = sorted(squares)
    absent = [k for k in range(len(objective.matrix)) if k not in squares]
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
    """Solve a cvxpy problem with Clarabel, without output. Returns whether it left a point, which the caller must judge
    itself."""
    import cvxpy as cp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate": every use decides with fractions
        try:
            problem.solve(solver="CLARABEL")
        except cp.error.SolverError:
            return False
    return all(v.value is not None for v in problem.variables())


def rational(vectors: Array, values: Array) -> tuple[Matrix, list[Fraction]]:
    """Points (rows of ``vectors``) and values as the fractions that floating-point numbers are: nothing is rounded."""
    points = [[Fraction(float(x)) for x in row] for row in vectors]
    return points, [Fraction(float(v)) for v in values]
