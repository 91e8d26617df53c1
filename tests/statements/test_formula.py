"""The one evaluator of formulas: every arithmetic gives the same value, and inputs without a value are rejected."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import pytest
import sympy as sp

from dpfl_theory.core import Sides, Source, Statement, Symbol, Symbols
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import evaluate_side, prescription_of, sides_of, symbols_of, terms_at, total
from dpfl_theory.statements import all_statements, get

X, Y = sp.symbols("x y", positive=True)

FORMULAS = {
    "rational": X**3 / (7 * Y) - sp.Rational(2, 3) * (X - Y) ** 2 + 1 / (X + Y),
    "largest": sp.Max(1 - X * Y, 1 - Y**2) * X + sp.Min(X, Y, 1) - sp.Abs(X - 2 * Y),
    "rounded": sp.floor(X / Y) + sp.ceiling(7 * X) / 3,
    "powers": X ** sp.Rational(2, 3) * Y ** sp.Rational(-1, 2) + 2**X,
    "logarithm": sp.log(1 + X) / sp.sqrt(Y) + sp.exp(-Y),
    "a number": sp.Rational(5, 3),
    "nested": (X - (Y - (X - Y) * (X + Y)) / (X * Y)) ** -2 - -(X**2),
}
POINTS = [(Fraction(3, 4), Fraction(2, 5)), (Fraction(1, 2), Fraction(1, 2)), (Fraction(27, 8), Fraction(9, 4))]


@pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
@pytest.mark.parametrize("point", POINTS, ids=str)
def test_every_arithmetic_agrees_with_sympy(formula: Any, point: tuple[Fraction, Fraction]) -> None:
    x, y = point
    truth = formula.subs({X: sp.Rational(x.numerator, x.denominator), Y: sp.Rational(y.numerator, y.denominator)})
    exact = evaluate(formula, {"x": x, "y": y})
    assert sp.simplify(sp.sympify(exact) - truth) == 0
    assert isinstance(exact, Fraction) == bool(truth.is_Rational)
    assert evaluate(formula, {"x": sp.sympify(x), "y": y}) == exact
    if isinstance(exact, Fraction) and formula.free_symbols:
        assert evaluate(formula, {"x": float(x), "y": float(y)}) == pytest.approx(float(exact), rel=1e-14)
    with mpmath.workdps(40):
        found = evaluate(formula, {"x": mpmath.mpf(x.numerator) / x.denominator, "y": y})
        assert abs(mpmath.mpf(str(sp.N(truth, 45))) - found) <= abs(found) * mpmath.mpf(10) ** -38


def test_a_power_is_rational_where_its_root_is() -> None:
    root = X ** sp.Rational(2, 3)
    assert evaluate(root, {"x": Fraction(27, 8)}) == Fraction(9, 4)
    assert evaluate(root, {"x": Fraction(2)}) == 2 ** sp.Rational(2, 3)
    assert evaluate(sp.Symbol("x", real=True) ** sp.Rational(1, 2), {"x": Fraction(-4)}) == 2 * sp.I
    assert evaluate(2**X, {"x": Fraction(1, 2)}) == sp.sqrt(2)


def test_whole_numbers_are_divided_exactly() -> None:
    assert evaluate(X / 3 + 1 / Y, {"x": 1, "y": 3}) == Fraction(2, 3)


def test_a_letter_without_a_value_is_named() -> None:
    with pytest.raises(ValueError, match=r"my\.one has no value for y"):
        evaluate(X + Y, {"x": 1}, "my.one")
    with pytest.raises(TypeError, match="give a fraction, a float or a number of mpmath or sympy"):
        evaluate(X, {"x": "1/2"})


def _statement(sides: Any = None) -> Statement:
    symbols = (Symbol("x", "a number"), Symbol("y", "another"))
    return Statement("my.one", "lemma", "t", Source("my", "here"), "text", symbols=symbols, sides=sides)


def test_letters_are_attributes_and_a_wrong_one_is_named() -> None:
    statement = _statement(lambda s: Sides({"l": s.x}, {"a": s.y, "b": 2 * s["x"]}))
    assert total(statement) == Y + 2 * X
    assert terms_at(statement, "rhs", {"x": 1, "y": Fraction(1, 2), "z": 7}) == {"a": Fraction(1, 2), "b": 2}
    assert evaluate_side(statement, "rhs", {"x": 1, "y": Fraction(1, 2)}) == Fraction(5, 2)
    with pytest.raises(KeyError, match=r"my\.one has no symbol 'rho'; it has x, y"):
        sides_of(replace(statement, sides=lambda s: Sides({"l": s.rho}, {})))
    assert dict(Symbols({"x": 1}, "it")) == {"x": 1}


def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match=r"my\.one has no sides"):
        sides_of(_statement())
    with pytest.raises(ValueError, match=r"my\.one prescribes nothing"):
        prescription_of(_statement())


def test_other_sides_are_evaluated_as_they_are() -> None:
    """Values cached for a statement are never used for one with other sides."""
    statement = get("das2022.eq57")
    values = {"gap_start": Fraction(1), "eta_k": Fraction(1, 2), "sum_gradients_squared": Fraction(1)}
    assert evaluate_side(statement, "rhs", values) == Fraction(3, 4)
    made = sides_of(statement)
    halved = replace(statement, sides=lambda s: Sides(made.lhs, {k: v / 2 for k, v in made.rhs.items()}))
    assert evaluate_side(halved, "rhs", values) == Fraction(3, 8)
    assert evaluate_side(statement, "rhs", values) == Fraction(3, 4)


@pytest.mark.exhaustive(keep=24)
@pytest.mark.exhaustive(keep=30)
@pytest.mark.parametrize("statement", [s for s in all_statements() if s.sides is not None], ids=lambda s: s.id)
def test_the_catalogues_formulas_have_the_same_value_in_every_arithmetic(statement: Statement) -> None:
    """At one point in the symbols' domains, drawn with a fixed seed, if a side is real there."""
    draw = random.Random(statement.id)
    names = sorted(symbols_of(statement))
    whole = {s.name for s in statement.symbols if s.domain == "integer"}
    small = {s.name for s in statement.symbols if s.domain == "probability"}
    values = {
        n: Fraction(draw.choice((2, 3, 4, 5, 6, 8, 9)), 1 if n in whole else 10 if n in small else 7) for n in names
    }
    for side in ("lhs", "rhs"):
        expression = total(statement, side)
        exact = evaluate(expression, values)
        number = complex(sp.N(sp.sympify(exact), 30))
        if abs(number.imag) > 1e-12 * abs(number) or not expression.free_symbols:
            continue
        with mpmath.workdps(30):
            fine = evaluate(expression, {n: mpmath.mpf(v.numerator) / v.denominator for n, v in values.items()})
        assert float(fine) == pytest.approx(number.real, rel=1e-12)
