"""Right sides proportional to the square of a step are scaled before a solver sees them, and a false one is refuted."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
import sympy as sp

from dpfl_theory.checks import pep_inequality, worst_case
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, Sides, Statement
from dpfl_theory.core.formula import sides_of
from dpfl_theory.statements import get

LEMMA = get("noble2022.lemmaC.4")
SHORT = "one round, convex, M = 3, lM = 2, K = 1, eta~ nu = 1/240"
"""Its right side has coefficients of 9/240^2 and less."""


def the_check() -> Check:
    (found,) = (c for c in LEMMA.checks if c.name == SHORT)
    return found


def smaller(factor: str) -> Statement:
    made = sides_of(LEMMA)
    right: dict[str, Any] = {name: sp.Rational(factor) * term for name, term in made.rhs.items()}
    return replace(LEMMA, sides=lambda _: Sides(made.lhs, right))


def test_the_scale_is_a_power_of_two_and_leaves_ordinary_sides_alone() -> None:
    assert pep_inequality._scale([Fraction(-1), Fraction(1, 3000), Fraction(1, 100_000)]) == 4096
    assert pep_inequality._scale([Fraction(-1000), Fraction(1, 100)]) == 1
    assert pep_inequality._scale([Fraction(-1)]) == 1


def test_a_short_step_has_the_ratio_of_its_quarter() -> None:
    """1/4 to the solver's tolerance; unscaled it was .217."""
    found = worst_case.run(LEMMA, the_check(), Settings())
    assert found.verdict == "holds"
    assert found.ratio == pytest.approx(0.25, rel=2e-5)


@pytest.mark.parametrize(("factor", "verdict"), [("0.251", "holds"), ("0.249", "violated")])
def test_a_bound_just_below_a_short_step_is_refuted(factor: str, verdict: str) -> None:
    assert worst_case.run(smaller(factor), the_check(), Settings()).verdict == verdict


def test_without_the_scale_the_ratio_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pep_inequality, "_scale", lambda found: Fraction(1))
    found = worst_case.run(LEMMA, the_check(), Settings())
    assert found.ratio is None or found.ratio < 0.24
