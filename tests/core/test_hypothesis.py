"""A hypothesis's text, test, boundary and LaTeX follow from its relation."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import mpmath
import pytest
import sympy as sp

from dpfl_theory.core import Hypothesis, by_construction, whole
from dpfl_theory.errors import InputError
from dpfl_theory.statements import all_statements

SHORT = Hypothesis(lambda s: s.E <= s.alpha / (2 * s.rho))
PROBLEM: Any = SimpleNamespace(n=3, d=2, constants=SimpleNamespace(L_max=2.0))


@pytest.mark.parametrize(
    ("relation", "values", "failure"),
    [
        (lambda s: s.a <= 1, {"a": 1}, None),
        (lambda s: s.a <= 1, {"a": 1.5}, "a = 1.5 exceeds 1"),
        (lambda s: s.a < 1, {"a": 1}, "a = 1 is not below 1"),
        (lambda s: s.a < 1, {"a": 0.999}, None),
        (lambda s: s.a >= s.b, {"a": 1, "b": 2}, "a = 1 is below b = 2"),
        (lambda s: s.a > 1 / s.b, {"a": 2, "b": Fraction(1, 2)}, "a = 2 does not exceed 1/b = 2"),
        (lambda s: sp.Eq(s.a, 2 * s.b), {"a": 3, "b": 1}, "a = 3 is not 2 b = 2"),
        (lambda s: sp.Eq(s.a, 2 * s.b), {"a": 2 * (1 + 1e-10), "b": 1}, None),
        (lambda s: whole(s.a), {"a": 3.0}, None),
        (lambda s: whole(s.a), {"a": 0}, None),
        (lambda s: whole(s.a * s.b), {"a": 0.5, "b": 3}, "a b = 1.5 is not a whole number"),
        (lambda s: whole(s.a), {"a": math.inf}, "a = inf is not a whole number"),
        (lambda s: (s.a > 0, s.a < 1), {"a": 2}, "a = 2 is not below 1"),
    ],
)
def test_a_relation_that_fails_says_how(relation: Any, values: dict[str, Any], failure: str | None) -> None:
    assert Hypothesis(relation).test(None, values) == failure


@pytest.mark.parametrize("kind", [Fraction, float, mpmath.mpf, sp.Rational])
def test_values_may_be_numbers_of_any_kind(kind: Any) -> None:
    assert SHORT.test(None, {"E": kind(4), "alpha": kind(2), "rho": kind(1) / 4}) is None
    assert SHORT.test(None, {"E": kind(5), "alpha": kind(2), "rho": kind(1) / 4}) == "E = 5 exceeds alpha/(2 rho) = 4"


def test_constants_that_are_irrational_compare_with_numbers_of_any_kind() -> None:
    small = Hypothesis(lambda s: s.delta <= sp.exp(-5))
    for delta in (0.01, Fraction(1, 100), mpmath.mpf("0.01")):
        assert small.test(None, {"delta": delta}) == "delta = 0.01 exceeds 0.00673795"
        assert small.test(None, {"delta": delta / 2}) is None


def test_rounding_counts_as_equal_and_no_more() -> None:
    at = math.nextafter(1.0, 2.0)
    assert Hypothesis(lambda s: s.a <= 1).test(None, {"a": at}) is None
    assert Hypothesis(lambda s: s.a <= 1).test(None, {"a": 1 + 1e-11}) is not None
    assert Hypothesis(lambda s: s.a <= 1, rounding=1e-9).test(None, {"a": 1 + 1e-10}) is None
    assert Hypothesis(lambda s: s.a < 1).test(None, {"a": 1.0}) is not None, "a strict relation has no slack"


def test_a_sentence_does_not_contradict_itself() -> None:
    assert Hypothesis(lambda s: s.a < 1).test(None, {"a": 1 - 1e-9}) is None
    assert Hypothesis(lambda s: s.a <= 1).test(None, {"a": 1 + 2e-9}) == "a = 1.000000002 exceeds 1"
    assert Hypothesis(lambda s: whole(s.K)).test(None, {"K": 1000.0001}) == "K = 1000.0001 is not a whole number"


def test_a_side_without_a_value_does_not_meet_its_relation() -> None:
    limit = Hypothesis(lambda s: s.eta <= 1 / s.L)
    for zero in (0, 0.0, mpmath.mpf(0)):
        assert str(limit.test(None, {"eta": 0.5, "L": zero})).startswith("eta <= 1/L has no value at ")
    assert str(Hypothesis(lambda s: s.e <= -2 * sp.log(s.d)).test(None, {"e": 1.0, "d": 0.0})).startswith(
        "e <= -2 log(d)"
    )
    assert Hypothesis(lambda s: s.a < sp.oo).test(None, {"a": mpmath.mpf(1)}) is None


def test_arguments_with_a_default_are_the_functions_own() -> None:
    assert Hypothesis(lambda s, factor=2: s.a <= factor).test(None, {"a": 3}) == "a = 3 exceeds 2"


@pytest.mark.parametrize("kind", [float, mpmath.mpf])
def test_nothing_is_close_to_infinity_and_a_value_that_is_no_number_meets_nothing(kind: Any) -> None:
    lipschitz = Hypothesis(lambda s: s.G_max <= s.G)
    infinite, nan = kind("inf"), kind("nan")
    assert lipschitz.test(None, {"G_max": infinite, "G": kind(1)}) == "G_max = inf exceeds G = 1"
    assert lipschitz.test(None, {"G_max": kind(1), "G": infinite}) is None
    assert lipschitz.test(None, {"G_max": infinite, "G": infinite}) is None
    assert Hypothesis(lambda s: sp.Eq(s.G_max, s.G)).test(None, {"G_max": infinite, "G": kind(1)}) is not None
    for relation in (
        lambda s: s.a <= 1,
        lambda s: s.a < 1,
        lambda s: s.a >= 1,
        lambda s: s.a > 1,
        lambda s: sp.Eq(s.a, 1),
    ):
        assert Hypothesis(relation).test(None, {"a": nan}) is not None


def test_constants_of_the_problem_are_read_from_it() -> None:
    smooth = Hypothesis(lambda s, c: c.L_max <= s.L, "each f_i is L-smooth")
    assert smooth.text == "each f_i is L-smooth"
    assert smooth.test(None, {"L": 1}) is None, "no problem, nothing to compare with"
    assert smooth.test(PROBLEM, {"L": 2}) is None
    assert smooth.test(PROBLEM, {"L": 1}) == "L_max = 2 exceeds L = 1"
    assert Hypothesis(lambda s, c: sp.Eq(s.n, c.n)).test(PROBLEM, {"n": 4}) == "n = 4 is not n = 3"


def test_a_symbol_without_a_value_is_named_unless_it_may_be_absent() -> None:
    with pytest.raises(KeyError, match=r"^'alpha'$"):
        SHORT.test(None, {"E": 1, "rho": 1})
    optional = Hypothesis(lambda s: (s.a > 0, s.b > 0), partial=("b",))
    assert optional.test(None, {"a": 1}) is None
    with pytest.raises(KeyError, match=r"^'a'$"):
        optional.test(None, {"b": 1})
    assert optional.test(None, {"a": 1, "b": 0}) == "b = 0 does not exceed 0"


@pytest.mark.parametrize(
    "given", [None, True, 3, "eta <= 1/L", (sp.Symbol("a") < 1, False), (), sp.Ne(sp.Symbol("a"), 1)]
)
def test_what_is_no_relation_is_refused(given: Any) -> None:
    with pytest.raises(InputError, match="which is not a relation between symbols: return one such as"):
        _ = Hypothesis(lambda s: given).relations


def test_text_is_as_papers_type_it() -> None:
    assert SHORT.text == "E <= alpha/(2 rho)"
    assert (
        Hypothesis(lambda s: (s.a >= 1, s.b < s.a**2, whole(s.a))).text == "a >= 1 and b < a^2 and a is a whole number"
    )
    assert Hypothesis(lambda s: (s.a >= 1, s.a < s.n)).text == "1 <= a < n"
    assert Hypothesis(lambda s: s.g <= sp.Min(1 / s.L, 2 / s.m)).text == "g <= min(1/L, 2/m)"
    assert SHORT.latex({"rho": r"\varrho"}) == r"E \leq \frac{\alpha}{2 \varrho}"


def test_crossings_are_the_boundary_itself() -> None:
    values = {"E": 1.0, "alpha": 2.0, "rho": 0.25}
    assert SHORT.crossings(values, "E") == pytest.approx([4.0], rel=1e-5)
    assert SHORT.crossings(values, "alpha") == pytest.approx([0.25], rel=1e-5)
    assert SHORT.crossings({**values, "E": 9.0}, "E") == [], "outside there is nothing to cross"
    between = Hypothesis(lambda s: (s.a > 1, s.a < 3))
    assert between.crossings({"a": 2.0}, "a") == pytest.approx([1.5, 0.5], rel=1e-5)
    assert Hypothesis(lambda s: sp.Eq(s.a, s.b)).near({"a": 1.0, "b": 1.0}, "a") == []
    for symbol, ends in (("E", SHORT.near(values, "E")), ("rho", SHORT.near(values, "rho"))):
        for inside, outside in ends:
            assert SHORT.test(None, {**values, symbol: inside}) is None
            assert SHORT.test(None, {**values, symbol: outside}) is not None


def test_a_custom_hypothesis_has_its_own_test() -> None:
    one = Hypothesis.custom("one client", lambda problem, v: None if v["n"] == 1 else "there are more")
    assert (one.text, one.relations, one.test(None, {"n": 2})) == ("one client", (), "there are more")
    assert Hypothesis.custom("convex", by_construction).test(None, {}) is None
    assert one.latex() == r"\text{one client}"


def test_nearly_all_hypotheses_of_the_catalogue_are_relations() -> None:
    found = {h.text: h for s in all_statements() for h in s.hypotheses}
    custom = [text for text, h in found.items() if not h.relations]
    assert len(custom) < 20 < len(found) / 5, custom


def test_every_relation_has_latex_and_text() -> None:
    for statement in all_statements():
        names = {s.name: s.latex for s in statement.symbols}
        for h in statement.hypotheses:
            assert h.text.strip() == h.text != ""
            assert h.latex(names)
