"""EF21 (error feedback with memory), one client: the rate of Berg Thomsen, Taylor and Dieuleveut (2025) is tight.

Their step and Lyapunov function are taken as published; rho was found from the worst cases, which attain it.

    x+ = x - eta d,  d+ = d + C(grad f(x+) - d),  ||C(v) - v|| <= q ||v||;   V = q ||grad f(x)||^2 + ||grad f(x) - d||^2
    eta = (2/(L + mu)) (1 - q)/(1 + q):   V+ <= rho V,   rho = q + (1 - q) (b + sqrt(b^2 + 4 q gamma^2))/2,
    b = (1 - q) gamma^2,  gamma = (L - mu)/(L + mu),   for mu-strongly convex, L-smooth f

    dpfl-theory check --file examples/ef21.py
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Hypothesis, Sides, Source, Statement, Symbol, Symbols, WorstCase, checks
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import prescription_of


def step(s: Symbols) -> Mapping[str, Any]:
    return {"eta": 2 / (s.L + s.mu) * (1 - s.q) / (1 + s.q)}


def sides(s: Symbols) -> Sides:
    import sympy as sp

    gamma = (s.L - s.mu) / (s.L + s.mu)
    b = (1 - s.q) * gamma**2
    rho = s.q + (1 - s.q) * (b + sp.sqrt(b**2 + 4 * s.q * gamma**2)) / 2
    return Sides({"V": s.V_next}, {"V": rho * s.V})


def iteration(statement: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """One iteration from any x and any memory d, for every f of the class and every such C."""
    from PEPit import PEP, Point
    from PEPit.functions import SmoothStronglyConvexFunction

    q, mu, L = (float(Fraction(instance[name])) for name in ("q", "mu", "L"))
    eta = evaluate(prescription_of(statement)["eta"], {"q": q, "mu": mu, "L": L})
    problem = PEP()
    f = problem.declare_function(SmoothStronglyConvexFunction, mu=mu, L=L)
    x, d, sent = problem.set_initial_point(), Point(), Point()
    old, new = f.gradient(x), f.gradient(x - eta * d)
    problem.add_constraint((new - d - sent) ** 2 <= q**2 * (new - d) ** 2)
    before, after = q * old**2 + (old - d) ** 2, q * new**2 + (new - d - sent) ** 2
    return WorstCase(problem, {"q": q, "mu": mu, "L": L, "eta": eta, "V": before, "V_next": after})


INSTANCES = {
    f"q = {q}, mu = {mu}": {"q": q, "mu": mu, "L": "1"} for q in ("1/4", "1/2", "3/4") for mu in ("1/8", "1/2")
}
THEOREM = Statement(
    id="outside.ef21",
    kind="theorem",
    title="EF21 with its best step, one client",
    source=Source("outside", "after Berg Thomsen, Taylor, Dieuleveut (2025): their step and V", provenance="derived"),
    text=r"With the step $\eta$, every iteration multiplies $V$ by at most $\rho$.",
    symbols=(
        Symbol("q", "contraction of the compressor", domain="probability"),
        Symbol("mu", "strong convexity", (1, -2)),
        Symbol("L", "smoothness", (1, -2)),
        Symbol("eta", "step", (-1, 2), latex=r"\eta"),
        Symbol("V", "the Lyapunov function", (2, -2), "nonnegative"),
        Symbol("V_next", "the same after the iteration", (2, -2), "nonnegative", "V^+"),
    ),
    hypotheses=(Hypothesis(lambda s: (s.q > 0, s.q < 1, s.mu > 0, s.mu <= s.L)),),
    sides=sides,
    prescription=step,
    checks=checks("worst-case", iteration, INSTANCES),
)

STATEMENTS = (THEOREM,)
