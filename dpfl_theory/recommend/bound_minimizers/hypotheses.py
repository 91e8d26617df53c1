"""The hypotheses of a statement that are inequalities between its symbols, parsed from their text."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.formula import symbols_of
from dpfl_theory.statements.model import Statement

__all__ = ["inequalities"]

BRACES = str.maketrans("{}", "()")


@cache
def inequalities(statement: Statement) -> tuple[tuple[Any, Any], ...]:
    """Pairs (smaller, larger) of expressions in the statement's symbols. A hypothesis in words, or on something that
    is not a symbol, gives no pair. The domain of a symbol says that it is positive.

    >>> from dpfl_theory.statements import get
    >>> inequalities(get("das2022.theorem4a"))
    ((1, alpha), (E, alpha/(2*rho)))
    """
    found = []
    texts = [part for a in statement.hypotheses for part in a.text.split(" and ")]
    for text in texts:
        sides = re.split(r"(<=|>=|<|>)", text.replace("eta~", "eta"))  # the symbol of the global step
        read = [_expression(statement, side) for side in sides[::2]]
        if len(read) < 2 or None in read:
            continue
        for left, sign, right in zip(read, sides[1::2], read[1:], strict=False):
            small, large = (left, right) if sign.startswith("<") else (right, left)
            found += [
                (least, most)
                for least in (small.args if isinstance(small, sp.Max) else (small,))
                for most in (large.args if isinstance(large, sp.Min) else (large,))
            ]
    return tuple(pair for pair in found if pair[0] != 0)


def _expression(statement: Statement, text: str) -> Any:
    """A formula from a text, in which products have no sign; None for words."""
    symbols = dict(symbols_of(statement))
    known = {**symbols, "min": sp.Min, "max": sp.Max, "sqrt": sp.sqrt, "ln": sp.log}
    text = re.sub(r"(?<![A-Za-z_])[A-Z]{2,}", lambda m: f" {' '.join(m[0])} ", text.translate(BRACES))  # QL is Q L
    names = re.findall(r"[A-Za-z_]\w*", text)
    if not text.strip() or any(name not in known for name in names) or not re.fullmatch(r"[\w\s+\-*/^().,]+", text):
        return None
    from sympy.parsing.sympy_parser import implicit_multiplication, parse_expr, standard_transformations

    written = text.strip().replace("^", "**")
    try:
        return parse_expr(
            written, local_dict=known, transformations=(*standard_transformations, implicit_multiplication)
        )
    except (SyntaxError, TypeError):
        return None
