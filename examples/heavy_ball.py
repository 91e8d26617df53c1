"""The heavy-ball method on mu-strongly convex, L-smooth f (Ghadimi, Feyzmahdavian and Johansson 2015, Theorem 4).

x_{k+1} = x_k - alpha grad f(x_k) + beta (x_k - x_{k-1}),  alpha <= 1/L,  beta = sqrt((1 - alpha mu)(1 - alpha L)):
    f(x_K) - f*  <=  (1 - alpha mu)^K (f(x_0) - f*)

dpfl-theory check --file examples/heavy_ball.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.core import Expected, Hypothesis, Sides, Source, Statement, Symbol, Symbols, battery
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.oracle import Oracle
from dpfl_theory.statements.iteration import Instances, Iteration, row


def momentum(s: Symbols) -> Mapping[str, Any]:
    import sympy as sp

    return {"beta": sp.sqrt((1 - s.alpha * s.mu) * (1 - s.alpha * s.L))}


def sides(s: Symbols) -> Sides:
    return Sides({"gap": s.gap}, {"start": (1 - s.alpha * s.mu) ** s.K * s.excess})


def step(o: Oracle, state: tuple[Vector, Vector], s: Symbols) -> tuple[Vector, Vector]:
    x, last = state
    return x - s.alpha * o.gradient(x) + s.beta * (x - last), x


STRONG, WEAK = {"mu": "5/16", "alpha": "3/4"}, {"mu": "7/64", "alpha": "1/2"}  # beta is 7/16 and 11/16
TABLE = Instances(row("", f"K = {K}", {"K": K, **about}) for K, about in ((1, STRONG), (3, WEAK), (8, WEAK)))
HEAVY_BALL = Iteration(
    step,
    {"mu": "strong-convexity", "L": "smoothness", "excess": "start-suboptimality"},
    functions="strongly convex",
    start=lambda o, _: (o.start, o.start),
    table=TABLE,
)
THEOREM = Statement(
    id="outside.heavy-ball",
    kind="theorem",
    title="Heavy-ball method, strongly convex",
    source=Source("outside", "after Ghadimi, Feyzmahdavian, Johansson (2015), Theorem 4", provenance="derived"),
    text=r"With this momentum the suboptimality shrinks by $1 - \alpha \mu$ in every step, from $x_{-1} = x_0$.",
    symbols=(
        Symbol("K", "steps", domain="integer"),
        Symbol("mu", "strong convexity", (1, -2), latex=r"\mu"),
        Symbol("L", "smoothness", (1, -2)),
        Symbol("alpha", "step", (-1, 2), latex=r"\alpha"),
        Symbol("beta", "momentum", domain="nonnegative", latex=r"\beta"),
        Symbol("excess", "$f(x_0) - f^*$", (1, 0), "nonnegative", "(f(x_0) - f^*)"),
    ),
    expectations=(
        Expected("gap", (("suboptimality", 1),), (1, 0), "f(x_K) - f^*", "suboptimality of $x_K$", when="end"),
    ),
    hypotheses=(Hypothesis(lambda s: s.alpha <= 1 / s.L),),
    sides=sides,
    prescription=momentum,
    checks=battery(HEAVY_BALL()),
)

STATEMENTS = (THEOREM,)
