"""The hypotheses of a statement that are inequalities between its symbols."""

from __future__ import annotations

from functools import cache
from typing import Any

from dpfl_theory.core import Statement
from dpfl_theory.core.formula import symbols_of
from dpfl_theory.lazy import sympy as sp

__all__ = ["inequalities"]


@cache
def inequalities(statement: Statement) -> tuple[tuple[Any, Any], ...]:
    """Pairs (smaller, larger) of expressions in the statement's symbols. A hypothesis on the problem, an equation or a
    custom one gives no pair, nor do the signs of symbols.

    >>> from dpfl_theory.statements import get
    >>> inequalities(get("das2022.theorem4a"))
    ((1, alpha), (E, alpha/(2*rho)), (rho, 1), (1, K))
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
