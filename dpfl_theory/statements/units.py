"""Dimensional analysis of printed formulas: the objective has unit F, the parameters X.

A unit is a pair of rational exponents (of F, of X). So L and mu have (1, -2), gradients (1, -1), step sizes (-1, 2).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.lazy import sympy as sp

Unit = tuple[Fraction, Fraction]
DIMENSIONLESS: Unit = (Fraction(0), Fraction(0))


class UnitError(Exception):
    """A formula adds, compares or exponentiates quantities of different units; the message names the sub-formula."""


def format_unit(unit: tuple[Any, Any]) -> str:
    """A unit in words.

    >>> format_unit((1, -2))
    'F X^-2'
    >>> format_unit((0, 0))
    '1'
    """
    parts = [f"{base}" if e == 1 else f"{base}^{e}" for base, e in zip("FX", unit) if e != 0]
    return " ".join(parts) or "1"


def unit_of(expression: Any, units: Mapping[str, tuple[Any, Any]]) -> Unit:
    """The unit of a sympy expression, given the units of its symbols by name.

    Raises UnitError when terms of a sum differ in unit, or when an exponent has a unit. It also does so when a function
    other than a power, Abs, Max or Min has an argument with a unit. A literal zero has every unit.

    >>> import sympy as sp
    >>> eta, L = sp.symbols("eta L")
    >>> unit_of(1 + eta * L, {"eta": (-1, 2), "L": (1, -2)}) == DIMENSIONLESS
    True
    """

    def walk(e: Any) -> Unit | None:
        """The unit of an expression; None for a literal zero, which has any unit."""
        if e.is_Symbol:
            if e.name not in units:
                raise UnitError(f"symbol {e.name} has no declared unit")
            f, x = units[e.name]
            return Fraction(f), Fraction(x)
        if e.is_number:
            return None if e.is_zero else DIMENSIONLESS
        if e.is_Mul:
            factors = [walk(a) for a in e.args]
            known = [u for u in factors if u is not None]
            return (
                None
                if len(known) < len(factors)
                else (sum((u[0] for u in known), Fraction(0)), sum((u[1] for u in known), Fraction(0)))
            )
        if e.is_Pow:
            base, exponent = walk(e.base), e.exp
            if exponent.is_Rational:
                p = Fraction(int(exponent.p), int(exponent.q))
                return None if base is None else (base[0] * p, base[1] * p)
            if walk(exponent) not in (None, DIMENSIONLESS) or base not in (None, DIMENSIONLESS):
                raise UnitError(f"{e} raises {format_unit(base or (0, 0))} to a symbolic power")
            return DIMENSIONLESS
        if e.is_Add or isinstance(e, (sp.Max, sp.Min)):
            seen: Unit | None = None
            for a in e.args:
                unit = walk(a)
                if unit is None:
                    continue
                if seen is not None and unit != seen:
                    raise UnitError(
                        f"{e} mixes terms of unit {format_unit(seen)} and {format_unit(unit)} (the term {a})"
                    )
                seen = unit
            return seen
        if isinstance(e, sp.Abs):
            return walk(e.args[0])
        if isinstance(e, sp.Function):
            for a in e.args:
                if walk(a) not in (None, DIMENSIONLESS):
                    raise UnitError(f"the argument of {e} has unit {format_unit(walk(a) or (0, 0))}")
            return DIMENSIONLESS
        raise UnitError(f"cannot determine the unit of {e} ({type(e).__name__})")

    return walk(sp.sympify(expression)) or DIMENSIONLESS
