"""Tests whether a worst-case problem is a cone, and writes its inequalities as forms in Gram matrix and function
values.

Every quantity of degree two in points, gradients and square roots of function values is a linear form
<A, G> + a.F of the Gram matrix G and the function values F. If no inequality of a problem has a constant, a feasible
point stays feasible when it is scaled. Then, and only then, may its right side be normalised to 1, so that a proof for
the normalised problem is one of the statement. A constant anywhere is refused.

PEPit keeps coefficients in double precision. A form has the fractions that are equal to these doubles. The inequalities
of the classes in `dpfl_theory.checks.interpolation` are computed again from points, gradients and values, without
rounding; PEPit's own inequalities must agree with them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfl_theory.checks.certificate import Numeric, numeric
from dpfl_theory.checks.interpolation import SampledFunction
from dpfl_theory.checks.verifier import Form
from dpfl_theory.core import Performance

Array = NDArray[np.float64]

AGREEMENT = 1e-9
"""Largest difference between an inequality of PEPit's and the exact one, relative to its largest coefficient."""
KINDS = {
    "ConvexFunction": "convex",
    "StronglyConvexFunction": "strongly convex",
    "SmoothFunction": "smooth",
    "SmoothConvexFunction": "smooth convex",
    "SmoothStronglyConvexFunction": "smooth strongly convex",
}
"""PEPit's names of the classes whose inequalities are computed again."""

REMEDY = (
    "so the problem is not a cone, and a proof for it would not be one of the statement: write it homogeneously, "
    "as f(x_K) - f* <= rate ||x_0 - x*||^2 in place of f(x_K) - f* <= rate under ||x_0 - x*||^2 <= 1; or multiply each "
    "constant by unit**2 with one more point, unit = problem.set_initial_point()"
)


class NotACone(ValueError):
    """A worst-case problem that is not invariant under scaling; the text names the place and the remedy."""


@dataclass(frozen=True, eq=False)
class Condition:
    """A condition of a solved problem, with the solver's multiplier.

    pair: (function, i, j) where it is the inequality of a function of `conditions` for its points i and j; unknown: the
    class, where its inequalities are known only from PEPit. name: the name of a statement's own condition, or empty.
    """

    form: Numeric
    multiplier: float
    name: str = ""
    pair: tuple[int, int, int] | None = None
    unknown: str = ""


def form(expression: Any, equality: bool = False) -> Numeric:
    """A PEPit expression as a form with its coefficients as fractions."""
    from PEPit import Expression, Point

    return numeric(_exact(expression, equality), Point.counter, Expression.counter)


def _exact(expression: Any, equality: bool = False) -> Form:
    from PEPit import Expression

    products: dict[tuple[int, int], Fraction] = {}
    values: dict[int, Fraction] = {}
    constant = Fraction(0)
    for key, weight in expression.decomposition_dict.items():
        if isinstance(key, tuple):
            i, j = sorted(point.counter for point in key)
            products[i, j] = products.get((i, j), Fraction(0)) + Fraction(weight)
        elif isinstance(key, Expression):  # which overloads ==
            values[key.counter] = Fraction(weight)
        else:
            constant += Fraction(weight)
    return Form({p: c for p, c in products.items() if c}, {m: a for m, a in values.items() if a}, constant, equality)


def require_cone(performance: Performance) -> None:
    """Raises `NotACone` for a constant in a side, a constraint or an initial condition, and for conditions that are not
    examined.

    The conditions of a function class are only written down when the problem is solved: see `conditions`.
    """
    from PEPit import Expression, Function

    problem = performance.problem
    for side in ("left", "right"):
        expression = getattr(performance, side)
        if not isinstance(expression, Expression):
            zero = " (0 * (x - y)**2 is a zero)" if expression == 0 else ""
            raise NotACone(f"the {side} side is the number {expression!r}{zero}, {REMEDY}")
        _refuse(form(expression).constant, f"the {side} side")
    for i, constraint in enumerate(problem.list_of_constraints):
        _refuse(form(constraint.expression).constant, f"constraint or initial condition {_place(constraint, i)}")
    for function in Function.list_of_functions:
        for i, constraint in enumerate(function.list_of_constraints):
            _refuse(form(constraint.expression).constant, f"constraint {_place(constraint, i)} of a function")
    if problem.list_of_performance_metrics:
        raise NotACone(
            "the problem has a performance metric of its own, and the check maximises the left side: leave "
            "set_performance_metric out and give left and right"
        )
    if problem.list_of_psd or any(f.list_of_psd for f in Function.list_of_functions):
        raise NotACone("matrix inequalities are not re-checked here: use scalar constraints in place of add_psd_matrix")


def conditions(problem: Any) -> tuple[list[Condition], list[SampledFunction]]:
    """All conditions of a solved problem with their multipliers, and the functions whose classes are known.

    The normalisation (added last) comes first, then the statement's own conditions, then those of functions and their
    classes.

    Raises `NotACone` where the conditions of a class hold a constant, as those of Lipschitz functions do.
    """
    from PEPit import Function
    from PEPit.block_partition import BlockPartition

    own = problem.list_of_constraints
    found = [_condition(c) for c in (own[-1], *own[:-1])]
    samples: list[SampledFunction] = []
    for function in Function.list_of_functions:
        if function.list_of_class_psd:
            raise NotACone("matrix inequalities of a function class are not re-checked here: use scalar conditions")
        for constraint in function.list_of_class_constraints:
            _refuse(form(constraint.expression).constant, f"the class {type(function).__name__}")
        found += _of_class(function, samples)
        found += [_condition(c) for c in function.list_of_constraints]
    found += [_condition(c) for partition in BlockPartition.list_of_partitions for c in partition.list_of_constraints]
    return [c for c in found if c is not None], samples


def _condition(constraint: Any, unknown: str = "") -> Condition | None:
    """A condition as PEPit has it; None for one that was switched off. unknown: the class that it belongs to."""
    if not constraint.activated:
        return None
    name = constraint.get_name() or ""
    exact = form(constraint.expression, constraint.equality_or_inequality == "equality")
    return Condition(exact, _multiplier(constraint), "" if name.startswith("Constraint ") else name, unknown=unknown)


def _multiplier(constraint: Any) -> float:
    return math.nan if (v := constraint.eval_dual()) is None else float(v)


def _of_class(function: Any, samples: list[SampledFunction]) -> list[Condition | None]:
    """The conditions of a function's class. Where the class is known they are computed exactly, and the function is
    added to the samples; otherwise they are PEPit's."""
    from PEPit import Expression, Point

    constraints = function.list_of_class_constraints
    sampled = _sampled(function)
    pairs = [] if sampled is None else list(itertools.permutations(range(len(sampled.points)), 2))
    if sampled is None or len(pairs) != len(constraints):
        return [_condition(c, type(function).__name__) for c in constraints]
    found: list[Condition | None] = []
    for (i, j), constraint in zip(pairs, constraints):
        exact = numeric(sampled.inequality(i, j), Point.counter, Expression.counter)
        _require_agreement(exact, form(constraint.expression), type(function).__name__)
        condition = Condition(exact, _multiplier(constraint), "", (len(samples), i, j))
        found.append(condition if constraint.activated else None)
    samples.append(sampled)
    return found


def _sampled(function: Any) -> SampledFunction | None:
    """A function with its points as fractions; None where its class, or a parameter, is not a known one."""
    kind = KINDS.get(type(function).__name__) if type(function).__module__.startswith("PEPit.functions.") else None
    if kind is None:
        return None
    parameters = {name: getattr(function, name, None) for name in ("L", "mu")}
    try:
        L, mu = (None if v is None else Fraction(v) for v in parameters.values())
        return SampledFunction(kind, L, mu, tuple(_triplet(*triplet) for triplet in function.list_of_points))
    except (ValueError, OverflowError, TypeError):
        return None


def _triplet(x: Any, g: Any, f: Any) -> tuple[Mapping[int, Fraction], Mapping[int, Fraction], Mapping[int, Fraction]]:
    value = _exact(f)
    if value.products or value.constant:
        raise ValueError("a function value is a combination of function values")
    return _combination(x), _combination(g), value.values


def _combination(point: Any) -> Mapping[int, Fraction]:
    return {leaf.counter: Fraction(weight) for leaf, weight in point.decomposition_dict.items() if weight}


def _require_agreement(ours: Numeric, theirs: Numeric, name: str) -> None:
    """Raises ArithmeticError where PEPit's inequality of a class differs from ours by more than rounding."""
    size = max(1.0, float(np.max(np.abs(ours.matrix), initial=0.0)), float(np.max(np.abs(ours.vector), initial=0.0)))
    off = max(
        float(np.max(np.abs(ours.matrix - theirs.matrix), initial=0.0)),
        float(np.max(np.abs(ours.vector - theirs.vector), initial=0.0)),
    )
    if off > AGREEMENT * size or theirs.equality or theirs.constant:
        raise ArithmeticError(f"PEPit's inequality of the class {name} differs from the known one by {off:.3g}")


def span(performance: Performance) -> tuple[float, float]:
    """The smallest and the largest absolute coefficient of the sides and of all conditions of a problem, as far as they
    are written down."""
    from PEPit import Function

    found = [*performance.problem.list_of_constraints]
    for function in Function.list_of_functions:
        found += [*function.list_of_class_constraints, *function.list_of_constraints]
    forms = [form(performance.left), form(performance.right), *(form(c.expression) for c in found)]
    entries = np.abs(np.concatenate([np.concatenate([f.matrix.ravel(), f.vector]) for f in forms]))
    entries = entries[entries > 0.0]
    return (float(entries.min()), float(entries.max())) if len(entries) else (1.0, 1.0)


def _place(constraint: Any, index: int) -> str:
    name = constraint.get_name()
    return f"number {index + 1}" if name is None or name.startswith("Constraint ") else repr(name)


def _refuse(constant: float, place: str) -> None:
    if constant != 0.0:
        raise NotACone(f"{place} has the constant {constant:g}, {REMEDY}")
