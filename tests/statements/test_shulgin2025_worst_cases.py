"""Planted faults in shulgin2025's worst cases: another algorithm, another operator, a smaller bound must be refuted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpfl_theory.checks import worst_case
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Sides
from dpfl_theory.core.formula import sides_of, symbols_of
from dpfl_theory.statements import get
from dpfl_theory.statements.shulgin2025 import _worst_cases as worst
from dpfl_theory.statements.shulgin2025._symbols import largest_residual

SETTINGS = Settings(device="cpu")


def anywhere(gradient: Any, estimate: Any, error: Any) -> Any:
    """A wrong algorithm: steps that do not depend on the gradients."""
    return gradient**2 >= 0


def away(gradient: Any, estimate: Any, error: Any) -> Any:
    """A wrong algorithm: steps against the estimate, by a wrong sign."""
    return (gradient + estimate) ** 2 <= error


MANY = ("theorem1", "theorem1.sharpened", "corollary1", "eq12", "eq12.any-D", "eq12.repaired")


def solved(id_: str, build: Callable[..., Any], *arguments: Any, **right: Any) -> Any:
    """The solution of a worst case, whose right side is multiplied with ``times``."""
    statement = get(f"shulgin2025.{id_}")
    if "times" in right:
        made = sides_of(statement)
        shrunk = Sides(made.lhs, {k: right["times"] * v for k, v in made.rhs.items()})
        statement = replace(statement, sides=lambda s: shrunk)
    return worst_case.solve(worst_case.inequality(statement, build(statement, *arguments)))


def several_rounds(id_: str) -> list[Any]:
    """The worst-case checks with more rounds than the first, which no direction of the step changes."""
    found = [c for c in get(f"shulgin2025.{id_}").checks if c.method == "worst-case"]
    return [c for c in found if len(c.instance["estimates"]) > 1]


@pytest.mark.slow
@pytest.mark.parametrize("tie", [anywhere, away])
@pytest.mark.parametrize("id_", MANY)
def test_every_check_of_many_rounds_needs_the_algorithm(
    monkeypatch: pytest.MonkeyPatch, id_: str, tie: Callable[..., Any]
) -> None:
    monkeypatch.setattr(worst, "near_estimate", tie)
    checks = several_rounds(id_)
    assert len(checks) >= 2
    for check in checks:
        evidence = worst_case.run(get(f"shulgin2025.{id_}"), check, SETTINGS)
        assert evidence.verdict == "violated", check.name


@pytest.mark.slow
@pytest.mark.parametrize("id_", ["theorem1", "corollary1"])
def test_half_of_the_bound_is_refuted(id_: str) -> None:
    for check in several_rounds(id_):
        assert solved(id_, worst.rounds, check.instance, times=Fraction(1, 2)).refuted is not None


@pytest.mark.slow
def test_the_sharpened_bound_needs_its_leg() -> None:
    """Estimates at the largest angle: with A/2 in place of A, sqrt(min ||grad f||^2 - A^2) grows from 1 to 1.19."""
    found = {"class": "non-convex", "L": "1", "gradient": "5/4", "error": "3/4", "estimates": ["1", "1", "1"]}
    assert solved("theorem1.sharpened", worst.by_angles, found).proved
    with_half = get("shulgin2025.theorem1.sharpened")
    made = sides_of(with_half)
    A = largest_residual(symbols_of(with_half))
    halved = Sides(made.lhs, {k: v.subs(A, A / 2) for k, v in made.rhs.items()})
    planted = replace(with_half, sides=lambda s: halved)
    assert worst_case.solve(worst_case.inequality(planted, worst.by_angles(planted, found))).refuted is not None


def test_one_round_of_the_sharpened_bound_is_tight() -> None:
    for kind in ("convex", "non-convex"):
        found = {"class": kind, "L": "1", "gradient": "1", "error": "1/64", "estimates": ["1"]}
        times = Fraction(98, 100)
        assert solved("theorem1.sharpened", worst.by_angles, found, times=times).refuted is not None


@pytest.mark.parametrize("id_", ["descent", "descent.sharpened"])
def test_one_descent_step_needs_the_sign_of_the_estimate(id_: str) -> None:
    """Steps against the estimate, which errors below the gradient's length do not allow for. An error of 0, and a right
    angle without room, leave no interior: such a check does not hold, but its counterexample is not verified."""
    build = worst.descent if id_ == "descent" else worst.descent_by_angle
    refuted = 0
    for instance in checks_of(id_, "convex"):
        if Fraction(instance["error"]) < Fraction(instance["gradient"]):
            found = solved(id_, build, {**instance, "estimate": f"-{instance['estimate']}"})
            assert found.primal > 1.4
            assert not found.proved
            refuted += found.refuted is not None
    assert refuted >= 1


def checks_of(id_: str, words: str) -> list[Mapping[str, Any]]:
    found = [c for c in get(f"shulgin2025.{id_}").checks if c.method == "worst-case" and c.name.startswith(words)]
    return [c.instance for c in found]


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("instance", checks_of("lemma1", "(8)"), ids=str)
def test_each_half_of_8_needs_the_right_alpha(instance: Mapping[str, Any]) -> None:
    """An operator with alpha raised, or lowered, by 1/8 breaks the half that it must."""
    alpha, beta = float(Fraction(instance["alpha"])), float(Fraction(instance["beta"]))
    longer = (beta > alpha + 1) != (instance["half"] == "<=")  # which direction gives more, or less, than (8)
    assert solved("lemma1", worst.normalisation, instance).guarantee <= 1 + 1e-6
    assert solved("lemma1", worst.normalisation, instance, 0.125 if longer else -0.125).refuted is not None


@pytest.mark.parametrize("instance", checks_of("table1", "clipping"), ids=str)
def test_each_half_of_clipping_needs_the_right_threshold(instance: Mapping[str, Any]) -> None:
    assert solved("table1", worst.clipping, instance).guarantee <= 1 + 1e-6
    if instance["tau"] == "3":
        return  # nothing is clipped, with seven eighths of tau either
    factor = 7 / 8 if instance["half"] == "<=" else 9 / 8
    assert solved("table1", worst.clipping, instance, factor).refuted is not None


@pytest.mark.parametrize("alpha", ["1/2", "3"])
def test_the_bound_7_needs_the_sign_of_alpha(alpha: str) -> None:
    assert solved("lemma1", worst.bounded, {"alpha": alpha}).proved
    assert solved("lemma1", worst.bounded, {"alpha": alpha}, -1.0).refuted is not None


def test_the_sets_contain_the_operators() -> None:
    """Random vectors: the true operators meet each condition, with equality where it decides."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        g, alpha, beta = rng.normal(size=3), 10 ** rng.uniform(-2, 1), 10 ** rng.uniform(-2, 1)
        r = float(np.linalg.norm(g))
        h, kappa = g / (alpha + r), 1 / (alpha + r)
        assert abs((h - kappa * g) @ (h - g / beta)) <= 1e-12 * r**2 * (1 + 1 / beta)
        assert h @ h <= kappa**2 * r**2 * (1 + 1e-12)
        assert h @ (r * h) >= 0
        assert np.allclose(alpha * h + r * h, g)
        tau = 10 ** rng.uniform(-1, 1)
        clipped = g * min(1.0, tau / r)
        assert (g - clipped) @ (min(1.0, tau / r) * g - clipped) <= 1e-12
        assert clipped @ clipped <= tau**2 * (1 + 1e-12)
