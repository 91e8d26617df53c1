"""Worst cases of many rounds of alpha-NormEC, given the estimates' errors, over all smooth functions.

The unit of a round is its step, gamma = ||s^k||. Equal steps would leave no interior for a counterexample. So their
squares may differ by a hundredth, and each round has its own gamma in the sums. Instances are such that steps in any
direction, or away from the estimate, would break the inequality: K + 1 rounds must gain more than a gradient implies
for f(x^0) - f_inf.

Only the server's step of the round (`algorithms.error_feedback`) is run. The memories' update bounds the distance
of the estimate from the gradient (Lemma 2), and a message of unknown length is not a linear form. The world is given
the estimates' lengths.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Statement, WorstCase
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.performance import FunctionClass
from dpfl_theory.statements.local_phase import number
from dpfl_theory.statements.shulgin2025._worst_cases import GAMMA, Objective, stepped

__all__ = ["Tie", "by_angles", "near_estimate", "rounds", "smallest_gradient"]

Tie = Callable[[Any, Any, Any], Any]
"""(gradient, estimate, squared error) -> the condition that ties them, or None; PEPit objects."""

_SPREAD = 1 / 128
"""The relative amount by which a squared step may be shorter than the first one."""


def near_estimate(gradient: Any, estimate: Any, error: Any) -> Any:
    """||grad f - v||^2 <= error, v along the step: Algorithm 1."""
    return (gradient - estimate) ** 2 <= error


def _run(instance: Mapping[str, Any], slope: float, error: float, tie: Tie) -> tuple[Objective, Any, Any]:
    """The function, its value at x^0, and the sum of the squared steps."""
    from PEPit import Point

    f = Objective(instance, number(instance, "L"))
    world = FunctionClass(f.problem, [f.function])
    x, first, total, before = f.problem.set_initial_point(), None, 0.0, None
    for text in instance["estimates"]:
        g, value = f.gradient_and_value(x)
        s = Point()
        square = s**2
        if first is None:
            first, before = square, value
        else:
            f.problem.add_constraint(square <= first)
            f.problem.add_constraint((1 - _SPREAD) * first <= square)
        f.problem.add_constraint(slope**2 * f.L**2 * square <= g**2)
        length = number({"v": text}, "v") * f.L
        estimate = Vector(length * s)
        world.set_length(estimate, length)  # in units of gamma = ||s||
        tied = tie(g, estimate.known, error**2 * f.L**2 * square)
        if tied is not None:
            f.problem.add_constraint(tied)
        x, total = stepped(world, x, estimate), total + square
    f.gradient_and_value(x)
    return f, before, total


def _symbols(instance: Mapping[str, Any], slope: float) -> dict[str, Any]:
    """The symbols in a unit in which gamma is `GAMMA`; alpha and beta are such that the step is allowed for R > L
    gamma."""
    L, count = number(instance, "L"), len(instance["estimates"])
    root, R = sp.sqrt(count), Fraction(number(instance, "error") * L * GAMMA)
    beta = (100 * R + R) * Fraction(999, 1000)
    symbols = {"K": count - 1, "gamma": GAMMA, "c": sp.Rational(GAMMA) * root, "L": L, "L_max": L, "R": R}
    return {**symbols, "D": sp.sympify(R) * root, "alpha": 100 * R, "beta": beta, "least": slope * L * GAMMA}


def _case(f: Objective, previous: Any, total: Any, symbols: Mapping[str, Any], label: str, **more: Any) -> WorstCase:
    """The values with the mean of the squared steps for gamma^2."""
    unit = total / ((symbols["K"] + 1) * GAMMA**2)
    return WorstCase(f.problem, {**symbols, "gap": previous}, label, unit=unit, **more)


def rounds(_: Statement, instance: Mapping[str, Any], tie: Tie = near_estimate) -> WorstCase:
    """min_k ||grad f|| for estimates within R of the gradients; the smallest gradient is added to both sides.

    instance: class, L, and in units of L gamma: ``gradient`` = min ||grad f||, ``error`` = R, ``estimates`` =
    ||v^{k+1}||, one for each of the K + 1 rounds. tie: the condition between a step and the gradient.
    """
    slope, error = number(instance, "gradient"), number(instance, "error")
    f, before, total = _run(instance, slope, error, tie)
    what = f"{len(instance['estimates'])} rounds, the gradients on the left"
    symbols = _symbols(instance, slope)
    shift = slope * f.L * total / (symbols["K"] + 1) / GAMMA
    return _case(f, before, total, symbols, what, left=(), shift=shift)


def by_angles(_: Statement, instance: Mapping[str, Any], tie: Tie = near_estimate) -> WorstCase:
    """As `rounds`, for estimates within A of the gradients, and solved for f(x^0) - f_inf; the loss by curvature is
    added to both sides. ``error`` = A, which is R/(a + 1) for alpha = beta = a R; a is so large that the step is
    allowed."""
    slope, error = number(instance, "gradient"), number(instance, "error")
    f, before, total = _run(instance, slope, error, tie)
    a = max(1, math.ceil(1 / error))
    R = (a + 1) * Fraction(error * f.L * GAMMA)
    symbols = {**_symbols(instance, slope), "R": R, "alpha": a * R, "beta": a * R}
    what = f"{len(instance['estimates'])} rounds, the gradients on the left"
    return _case(f, before, total, symbols, what, solved="gap", shift=0.5 * f.L * total)


def smallest_gradient(_: Statement, instance: Mapping[str, Any], tie: Tie = near_estimate) -> WorstCase:
    """No gradient shorter than L gamma + 2R, which is (12) at the gap L (K + 1) gamma^2/2 that gives it this gamma,
    solved for f(x^0) - f_inf; longer gradients need a larger gap.

    instance: as for `rounds`, without ``gradient``.
    """
    error = number(instance, "error")
    slope = 1 + 2 * error
    f, before, total = _run(instance, slope, error, tie)
    what = f"{len(instance['estimates'])} rounds of long gradients, L gamma^2/2 for each on the left"
    return _case(f, before, total, _symbols(instance, slope), what, solved="gap")
