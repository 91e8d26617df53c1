"""SGD with a constant step on mu-strongly convex, L-smooth f (Bottou, Curtis and Nocedal 2018, Theorem 4.6).

x_{k+1} = x_k - alpha g_k,  E g_k = grad f(x_k),  E ||g_k - grad f(x_k)||^2 <= sigma^2,  alpha <= 1/L:
    E f(x_K) - f*  <=  (1 - alpha mu)^K (f(x_0) - f*)  +  alpha L sigma^2/(2 mu) (1 - (1 - alpha mu)^K)

dpfl-theory check --file examples/stochastic_gradient_descent.py
"""

from __future__ import annotations

from typing import Any

from dpfl_theory.core import Expected, Hypothesis, Sides, Source, Statement, Symbol, Symbols, battery
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.oracle import Oracle
from dpfl_theory.statements.iteration import Instances, Iteration, row


def sides(s: Symbols) -> Sides:
    kept = (1 - s.alpha * s.mu) ** s.K
    floor = s.alpha * s.L * s.sigma**2 / (2 * s.mu)
    return Sides({"gap": s.gap}, {"start": kept * s.excess, "noise": floor * (1 - kept)})


def step(o: Oracle, x: Vector, s: Symbols) -> Any:
    return x - s.alpha * (o.gradient(x) + o.error(s.sigma))


TABLE = Instances((
    *(row("", f"K = {K}", {"K": K, "mu": "1/4", "alpha": "1/2", "sigma": 1}) for K in (1, 2)),
    row("", "K = 60", {"K": 60, "mu": "1/2", "alpha": "1/4", "sigma": "1/2"}),
))  # fmt: skip
SGD = Iteration(
    step,
    {"mu": "strong-convexity", "L": "smoothness", "excess": "start-suboptimality"},
    functions="strongly convex",
    table=TABLE,
)
THEOREM = Statement(
    id="outside.stochastic-gradient-descent",
    kind="theorem",
    title="Stochastic gradient descent with a constant step, strongly convex",
    source=Source("outside", "after Bottou, Curtis, Nocedal (2018), Theorem 4.6", provenance="derived"),
    text=r"For gradients with errors of variance at most $\sigma^2$, $K$ steps satisfy the bound.",
    symbols=(
        Symbol("K", "steps", domain="integer"),
        Symbol("mu", "strong convexity", (1, -2), latex=r"\mu"),
        Symbol("L", "smoothness", (1, -2)),
        Symbol("alpha", "step", (-1, 2), latex=r"\alpha"),
        Symbol("sigma", "standard deviation of the gradient", (1, -1), "nonnegative", r"\sigma"),
        Symbol("excess", "$f(x_0) - f^*$", (1, 0), "nonnegative", "(f(x_0) - f^*)"),
    ),
    expectations=(
        Expected("gap", (("suboptimality", 1),), (1, 0), r"\mathbb{E} f(x_K) - f^*", "that of $x_K$", when="end"),
    ),
    hypotheses=(Hypothesis(lambda s: s.alpha <= 1 / s.L),),
    sides=sides,
    checks=battery(SGD()),
)

STATEMENTS = (THEOREM,)
