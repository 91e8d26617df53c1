"""What makes a worst-case problem a cone, and its inequalities as forms in Gram matrix and function values.

Every quantity of degree two in points, gradients and square roots of function values is a linear form
<A, G> + a.F of the Gram matrix G and the function values F. If no inequality of a problem has a constant, whatever
satisfies them still does when it is scaled: then, and only then, may its right side be normalised to 1, and what is
proved of the normalised problem be said of the statement. A constant anywhere is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfl_theory.checks.certificate import Form
from dpfl_theory.statements.claims import Performance

__all__ = ["NotACone", "conditions", "form", "require_cone", "span"]

Array = NDArray[np.float64]

REMEDY = (
    "so the problem is no cone, and what is proved of it would not be true of the statement: write it homogeneously, "
    "as f(x_K) - f* <= rate ||x_0 - x*||^2 in place of f(x_K) - f* <= rate under ||x_0 - x*||^2 <= 1; or multiply each "
    "constant by unit**2 with one more point, unit = problem.set_initial_point()"
)


class NotACone(ValueError):
    """A worst-case problem that scaling changes; the text names the place and the remedy."""


def form(expression: Any, equality: bool = False) -> Form:
    """A PEPit expression as <A, G> + a.F + c."""
    from PEPit.tools.expressions_to_matrices import expression_to_matrices

    matrix, vector, constant = expression_to_matrices(expression)
    return Form(np.asarray(matrix, dtype=float), np.asarray(vector, dtype=float), float(constant), equality)


def require_cone(performance: Performance) -> None:
    """Raises `NotACone` for a constant in a side, a constraint or an initial condition, and for what is not looked at.

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


def conditions(problem: Any) -> tuple[list[Form], Array]:
    """All inequalities of a solved problem with their multipliers: the normalisation (added last) first, then the
    statement's own, then those of functions and their classes.

    Raises `NotACone` where the conditions of a class hold a constant, as those of Lipschitz functions do.
    """
    from PEPit import Function
    from PEPit.block_partition import BlockPartition

    own = problem.list_of_constraints
    found = [own[-1], *own[:-1], *_of_functions(Function.list_of_functions)]
    found += [c for partition in BlockPartition.list_of_partitions for c in partition.list_of_constraints]
    active = [c for c in found if c.activated]
    forms = [form(c.expression, c.equality_or_inequality == "equality") for c in active]
    return forms, np.array([math.nan if (v := c.eval_dual()) is None else float(v) for c in active])


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


def _of_functions(functions: list[Any]) -> Iterator[Any]:
    for function in functions:
        if function.list_of_class_psd:
            raise NotACone("matrix inequalities of a function class are not re-checked here: use scalar conditions")
        for constraint in function.list_of_class_constraints:
            _refuse(form(constraint.expression).constant, f"the class {type(function).__name__}")
        yield from function.list_of_class_constraints
        yield from function.list_of_constraints


def _place(constraint: Any, index: int) -> str:
    name = constraint.get_name()
    return f"number {index + 1}" if name is None or name.startswith("Constraint ") else repr(name)


def _refuse(constant: float, place: str) -> None:
    if constant != 0.0:
        raise NotACone(f"{place} has the constant {constant:g}, {REMEDY}")
