"""Local gradient descent, averaged every H steps, on convex, L-smooth f_m (Khaled, Mishchenko, Richtarik 2020).

With gamma <= min{1/(4L), 1/(8L(H-1))}, xbar_T the mean of all points, sigma^2 = (1/M) sum_m ||grad f_m(x*)||^2:
    f(xbar_T) - f*  <=  4 D^2/(gamma T) + 20 gamma sigma^2/M + 16 gamma^2 L (H-1)^2 sigma^2

dpfl-theory check --file examples/local_gradient_descent.py
"""

from __future__ import annotations

from sympy import Max

from dpfl_theory.core import Expected, Hypothesis, Sides, Source, Statement, Symbol, Symbols, battery
from dpfl_theory.semantics.base import Vector, average
from dpfl_theory.semantics.oracle import Oracle
from dpfl_theory.statements.iteration import Instances, Iteration, row


def sides(s: Symbols) -> Sides:
    drift = 16 * s.gamma**2 * s.L * (s.H - 1) ** 2 * s.sigma**2
    return Sides(
        {"gap": s.gap},
        {"start": 4 * s.D**2 / (s.gamma * s.T), "heterogeneity": 20 * s.gamma * s.sigma**2 / s.M, "drift": drift},
    )


def step(o: Oracle, points: list[Vector], s: Symbols) -> list[Vector]:
    """One local step of every client, after the points were averaged where a period starts."""
    shared = o.k % int(s.H) == 0
    points = [average(points)] * len(points) if shared else points
    return [x - s.gamma * o.gradient(x, m) for m, x in enumerate(points)]


TABLE = Instances((
    row("", "T = 1", {"H": 1, "T": 1, "gamma": "1/4", "M": 2}),
    row("", "T = 4", {"H": 2, "T": 4, "gamma": "1/8", "M": 2}),
    row("", "T = 100", {"H": 2, "T": 100, "gamma": "1/8", "M": 4}),
))  # fmt: skip
LOCAL = Iteration(
    step,
    {"L": "smoothness", "M": "clients", "D": "start-distance", "sigma": "gradient-spread"},
    start=lambda o, _: [o.start for _ in o.clients],
    point=average,
    average="before",
    rounds="T",
    table=TABLE,
)
THEOREM = Statement(
    id="outside.local-gradient-descent",
    kind="theorem",
    title="Local gradient descent",
    source=Source("outside", "after Khaled, Mishchenko, Richtarik (2020)", provenance="derived"),
    text="The mean of the clients' points over $T$ steps satisfies the bound.",
    symbols=(
        Symbol("gamma", "step", (-1, 2), latex=r"\gamma"),
        Symbol("L", "smoothness", (1, -2)),
        Symbol("sigma", "spread of the gradients at $x^*$", (1, -1), "nonnegative", r"\sigma"),
        Symbol("D", r"$\|x_0 - x^*\|$", (0, 1), "nonnegative"),
        *(Symbol(name, meaning, domain="integer") for name, meaning in zip("HTM", ("period", "steps", "clients"))),
    ),
    expectations=(
        Expected("gap", (("suboptimality", 1),), (1, 0), r"f(\bar x_T) - f^*", "suboptimality of the mean", when="end"),
    ),
    hypotheses=(
        Hypothesis(lambda s: s.gamma * s.L * Max(4, 8 * (s.H - 1)) <= 1, r"$\gamma \le \min\{1/(4L), 1/(8L(H-1))\}$"),
    ),
    sides=sides,
    checks=battery(LOCAL()),
)

STATEMENTS = (THEOREM,)
