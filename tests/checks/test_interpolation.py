"""Interpolation inequalities: true for functions of the class, false for others, and those that PEPit has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PEPit import PEP, Expression, Point
from PEPit.functions import (
    ConvexFunction,
    ConvexLipschitzFunction,
    ConvexQGFunction,
    SmoothConvexFunction,
    SmoothFunction,
    SmoothStronglyConvexFunction,
    StronglyConvexFunction,
)
from planted import checked

from dpfl_theory.checks import homogeneity
from dpfl_theory.checks.interpolation import CLASSES, SampledFunction
from dpfl_theory.core import Performance

F = Fraction
PARAMETERS = {
    "convex": (None, None),
    "strongly convex": (None, F(1, 2)),
    "smooth": (F(2), None),
    "smooth convex": (F(2), None),
    "smooth strongly convex": (F(2), F(1, 2)),
}
CURVATURES = {
    "convex": (F(0), None),
    "strongly convex": (F(1, 2), None),
    "smooth": (F(-2), F(2)),
    "smooth convex": (F(0), F(2)),
    "smooth strongly convex": (F(1, 2), F(2)),
}
"""The least and the largest second derivative of a function of each class."""
PEPITS = {
    "convex": ConvexFunction,
    "strongly convex": StronglyConvexFunction,
    "smooth": SmoothFunction,
    "smooth convex": SmoothConvexFunction,
    "smooth strongly convex": SmoothStronglyConvexFunction,
}


def value(kind: str, at: Callable[[Fraction], tuple[Fraction, Fraction]], x: Fraction, y: Fraction) -> Fraction:
    """What must be at most 0 for a function of one variable, which gives its derivative and its value."""
    (slope_x, at_x), (slope_y, at_y) = at(x), at(y)
    one = F(1)
    points = (({0: one}, {1: one}, {0: one}), ({2: one}, {3: one}, {1: one}))
    form = SampledFunction(kind, *PARAMETERS[kind], points).inequality(0, 1)
    numbers = [x, slope_x, y, slope_y]
    return form.evaluate([[a * b for b in numbers] for a in numbers], [at_x, at_y])


def quadratic(a: Fraction, b: Fraction) -> Callable[[Fraction], tuple[Fraction, Fraction]]:
    return lambda x: (a * x + b, a * x * x / 2 + b * x)


def bent(low: Fraction, high: Fraction) -> Callable[[Fraction], tuple[Fraction, Fraction]]:
    """A function with one curvature on the left of 0 and another one on the right."""
    return lambda x: ((low if x < 0 else high) * x, (low if x < 0 else high) * x * x / 2)


numbers = st.fractions(-4, 4, max_denominator=8)


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("kind", CLASSES)
@given(share=st.fractions(0, 1, max_denominator=8), b=numbers, x=numbers, y=numbers)
def test_functions_of_the_class_satisfy_it(kind: str, share: Fraction, b: Fraction, x: Fraction, y: Fraction) -> None:
    low, high = CURVATURES[kind]
    most = low + 9 if high is None else high
    assert value(kind, quadratic(low + share * (most - low), b), x, y) <= 0
    assert value(kind, bent(low, most), x, y) <= 0
    assert value(kind, bent(most, low), x, y) <= 0


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("kind", CLASSES)
@given(off=st.fractions(F(1, 100), 3), b=numbers, x=numbers, y=numbers)
def test_functions_outside_of_the_class_do_not(kind: str, off: Fraction, b: Fraction, x: Fraction, y: Fraction) -> None:
    low, high = CURVATURES[kind]
    if x != y:
        assert value(kind, quadratic(low - off, b), x, y) > 0
        if high is not None:
            assert value(kind, quadratic(high + off, b), x, y) > 0


@pytest.mark.parametrize("kind", CLASSES)
def test_it_is_attained_at_the_edges_of_the_class(kind: str) -> None:
    """So no stronger inequality is true."""
    for curvature in CURVATURES[kind]:
        if curvature is not None:
            assert value(kind, quadratic(curvature, F(3)), F(2), F(-1)) == 0


def test_the_huber_function_attains_the_inequality_of_smooth_convex_functions() -> None:
    """f = x^2 up to 1 and 2x - 1 beyond, L = 2: the points 1 and 7, in one of the two orders."""
    huber = lambda x: (2 * x, x * x) if x <= 1 else (F(2), 2 * x - 1)  # noqa: E731
    assert value("smooth convex", huber, F(7), F(1)) == 0
    assert value("smooth convex", huber, F(0), F(7)) == 0 - (F(7) - 0) * 2 + 2 * 7 - 1 + 1


@pytest.mark.parametrize("kind", CLASSES)
def test_pepit_has_the_same_inequalities(kind: str) -> None:
    problem = PEP()
    L, mu = PARAMETERS[kind]
    f = problem.declare_function(PEPITS[kind], **{n: float(v) for n, v in (("L", L), ("mu", mu)) if v is not None})
    s, x = f.stationary_point(), problem.set_initial_point()
    f.gradient(x - 0.25 * f.gradient(x) + 0.5 * s)
    f.set_class_constraints()
    sampled = homogeneity._sampled(f)
    assert sampled is not None
    assert (sampled.kind, sampled.L, sampled.mu) == (kind, L, mu)
    pairs = [(i, j) for i in range(3) for j in range(3) if i != j]
    assert len(f.list_of_class_constraints) == len(pairs)
    for (i, j), constraint in zip(pairs, f.list_of_class_constraints):
        ours, theirs = sampled.inequality(i, j), homogeneity.form(constraint.expression)
        made = homogeneity.numeric(ours, Point.counter, Expression.counter)
        np.testing.assert_allclose(made.matrix, theirs.matrix, atol=1e-12)
        np.testing.assert_allclose(made.vector, theirs.vector, atol=1e-12)


def test_odd_parameters_are_not_rounded() -> None:
    """1/(2L) for L = 3 is no double, and the inequality has it exactly."""
    one = F(1)
    points = (({0: one}, {1: one}, {0: one}), ({}, {}, {1: one}))
    assert SampledFunction("smooth convex", F(3), None, points).inequality(1, 0).products[1, 1] == F(1, 6)


@pytest.mark.parametrize(
    ("kind", "L", "mu", "why"),
    [
        ("concave", None, None, "unknown"),
        ("convex", F(1), None, "takes no parameters"),
        ("smooth", None, None, "takes L"),
        ("smooth", F(1), F(0), "takes L"),
        ("smooth strongly convex", F(1), None, "takes L and mu"),
        ("smooth", F(0), None, "positive"),
        ("smooth convex", F(-1), None, "positive"),
        ("strongly convex", None, F(-1), "at least 0"),
        ("smooth strongly convex", F(1), F(1), "less than L"),
    ],
)
def test_wrong_classes_and_parameters_are_refused(kind: str, L: Fraction, mu: Fraction, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        SampledFunction(kind, L, mu, ())


@pytest.mark.parametrize(
    ("kind", "L", "like"), [("strongly convex", None, "convex"), ("smooth strongly convex", F(2), "smooth convex")]
)
def test_without_strong_convexity_the_inequality_is_that_of_convex_functions(
    kind: str, L: Fraction | None, like: str
) -> None:
    one = F(1)
    points = (({0: one}, {1: one}, {0: one}), ({}, {}, {1: one}))
    assert SampledFunction(kind, L, F(0), points).inequality(0, 1) == SampledFunction(like, L, None, points).inequality(
        0, 1
    )


@pytest.mark.parametrize(("i", "j"), [(0, 0), (0, 1), (-1, 0), (1, 0), (0, -1)])
def test_there_is_no_inequality_for_one_point_or_a_missing_one(i: int, j: int) -> None:
    with pytest.raises(ValueError, match="no inequality"):
        SampledFunction("convex", None, None, (({}, {}, {}),)).inequality(i, j)


def test_a_wrong_inequality_of_pepits_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An inequality that is twice as strong in one coefficient: the check ends, and decides nothing."""

    def twice(self: Any, xi: Any, gi: Any, fi: Any, xj: Any, gj: Any, fj: Any) -> Any:
        return fi - fj >= gj * (xi - xj) + 1 / self.L * (gi - gj) ** 2

    monkeypatch.setattr(SmoothConvexFunction, "set_smoothness_convexity_constraint_i_j", twice)

    def build() -> Performance:
        problem = PEP()
        f = problem.declare_function(SmoothConvexFunction, L=1.0)
        s, x = f.stationary_point(), problem.set_initial_point()
        return Performance(problem, 0.5 * f.gradient(x) ** 2, f(x) - f(s), "domination")

    with pytest.raises(ArithmeticError, match="SmoothConvexFunction differs"):
        checked(build)


def test_a_class_that_is_not_known_here_is_proved_by_pepits_inequalities_and_has_no_certificate() -> None:
    def build() -> Performance:
        problem = PEP()
        f = problem.declare_function(ConvexQGFunction, L=2.0)
        s, x = f.stationary_point(), problem.set_initial_point()
        return Performance(problem, f(x) - f(s), (x - s) ** 2, "quadratic growth")

    found = checked(build)
    assert found.notes["proved_exactly"], found.reason
    assert "certificate" not in found.notes
    assert found.notes["no_certificate"] == "the format has no inequalities of the class ConvexQGFunction"


@pytest.mark.parametrize(
    "declare",
    [
        lambda p: p.declare_function(SmoothConvexFunction, L=np.inf),
        lambda p: p.declare_function(SmoothStronglyConvexFunction, L=1.0, mu=-0.5),
        lambda p: p.declare_function(ConvexLipschitzFunction, M=1.0),
    ],
)
def test_parameters_beyond_the_known_classes_are_left_to_pepit(
    declare: Callable[[Any], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert homogeneity._sampled(declare(PEP())) is None


def test_a_subclass_of_a_users_is_not_taken_for_its_base() -> None:
    class SmoothConvexFunction(ConvexFunction):  # type: ignore[misc]
        L = 1.0

    problem = PEP()
    assert homogeneity._sampled(problem.declare_function(SmoothConvexFunction)) is None


def test_a_sampled_function_is_plain_data() -> None:
    sampled = SampledFunction("smooth", F(1), None, ())
    assert replace(sampled, kind="smooth convex").kind == "smooth convex"
