"""Performance estimation: one problem solved (PEPit models it, Clarabel solves it), proved or refuted.

`dpfl_theory.checks.worst_case` says what this means for a statement.
"""

from __future__ import annotations

import contextlib
import io
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfl_theory.checks.certificate import Numeric, prove, rational, solved
from dpfl_theory.checks.certificate_file import certificate
from dpfl_theory.checks.homogeneity import conditions, form, require_cone
from dpfl_theory.checks.interpolation import SampledFunction
from dpfl_theory.checks.verifier import Form, gram_of, proves, refutes
from dpfl_theory.core import Performance

SOLVER_TOLERANCE = 1e-6
"""Excess of the guarantee over the bound that is attributed to the solver when a bound is tight and no rational proof
was found. Clarabel stops at 1e-8 relative to the data; values and Gram entries here are at most about 1e2."""

VIOLATION_MARGIN = 1e-5
"""Excess of the primal value that is examined as a possible violation: ten times what `SOLVER_TOLERANCE` explains."""

EXACT_BITS = 40
"""Binary places up to which a coefficient counts as intended; 1/3 in floating point has 54."""

_SHARES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.3)
"""The weight of a function deep inside the conditions, in a mixture with one on their boundary."""

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Solution:
    """Bounds on the largest left/right: primal value, dual value, and by how much its defects could raise that.

    * status: the solver's status; guarantee = dual + defect (inf when the problem is unbounded or was not solved);
    * proved: whether left <= right was proved in rational arithmetic;
    * certificate: then the proof as plain data, or the reason why there is no certificate
      (`dpfl_theory.checks.certificate_file`);
    * signed: whether a guarantee of at most 1 implies left <= right up to the solver's tolerance (right is nowhere
      negative, or its multiplier is 1);
    * rounded: whether a coefficient has more than `EXACT_BITS` binary places, as 1/3 has, so that the problem is the
      intended one up to rounding;
    * refuted: left/right of a counterexample that was verified in rational arithmetic (inf when right <= 0 there),
      None without one;
    * worst: the points, gradients and values of the worst function.
    """

    status: str
    primal: float
    dual: float
    defect: float
    proved: bool
    signed: bool
    rounded: bool
    refuted: float | None
    worst: tuple[Mapping[str, Any], ...]
    certificate: Mapping[str, Any] | str = ""

    @property
    def guarantee(self) -> float:
        """An upper bound of left/right, up to floating-point rounding."""
        return self.dual + self.defect


def solve(performance: Performance) -> Solution:
    """Solve one problem, and prove or refute left <= right where possible.

    Must be called before another PEPit problem is declared: PEPit numbers points and values globally. Raises `NotACone`
    for a problem with a constant.
    """
    require_cone(performance)
    problem = performance.problem
    for function in problem.list_of_functions:
        vars(function).update({k: float(v) for k, v in vars(function).items() if _is_exact_number(v)})
    problem.add_constraint(performance.right <= 1)
    problem.set_performance_metric(performance.left)
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PEPit prints, cvxpy warns of inaccuracy: both are judged below
            problem.solve(verbose=0, wrapper="cvxpy", solver="CLARABEL")
    except Exception as error:
        if type(error).__module__.split(".")[0] not in ("cvxpy", "clarabel"):
            raise
        return _unsolved(f"error: {str(error).split('.')[0]}")
    status = str(problem.wrapper.prob.status)
    objective, right = form(performance.left), form(performance.right)
    found_conditions, samples = conditions(problem)
    limits, multipliers = [c.form for c in found_conditions], np.array([c.multiplier for c in found_conditions])
    rounded = _are_rounded([objective, *(c.form for c in found_conditions if c.pair is None)], samples)
    if problem.F_value is None:
        if "unbounded" not in status:
            return _unsolved(status)
        found = _counterexample(objective, right, limits[1:], 2.0)
        worst = () if found is None else _describe(problem, found[1], found[2])
        return Solution(
            status, math.inf, math.inf, 0.0, False, False, rounded, None if found is None else found[0], worst
        )
    gram, values = np.asarray(problem.G_value, dtype=float), np.asarray(problem.F_value, dtype=float)
    primal = objective.evaluate(gram, values)
    dual, defect = _guarantee(objective, limits, multipliers, gram, values)
    proof: list[Fraction] | None = None
    signed = False
    kept: Mapping[str, Any] | str = ""
    refuted: float | None = None
    vectors = _factor(gram)
    if primal > 1.0 + VIOLATION_MARGIN:
        target = min(0.5 * (1.0 + primal), 2.0)
        found = _counterexample(objective, right, limits[1:], target, (gram, values))
    else:
        proof, signed = _proved(objective, right, limits, multipliers)
        if proof is not None:
            kept = certificate(objective.exact, right.exact, found_conditions[1:], samples, proof)
        found = None if signed else _counterexample(objective, right, limits[1:], None)
    if found is not None:
        refuted, vectors, values = found
    worst = _describe(problem, vectors, values)
    return Solution(status, primal, dual, defect, proof is not None, signed, rounded, refuted, worst, kept)


def _is_exact_number(value: Any) -> bool:
    """Whether it is a constant of a class, such as L, that the author gave as a fraction or in sympy."""
    return isinstance(value, Fraction) or (type(value).__module__.startswith("sympy") and value.is_number)


def _are_rounded(forms: list[Numeric], samples: list[SampledFunction]) -> bool:
    """Whether a coefficient of a form, or of a point or a parameter of a function, has more than `EXACT_BITS` binary
    places."""
    numbers = [v for f in forms for v in (*f.exact.products.values(), *f.exact.values.values())]
    numbers += [v for s in samples for v in (s.L, s.mu) if v is not None]
    numbers += [v for s in samples for triplet in s.points for part in triplet for v in part.values()]
    return any(v.denominator > 2**EXACT_BITS for v in numbers)


def _proved(
    objective: Numeric, right: Numeric, limits: list[Numeric], multipliers: Array
) -> tuple[list[Fraction] | None, bool]:
    """Multipliers of all conditions but the normalisation that prove left <= right in rational arithmetic, None where
    none were found; and whether left <= right follows from left <= m right, m the normalisation's multiplier.

    It does for m = 1, and for m <= 1 where right >= 0, which is proved, or else found by the solver. A proof of
    left <= m right and 1 - m times one of -right <= 0 add up to a proof of left <= right.
    """
    difference, others = objective.plus(-1, right.exact), limits[1:]
    exact = prove(objective, limits, Fraction(1), multipliers)
    if exact is not None and exact[0] == 1:
        return _decided(difference, others, exact[1:]), True
    below = prove(right.plus(-2, right.exact), others, Fraction(0), np.zeros(len(others)))
    if below is not None:
        if exact is None:
            return None, True
        return _decided(difference, others, [v + (1 - exact[0]) * w for v, w in zip(exact[1:], below)]), True
    direct = None if exact is None else prove(difference, others, Fraction(0), multipliers[1:])
    if direct is not None:
        return direct, True
    return None, abs(multipliers[0] - 1.0) <= SOLVER_TOLERANCE or not _negative_somewhere(right, others)


def _decided(difference: Numeric, limits: list[Numeric], multipliers: list[Fraction]) -> list[Fraction] | None:
    """The multipliers, if the verifier says that they prove difference <= 0."""
    conditions = [c.exact for c in limits]
    return multipliers if proves(difference.exact, conditions, Fraction(0), multipliers) else None


def _negative_somewhere(right: Numeric, limits: list[Numeric]) -> bool:
    """Whether the solver finds right < 0 under the conditions (it may be scaled to -1 there), or cannot decide."""
    import cvxpy as cp

    gram, _, at = _variables(right)
    constraints = [at(c) == 0 if c.equality else at(c) <= 0 for c in limits]
    problem = cp.Problem(cp.Minimize(at(right)), [*constraints, gram >> 0, at(right) >= -1.0])
    return not solved(problem) or float(problem.value) < -SOLVER_TOLERANCE


def _unsolved(status: str) -> Solution:
    return Solution(status, math.nan, math.inf, 0.0, False, False, False, None, ())


def _guarantee(
    objective: Numeric, conditions: list[Numeric], multipliers: Array, gram: Array, values: Array
) -> tuple[float, float]:
    """The dual value of the multipliers, made nonnegative, and what their defects may add at the scale of the solution.

    objective <= dual - <S, G> - e.F for every feasible (G, F), where e is the remaining coefficient on function values.
    """
    kept = np.array([v if c.equality else max(v, 0.0) for v, c in zip(multipliers, conditions)])
    slack = sum((v * c.matrix for v, c in zip(kept, conditions)), np.zeros_like(gram)) - objective.matrix
    left_over = sum((v * c.vector for v, c in zip(kept, conditions)), np.zeros_like(values)) - objective.vector
    dual = objective.constant - sum(v * c.constant for v, c in zip(kept, conditions))
    negative = max(0.0, -float(np.linalg.eigvalsh(slack)[0]))
    return float(dual), negative * float(np.trace(gram)) + float(np.abs(left_over) @ np.abs(values))


def _factor(gram: Array) -> Array:
    """Points (one a row) whose inner products are the Gram matrix, after its negative eigenvalues are set to zero."""
    eigenvalues, eigenvectors = np.linalg.eigh(gram)
    order = np.argsort(-eigenvalues)
    return np.asarray(eigenvectors[:, order] * np.sqrt(np.maximum(eigenvalues[order], 0.0)))


def _variables(like: Numeric) -> tuple[Any, Any, Callable[[Numeric], Any]]:
    """A Gram matrix and function values as variables of cvxpy, and the value of a form at them."""
    import cvxpy as cp

    size = len(like.matrix)
    gram, values = cp.Variable((size, size), symmetric=True), cp.Variable(len(like.vector))

    def at(form: Numeric) -> Any:
        return cp.sum(cp.multiply(form.matrix, gram)) + form.vector @ values + form.constant

    return gram, values, at


def _counterexample(
    objective: Numeric,
    right: Numeric,
    limits: list[Numeric],
    target: float | None,
    near: tuple[Array, Array] | None = None,
) -> tuple[float, Array, Array] | None:
    """A function of the class with right <= 1 and left >= target, or without a target with left >= right + 1: its
    left/right, points and values.

    It is verified in rational arithmetic. The search is in the interior of the interpolation conditions, so that the
    solver's rounding cannot move the function outside. Where the solver finds none, a worst function that is ``near``
    the conditions, up to rounding, is mixed with one deep inside them: both are easier to find.
    """
    bounds = [] if target is None else [(right, 1.0)]
    for found in (
        lambda: [_deepest(objective, right, limits, target)],
        lambda: [] if near is None else _mixed(near, _deepest(None, right, [*limits, *_below(bounds)], None)),
    ):
        for candidate in found():
            verified = None if candidate is None else _verified(objective, right, limits, *candidate)
            if verified is not None:
                return verified
    return None


def _below(bounds: list[tuple[Numeric, float]]) -> list[Numeric]:
    """Upper bounds of forms by these numbers, as conditions."""
    return [f.plus(1, Form(constant=Fraction(-most))) for f, most in bounds]


def _deepest(
    objective: Numeric | None, right: Numeric, limits: list[Numeric], target: float | None
) -> tuple[Array, Array] | None:
    """Gram matrix and function values as deep inside the conditions as left >= target allows, or any such pair without
    an objective; None where the solver finds none."""
    import cvxpy as cp

    gram, values, at = _variables(right)
    depth = cp.Variable()
    # The depth is relative to the function's size: a cap on it keeps the problem bounded.
    wanted = [at(c) == 0 if c.equality else at(c) + depth <= 0 for c in limits]
    if objective is not None:
        wanted += [at(objective) >= at(right) + 1.0] if target is None else [at(right) <= 1.0, at(objective) >= target]
    if not solved(cp.Problem(cp.Maximize(depth), [*wanted, gram >> 0, depth <= 1.0])) or float(depth.value) <= 0.0:
        return None
    return np.asarray(gram.value), np.asarray(values.value)


def _mixed(near: tuple[Array, Array], deep: tuple[Array, Array] | None) -> Iterator[tuple[Array, Array]]:
    """Mixtures of two pairs of Gram matrix and values, with an increasing weight of the second one."""
    if deep is None:
        return
    for share in _SHARES:
        yield tuple((1.0 - share) * a + share * b for a, b in zip(near, deep))  # type: ignore[misc]


def _verified(
    objective: Numeric, right: Numeric, limits: list[Numeric], near: Array, values: Array
) -> tuple[float, Array, Array] | None:
    """Left/right, points and values, where they meet every condition in rational arithmetic and left > right."""
    vectors = _factor(near)
    points, numbers = rational(vectors, values)
    if not refutes(objective.exact, right.exact, [c.exact for c in limits], points, numbers):
        return None
    gram = gram_of(points)
    left_value, right_value = (form.exact.evaluate(gram, numbers) for form in (objective, right))
    return (float(left_value / right_value) if right_value > 0 else math.inf), vectors, values


def _describe(problem: Any, vectors: Array, values: Array) -> tuple[Mapping[str, Any], ...]:
    """The sampled points of the function with gradients and values, in the fewest coordinates, to six digits."""
    dimensions = max(
        1, int(np.sum(np.linalg.norm(vectors, axis=0) > 1e-4 * max(1e-300, float(np.linalg.norm(vectors)))))
    )

    def coordinates(point: Any) -> list[float]:
        total = np.zeros(vectors.shape[1])
        for leaf, weight in point.decomposition_dict.items():
            total = total + weight * vectors[leaf.counter]
        return [_short(v) for v in total[:dimensions]]

    def value(expression: Any) -> float:
        return _short(float(form(expression).vector @ values))

    return tuple(
        {"point": coordinates(point), "gradient": coordinates(gradient), "value": value(f)}
        for function in problem.list_of_functions
        for point, gradient, f in function.list_of_points
    )


def _short(number: float) -> float:
    return 0.0 if abs(number) < 1e-9 else float(f"{number:.6g}")
