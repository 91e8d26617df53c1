"""A statement's sides as quantities of a worst-case problem."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
import sympy as sp

from dpfl_theory import check
from dpfl_theory.checks import pep_inequality
from dpfl_theory.checks.homogeneity import form
from dpfl_theory.checks.hypotheses import unmet
from dpfl_theory.core import Check, Hypothesis, Performance, Sides, Source, Statement, Symbol, WorstCase
from dpfl_theory.core.formula import sides_of
from dpfl_theory.statements import get

SYMBOLS = tuple(Symbol(name, name) for name in ("L", "eta", "a", "b", "c"))


def statement(sides: Any, **more: Any) -> Statement:
    return Statement("my.one", "lemma", "t", Source("my", "here"), "text", symbols=SYMBOLS, sides=sides, **more)


def quantities() -> dict[str, Any]:
    from PEPit import PEP

    problem = PEP()
    points = [problem.set_initial_point() for _ in range(3)]
    return {"problem": problem, **{name: p**2 for name, p in zip("abc", points)}}


BOUND = statement(lambda s: Sides({"l": s.a}, {"r": s.b / (3 * s.L), "minus": -s.eta * s.c}))


def test_terms_with_a_minus_sign_change_sides() -> None:
    q = quantities()
    values = {"L": 2, "eta": 0.25, **{k: q[k] for k in "abc"}}
    assert pep_inequality.coefficients(BOUND, WorstCase(None, values)) == {
        "a": -1,
        "b": Fraction(1, 6),
        "c": Fraction(-1, 4),
    }
    found = pep_inequality.arranged(BOUND, WorstCase(q["problem"], values))
    left, right = form(found.left).matrix.diagonal(), form(found.right).matrix.diagonal()
    assert list(left) == [3.0, 0.0, 0.75]  # three times both sides, since 1/6 is no double
    assert right[1] == 0.5
    kept = pep_inequality.arranged(BOUND, WorstCase(q["problem"], values, left=("c",)))
    assert list(form(kept.left).matrix.diagonal()) == [0.0, 0.0, 0.75]
    assert form(kept.right).matrix.diagonal()[0] == -3.0
    shifted = pep_inequality.arranged(BOUND, WorstCase(q["problem"], values, shift=7 * q["c"]))
    assert form(shifted.left).matrix.diagonal()[2] == 21.75
    assert form(shifted.right).matrix.diagonal()[2] == 21.0


def test_what_is_no_double_is_rounded_to_the_safe_side() -> None:
    q = quantities()
    values = {"L": 1001, "eta": 0.25, **{k: q[k] for k in "abc"}}
    right = form(pep_inequality.arranged(BOUND, WorstCase(q["problem"], values), scaled=False).right).matrix.diagonal()
    assert right[1] <= Fraction(1, 3003) < math.nextafter(right[1], 1.0)


def test_a_letter_may_be_known_by_its_square() -> None:
    q = quantities()
    squares = statement(lambda s: Sides({"l": s.a**2}, {"r": s.L**2 * s.b}))
    found = pep_inequality.coefficients(squares, WorstCase(None, {"a^2": q["a"], "b": q["b"], "L^2": Fraction(1, 2)}))
    assert found == {"a^2": -1, "b": Fraction(1, 2)}


@pytest.mark.parametrize(
    ("sides", "message"),
    [
        (lambda s: Sides({"l": s.a}, {"r": s.b * s.c}), "not linear"),
        (lambda s: Sides({"l": s.a}, {"r": s.b**2}), "not linear"),
        (lambda s: Sides({"l": s.a}, {"r": s.b + s.L}), "2 remains where every quantity is zero"),
    ],
)
def test_what_is_not_linear_is_refused(sides: Any, message: str) -> None:
    q = quantities()
    with pytest.raises(ValueError, match=message):
        pep_inequality.coefficients(statement(sides), WorstCase(None, {"L": 2, "eta": 1, **{k: q[k] for k in "abc"}}))


def test_a_letter_without_a_value_is_named() -> None:
    q = quantities()
    with pytest.raises(ValueError, match=r"my\.one has no value for L, eta"):
        pep_inequality.coefficients(BOUND, WorstCase(None, {k: q[k] for k in "abc"}))


@pytest.mark.parametrize("relation", ["<=", ">=", "=="])
def test_the_direction_is_that_of_the_relation(relation: str) -> None:
    q = quantities()
    values = {"L": 2, "eta": 1, **{k: q[k] for k in "abc"}}
    stated = statement(lambda s: Sides({"l": s.a}, {"r": s.b}), relation=relation)
    for direction in ("<=", ">="):
        case = WorstCase(q["problem"], values, direction=direction)  # type: ignore[arg-type]
        if relation in (direction, "=="):
            found = pep_inequality.arranged(stated, case)
            assert list(form(found.left).matrix.diagonal()).index(1.0) == (0 if direction == "<=" else 1)
        else:
            with pytest.raises(ValueError, match="states"):
                pep_inequality.arranged(stated, case)


@pytest.mark.parametrize("factor", [sp.Rational(999, 1000), sp.Rational(1, 2)])
def test_other_sides_are_what_is_checked(factor: Any) -> None:
    """das2022 (57) is attained, so that any smaller right side is refuted by a verified function."""
    given = get("das2022.eq57")
    made = sides_of(given)
    smaller = replace(given, sides=lambda s: Sides(made.lhs, {k: factor * v for k, v in made.rhs.items()}))
    one = replace(smaller, checks=tuple(c for c in given.checks if c.name == "convex, t = 1, eta L = 1"))
    (found,) = check(one, methods=("worst-case",))
    assert found.verdict == "violated"


def test_a_part_says_so() -> None:
    def build(_: Statement, instance: Any) -> Performance:
        q = quantities()
        return Performance(q["problem"], q["a"], 2 * q["a"], "a step")

    stated = statement(
        lambda s: Sides({"l": s.a}, {"r": s.b}),
        checks=(Check("worst-case", "step", build, part="a alone; that b is larger remains"),),
    )
    (found,) = check(stated, methods=("worst-case",))
    assert found.part == "a alone; that b is larger remains"
    assert found.to_json()["part"] == found.part


# Hypotheses, whatever the method


def _short(_: Any, values: Any) -> str | None:
    return None if values["eta"] * values["L"] <= 1 else "eta L exceeds 1"


def _large(_: Any, values: Any) -> str | None:
    return None if values["c"] >= 1 else "c is below 1"


def test_the_first_hypothesis_that_fails_is_told() -> None:
    stated = statement(None, hypotheses=(Hypothesis.custom("eta <= 1/L", _short), Hypothesis.custom("c >= 1", _large)))
    assert unmet(stated, {"eta": 1, "L": 1, "c": 1}) is None
    assert unmet(stated, {"eta": 2, "L": 1, "c": 0}) == ("eta <= 1/L", "eta L exceeds 1")
    with pytest.raises(ValueError, match="does not name c, which the hypothesis 'c >= 1' reads"):
        unmet(stated, {"eta": 1, "L": 1})
    assert unmet(stated, {"eta": 1, "L": 1, "c": quantities()["c"]}) is None  # a constraint of the problem


def test_a_worst_case_outside_the_hypotheses_is_not_applicable() -> None:
    from dpfl_theory.statements.das2022.lemma8 import LEMMA8, local_phase

    beyond = Check("worst-case", "beyond", local_phase, {"E": 1, "eta L": "33/64", "L": "1"}, "not-applicable")
    (found,) = check(replace(LEMMA8, checks=(beyond,)), methods=("worst-case",))
    assert found.verdict == "not-applicable"
    assert "eta <= 1/(2 L)" in found.reason
