"""hou2023 Appendix B.1: the contraction of one iteration, and a sharper one than the printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Check, Outcome, Sides, Source, Statement, Symbol, Symbols, Values, WorstCase, checks
from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.hou2023 import _symbols as hou
from dpfl_theory.statements.hou2023._runs import iterated, parts
from dpfl_theory.statements.hou2023.eq3_nonexpansive import ALONE, QUADRATICS, VARIANCE, WHERE
from dpfl_theory.statements.symbolic import equal

__all__ = ["CONTRACTION", "STATEMENTS"]

_PSI = Symbol("psi_t", r"$E \psi_t$", (0, 2), "nonnegative", r"\mathbf{E}[\psi_t]")
_NEXT = Symbol("psi_next", r"$E \psi_{t+1}$", (0, 2), "nonnegative", r"\mathbf{E}[\psi_{t+1}]")


def _sides(s: Symbols, power: int = 1) -> Sides:
    """power: the exponent of 1 - mu eta."""
    return Sides(
        lhs={"psi": s.psi_next},
        rhs={"contraction": hou.theta(s.mu, s.eta, s.p, power) * s.psi_t, "noise": s.p * s.N * s.d * s.noise_variance},
    )


def contraction(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """E psi_t and E psi_{t+1} of one iteration without noise, from any x_i and any h_i that sum to zero.

    x* is the origin, where the gradients h*_i sum to zero.
    """
    from PEPit import PEP, Expression, Point
    from PEPit.functions import SmoothStronglyConvexFunction

    from dpfl_theory.algorithms.scaffnew import ScaffNew
    from dpfl_theory.semantics.base import Vector, expected
    from dpfl_theory.semantics.operations import run_round
    from dpfl_theory.semantics.performance import FunctionClass

    mu, p, n = float(Fraction(instance["mu"])), float(Fraction(instance["p"])), int(instance["N"])
    eta = float(Fraction(instance["eta L"]))  # L = 1
    problem = PEP()
    functions = [problem.declare_function(SmoothStronglyConvexFunction, mu=mu, L=1) for _ in range(n)]
    world = FunctionClass(problem, functions)
    star, rest, last, shifts = world.zero, world.zero, world.zero, []
    for i in range(n - 1):
        shifts.append(Vector(Point()))
        rest, last = rest - world.gradient(i, star), last - shifts[-1]
    functions[-1].add_point((star.known, rest.known, Expression()))
    start = tuple(Vector(problem.set_initial_point()) for _ in range(n)), (*shifts, last)

    def psi(state: Any) -> Any:
        points, controls = state
        control = [eta / p * (h - world.gradient(i, star)) for i, h in enumerate(controls)]
        return sum(world.square(v) for v in (*points, *control))

    algorithm = ScaffNew(eta=eta, p=p)
    after = expected(world, lambda: {"psi": psi(run_round(algorithm, world, star, start).state)})["psi"]
    values = {"psi_next": after, "psi_t": psi(start), "mu": mu, "L": 1, "eta": eta, "p": p, "N": n}
    return WorstCase(problem, {**values, "d": 1, "noise_variance": 0}, "E psi_(t+1) against theta psi_t")


def _quadratics(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """One iteration of the linear-Gaussian dynamics on quadratics, from unequal x_i and h_i."""
    q, a, b = ([Fraction(v) for v in instance[k]] for k in ("q", "a", "b"))
    mu, L, n = (*(Fraction(instance.get(k, limit)) for k, limit in (("mu", min(q)), ("L", max(q)))), len(q))
    found = []
    for product in map(Fraction, instance.get("eta L", ("1", "1/2"))):
        eta = product / L
        for p in map(Fraction, instance.get("p", ("1", "1/2", "1/9"))):
            for variance in map(Fraction, ("0", "1/5")):
                distance, control = parts(iterated(a, b, q, eta, p, 1, variance))
                psi = sum(x * x for x in a) + (eta / p) ** 2 * sum(x * x for x in b)
                after = distance + (eta / p) ** 2 * control
                symbols = {"psi_t": psi, "psi_next": after, "noise_variance": variance, "N": n, "d": 1}
                symbols |= {"eta": eta, "p": p, "mu": mu, "L": L}
                found.append(Values(symbols, instance={"eta": eta, "p": p, "sigma^2": variance}))
    return found


def _completed_square(_: Statement, instance: Mapping[str, Any]) -> Outcome:
    """With a = xhat - x*, b = h - h*: p||a - (eta/p) b||^2 + (1 - p)(||a||^2 + (eta/p)^2 ||b||^2) is ||a - eta b||^2
    + (1 - p^2)(eta/p)^2 ||b||^2."""
    (a, b), eta = sp.symbols("a b", real=True), sp.Symbol("eta", positive=True)
    p = sp.Symbol("p", positive=True, probability=True)
    left = p * (a - eta / p * b) ** 2 + (1 - p) * (a**2 + (eta / p) ** 2 * b**2)
    return equal(
        left, (a - eta * b) ** 2 + (1 - p**2) * (eta / p) ** 2 * b**2, "the two displays before the contraction"
    )


def _squared_rate(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """Where the square comes from: the interpolation inequality of mu-strongly convex, L-smooth gradients.

    With u = x - x*, g = grad f(x) - grad f(x*): <g, u> >= (||g||^2 + mu L ||u||^2)/(L + mu), so that (1 - mu eta)^2
    ||u||^2 - ||u - eta g||^2 is 2 eta (1 - eta (L + mu)/2) times ... plus a multiple of that slack; at equality of
    the inequality it is eta (2/(L + mu) - eta)(||g||^2 - mu^2 ||u||^2), and ||g|| >= mu ||u||.
    """
    s, (u, g) = symbols_of(statement), sp.symbols("u g", positive=True)  # squares u = ||u||^2, g = ||g||^2
    eta, mu, L = s.eta, s.mu, s.L
    inner = (g + mu * L * u) / (L + mu)
    allowed = total(statement).subs({s.p: 1, s.psi_t: u, s.noise_variance: 0})  # one client, h = h*
    slack = allowed - (u - 2 * eta * inner + eta**2 * g)
    return equal(slack, eta * (2 / (L + mu) - eta) * (g - mu**2 * u), "what (1 - mu eta)^2 leaves, against its factors")


_COMPLETED = (
    "It decides the two displays before the contraction, psi after an iteration without noise; that ||a - eta b|| "
    "contracts is left to the worst cases."
)
_GRID = {
    f"N = {n}, mu = {mu}, p = {p}, eta L = {eta}": {"N": n, "mu": mu, "p": p, "eta L": eta}
    for n, mu, p, eta in (
        (1, "1/4", "1/2", "1"),
        (2, "1/4", "1/2", "1"),
        (2, "1/4", "1", "1"),
        (2, "1/10", "1/10", "1"),
        (2, "1/10", "9/10", "1/2"),
        (3, "1/4", "1/4", "1"),
    )
}
_OUTSIDE: dict[str, Any] = {
    "just outside eta L <= 1": {**ALONE, "eta L": ["51/50"]},
    "just outside p <= 1": {**ALONE, "p": ["51/50"]},
    "just outside mu <= L": {**ALONE, "mu": "51/200"},
    "just outside mu > 0": {**ALONE, "mu": "0"},
}


def _checks() -> tuple[Check, ...]:
    edges = {"just inside mu <= L, eta L <= 1 and p <= 1": {**ALONE, "eta L": ["1"], "p": ["1"]}, **_OUTSIDE}
    return (
        *checks("worst-case", contraction, _GRID),
        *checks("exact", _quadratics, QUADRATICS),
        *checks("exact", _quadratics, edges, dict.fromkeys(_OUTSIDE, "not-applicable")),
    )


CONTRACTION: Statement = Statement(
    id="hou2023.contraction",
    kind="step",
    source=Source(hou.PAPER, f"{WHERE}, last displays"),
    symbols=(_NEXT, _PSI, VARIANCE, *hou.symbols("eta", "p", "L", "mu", "N", "d")),
    hypotheses=(hou.STRONGLY_CONVEX, hou.SMOOTH, hou.STEP, hou.COIN),
    sides=_sides,
    checks=(Check("algebra", "the square completed", _completed_square, part=_COMPLETED), *_checks()),
    smoke=("N = 2, mu = 1/4, p = 1/2, eta L = 1",),
    uses=("hou2023.nonexpansive",),
)

SHARPENED: Statement = replace(
    CONTRACTION,
    id="hou2023.contraction.sharpened",
    source=Source(hou.PAPER, f"{WHERE}, last displays"),
    sides=lambda s: _sides(s, power=2),
    checks=(Check("algebra", "where the square comes from", _squared_rate), *_checks()),
)

STATEMENTS = (CONTRACTION, SHARPENED)
