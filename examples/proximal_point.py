"""The proximal point method on convex f, smooth or not: tight, as Taylor, Hendrickx and Glineur (2017) show.

x_{k+1} = argmin_x f(x) + ||x - x_k||^2/(2 gamma):   f(x_K) - f*  <=  D^2/(4 gamma K)

dpfl-theory check --file examples/proximal_point.py
"""

from __future__ import annotations

from dpfl_theory.core import Expected, Sides, Source, Statement, Symbol, Symbols, battery
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.oracle import Oracle
from dpfl_theory.statements.iteration import Instances, Iteration, row


def sides(s: Symbols) -> Sides:
    return Sides({"gap": s.gap}, {"start": s.D**2 / (4 * s.gamma * s.K)})


def step(o: Oracle, x: Vector, s: Symbols) -> Vector:
    return o.proximal(x, s.gamma)


TABLE = Instances((
    *(row("", f"K = {K}", {"K": K, "gamma": "1/2"}) for K in (1, 3)),
    row("", "K = 40", {"K": 40, "gamma": 4, "problem": {"name": "quadratic", "dimension": 10}}),
))  # fmt: skip
PROXIMAL = Iteration(step, {"D": "start-distance"}, table=TABLE)
THEOREM = Statement(
    id="outside.proximal-point",
    kind="theorem",
    title="Proximal point method",
    source=Source("outside", "after Taylor, Hendrickx, Glineur (2017), Theorem 4.1", provenance="derived"),
    text="For convex $f$ with a minimiser at distance $D$, $K$ steps satisfy the bound; no smaller constant is true.",
    symbols=(
        Symbol("K", "steps", domain="integer"),
        Symbol("gamma", "step", (-1, 2), latex=r"\gamma"),
        Symbol("D", r"$\|x_0 - x^*\|$", (0, 1)),
    ),
    expectations=(
        Expected("gap", (("suboptimality", 1),), (1, 0), "f(x_K) - f^*", "suboptimality of $x_K$", when="end"),
    ),
    sides=sides,
    checks=battery(PROXIMAL()),
)

STATEMENTS = (THEOREM,)
