"""A theorem of one's own, checked for every convex, L-smooth function at once: gradient descent with step 1/L.

    f(x_K) - f(x*)  <=  L ||x_0 - x*||^2 / (4 K + 2)

Source: Drori, Teboulle, "Performance of first-order methods for smooth convex minimization" (2014), Theorem 3.1; no
smaller constant is true.

Run it with

    dpfl-theory check --file examples/worst_case.py
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.statements.claims import Performance
from dpfl_theory.statements.formula import letters_of
from dpfl_theory.statements.model import Check, Sides, Source, Statement, Symbol

LETTERS = (
    Symbol("K", "steps", (0, 0), "integer", "K"),
    Symbol("L", "smoothness constant", (1, -2), "positive", "L"),
    Symbol("D", "initial distance ||x_0 - x*||", (0, 1), "nonnegative", r"\|x_0 - x^*\|"),
    Symbol("gap", "f(x_K) - f(x*)", (1, 0), "nonnegative", "f(x_K) - f(x^*)"),
)


def sides() -> Sides:
    s = letters_of(THEOREM)
    return Sides(lhs={"gap": s["gap"]}, rhs={"start": s["L"] * s["D"] ** 2 / (4 * s["K"] + 2)})


def rate(instance: Mapping[str, Any]) -> Fraction:
    """What ||x_0 - x*||^2 is multiplied with: the right side above at D = 1, so that the formula stands once."""
    s = letters_of(THEOREM)
    found = sum(sides().rhs.values()).subs({s["L"]: instance["L"], s["K"]: instance["K"], s["D"]: 1})
    return Fraction(int(found.p), int(found.q))


def gradient_descent(instance: Mapping[str, Any]) -> Performance:
    """The method in PEPit's words. No constant stands anywhere: the start's distance is on the right side, where
    PEPit's own examples have set_initial_condition(||x_0 - x*||^2 <= 1). Whole numbers on both sides keep the proof
    exact."""
    from PEPit import PEP
    from PEPit.functions import SmoothConvexFunction

    problem = PEP()
    f = problem.declare_function(SmoothConvexFunction, L=instance["L"])
    minimum = f.stationary_point()
    start = x = problem.set_initial_point()
    for _ in range(instance["K"]):
        x = x - f.gradient(x) / instance["L"]
    tau = rate(instance)
    return Performance(
        problem,
        left=tau.denominator * (f(x) - f(minimum)),
        right=tau.numerator * (start - minimum) ** 2,
        what="f(x_K) - f* against the start",
    )


THEOREM = Statement(
    id="mine.gradient-descent",
    kind="theorem",
    title="Gradient descent on smooth convex functions",
    source=Source("mine", "after Drori, Teboulle (2014), Theorem 3.1", provenance="derived"),
    text="For convex, L-smooth f with a minimiser x*, K steps of gradient descent with step 1/L satisfy the bound.",
    symbols=LETTERS,
    sides=sides,
    checks=tuple(Check("worst-case", f"K = {K}", gradient_descent, {"K": K, "L": 1}) for K in (1, 2, 5)),
)

STATEMENTS = (THEOREM,)
