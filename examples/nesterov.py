"""Nesterov's gradient method on convex, L-smooth f (Nesterov 1983; this form: Su, Boyd, Candes 2016).

x_k = y_{k-1} - grad f(y_{k-1})/L,  y_k = x_k + (k - 1)/(k + 2) (x_k - x_{k-1}):   f(x_K) - f* <= 2 L D^2/(K + 1)^2

dpfl-theory check --file examples/nesterov.py
"""

from __future__ import annotations

from dpfl_theory.core import Expected, Sides, Source, Statement, Symbol, Symbols, battery
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.oracle import Oracle
from dpfl_theory.statements.iteration import Instances, Iteration, row


def sides(s: Symbols) -> Sides:
    return Sides({"gap": s.gap}, {"start": 2 * s.L * s.D**2 / (s.K + 1) ** 2})


def iterate(o: Oracle, state: tuple[Vector, Vector], s: Symbols) -> tuple[Vector, Vector]:
    """The state x and y, of which x is observed."""
    last, y = state
    x = y - o.gradient(y) / s.L
    return x, x + (x - last) * o.k / (o.k + 3)


TABLE = Instances(row("", f"K = {K}", {"K": K}) for K in (1, 2, 4, 20, 100))
NESTEROV = Iteration(
    iterate,
    {"L": "smoothness", "D": "start-distance"},
    start=lambda o, _: (o.start, o.start),
    point=lambda state: state[0],
    table=TABLE,
)
THEOREM = Statement(
    id="outside.nesterov",
    kind="theorem",
    title="Nesterov's gradient method",
    source=Source("outside", "Nesterov (1983)", provenance="derived"),
    text="For convex, $L$-smooth $f$ with a minimiser at distance $D$, $K$ iterations satisfy the bound.",
    symbols=(
        Symbol("K", "iterations", domain="integer"),
        Symbol("L", "smoothness", (1, -2)),
        Symbol("D", r"$\|x_0 - x^*\|$", (0, 1)),
    ),
    expectations=(
        Expected("gap", (("suboptimality", 1),), (1, 0), "f(x_K) - f^*", "suboptimality of $x_K$", when="end"),
    ),
    sides=sides,
    checks=battery(NESTEROV()),
)

STATEMENTS = (THEOREM,)
