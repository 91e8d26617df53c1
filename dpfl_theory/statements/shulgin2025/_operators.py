"""Worst cases of smoothed normalisation and clipping over all vectors, one property of the operator at a time.

An operator enters as a vector h that is not known to be a multiple of g, only to lie in a set that Norm_alpha(g) or
Clip_tau(g) touches from within. Each half of the equalities (8) and max(0, ||g|| - tau) rests on one such set: a ball
||h|| <= kappa ||g||, a half-space <g, h> >= kappa ||g||^2, or the ball over the diameter from kappa g to another
multiple of g. Lengths are in units of ||g|| = r: kappa is 1/(alpha + r) or min(1, tau/r).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.statements.claims import Performance, WorstCase
from dpfl_theory.statements.local_phase import number
from dpfl_theory.statements.model import Statement

__all__ = ["bounded", "clipping", "normalisation"]

RADIUS = 2.0
"""The length r in the unit of the letters' numbers: 1 would hide a wrong power."""


def _pair() -> tuple[Any, Any, Any]:
    from PEPit import PEP

    problem = PEP()
    return problem, problem.set_initial_point(), problem.set_initial_point()


def bounded(_: Statement, instance: Mapping[str, Any], sign: float = 1.0) -> Performance:
    """(7), ||h|| <= 1 for h = Norm_alpha(g), as ||p|| <= ||g|| for p = ||g|| h: h is parallel to p, g = alpha h + p.

    Only <h, p> >= 0 is told. instance: ``alpha``. sign: of alpha.
    """
    problem, h, p = _pair()
    g = sign * number(instance, "alpha") * h + p
    problem.add_constraint(h * p >= 0)
    return Performance(problem, p**2, g**2, "||g||^2 ||Norm_alpha(g)||^2 against ||g||^2")


def normalisation(_: Statement, instance: Mapping[str, Any], shift: float = 0.0) -> WorstCase:
    """One half of (8), of ||g - beta h||^2 for h = kappa g with kappa = 1/(alpha + r).

    instance: ``alpha``, ``beta`` in units of r; ``half`` "<=" or ">=". shift: added to alpha in the operator alone.
    """
    alpha, beta = number(instance, "alpha"), number(instance, "beta")
    size = alpha + shift + 1  # 1/kappa; multiplied with it the conditions have dyadic numbers
    problem, g, h = _pair()
    short = beta <= size  # no overshoot
    if instance["half"] == "<=":
        # The far end of the diameter is g/beta, which (1/beta) g - h = 0 would be.
        problem.add_constraint((size * h - g) * (beta * h - g) <= 0)
    elif short:
        problem.add_constraint(size**2 * h**2 <= g**2)
    else:
        problem.add_constraint(size * (g * h) >= g**2)
    values = {"rest^2": (g - beta * h) ** 2, "alpha": RADIUS * alpha, "beta": RADIUS * beta, "r": RADIUS}
    what = f"||g - beta Norm_alpha(g)||^2 {instance['half']} what (8) has"
    return WorstCase(problem, values, what, direction=instance["half"], unit=g**2 / RADIUS**2)


def clipping(_: Statement, instance: Mapping[str, Any], factor: float = 1.0) -> WorstCase:
    """One half of ||h - g|| = max(0, r - tau), h the projection of g to the ball of radius tau.

    "<=": h is nearer to g than any other point of the ball, so that <g - h, y - h> <= 0 for y = kappa g, or g itself;
    ">=": h lies in the ball. instance: ``tau`` in units of r, ``half``. factor: times tau in the operator alone.
    """
    tau = number(instance, "tau")
    kappa = min(1.0, factor * tau)
    problem, g, h = _pair()
    if instance["half"] == "<=":
        problem.add_constraint((g - h) * (kappa * g - h) <= 0)
    else:
        problem.add_constraint(h**2 <= (factor * tau) ** 2 * g**2)
    values = {"rest^2": (h - g) ** 2, "r": RADIUS, "tau": RADIUS * tau}
    what = f"||Clip_tau(g) - g||^2 {instance['half']} max(0, ||g|| - tau)^2"
    return WorstCase(problem, values, what, direction=instance["half"], unit=g**2 / RADIUS**2, squared=True)
