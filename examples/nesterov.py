"""Nesterov's gradient method on convex, L-smooth f (Nesterov 1983; this form: Su, Boyd, Candes 2016).

x_k = y_{k-1} - grad f(y_{k-1})/L,  y_k = x_k + (k - 1)/(k + 2) (x_k - x_{k-1}):   f(x_K) - f* <= 2 L D^2/(K + 1)^2

dpfl-theory check --file examples/nesterov.py
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.statements.claims import Values, WorstCase
from dpfl_theory.statements.formula import Letters
from dpfl_theory.statements.model import Sides, Source, Statement, Symbol, checks


def sides(s: Letters) -> Sides:
    return Sides({"gap": s.gap}, {"start": 2 * s.L * s.D**2 / (s.K + 1) ** 2})


def method(x: Any, gradient: Any, step: Any, K: int) -> Any:
    """x_K, in any arithmetic that has sums and products."""
    y = last = x
    for k in range(1, K + 1):
        x = y - step * gradient(y)
        y, last = x + (x - last) * type(step)(k - 1) / (k + 2), x
    return x


def all_functions(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    from PEPit import PEP
    from PEPit.functions import SmoothConvexFunction

    problem = PEP()
    f = problem.declare_function(SmoothConvexFunction, L=1.0)
    least, start = f.stationary_point(), problem.set_initial_point()
    gap = f(method(start, f.gradient, 1.0, instance["K"])) - f(least)
    return WorstCase(problem, {"K": instance["K"], "L": 1, "D^2": (start - least) ** 2, "gap": gap})


def quadratics(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """f(x) = a x^2/2 with a <= L = 1, from x = 1."""
    for a in map(Fraction, ("1", "1/2", "1/10", "1/1000")):
        x = method(Fraction(1), lambda y, a=a: a * y, Fraction(1), instance["K"])
        yield Values({"K": Fraction(instance["K"]), "L": Fraction(1), "D": Fraction(1), "gap": a * x**2 / 2}, {"a": a})


FEW, MANY = ({f"K = {K}": {"K": K} for K in some} for some in ((1, 2, 4), (20, 100)))
THEOREM = Statement(
    id="outside.nesterov",
    kind="theorem",
    title="Nesterov's gradient method",
    source=Source("outside", "Nesterov (1983)", provenance="derived"),
    text="For convex, L-smooth f with a minimiser at distance D, K iterations satisfy the bound.",
    symbols=(
        Symbol("K", "iterations", domain="integer"),
        Symbol("L", "smoothness", (1, -2)),
        Symbol("D", "||x_0 - x*||", (0, 1)),
        Symbol("gap", "f(x_K) - f*", (1, 0), "nonnegative", "f(x_K) - f^*"),
    ),
    sides=sides,
    checks=(*checks("worst-case", all_functions, FEW), *checks("exact", quadratics, FEW | MANY)),
)

STATEMENTS = (THEOREM,)
