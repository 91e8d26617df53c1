"""Worst cases of many rounds of alpha-NormEC, given how far the estimates are off, over all smooth functions.

The unit of a round is its step, gamma = ||s^k||. Equal steps would leave a counterexample no room, so their squares may
differ by a hundredth, and each round has its own gamma in the sums. Instances are such that steps in any direction, or
away from the estimate, would break the inequality: K + 1 rounds must gain more than a gradient says of f(x^0) - f_inf.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dpfl_theory.statements.claims import Performance
from dpfl_theory.statements.local_phase import number
from dpfl_theory.statements.shulgin2025._worst_cases import Objective

__all__ = ["Tie", "near_estimate", "rounds", "smallest_gradient"]

Tie = Callable[[Any, Any, Any], Any]
"""(gradient, estimate, squared error) -> the condition that ties them, None where nothing does; PEPit objects."""

_SPREAD = 1 / 128
"""By how much a squared step may be shorter than the first one, relative to it."""


def near_estimate(gradient: Any, estimate: Any, error: Any) -> Any:
    """||grad f - v||^2 <= error, v along the step: Algorithm 1."""
    return (gradient - estimate) ** 2 <= error


def _run(instance: Mapping[str, Any], slope: float, error: float, tie: Tie) -> tuple[Objective, Any, Any]:
    """The function, its value at x^0, and the sum of the squared steps."""
    from PEPit import Point

    f = Objective(instance, number(instance, "L"))
    x, first, total, before = f.problem.set_initial_point(), None, 0.0, None
    for text in instance["estimates"]:
        g, value = f.at(x)
        s = Point()
        square = s**2
        if first is None:
            first, before = square, value
        else:
            f.problem.add_constraint(square <= first)
            f.problem.add_constraint((1 - _SPREAD) * first <= square)
        f.problem.add_constraint(slope**2 * f.L**2 * square <= g**2)
        tied = tie(g, number({"v": text}, "v") * f.L * s, error**2 * f.L**2 * square)
        if tied is not None:
            f.problem.add_constraint(tied)
        x, total = x - s, total + square
    f.at(x)
    return f, before, total


def rounds(instance: Mapping[str, Any], sharpened: bool = False, tie: Tie = near_estimate) -> Performance:
    """sum_k gamma_k min ||grad f|| <= f(x^0) - f_inf + sum_k (2 gamma_k R + L gamma_k^2/2), for estimates within R of
    the gradients; sharpened: with sqrt(min ||grad f||^2 - R^2) on the left and without R on the right.

    instance: class, L, and in units of L gamma: ``gradient`` = min ||grad f||, ``error`` = R, ``estimates`` =
    ||v^{k+1}||, one for each of the K + 1 rounds. tie: what a step has to do with the gradient.
    """
    slope, error = number(instance, "gradient"), number(instance, "error")
    f, before, total = _run(instance, slope, error, tie)
    gained, lost = ((slope**2 - error**2) ** 0.5, 0.0) if sharpened else (slope, 2 * error)
    what = f"{len(instance['estimates'])} rounds, the gradients on the left"
    return Performance(f.problem, gained * f.L * total, before + (lost + 0.5) * f.L * total, what)


def smallest_gradient(instance: Mapping[str, Any], tie: Tie = near_estimate) -> Performance:
    """If no gradient is shorter than (12) has it, L gamma + 2R, then f(x^0) - f_inf >= L (K + 1) gamma^2/2, more for
    longer ones: that gap gives (12) its step.

    instance: as for `rounds`, without ``gradient``.
    """
    error = number(instance, "error")
    f, before, total = _run(instance, 1 + 2 * error, error, tie)
    what = f"{len(instance['estimates'])} rounds of long gradients, L gamma^2/2 for each on the left"
    return Performance(f.problem, 0.5 * f.L * total, before, what)
