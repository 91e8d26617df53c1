r"""Geometric programs: minimise a sum of monomials where other such sums are at most 1.

In the logarithms of the variables the problem is convex, and Clarabel solves it. The dual certifies the value: for
weights :math:`\lambda_k \ge 0`, :math:`\sum_k \lambda_k = 1`, of the objective's monomials and
:math:`\mu_{jk} \ge 0` of the constraints', with :math:`\sum_k \lambda_k a_k + \sum_{jk} \mu_{jk} a_{jk} = 0` for the
exponents, the inequality of the arithmetic and the geometric mean gives the objective at least

.. math:: \prod_k (c_k/\lambda_k)^{\lambda_k} \prod_j M_j^{M_j} \prod_k (c_{jk}/\mu_{jk})^{\mu_{jk}}, \quad
   M_j = \sum_k \mu_{jk}

wherever the constraints hold. The solver's weights are corrected so that the equations hold in rational numbers, and
the product is computed in interval arithmetic: its lower end is a lower bound, whatever the solver returned.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from dpfl_theory.core import Statement
from dpfl_theory.core.formula import symbols_of
from dpfl_theory.core.inverse import value
from dpfl_theory.lazy import mpmath
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.recommend.bound_minimizers import count_for, near_limit

Rows = list[list[tuple[Any, dict[str, Fraction]]]]
"""Sums of monomials, the objective's first; coefficients are expressions in the symbols that are not variables."""

MARGINS = (1e-9, 1e-7, 1e-5)
"""The amounts by which constraints are tightened for the solver, until its point meets them."""
ROUNDED = 1e-14
"""The largest relative effect on the lower bound of rounding the coefficients to double precision."""
BITS = 160
LARGEST = 690.0
"""The largest logarithm of a variable in double precision."""


@dataclass(frozen=True)
class Monomial:
    """coefficient * prod variable^exponent."""

    coefficient: float
    exponents: Mapping[str, Fraction]

    def substitute(self, fixed: Mapping[str, float]) -> Monomial:
        """The same with values for some of the variables."""
        value = self.coefficient
        for name, number in fixed.items():
            value *= number ** float(self.exponents.get(name, 0))
        return Monomial(value, {name: e for name, e in self.exponents.items() if name not in fixed})


@dataclass(frozen=True)
class Solution:
    """The variables' values, and a lower bound for all points within the constraints."""

    values: dict[str, float]
    lower: float


@dataclass(frozen=True)
class Program:
    """The objective's monomials, and those of each constraint, whose sum is at most 1."""

    objective: Sequence[Monomial]
    constraints: Sequence[Sequence[Monomial]]

    def substitute(self, fixed: Mapping[str, float]) -> Program:
        """The same with values for some of the variables."""
        return Program(
            [m.substitute(fixed) for m in self.objective],
            [[m.substitute(fixed) for m in row] for row in self.constraints],
        )

    def without_falling(self, name: str) -> Program:
        """The program in the limit of a variable that tends to infinity. Terms that fall with it vanish, which only
        lowers the minimum.

        Raises ValueError where a term rises with it.
        """
        return self._limit(name, 1)

    def without_rising(self, name: str) -> Program:
        """The same for a variable that tends to 0."""
        return self._limit(name, -1)

    def value(self, values: Mapping[str, float]) -> float:
        """The objective at values of all variables."""
        return math.fsum(m.substitute(values).coefficient for m in self.objective)

    def _limit(self, name: str, sign: int) -> Program:
        rows = [self.objective, *self.constraints]
        if any(sign * m.exponents.get(name, 0) > 0 for row in rows for m in row):
            raise ValueError(f"a monomial {'rises' if sign > 0 else 'falls'} with {name}")
        first, *others = ([m for m in row if m.exponents.get(name, 0) == 0] for row in rows)
        return Program(first, [row for row in others if row])

    def infimum(self, name: str, count: int | None) -> float:
        """The least value at a count, or in the limit of one that is free; infinite where no point is found."""
        program = self.without_falling(name) if count is None else self.substitute({name: float(count)})
        found = program.solve()
        return math.inf if found is None else program.value(found.values)

    def with_count(
        self, name: str, count: int | None, trivial: float, first: int = 1
    ) -> tuple[Solution | None, int, float]:
        """The solution at a count with which no term rises, the count, and a lower limit for all counts.

        A free count is the least one, ``first`` before others, whose value is near the limit; trivial: as in
        `near_limit`.
        """
        lower = 0.0
        if free := count is None:
            unlimited = self.without_falling(name)
            if (limit := unlimited.solve()) is None:
                return None, 1, math.inf
            lower, enough = limit.lower, near_limit(unlimited.value(limit.values), trivial)
            count = count_for(lambda n: self.infimum(name, n) > enough) if self.infimum(name, first) > enough else first
        found = self.substitute({name: float(count)}).solve()
        return found, count, math.inf if found is None else lower if free else found.lower

    def solve(self) -> Solution | None:
        """The minimum, with its certificate; None where the solver finds no point or no certificate for it."""
        rows = [[m for m in row if m.coefficient > 0] for row in (self.objective, *self.constraints)]
        settled = [row for row in rows[1:] if not any(any(m.exponents.values()) for m in row)]
        if any(sum(m.coefficient for m in row) > 1 + MARGINS[0] for row in settled):
            return None
        rows = [rows[0], *(row for row in rows[1:] if row not in settled)]
        names = sorted({n for row in rows for m in row for n, e in m.exponents.items() if e})
        if not names:
            return Solution({}, sum(m.coefficient for m in rows[0]))
        best: Solution | None = None
        for margin in MARGINS:
            if (solved := _solved(rows, names, margin)) is None:
                continue
            values, weights = solved
            exact = _balanced(rows, names, weights)
            lower = 0.0 if exact is None else _dual_value(rows, exact)
            best = Solution(values, max(lower, best.lower if best else 0.0))
            if all(math.fsum(m.substitute(values).coefficient for m in row) <= 1 for row in rows[1:]):
                break
        return best


def monomials(expression: Any, variables: Sequence[str]) -> list[tuple[Any, dict[str, Fraction]]]:
    """The terms of a sum as coefficients, in the other symbols, and exponents of the variables.

    Terms with the same exponents are one monomial: 6 x - 6 x/P has the coefficient 6 - 6/P.

    >>> x, y, c = sp.symbols("x y c", positive=True)
    >>> monomials((x + c / y) ** 2 / x, ["x", "y"])[0]
    (1, {'x': Fraction(1, 1)})
    >>> monomials(6 * x - 6 * x / c, ["x"])
    [(6 - 6/c, {'x': Fraction(1, 1)})]
    """
    found: dict[tuple[tuple[str, Fraction], ...], Any] = {}
    for term in sp.Add.make_args(sp.expand(sp.powsimp(sp.expand(expression)))):
        coefficient, exponents = sp.Integer(1), dict[str, Fraction]()
        for factor in sp.Mul.make_args(sp.powdenest(term, force=True)):
            base, power = factor.as_base_exp()
            if base.is_Symbol and base.name in variables and power.is_Rational:
                exponents[base.name] = exponents.get(base.name, Fraction(0)) + Fraction(int(power.p), int(power.q))
            elif {s.name for s in factor.free_symbols} & set(variables):
                raise ValueError(f"{term} is not a monomial in {', '.join(variables)}")
            else:
                coefficient *= factor
        key = tuple(sorted(exponents.items()))
        found[key] = found.get(key, 0) + coefficient
    return [(coefficient, dict(key)) for key, coefficient in found.items()]


@cache
def inequalities(statement: Statement) -> tuple[tuple[Any, Any], ...]:
    """Pairs (smaller, larger) of expressions in the statement's symbols. A hypothesis on the problem, an equation or a
    custom one gives no pair, nor do the signs of symbols.

    >>> from dpfl_theory.statements import get
    >>> inequalities(get("das2022.theorem4a"))
    ((1, alpha), (E, alpha/(2*rho)), (rho, 1), (1, r), (1, K))
    """
    symbols = {sp.Symbol(name): symbol for name, symbol in symbols_of(statement).items()}
    found = []
    for relation in (relation for h in statement.hypotheses for relation in h.relations):
        if getattr(relation, "rel_op", "==") == "==" or not relation.free_symbols <= set(symbols):
            continue
        sides = relation.lhs.xreplace(symbols), relation.rhs.xreplace(symbols)
        small, large = sides if relation.rel_op.startswith("<") else sides[::-1]
        found += [
            (least, most)
            for least in (small.args if isinstance(small, sp.Max) else (small,))
            for most in (large.args if isinstance(large, sp.Min) else (large,))
        ]
    return tuple((small, large) for small, large in found if small != 0 and large != sp.oo)


def program_at(statement: Statement, rows: Rows, known: Mapping[str, float]) -> Program:
    """The program at values of the statement's symbols, without the constraints that no variable is in."""

    sums = [[Monomial(value(statement, coefficient, known), powers) for coefficient, powers in row] for row in rows]
    first, *limits = ([m for m in row if m.coefficient != 0] for row in sums)
    return Program(first, [row for row in limits if any(m.exponents for m in row)])


def _solved(
    rows: Sequence[Sequence[Monomial]], names: Sequence[str], margin: float
) -> tuple[dict[str, float], list[list[float]]] | None:
    """The solver's point, and its weight of each monomial."""
    import cvxpy as cp
    import numpy as np

    y = cp.Variable(len(names))
    tables = [np.array([[float(m.exponents.get(n, 0)) for n in names] for m in row]) for row in rows]
    logs = [np.log([m.coefficient for m in row]) for row in rows]
    sums = [cp.log_sum_exp(table @ y + log) for table, log in zip(tables, logs, strict=True)]
    limits = [total <= -margin for total in sums[1:]]
    problem = cp.Problem(cp.Minimize(sums[0]), limits)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # for inexact solutions: the certificate says how good one is
            problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    except cp.error.SolverError:
        return None
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE) or y.value is None:
        return None
    if not np.all(np.abs(y.value) < LARGEST):
        return None
    weights = []
    for table, log, price in zip(tables, logs, [1.0, *(float(c.dual_value) for c in limits)], strict=True):
        power = table @ y.value + log
        share = np.exp(power - power.max())
        weights.append([max(0.0, price) * float(s) for s in share / share.sum()])
    return {n: float(v) for n, v in zip(names, np.exp(y.value), strict=True)}, weights


def _balanced(
    rows: Sequence[Sequence[Monomial]], names: Sequence[str], weights: Sequence[Sequence[float]]
) -> list[list[Fraction]] | None:
    """Nonnegative rational weights near these, with which the exponents balance; None where no such weights exist.

    The largest weights are corrected, as many as there are equations: Gaussian elimination from the largest on.
    """
    index = [(j, k) for j, row in enumerate(rows) for k in range(len(row))]
    index.sort(key=lambda at: -weights[at[0]][at[1]])
    columns = [[Fraction(int(j == 0)), *(Fraction(rows[j][k].exponents.get(n, 0)) for n in names)] for j, k in index]
    flat = [Fraction(weights[j][k]) for j, k in index]
    size = len(names) + 1
    due = [Fraction(int(i == 0)) - sum(w * c[i] for w, c in zip(flat, columns, strict=True)) for i in range(size)]
    table = [[c[i] for c in columns] + [due[i]] for i in range(size)]
    pivots: list[tuple[int, int]] = []
    for column in range(len(columns)):
        free = [i for i in range(size) if i not in {p for p, _ in pivots} and table[i][column] != 0]
        if not free:
            continue
        i = free[0]
        table[i] = [x / table[i][column] for x in table[i]]
        for other in range(size):
            if other != i and table[other][column] != 0:
                table[other] = [x - table[other][column] * p for x, p in zip(table[other], table[i], strict=True)]
        pivots.append((i, column))
    used = {i for i, _ in pivots}
    if any(table[i][-1] != 0 for i in range(size) if i not in used):
        return None
    for i, column in pivots:
        flat[column] += table[i][-1]
    if min(flat) < 0:
        return None
    found = [[Fraction(0)] * len(row) for row in rows]
    for (j, k), weight in zip(index, flat, strict=True):
        found[j][k] = weight
    return found


def _dual_value(rows: Sequence[Sequence[Monomial]], weights: Sequence[Sequence[Fraction]]) -> float:
    """The lower end of the dual product, in interval arithmetic."""
    iv = mpmath.iv
    before, iv.prec = iv.prec, BITS
    try:

        def exactly(number: Fraction) -> Any:
            return iv.mpf(number.numerator) / iv.mpf(number.denominator)

        logarithm = iv.mpf(0)
        for j, (row, own) in enumerate(zip(rows, weights, strict=True)):
            for monomial, weight in zip(row, own, strict=True):
                if weight > 0:
                    ratio = Fraction(monomial.coefficient) * (1 if j == 0 else sum(own)) / weight
                    logarithm += exactly(weight) * iv.log(exactly(ratio))
        return float(mpmath.mpf(iv.exp(logarithm).a)) * (1 - ROUNDED)
    finally:
        iv.prec = before
