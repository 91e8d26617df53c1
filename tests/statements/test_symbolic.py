"""Sides at a point, as fractions, and equality: the reported point lies in the symbols' domains."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import pytest
import sympy as sp

from dpfl_theory.core import Source, Statement, Symbol
from dpfl_theory.core.formula import symbols_of
from dpfl_theory.core.notation import DOMAINS
from dpfl_theory.statements import all_statements, get, symbolic
from dpfl_theory.statements.symbolic import as_fractions, enclosure, equal, sides_at


def symbol(domain: str, name: str = "a") -> Any:
    """A symbol of a statement, as in its formulas."""
    symbols = (Symbol(name, "a symbol", (0, 0), domain),)
    return symbols_of(Statement("test.letters", "fact", "", Source("test", ""), "", symbols))[name]


def within(domain: str, value: Fraction) -> bool:
    return {
        "positive": value > 0,
        "nonnegative": value >= 0,
        "real": True,
        "integer": value > 0 and value.denominator == 1,
        "probability": 0 < value < 1,
    }[domain]


def point(reason: str) -> dict[str, Fraction]:
    """The point that a reason names."""
    return {name: Fraction(value) for name, value in re.findall(r"(\w+) = (-?\d+(?:/\d+)?)", reason.split(" at ")[1])}


FALSE = [
    lambda a, b: (a, a**2),
    lambda a, b: ((a + b) ** 2, a**2 + b**2),
    lambda a, b: (sp.sqrt(a**2), a + sp.Rational(1, 10**9)),
    lambda a, b: (sp.Max(a, b), a),
]


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("planted", FALSE)
def test_a_false_identity_is_refuted_at_a_point_of_the_domain(domain: str, planted: Any) -> None:
    symbols = symbol(domain), symbol(domain, "b")
    found = equal(*planted(*symbols), "planted")
    assert found.true is False
    assert all(within(domain, value) for value in point(found.reason).values()), found.reason


ONLY_THERE: dict[str, Any] = {  # true on the domain, false outside it, and beyond simplification
    "probability": lambda a: (sp.Max(1, 2 * a, a + 1), a + 1),
    "integer": lambda a: (sp.floor(a / 2) + sp.floor((a + 1) / 2), a),
    "positive": lambda a: (sp.Max(a**3, -a), a**3),
    "nonnegative": lambda a: (sp.Max(a**3, -a), a**3),
}


@pytest.mark.parametrize("domain", ONLY_THERE)
def test_a_point_outside_the_domain_is_no_counterexample(domain: str) -> None:
    """Not refuted where it is true, and refuted by the same code for a real symbol."""
    assert equal(*ONLY_THERE[domain](symbol(domain)), "planted").true is not False
    assert equal(*ONLY_THERE[domain](symbol("real")), "planted").true is False


def test_a_difference_on_negative_numbers_alone_is_found_for_real_letters() -> None:
    found = equal(sp.Abs(symbol("real")), symbol("real"), "planted")
    assert found.true is False
    assert point(found.reason)["a"] < 0


def test_every_domain_has_points_and_no_point_leaves_it() -> None:
    symbols = {domain: symbol(domain, f"a_{domain}") for domain in DOMAINS}
    points = list(symbolic._points(list(symbols.values())))
    assert len(points) == symbolic.POINTS
    for domain, a in symbols.items():
        values = {Fraction(str(p[a])) for p in points}
        assert len(values) >= 3, domain
        assert all(within(domain, value) for value in values), domain
    assert any(p[symbols["real"]] < 0 for p in points)


@pytest.mark.slow
def test_the_catalogues_counterexamples_lie_in_the_letters_domains() -> None:
    seen = []
    for statement in all_statements():
        domains = {s.name: s.domain for s in statement.symbols} | dict.fromkeys(
            (e.name for e in statement.expectations), "real"
        )
        for check in statement.checks:
            if (check.method, check.expected) == ("algebra", "violated"):
                reason = check.make(statement).reason
                found = point(reason) if "the sides differ" in reason else {}
                assert all(within(domains.get(name, "real"), value) for name, value in found.items()), reason
                seen += [domains[name] for name in found if name in domains]
    assert {"positive", "nonnegative", "real", "integer"} <= set(seen)


def test_complex_and_infinite_values_refute_nothing() -> None:
    """log(-a) = log(a) is false where it is complex only, and 1/(a - a) nowhere defined."""
    a = symbol("positive")
    assert equal(sp.log(-a), sp.log(a), "planted").true is None
    assert equal(sp.sqrt(-a), sp.sqrt(a), "planted").true is None
    found = equal(sp.log(1 - a), sp.log(1 - a) + sp.Rational(1, 10**6), "planted")
    assert found.true is False
    assert point(found.reason)["a"] < 1


def test_what_differs_is_told_before_it_is_simplified(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*_: object) -> None:
        raise TimeoutError("this would take forever")

    monkeypatch.setattr(sp, "simplify", endless)
    a, b = symbol("positive"), symbol("positive", "b")
    assert equal(sp.exp(sp.log(a / b) ** 2 / b), a / b, "planted").true is False


def test_floats_are_compared_to_as_many_digits_as_they_have() -> None:
    a = symbol("positive")
    assert equal(0.1 * a, a / 10, "rounded").true is not False
    assert equal(0.1001 * a, a / 10, "planted").true is False


# Fractions that compare in the same way as the sides


@pytest.mark.parametrize(("left", "right"), [(sp.sqrt(2), sp.Rational(14142135623730950488, 10**19)), (sp.pi, sp.E)])
def test_numbers_that_are_not_rational_are_rounded_to_the_safe_side(left: Any, right: Any) -> None:
    for a, b in ((left, right), (right, left)):
        low, high = as_fractions(a, b)
        assert (low < high) == bool(a < b)
        truth = sp.Rational(str(low)), sp.Rational(str(high))
        assert bool(truth[0] >= a) and bool(truth[1] <= b) if a < b else bool(truth[0] <= a) and bool(truth[1] >= b)


def test_numbers_that_no_enclosure_parts_are_refused() -> None:
    one = sp.sin(1) ** 2 + sp.cos(1) ** 2
    with pytest.raises(ValueError, match="do not separate"):
        as_fractions(one, sp.Integer(1))
    assert as_fractions(sp.Rational(1, 3), sp.Rational(1, 3)) == (Fraction(1, 3), Fraction(1, 3))
    near = sp.Integer(1) + sp.Rational(1, 10**40)
    assert as_fractions(one, near)[0] < as_fractions(one, near)[1]


@pytest.mark.parametrize("value", [sp.sqrt(-2), sp.zoo, sp.oo, sp.nan, sp.Symbol("x")])
def test_what_is_no_real_number_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="is not a real number"):
        enclosure(value)


def test_a_letter_without_a_value_is_refused() -> None:
    with pytest.raises(ValueError, match="no value for cohort_common, first_spread, second_spread"):
        sides_at(get("zhang2021.eq16"), {"cohort_clipped": 1})
