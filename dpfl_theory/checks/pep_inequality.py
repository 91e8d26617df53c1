"""A statement's two sides as quantities of a performance estimation problem.

Some symbols are numbers, others quantities of the problem (PEPit expressions). A quantity that is a multiple of another
symbol is given as that multiple, in sympy. In the quantities the sides, or their squares, must be linear:
``rhs - lhs = sum_j c_j O_j`` with numbers c_j; a constant is a multiple of a unit. Terms with c_j > 0 are on the right,
the others on the left, so that neither side is negative where no O_j is.

Each c_j is computed exactly, or enclosed. Both sides are multiplied so that double precision holds the c_j, where a
number of at most `LARGEST` achieves that. Otherwise each is rounded towards minus infinity: where O_j >= 0 the
inequality that is proved is at least as hard as the statement.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Performance, Statement, WorstCase
from dpfl_theory.core.check_inputs import SQUARE
from dpfl_theory.core.formula import SidesError, symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.symbolic import enclosure

LARGEST = 1000
"""Larger factors would make numbers of very different sizes, which are difficult for solvers."""
SMALL = 2.0**-8
"""The largest coefficient of a right side that counts as small."""
UNIT = "unit"
"""The name of a multiple of `WorstCase.unit` that is not a symbol."""


def way(statement: Statement, case: WorstCase) -> str:
    """The direction of the comparison: ``<=`` or ``>=``, from the statement's relation where the case does not name
    it."""
    return case.direction or (">=" if statement.relation == ">=" else "<=")


def coefficients(statement: Statement, case: WorstCase) -> dict[str, Fraction]:
    """The c_j of ``rhs - lhs`` (of ``lhs - rhs`` for the other half of an equality).

    They are named by the values that are PEPit expressions, and by the case's ``unit``; each is rounded down where it
    is not rational. Raises ValueError where a symbol has no value, and where the difference is not linear or has a
    constant but no unit."""
    symbols = symbols_of(statement)
    known = {k: v for k, v in case.values.items() if k.removesuffix(SQUARE) in symbols}
    numbers = {symbols[k]: _rational(v) for k, v in known.items() if not _moves(v) and not k.endswith(SQUARE)}
    squares = {k.removesuffix(SQUARE): v for k, v in known.items() if k.endswith(SQUARE) and not _moves(v)}
    roots = {symbols[k]: sp.sqrt(_rational(v)) for k, v in squares.items()}
    stands = {k: sp.Symbol(f"value_{i}", positive=True) for i, (k, v) in enumerate(known.items()) if _moves(v)}
    moving = {
        symbols[k.removesuffix(SQUARE)]: sp.sqrt(stand) if k.endswith(SQUARE) else stand for k, stand in stands.items()
    }
    power = 2 if case.squared else 1
    difference = total(statement, "rhs") ** power - total(statement, "lhs") ** power
    difference = -difference if way(statement, case) == ">=" else difference
    with_value = set(numbers) | set(roots) | set(moving)
    missing = (difference.free_symbols | {s for v in numbers.values() for s in v.free_symbols}) - with_value
    if missing:
        names = ", ".join(sorted(s.name for s in missing))
        raise SidesError(f"{statement.id} has no value for {names}: add it to the values of the WorstCase")
    difference = sp.expand(difference.subs({**numbers, **roots}, simultaneous=True).subs(moving, simultaneous=True))
    if case.solved:
        difference = _solved(statement, difference, stands[case.solved])
    found = {}
    for name, stand in stands.items():
        slope = difference.diff(stand)
        if slope.free_symbols:
            raise SidesError(
                f"a side is not linear in {name}: a worst case adds up multiples of function values and of squares of "
                f"lengths; give a length by its square (values {{'D^2': ...}}), or set squared=True where both sides "
                f"are lengths"
            )
        if slope != 0:
            found[name] = enclosure(slope)[0]
    left = sp.expand(difference.subs(dict.fromkeys(stands.values(), 0)))
    if left != 0 and case.unit is None:
        raise SidesError(
            f"{left} remains where every quantity is zero: a bound for all functions of a class has no such constant; "
            f"multiply it by the square of a length, such as D**2, or give the length in which it is measured as unit"
        )
    if left != 0:
        found[UNIT] = enclosure(left)[0]
    return found


def _solved(statement: Statement, difference: Any, quantity: Any) -> Any:
    """The quantity less its value at which a difference that increases with it vanishes."""
    roots = sp.solve(difference, quantity)
    if len(roots) != 1 or not all(difference.diff(quantity).subs(quantity, factor * roots[0]) > 0 for factor in (1, 2)):
        raise ValueError(f"{statement.id}: the right side reaches the left one at {roots}, or not from below")
    return quantity - roots[0]


def _moves(value: Any) -> bool:
    return type(value).__module__.split(".")[0] == "PEPit"


def _rational(value: Any) -> Any:
    """A number as sympy's: a float is converted to the binary fraction that it holds."""
    return sp.sympify(Fraction(value) if isinstance(value, float) else value)


def _down(value: Fraction) -> float:
    """The largest double that is at most a fraction."""
    near = float(value)
    return near if Fraction(near) <= value else math.nextafter(near, -math.inf)


def _whole(coefficients: Iterable[Fraction]) -> int:
    """The factor of fractions with which doubles hold them; 1 where it would be larger than `LARGEST`."""
    found = list(coefficients)
    factor = math.lcm(*(c.denominator // (c.denominator & -c.denominator) for c in found))
    held = factor <= LARGEST and all(Fraction(float(factor * c)) == factor * c for c in found)
    return factor if held else 1


def _scale(coefficients: Iterable[Fraction]) -> Fraction:
    """A power of 2, by which nothing is rounded, that brings the coefficients of small right sides to about 1.

    Examples are right sides proportional to the square of a step: a solver cannot distinguish them from its
    tolerance."""
    largest = max((c for c in coefficients if c > 0), default=Fraction(1))
    return Fraction(1) if largest > SMALL else Fraction(2) ** -math.floor(math.log2(largest))


def arranged(statement: Statement, case: WorstCase, scaled: bool = True) -> Performance:
    """The inequality that a worst case of the statement is about, for a solver: see `WorstCase`. scaled: whether small
    right sides are brought to about 1."""
    found = coefficients(statement, case)
    quantities = {**case.values, UNIT: case.unit}
    if statement.relation in ("<=", ">=") and way(statement, case) != statement.relation:
        raise ValueError(f"{statement.id} states {statement.relation!r}, not {case.direction!r}")
    factor = Fraction(_whole(found.values()))
    factor *= _scale(factor * c for c in found.values()) if scaled else 1
    left: list[Any] = []
    right: list[Any] = []
    for name, c in found.items():
        quantity, value = quantities[name], _down(factor * c)
        if name in case.capped and c > 0:
            message = "known only from above here, as the least of several values is, and is on the larger side"
            raise ValueError(f"{statement.id}: {name} is {message}: check it by exact and monte-carlo")
        if value < 0.0 if case.left is None else name in case.left:
            left.append(-value * quantity)
        else:
            right.append(value * quantity)
    if case.shift is not None:  # last: the rounding of sums decides whether a proof is found
        left.append(float(factor) * case.shift)
        right.append(float(factor) * case.shift)
    nothing = 0.0 * next(iter(v for v in case.values.values() if _moves(v)))
    smaller, larger = (sum(terms[1:], terms[0]) if terms else nothing for terms in (left, right))
    return Performance(case.problem, smaller, larger, case.description or statement.id, case.also)
