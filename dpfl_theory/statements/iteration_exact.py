"""An iteration evaluated on quadratics, in fractions: flat and steep ones, of clients that agree and that do not."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from dpfl_theory.core import Symbols, Values
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.oracle import Oracle
from dpfl_theory.statements.iteration_plan import Plan

__all__ = ["MOST_WAYS", "exact"]

MOST_WAYS = 100_000
"""The largest number of outcomes of cohorts and coins: each of some twenty quadratics takes minutes with that many."""


def exact(plan: Plan) -> Iterator[Values]:
    """Quadratics from ||x_0 - x*|| = 1: flat and steep ones, of clients that agree and that do not."""
    from dpfl_theory.semantics.rational import Quadratics

    d = plan.constant("dimension", Fraction(1)) or Fraction(1)
    for curvatures, gradients in _quadratics(plan):
        # f_i(x) = a_i x^2/2 - b_i x with b_i that add up to zero: the minimiser is the origin.
        variances: dict[Hashable, Any] = {}
        world = Quadratics(curvatures, gradients, variances.__getitem__)
        star, start = world.minimiser, world.minimiser + Vector(Fraction(1))
        oracle, s = Oracle(world, start, d, variances), Symbols(plan.numbers, plan.statement.id)
        values: dict[str, Any] = dict(plan.numbers)
        values |= plan.expectations(world, star, partial(plan.points, oracle, s), MOST_WAYS)
        for e in plan.statement.expectations:
            if e.when == "least":
                values[e.name] = min(values[e.name])
        for name, role in plan.iteration.constants.items():
            if role == "start-distance":
                values[name] = Fraction(1)
            elif role == "start-suboptimality":
                values[name] = world.suboptimality(start)
            elif role == "gradient-spread":
                square = sum((g * g for g in gradients), Fraction(0)) / len(gradients)
                values[name] = _root(square)
        described = {"curvatures": curvatures, "gradients at x*": gradients} if len(curvatures) > 1 else {}
        yield Values(values, {**plan.numbers, **(described or {"curvature": curvatures[0]})})


def _quadratics(plan: Plan) -> Iterator[tuple[tuple[Fraction, ...], tuple[Fraction, ...]]]:
    """Curvatures a_i between mu and L, and gradients b_i at the minimiser."""
    n, L = int(plan.constant("clients", Fraction(1)) or 1), plan.constant("smoothness", Fraction(1)) or Fraction(1)
    mu = plan.constant("strong-convexity", Fraction(0)) or Fraction(0)
    least = mu or L / 4096
    steep = [L / 4**i for i in range(7) if L / 4**i > least]
    flat = [*steep, least]
    nothing = (Fraction(0),) * n
    for a in flat:
        yield (a,) * n, nothing
    if n > 1:
        signs = tuple(Fraction((-1) ** i) for i in range(n - n % 2)) + (Fraction(0),) * (n % 2)
        mixed = [tuple(L if i % 2 else low for i in range(n)) for low in dict.fromkeys((max(L / 8, least), least))]
        yield from ((own, nothing) for own in mixed)
        for spread in (L, 64 * L):  # the second is nearly a start at the minimiser
            for curvatures in (*((a,) * n for a in (L, L / 4, least)), *mixed):
                yield curvatures, tuple(spread * sign for sign in signs)


def _root(square: Fraction) -> Any:
    """The root of a fraction: a fraction where it is one, else a number of sympy."""
    root = sp.sqrt(sp.Rational(square.numerator, square.denominator))
    return Fraction(int(root.p), int(root.q)) if root.is_Rational else root
