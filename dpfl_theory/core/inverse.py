"""Values of formulas, and the symbols that follow from a statement's prescriptions for given other symbols.

A prescription such as eta = rho/(2 alpha L) is an equation. Where all of its symbols but one are known, it determines
that one. Formulas are evaluated with 60 digits, so that the rounding of a count does not depend on the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from dpfl_theory.core.expressions import compiled
from dpfl_theory.core.formula import prescription_of, sides_of, total
from dpfl_theory.core.statement import Statement
from dpfl_theory.errors import InputError
from dpfl_theory.lazy import mpmath
from dpfl_theory.lazy import sympy as sp

DIGITS = 60


def value(statement: Statement, expression: Any, values: Mapping[str, Any]) -> float:
    """An expression in the statement's symbols at these values.

    >>> from dpfl_theory.statements import get
    >>> theorem = get("das2022.theorem4a")
    >>> value(theorem, prescription_of(theorem)["eta"], {"rho": 0.1, "alpha": 1.0, "L": 2.0})
    0.025
    """
    names, function = compiled(sp.sympify(expression), "mpmath")
    missing = [name for name in names if name not in values]
    if missing:
        raise ValueError(f"{statement.id}: no value for {', '.join(missing)}")
    with mpmath.workdps(DIGITS):
        # Decimal text: 0.1 is meant to be a tenth.
        found = function(*(mpmath.mpf(repr(float(values[name]))) for name in names))
        if isinstance(found, mpmath.mpc):
            raise InputError(f"a formula of {statement.id} has no real value for these inputs: give less extreme ones")
        return float(found)


def prescribed(statement: Statement, values: Mapping[str, Any]) -> dict[str, float]:
    """The statement's prescription at these values, by symbol."""
    return {name: value(statement, expression, values) for name, expression in prescription_of(statement).items()}


def completed(
    statements: tuple[Statement, ...], values: Mapping[str, float], cancelled: tuple[str, ...] = ()
) -> dict[str, float]:
    """The values of the given symbols, and of those that follow from the statements' prescriptions and definitions.

    cancelled: symbols without a value that occur in equations, but in no solution of interest.

    >>> from dpfl_theory.statements import get
    >>> completed((get("das2022.theorem4a"),), {"eta": 0.025, "rho": 0.1, "L": 2.0})["alpha"]
    1.0
    """
    found = dict(values)
    for name, expression in solved(statements, frozenset(values) | frozenset(cancelled)).items():
        if all(s.name in values for s in expression.free_symbols):
            found[name] = value(statements[0], expression, values)
    return found


@cache
def solved(statements: tuple[Statement, ...], known: frozenset[str]) -> dict[str, Any]:
    """The symbols that follow from known ones, as expressions in these.

    >>> from dpfl_theory.statements import get
    >>> solved((get("das2022.theorem4a"),), frozenset({"eta", "rho", "L"}))
    {'alpha': rho/(2*L*eta)}
    """
    equations = [tuple(map(_positive, e)) for s in statements for e in _equations(s)]
    found, more = dict[str, Any](), True
    while more:
        more = False
        for left, right in equations:
            symbols = left.free_symbols | right.free_symbols
            unknown = [s for s in symbols if s.name not in known and s.name not in found]
            places = {s: found[s.name] for s in symbols if s.name in found}
            solution = _isolated(left.subs(places), right.subs(places), *unknown) if len(unknown) == 1 else None
            if solution is not None:
                found[unknown[0].name], more = solution, True
    return found


def _equations(statement: Statement) -> Iterator[tuple[Any, Any]]:
    """The prescriptions, or the definition, as pairs of equal expressions."""
    if statement.prescription is not None:
        for name, expression in prescription_of(statement).items():
            yield sp.Symbol(name), sp.sympify(expression)
    elif statement.relation == "==" and sides_of(statement).lhs:
        yield total(statement, "lhs"), total(statement, "rhs")


def _positive(expression: Any) -> Any:
    """The expression in positive symbols, which are the same for all statements."""
    return expression.xreplace({s: sp.Symbol(s.name, positive=True) for s in expression.free_symbols})


def _isolated(left: Any, right: Any, unknown: Any) -> Any:
    """The unknown of left = right; None unless one side is the unknown, or a power of it times a factor without it."""
    logarithms = {log: sp.Dummy(positive=True) for log in left.atoms(sp.log) | right.atoms(sp.log)}  # of budgets
    left, right = left.xreplace(logarithms), right.xreplace(logarithms)
    factor, power = right.as_independent(unknown, as_Add=False)
    base, exponent = power.as_base_exp()
    if (left != unknown and (base != unknown or left.has(unknown))) or any(log.has(unknown) for log in logarithms):
        return None
    solution = right if left == unknown else (left / factor) ** (1 / exponent)
    return solution.xreplace({dummy: log for log, dummy in logarithms.items()})


@cache
def upper_limit(statement: Statement, symbol: str) -> Any:
    """The largest value of a symbol that the statement's hypotheses allow, as an expression.

    >>> from dpfl_theory.statements import get
    >>> upper_limit(get("hou2023.lemma1"), "epsilon")
    T*p*u
    """
    relations = [r for h in statement.hypotheses for r in h.relations if isinstance(r, (sp.Le, sp.Lt))]
    (found,) = (r.rhs for r in relations if str(r.lhs) == symbol)
    return found
