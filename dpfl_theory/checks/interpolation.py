"""Interpolation inequalities of function classes, in rational arithmetic (Taylor, Hendrickx, Glineur 2017).

A function f of a class was evaluated at points x_i, where it has gradients g_i and values f_i. Then for every i and j

    f_i - f_j >= <g_j, d> + (l |e|^2 - 2 mu l <e, d> + mu |d|^2) / (2 (1 - mu l)),    d = x_i - x_j,    e = g_i - g_j,

where l is 1/L, or 0 without smoothness, and mu is the convexity: 0 for convex functions, -L for smooth ones that need
not be convex. Conversely, data that satisfy all of these inequalities come from some function of the class.

Points, gradients and values are linear combinations of a problem's vectors and numbers. No coefficient is rounded here:
the inequalities are exact for the coefficients that are given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from dpfl_theory.checks.verifier import Form, combined

Combination = Mapping[int, Fraction]
CLASSES: Mapping[str, tuple[bool, bool]] = {
    "convex": (False, False),
    "strongly convex": (False, True),
    "smooth": (True, False),
    "smooth convex": (True, False),
    "smooth strongly convex": (True, True),
}
"""The classes, and whether L and mu are among their parameters."""


@dataclass(frozen=True)
class SampledFunction:
    """A function of a class and its samples: points, gradients and values, as linear combinations."""

    kind: str
    L: Fraction | None
    mu: Fraction | None
    points: tuple[tuple[Combination, Combination, Combination], ...]

    def __post_init__(self) -> None:
        if self.kind not in CLASSES:
            raise ValueError(f"the class {self.kind!r} is unknown: its inequalities cannot be computed again")
        if (self.L is not None, self.mu is not None) != CLASSES[self.kind]:
            raise ValueError(f"the class {self.kind!r} takes {_taken(self.kind)}")
        if (self.L is not None and self.L <= 0) or (self.mu is not None and self.mu < 0):
            raise ValueError("L must be positive, and mu at least 0")
        if self.L is not None and self.mu is not None and self.mu >= self.L:
            raise ValueError("mu must be less than L")

    def inequality(self, i: int, j: int) -> Form:
        """The form that must be at most 0 for the points i and j."""
        if i == j or not (0 <= i < len(self.points) and 0 <= j < len(self.points)):
            raise ValueError(f"there is no inequality for the points {i} and {j}")
        inverse = Fraction(0) if self.L is None else 1 / self.L
        mu = -self.L if self.kind == "smooth" and self.L is not None else self.mu or Fraction(0)
        (x_i, g_i, f_i), (x_j, g_j, f_j) = self.points[i], self.points[j]
        d, e = _difference(x_i, x_j), _difference(g_i, g_j)
        share = 1 / (2 * (1 - mu * inverse))
        return combined(
            [
                (Fraction(-1), Form(values=_difference(f_i, f_j))),
                (Fraction(1), product(g_j, d)),
                (share * inverse, product(e, e)),
                (-2 * share * mu * inverse, product(e, d)),
                (share * mu, product(d, d)),
            ]
        )


def _taken(kind: str) -> str:
    return " and ".join(name for name, needed in zip(("L", "mu"), CLASSES[kind]) if needed) or "no parameters"


def product(a: Combination, b: Combination) -> Form:
    """The inner product of two linear combinations of vectors.

    >>> one = Fraction(1)
    >>> product({0: one, 1: -one}, {0: one, 1: -one}).products
    {(0, 0): Fraction(1, 1), (0, 1): Fraction(-2, 1), (1, 1): Fraction(1, 1)}
    """
    found: dict[tuple[int, int], Fraction] = {}
    for i, v in a.items():
        for j, w in b.items():
            pair = (min(i, j), max(i, j))
            found[pair] = found.get(pair, Fraction(0)) + v * w
    return Form(found)


def _difference(a: Combination, b: Combination) -> Combination:
    return {k: v for k in {**a, **b} if (v := a.get(k, Fraction(0)) - b.get(k, Fraction(0)))}
