"""Private gradient descent on mu-strongly convex, L-smooth f: a contraction (Polyak 1987) with independent noise.

x_{k+1} = x_k - eta (grad f(x_k) + zeta_k),  zeta_k ~ N(0, sigma^2 I),  eta <= 2/(mu + L),  rho = 1 - eta mu:
    E ||x_K - x*||^2  <=  rho^(2K) D^2  +  eta^2 d sigma^2 (1 - rho^(2K))/(1 - rho^2)

The bound is attained by f(x) = mu ||x||^2/2. Privacy from sigma needs clipping of the records' gradients, which must
leave them unchanged: `privacy account` computes epsilon.

dpfl-theory check --file examples/private_gradient_descent.py
"""

from __future__ import annotations

from typing import Any

from dpfl_theory.core import Expected, Hypothesis, Sides, Source, Statement, Symbol, Symbols, battery
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.oracle import Oracle
from dpfl_theory.statements.iteration import Instances, Iteration, row


def sides(s: Symbols) -> Sides:
    kept = (1 - s.eta * s.mu) ** 2
    noise = s.eta**2 * s.d * s.sigma**2 * (1 - kept**s.K) / (1 - kept)
    return Sides({"distance": s.distance}, {"start": kept**s.K * s.D**2, "noise": noise})


def step(o: Oracle, x: Vector, s: Symbols) -> Any:
    return x - s.eta * (o.gradient(x) + o.noise(s.sigma))


TABLE = Instances((
    *(row("few", f"K = {K}", {"K": K, "mu": "1/4", "eta": "1/2", "sigma": "1/4", "d": 3}) for K in (1, 2)),
    row("many", "K = 50", {"K": 50, "mu": "1/2", "eta": "1/8", "sigma": "1/4", "d": 20}),
))  # fmt: skip
PRIVATE = Iteration(
    step,
    {"mu": "strong-convexity", "L": "smoothness", "d": "dimension", "D": "start-distance"},
    functions="strongly convex",
    table=TABLE,
)
THEOREM = Statement(
    id="outside.private-gradient-descent",
    kind="theorem",
    title="Private gradient descent, strongly convex",
    source=Source("outside", "after Polyak (1987)", provenance="derived"),
    text="The expected squared distance to the minimiser after $K$ steps satisfies the bound.",
    symbols=(
        Symbol("K", "steps", domain="integer"),
        Symbol("d", "dimension", domain="integer"),
        Symbol("mu", "strong convexity", (1, -2), latex=r"\mu"),
        Symbol("L", "smoothness", (1, -2)),
        Symbol("eta", "step", (-1, 2), latex=r"\eta"),
        Symbol("sigma", "standard deviation of the noise, per coordinate", (1, -1), "nonnegative", r"\sigma"),
        Symbol("D", r"$\|x_0 - x^*\|$", (0, 1)),
    ),
    expectations=(
        Expected(
            "distance", (("distance-squared", 1),), (0, 2), r"\mathbb{E}\|x_K - x^*\|^2", "that of $x_K$", when="end"
        ),
    ),
    hypotheses=(Hypothesis(lambda s: s.eta <= 2 / (s.mu + s.L)),),
    sides=sides,
    checks=battery(PRIVATE("few many")),
)

STATEMENTS = (THEOREM,)
