"""Hypotheses on an instance, and letters without a value: which is named, and how."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dpfl_theory.checks.hypotheses import BuildError, complete, numbers, unmet
from dpfl_theory.core import Expected, Hypothesis, Sides, Source, Statement, Symbol


def least(name: str, bound: float) -> Hypothesis:
    return Hypothesis.custom(f"{name} >= {bound:g}", lambda _, v: None if v[name] >= bound else f"{name} is {v[name]}")


def statement(*hypotheses: Hypothesis, sides: Any = None, **more: Any) -> Statement:
    symbols = tuple(Symbol(name, name) for name in ("alpha", "beta", "gamma", "x"))
    about = {"symbols": symbols, "hypotheses": hypotheses, "sides": sides}
    return Statement("t.s", "step", "t", Source("t", "t"), "t", **{**about, **more})


def test_the_first_that_fails_is_named() -> None:
    stated = statement(least("alpha", 1), least("beta", 2), least("gamma", 3))
    assert unmet(stated, {"alpha": 1, "beta": 2, "gamma": 3}) is None
    assert unmet(stated, {"alpha": 1, "beta": 2, "gamma": 2}) == ("gamma >= 3", "gamma is 2")
    assert unmet(stated, {"alpha": 1, "beta": 0, "gamma": 2}) == ("beta >= 2", "beta is 0")
    assert unmet(stated, {"alpha": 0, "beta": 0, "gamma": 2}) == ("alpha >= 1", "alpha is 0")
    assert unmet(statement(), {}) is None


def test_the_problem_is_given_to_the_test() -> None:
    seen: list[Any] = []
    problem: Any = object()

    def test(given: Any, values: Any) -> None:
        seen.append((given, dict(values)))

    assert unmet(statement(Hypothesis.custom("any", test)), {"x": Fraction(1, 2)}, problem) is None
    assert seen == [(problem, {"x": Fraction(1, 2)})]


def test_a_letter_that_is_misspelt_is_asked_for() -> None:
    stated = statement(least("alpha", 1))
    with pytest.raises(BuildError, match=r"does not name alpha, which .* reads; is it 'alpa'\?$"):
        unmet(stated, {"alfa": 2, "alpa": 3, "gamma": 1})


def test_a_letter_without_a_value_is_a_fault_and_one_of_the_problem_is_not() -> None:
    quantity = type("Expression", (), {"__module__": "PEPit.expression"})()
    assert numbers({"alpha": 1.5, "beta": quantity}) == {"alpha": 1.5}
    stated = statement(least("alpha", 1), least("beta", 2), least("gamma", 3))
    assert unmet(stated, {"alpha": 1, "beta": quantity, "gamma": 3}) is None
    assert unmet(stated, {"alpha": 1, "beta": quantity, "gamma": 1}) == ("gamma >= 3", "gamma is 1")  # and goes on
    assert unmet(stated, {"alpha": 1, "beta^2": quantity, "gamma": 1}) == ("gamma >= 3", "gamma is 1")
    with pytest.raises(BuildError) as caught:
        unmet(stated, {"alpha": 1, "gamma": 3})
    assert str(caught.value) == (
        "t.s: the point alpha = 1, gamma = 3 does not name beta, which the hypothesis 'beta >= 2' reads"
    )
    assert caught.value.function is stated.hypotheses[1].function


def test_a_test_that_breaks_or_answers_otherwise_is_a_fault() -> None:
    def divides(_: Any, values: Any) -> None:
        raise ZeroDivisionError("by zero")

    with pytest.raises(BuildError, match="the hypothesis 'h' cannot be tested: ZeroDivisionError: by zero") as caught:
        unmet(statement(Hypothesis.custom("h", divides)), {})
    assert caught.value.function is divides
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    for answer in (False, True, "", 0, 3):
        with pytest.raises(BuildError, match=f"the test of the hypothesis 'h' returned {answer!r}: return None where"):
            unmet(statement(Hypothesis.custom("h", lambda _, v, answer=answer: answer)), {})  # type: ignore[misc]
    assert unmet(statement(Hypothesis.custom("h", lambda _, v: "no")), {}) == ("h", "no")
    assert BuildError("told").function is None


SIDES = statement(
    sides=lambda s: Sides({"left": s.alpha, "next": s.alpha + s.x}, {"right": s.beta * s.x, "rest": 2 * s.gamma})
)


@pytest.mark.parametrize(
    ("missing", "term"),
    [("alpha", "lhs, left"), ("x", "lhs, next"), ("beta", "rhs, right"), ("gamma", "rhs, rest")],
)
def test_a_letter_of_the_sides_without_a_value_is_named_with_its_first_term(missing: str, term: str) -> None:
    values = dict.fromkeys(("alpha", "beta", "gamma", "x"), 1)
    complete(SIDES, values)
    del values[missing]
    with pytest.raises(ValueError, match=f"the symbol '{missing}', which the term '{term}' has, is given no value$"):
        complete(SIDES, values)
    complete(SIDES, {**values, f"{missing}^2": 1})  # known by its square


def test_another_name_that_may_be_meant_is_told() -> None:
    values = {"alpha": 1, "beta": 1, "gamma": 1, "x": 1}
    del values["gamma"]
    with pytest.raises(ValueError, match=r"'gamma', .* is given no value; is 'gama' a misspelling of it"):
        complete(SIDES, {**values, "gama": 1})
    with pytest.raises(ValueError, match=r"'gamma', .* is given no value$"):
        complete(SIDES, {**values, "another": 1})
    del values["beta"]
    with pytest.raises(ValueError, match=r"'beta', .* is given no value$"):  # alpha is a symbol of its own
        complete(SIDES, {**values, "gamma": 1})


def test_expectations_need_values_only_where_no_runs_give_them() -> None:
    about = {"expectations": (Expected("E", (("excess", 1),), (1, 0), "E", "e"),)}
    stated = statement(sides=lambda s: Sides({"left": s.E}, {"right": s.x}), **about)
    complete(stated, {"x": 1}, expectations=False)
    complete(stated, {"x": 1, "E": 2})
    with pytest.raises(ValueError, match="the symbol 'E', which the term 'lhs, left' has, is given no value"):
        complete(stated, {"x": 1})
    with pytest.raises(ValueError, match="the symbol 'x', which the term 'rhs, right' has"):
        complete(stated, {"E": 1}, expectations=False)
