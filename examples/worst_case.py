"""Your own theorem, checked for every convex, L-smooth function at once: gradient descent with step 1/L.

    f(x_K) - f(x*)  <=  L ||x_0 - x*||^2 / (4 K + 2)

Source: Drori, Teboulle, "Performance of first-order methods for smooth convex minimization" (2014), Theorem 3.1; no
smaller constant is true.

Run it with

    dpfl-theory check --file examples/worst_case.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.core import Sides, Source, Statement, Symbol, Symbols, WorstCase, checks

SYMBOLS = (
    Symbol("K", "steps", (0, 0), "integer", "K"),
    Symbol("L", "smoothness constant", (1, -2), "positive", "L"),
    Symbol("D", r"initial distance $\|x_0 - x^*\|$", (0, 1), "nonnegative", r"\|x_0 - x^*\|"),
    Symbol("gap", "$f(x_K) - f(x^*)$", (1, 0), "nonnegative", "f(x_K) - f(x^*)"),
)


def sides(s: Symbols) -> Sides:
    return Sides(lhs={"gap": s.gap}, rhs={"start": s.L * s.D**2 / (4 * s.K + 2)})


def gradient_descent(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """The method in PEPit's terms, and each symbol's value: a number, or a quantity of degree two; D is known by its
    square. Neither constants nor the bound are repeated: the symbols are inserted into the sides above, where PEPit's
    own examples have set_initial_condition(||x_0 - x*||^2 <= 1)."""
    from PEPit import PEP
    from PEPit.functions import SmoothConvexFunction

    K, L = instance["K"], instance["L"]
    problem = PEP()
    f = problem.declare_function(SmoothConvexFunction, L=L)
    minimum = f.stationary_point()
    start = x = problem.set_initial_point()
    for _step in range(K):
        x = x - f.gradient(x) / L
    return WorstCase(problem, {"K": K, "L": L, "gap": f(x) - f(minimum), "D^2": (start - minimum) ** 2})


THEOREM = Statement(
    id="mine.gradient-descent",
    kind="theorem",
    title="Gradient descent on smooth convex functions",
    source=Source("mine", "after Drori, Teboulle (2014), Theorem 3.1", provenance="derived"),
    text="For convex, $L$-smooth $f$ with a minimiser $x^*$, $K$ gradient steps of length $1/L$ satisfy the bound.",
    symbols=SYMBOLS,
    sides=sides,
    checks=checks("worst-case", gradient_descent, {f"K = {K}": {"K": K, "L": 1} for K in (1, 2, 5)}),
)

STATEMENTS = (THEOREM,)
