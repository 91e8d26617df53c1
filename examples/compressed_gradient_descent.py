"""Gradient descent with a gradient that arrives with probability p (Khirirat, Feyzmahdavian and Johansson 2018).

x_{k+1} = x_k - eta Q(grad f(x_k)),  Q(v) = v/p with probability p, else 0;  eta <= p/L,  f mu-strongly convex:
    E ||x_K - x*||^2  <=  (1 - eta mu)^K D^2

dpfl-theory check --file examples/compressed_gradient_descent.py
"""

from __future__ import annotations

from dpfl_theory.core import Expected, Hypothesis, Sides, Source, Statement, Symbol, Symbols, battery
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.oracle import Oracle
from dpfl_theory.statements.iteration import Instances, Iteration, row


def sides(s: Symbols) -> Sides:
    return Sides({"distance": s.distance}, {"start": (1 - s.eta * s.mu) ** s.K * s.D**2})


def step(o: Oracle, x: Vector, s: Symbols) -> Vector:
    return x - s.eta / s.p * o.gradient(x) if o.coin(s.p) else x


TABLE = Instances((
    *(row("", f"K = {K}", {"K": K, "mu": "1/4", "eta": "1/2", "p": "1/2"}) for K in (1, 2)),
    row("", "K = 5", {"K": 5, "mu": "1/2", "eta": "1/4", "p": "1/4"}),
))  # fmt: skip
COMPRESSED = Iteration(
    step,
    {"mu": "strong-convexity", "L": "smoothness", "D": "start-distance"},
    functions="strongly convex",
    table=TABLE,
)
THEOREM = Statement(
    id="outside.compressed-gradient-descent",
    kind="theorem",
    title="Gradient descent with an unbiased compressor, strongly convex",
    source=Source("outside", "after Khirirat, Feyzmahdavian, Johansson (2018)", provenance="derived"),
    text=r"Every step shrinks the expected squared distance to the minimiser by $1 - \eta \mu$.",
    symbols=(
        Symbol("K", "steps", domain="integer"),
        Symbol("mu", "strong convexity", (1, -2), latex=r"\mu"),
        Symbol("L", "smoothness", (1, -2)),
        Symbol("p", "probability that the gradient arrives", domain="probability"),
        Symbol("eta", "step", (-1, 2), latex=r"\eta"),
        Symbol("D", r"$\|x_0 - x^*\|$", (0, 1)),
    ),
    expectations=(
        Expected(
            "distance", (("distance-squared", 1),), (0, 2), r"\mathbb{E}\|x_K - x^*\|^2", "that of $x_K$", when="end"
        ),
    ),
    hypotheses=(Hypothesis(lambda s: s.eta <= s.p / s.L),),
    sides=sides,
    checks=battery(COMPRESSED()),
)

STATEMENTS = (THEOREM,)
