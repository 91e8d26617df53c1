"""<- Your theorem, in words: gradient descent with Gaussian noise, on convex, L-smooth f with a minimiser x*.

    x_{k+1} = x_k - eta (grad f(x_k) + N(0, sigma^2 I)),  eta <= 1/L,  k uniform over K rounds:
    (2 - 2 eta L) E[f(x_k) - f*]  <=  ||x_0 - x*||^2/(eta K)  +  eta d sigma^2

Every line for you to change ends with an arrow, or is below a line that does. Run it with

    dpfl-theory check --file theorem-name.py
"""

from __future__ import annotations

from typing import Any

from dpfl_theory.core import Expected, Hypothesis, Sides, Source, Statement, Symbol, Symbols, battery
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.oracle import Oracle
from dpfl_theory.statements.iteration import Instances, Iteration, row

# 1. The symbols: name, meaning, unit (exponents of F, the objective, and X, the parameters), domain, LaTeX.  <-
SYMBOLS = (
    Symbol("K", "rounds", (0, 0), "integer"),
    Symbol("d", "dimension", (0, 0), "integer"),
    Symbol("L", "smoothness", (1, -2)),
    Symbol("eta", "step", (-1, 2), latex=r"\eta"),
    Symbol("sigma", "standard deviation of the noise, per coordinate", (1, -1), "nonnegative", r"\sigma"),
    Symbol("D", r"$\|x_0 - x^*\|$", (0, 1), "nonnegative"),
)

# 2. The bounded quantity: an observable, and its "mean" over rounds, "end" value, or "least" value of all rounds.  <-
GAP = Expected("gap", (("suboptimality", 1),), (1, 0), r"\mathbb{E}[f(x_k) - f^*]", "expected suboptimality", "mean")


# 3. Both sides, as named terms. A check of their units is added automatically.  <-
def sides(s: Symbols) -> Sides:
    return Sides(
        lhs={"gap": (2 - 2 * s.eta * s.L) * s.gap},
        rhs={"start": s.D**2 / (s.eta * s.K), "noise": s.eta * s.d * s.sigma**2},
    )


# 4. The round: x is the state, a vector or a tuple of them; o knows gradients, noise, coins, cohorts, ...  <-
def step(o: Oracle, x: Vector, s: Symbols) -> Any:
    return x - s.eta * (o.gradient(x) + o.noise(s.sigma))


# 5. The instances: tags, a name, and the values of the chosen symbols, in units in which L = 1 and D = 1. At most 4
#    rounds have worst cases over all functions of the class, more have runs; all have exact values on quadratics.  <-
TABLE = Instances((
    row("few", "two rounds", {"K": 2, "d": 3, "eta": "1/2", "sigma": "1/4"}),
    row("many", "a hundred rounds", {"K": 100, "d": 10, "eta": "1/2", "sigma": "1/8"}),
))  # fmt: skip

# 6. The symbols that are constants of the problem, and the class of its functions ('dpfl-theory list constants' and
#    'list classes' show the available ones).  <-
DESCENT = Iteration(step, {"L": "smoothness", "d": "dimension", "D": "start-distance"}, functions="convex", table=TABLE)

THEOREM = Statement(
    id="mine.theorem-name",
    kind="theorem",
    title="Gradient descent with Gaussian noise",  # <-
    source=Source("mine", "notebook, page 1"),  # <-
    text=r"With $\eta \le 1/L$, the point of a uniformly random round satisfies the bound.",  # <-
    symbols=SYMBOLS,
    expectations=(GAP,),
    hypotheses=(Hypothesis(lambda s: s.eta <= 1 / s.L),),  # <- a relation between symbols, or several
    sides=sides,
    # The rows with these tags, special cases (sigma = 0), just inside and just outside each hypothesis. Relations to
    # other statements (`dpfl_theory.statements.relations`) are further parts.  <-
    checks=battery(DESCENT("few many")),
)

STATEMENTS = (THEOREM,)
