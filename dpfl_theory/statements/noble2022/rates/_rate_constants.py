"""Constants that serve in noble2022 Theorem 4.2, and the exponents of its terms.

DP-SCAFFOLD-warm: c = 102, DP-FedAvg: 12, for the mean of x^0, ..., x^{T-1}. For the printed output, over x^1, ..., x^T,
204 and 24: for T >= 2 the weights 1/(T - 1) on x^1, ..., x^(T-1) give at most T/(T - 1) <= 2 times that mean, and for T
= 1 a short enough step leaves F(x^1) near F(x^0) <= F* + nu D_0^2/2, which the start's term covers. With log(2Tl/delta)
log(2/delta) in the bound delta need only give the logarithms a sign, and c = 51 and 12 serve.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.claims import Outcome
from dpfl_theory.statements.formula import Letters, letters_of, prescription_of, sides_of
from dpfl_theory.statements.model import Statement
from dpfl_theory.statements.noble2022 import _private_runs as private
from dpfl_theory.statements.noble2022.fedavg import theoremC_2_repaired
from dpfl_theory.statements.noble2022.rates import _rates as rates
from dpfl_theory.statements.noble2022.scaffold import lemmaC_8
from dpfl_theory.statements.symbolic import equal

__all__ = ["exponents", "fedavg_constant", "privacy", "scaffold_constant"]


def privacy(s: Letters, factor: int = 1) -> Any:
    """D_0 C sqrt(d log(factor Tl/delta) log(factor/delta))/(epsilon M R)."""
    logs = sp.log(factor * s.T * s.l / s.delta) * sp.log(factor / s.delta)
    return s.D0 * s.C * sp.sqrt(s.d * logs) / (s.epsilon * s.M * s.R)


def _noise(statement: Statement) -> Any:
    """sigma_g*."""
    return prescription_of(statement)["sigma_g"]


def _terms(statement: Statement) -> dict[str, Any]:
    """The right side at c = 1."""
    c = letters_of(statement)["c"]
    return {name: term.subs(c, 1) for name, term in sides_of(statement).rhs.items()}


def scaffold_constant(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """Lemma C.8 repaired with eta_g = sqrt(lM): sqrt(x^2 + y^2) <= x + y parts its noise term into that of the records
    and that of sigma_g*, and log(2y) <= 2 log(y) for y >= 2 takes the latter's logarithms to the printed ones."""

    s, own = letters_of(statement), letters_of(lemmaC_8.REPAIRED)
    given = sides_of(lemmaC_8.REPAIRED).rhs
    named = {own[name]: s[name] for name in own if name in s} | {own["eta_g"]: sp.sqrt(s.l * s.M)}
    noise, start = (given[name].subs(named) for name in ("noise", "start"))
    sigma = _noise(statement)
    noise = noise.subs(own["Sigma"], 2 * s.C * sp.sqrt(2 * s.d) * sigma / (s.s * s.R))
    printed = _terms(statement)
    squares = (8 * sp.sqrt(5) * printed["sampling"]) ** 2 + (16 * sp.sqrt(10) * privacy(s, 2)) ** 2
    first = equal(sp.expand(noise**2), sp.expand(squares), "the square of the noise term, in two parts")
    second = equal(start, 48 * printed["start"], "the start")
    largest = 2 * 16 * sp.sqrt(10)
    enough = largest <= private.CONSTANTS["scaffold"] and largest >= 48
    return Outcome(
        True if first.true and second.true and enough else None,
        f"{first.reason}; {second.reason}; the largest factor is {largest} <= {private.CONSTANTS['scaffold']:g}",
    )


def fedavg_constant(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """Theorem C.2 (2) repaired at sigma_g*: sqrt(x^2 + y^2) <= x + y parts its noise term, log(2y) <= 2 log(y), lM >= 1
    and 6(1 + B^2) <= 12 B^2 for B >= 1."""

    s, own = letters_of(statement), letters_of(theoremC_2_repaired.CONVEX)
    named = {own[name]: s[name] for name in own if name in s}
    given = {name: term.subs(named) for name, term in sides_of(theoremC_2_repaired.CONVEX).rhs.items()}
    sigma = _noise(statement)
    noise = given["noise"].subs(own["Sigma"], 2 * s.C * sp.sqrt(2 * s.d) * sigma / (s.s * s.R))
    printed = _terms(statement)
    parts = (sp.sqrt(3) * printed["sampling"]) ** 2 + (2 * sp.sqrt(6) * privacy(s, 2)) ** 2
    users, drift = 3 * sp.sqrt(10) / 4, sp.cbrt(189) / 4
    room = sp.expand(sp.simplify(12 * printed["start"] / given["start"] * (1 + s.B**2) - (1 + s.B**2)))
    found = (
        equal(sp.expand(noise**2), sp.expand(parts), "the square of the noise term, in two parts"),
        equal(given["sampling of users"] ** 2, (users * printed["users"]) ** 2, "the square of the users"),
        equal(
            given["heterogeneity"] ** 3 * s.l * s.M,
            (drift * printed["drift"]) ** 3,
            "lM times the cubed drift",
        ),
        equal(room, s.B**2 - 1, "what 12 B^2 leaves over 6(1 + B^2), in sixths"),
    )
    largest = sp.Max(sp.sqrt(3), 2 * 2 * sp.sqrt(6), users, drift, 12)
    enough = largest <= private.CONSTANTS["fedavg"]
    return Outcome(
        True if all(o.true for o in found) and enough else None,
        f"{'; '.join(o.reason for o in found)}; the largest factor is {largest} <= {private.CONSTANTS['fedavg']:g}",
    )


def exponents(method: str) -> Callable[[Statement, Mapping[str, Any]], Outcome]:
    """The exponents that the runs are held to are those of the entered terms."""

    def build(statement: Statement, _: Mapping[str, Any]) -> Outcome:
        found = rates.exponents(statement)
        wanted = {(r["term"], r["letter"]): sp.Rational(r["claimed"]) for r in rates.REGIMES if r["method"] == method}
        wrong = [f"{t} has {n}^({found[t, n]}), not {e}" for (t, n), e in wanted.items() if found[t, n] != e]
        shown = {f"{term}: {name}": str(power) for (term, name), power in found.items() if power != 0}
        return Outcome(not wrong, "; ".join(wrong) or f"{len(wanted)} exponents agree with the terms", shown)

    return build
