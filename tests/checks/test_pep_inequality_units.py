"""What a worst case makes of a statement's sides: units of length, squares, what is solved for, whole numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
import sympy as sp
from PEPit import PEP

from dpfl_theory.checks.pep_inequality import UNIT, _whole, coefficients
from dpfl_theory.core import Sides, Source, Statement, Symbol, Symbols, WorstCase

NAMES = ("a", "b", "c")


def statement(sides: Callable[[Symbols], Sides]) -> Statement:
    return Statement("mine.one", "step", "t", Source("mine", "here"), "text", tuple(map(symbol, NAMES)), sides=sides)


def symbol(name: str) -> Symbol:
    return Symbol(name, name, (0, 0), "nonnegative", name)


def found(sides: Callable[[Symbols], Sides], values: dict[str, Any], **more: Any) -> dict[str, Fraction]:
    problem = PEP()
    square = problem.set_initial_point() ** 2
    given = {name: square if value is None else value for name, value in values.items()}
    if more.pop("in_units", False):
        more["unit"] = square
    return coefficients(statement(sides), WorstCase(problem, given, **more))


def plain(s: Symbols) -> Sides:
    return Sides({"a": s.a}, {"b": s.b, "c": s.c / 3})


def test_numbers_are_multiples_of_the_unit() -> None:
    assert found(plain, {"a": None, "b": 2, "c": 1}, in_units=True) == {"a": -1, UNIT: Fraction(7, 3)}
    with pytest.raises(ValueError, match="7/3 remains where every quantity is zero"):
        found(plain, {"a": None, "b": 2, "c": 1})


def test_squares_of_both_sides_are_compared() -> None:
    assert found(plain, {"a^2": None, "b": 2, "c": 1}, in_units=True, squared=True) == {
        "a^2": -1,
        UNIT: Fraction(49, 9),
    }
    with pytest.raises(ValueError, match="not linear in a"):
        found(plain, {"a": None, "b": 2, "c": 1}, in_units=True, squared=True)


def test_a_right_side_that_is_not_linear_is_solved() -> None:
    def curved(s: Symbols) -> Sides:
        return Sides({"a": s.a}, {"b": s.c * (1 + s.b) ** 2})

    # c (1 + b)^2 reaches a = 18 at b = 2 for c = 2, and at b = 5 for c = 1/2: a smaller right side asks for more.
    for c, least in ((2, 2), (Fraction(1, 2), 5)):
        assert found(curved, {"a": 18, "b": None, "c": c}, in_units=True, solved="b") == {"b": 1, UNIT: -least}

    def falling(s: Symbols) -> Sides:
        return Sides({"a": s.a}, {"b": s.c - s.b**3})

    with pytest.raises(ValueError, match="or not from below"):
        found(falling, {"a": 1, "b": None, "c": 2}, in_units=True, solved="b")


def test_the_other_half_is_rounded_to_its_own_safe_side() -> None:
    """sqrt(2) is enclosed from above where it is on the left, from below where it is on the right."""

    def irrational(s: Symbols) -> Sides:
        return Sides({"a": s.a}, {"b": s.c * s.b})

    one = found(irrational, {"a": None, "b": None, "c": sp.sqrt(2)}, direction="<=")["b"]
    other = found(irrational, {"a": None, "b": None, "c": sp.sqrt(2)}, direction=">=")["b"]
    assert one**2 < 2 < other**2
    assert other < 0


def test_fractions_are_made_whole_where_that_keeps_them_exact() -> None:
    assert _whole([Fraction(1, 6), Fraction(-3, 4)]) == 3
    assert _whole([Fraction(1, 22), Fraction(1)]) == 11
    assert _whole([Fraction(1, 1009)]) == 1
    assert _whole([Fraction(10**20 + 1, 3)]) == 1
