"""The hypotheses of a statement that are inequalities between its letters, read from their words."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.formula import letters_of
from dpfl_theory.statements.model import Statement

__all__ = ["inequalities"]


@cache
def inequalities(statement: Statement) -> tuple[tuple[Any, Any], ...]:
    """Pairs (smaller, larger) of expressions in the statement's letters. A hypothesis in words, or on something that is
    no letter, gives none; that a letter is positive is known by its domain.

    >>> from dpfl_theory.statements import get
    >>> inequalities(get("das2022.theorem4a"))
    ((1, alpha), (E, alpha/(2*rho)))
    """
    found = []
    for assumption in statement.assumptions:
        sides = re.split(r"(<=|>=|<|>)", assumption.text.replace("eta~", "eta"))  # the letter of the global step
        read = [_expression(statement, side) for side in sides[::2]]
        if len(read) < 2 or None in read:
            continue
        for left, sign, right in zip(read, sides[1::2], read[1:], strict=False):
            found.append((left, right) if sign.startswith("<") else (right, left))
    return tuple(pair for pair in found if pair[0] != 0)


def _expression(statement: Statement, text: str) -> Any:
    """A formula as it stands in a text, with products without a sign, or None for words."""
    letters = dict(letters_of(statement))
    known = {**letters, "min": sp.Min, "max": sp.Max, "sqrt": sp.sqrt}
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
