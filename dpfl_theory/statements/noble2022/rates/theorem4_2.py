"""noble2022 Theorem 4.2: the rates of DP-FedAvg and DP-SCAFFOLD-warm at the private noise scale.

Constants that are enough, and the exponents of its terms:

DP-SCAFFOLD-warm: c = 102, DP-FedAvg: 12, for the mean of x^0, ..., x^{T-1}. For the printed output, over x^1, ..., x^T,
204 and 24: for T >= 2 the weights 1/(T - 1) on x^1, ..., x^(T-1) give at most T/(T - 1) <= 2 times that mean, and for T
= 1 a short enough step leaves F(x^1) near F(x^0) <= F* + nu D_0^2/2, which the start's term covers. With log(2Tl/delta)
log(2/delta) in the bound delta need only give the logarithms a sign, and c = 51 and 12 serve.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Outcome, Sides, Source, Statement, Symbol, Symbols
from dpfl_theory.core.formula import prescription_of, sides_of, symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022 import _runs as runs
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022.fedavg import theoremC_2, theoremC_2_repaired
from dpfl_theory.statements.noble2022.privacy._symbols import SYMBOLS as PRIVACY
from dpfl_theory.statements.noble2022.rates import _rates as rates
from dpfl_theory.statements.noble2022.scaffold import _private_runs as private
from dpfl_theory.statements.noble2022.scaffold import lemmaC_8
from dpfl_theory.statements.symbolic import equal

__all__ = ["exponents", "fedavg_constant", "privacy", "scaffold_constant"]


def privacy(s: Symbols, factor: int = 1) -> Any:
    """D_0 C sqrt(d log(factor Tl/delta) log(factor/delta))/(epsilon M R)."""
    logs = sp.log(factor * s.T * s.l / s.delta) * sp.log(factor / s.delta)
    return s.D0 * s.C * sp.sqrt(s.d * logs) / (s.epsilon * s.M * s.R)


def _noise(statement: Statement) -> Any:
    """sigma_g*."""
    return prescription_of(statement)["sigma_g"]


def _terms(statement: Statement) -> dict[str, Any]:
    """The right side at c = 1."""
    c = symbols_of(statement)["c"]
    return {name: term.subs(c, 1) for name, term in sides_of(statement).rhs.items()}


def scaffold_constant(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """Lemma C.8 repaired with eta_g = sqrt(lM): sqrt(x^2 + y^2) <= x + y parts its noise term into that of the records
    and that of sigma_g*; log(2y) <= 2 log(y) for y >= 2 takes the latter's logarithms to the printed ones."""

    s, own = symbols_of(statement), symbols_of(lemmaC_8.REPAIRED)
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

    s, own = symbols_of(statement), symbols_of(theoremC_2_repaired.CONVEX)
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
        equal(given["heterogeneity"] ** 3 * s.l * s.M, (drift * printed["drift"]) ** 3, "lM times the cubed drift"),
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
        wanted = {(r["term"], r["symbol"]): sp.Rational(r["claimed"]) for r in rates.REGIMES if r["method"] == method}
        wrong = [f"{t} has {n}^({found[t, n]}), not {e}" for (t, n), e in wanted.items() if found[t, n] != e]
        shown = {f"{term}: {name}": str(power) for (term, name), power in found.items() if power != 0}
        return Outcome(not wrong, "; ".join(wrong) or f"{len(wanted)} exponents agree with the terms", shown)

    return build


_CLIP = Symbol("C", "threshold of the records' gradients", (1, -1), "positive", r"\mathcal{C}")
_DIMENSION = Symbol("d", "number of parameters", (0, 0), "integer", "d")


def _sampling(s: Symbols) -> Any:
    return s.c * s.varsigma * s.D0 / sp.sqrt(s.s * s.R * s.l * s.M * s.K * s.T)


def _scaffold(s: Symbols) -> Sides:
    start = s.c * s.nu * s.D0**2 / (s.l ** sp.Rational(2, 3) * s.T)
    return Sides(
        runs.without_warm_round(s, "excess", "F0"),
        {"privacy": s.c * privacy(s), "sampling": _sampling(s), "start": start},
    )


def _fedavg(s: Symbols) -> Sides:
    third = sp.Rational(1, 3)
    drift = s.D0 ** (4 * third) * s.nu**third * s.G ** (2 * third) / s.T ** (2 * third)
    users = s.G * s.D0 * sp.sqrt(1 - s.l) / sp.sqrt(s.l * s.M * s.T)
    return Sides(
        {"excess": s.excess},
        {
            "privacy": s.c * privacy(s),
            "sampling": _sampling(s),
            "start": s.c * s.B**2 * s.nu * s.D0**2 / s.T,
            "users": s.c * users,
            "drift": s.c * drift,
        },
    )


def _noise_scale(s: Symbols) -> Mapping[str, Any]:
    """sigma_g* = s sqrt(lTK log(2Tl/delta) log(2/delta))/(epsilon sqrt(M))."""
    logs = sp.log(2 * s.T * s.l / s.delta) * sp.log(2 / s.delta)
    return {"sigma_g": s.s * sp.sqrt(s.l * s.T * s.K * logs) / (s.epsilon * sp.sqrt(s.M))}


def _privacy_term(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """Sigma_g(C) D_0/sqrt(TKlM) at sigma_g* is 2 sqrt(2) times the privacy bound with log(2 .) for log(.)."""
    s = symbols_of(statement)
    Sigma = 2 * s.C * sp.sqrt(2 * s.d) * prescription_of(statement)["sigma_g"] / (s.s * s.R)
    left = Sigma * s.D0 / sp.sqrt(s.T * s.K * s.l * s.M)
    return equal(left, 2 * sp.sqrt(2) * privacy(s, 2), "the noise term at sigma_g* against the privacy bound")


def _same_as_theorem_c2(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """All terms but the privacy bound are those of Theorem C.2 (2) without Sigma_g."""
    s, own = symbols_of(statement), symbols_of(theoremC_2.CONVEX)
    given = total(theoremC_2.CONVEX).subs(own["Sigma"], 0)
    ours = sum(v for name, v in sides_of(statement).rhs.items() if name != "privacy")
    return equal(
        given.subs({own[name]: s[name] for name in own if name in s}), ours, "Theorem C.2 against the last terms"
    )


SMALL = Hypothesis(
    lambda s: (s.delta > 0, s.delta <= sp.Rational(1, 2), s.T * s.l / s.delta >= 2),
    r"$\delta \le 1/2$ and $T l/\delta \ge 2$, so that $\log(2 y) \le 2 \log(y)$ for both logarithms",
)
_NAMES = ("c", "nu", "varsigma", "s", "R", *noble.COHORT, "T", "D0")
_SYMBOLS = (*noble.symbols(*_NAMES), _CLIP, _DIMENSION, *(PRIVACY[name] for name in ("epsilon", "delta", "sigma_g")))
_BASE = (noble.CONVEX, noble.SMOOTH, noble.GRADIENTS, noble.SAMPLING, noble.ROUNDS, SMALL)


_NOISE_TERM = (
    "It decides the bound's noise term at the prescribed sigma_g*, up to the constant, which other checks decide."
)

SCAFFOLD: Statement = Statement(
    id="noble2022.theorem4.2.scaffold",
    kind="theorem",
    source=Source(noble.PAPER, "Theorem 4.2, Section 4.2", provenance="restored"),
    symbols=(*_SYMBOLS, *noble.symbols("F0")),
    expectations=(runs.EXCESS,),
    hypotheses=(*_BASE, noble.WARM),
    sides=_scaffold,
    universal=False,
    prescription=_noise_scale,
    checks=(
        Check("algebra", "the privacy bound at sigma_g*", _privacy_term, part=_NOISE_TERM),
        Check("algebra", "a constant that serves", scaffold_constant),
        Check("algebra", "the exponents of each term", exponents("scaffold")),
        *private.private_runs("scaffold"),
        *rates.checks("scaffold"),
    ),
    smoke=("exponent of T where the term 'start' leads",),
    uses=(
        "noble2022.theorem4.1.third-party",
        "noble2022.theorem4.1.server",
        "noble2022.theoremC.1.convex",
        "noble2022.lemmaC.8",
        "noble2022.lemmaC.8.repaired",
    ),
)

FEDAVG: Statement = Statement(
    id="noble2022.theorem4.2.fedavg",
    kind="theorem",
    source=Source(noble.PAPER, "Theorem 4.2, Section 4.2"),
    symbols=(*_SYMBOLS, *noble.symbols("G", "B")),
    expectations=(noble.MEAN_EXCESS,),
    hypotheses=(*_BASE, noble.DISSIMILAR),
    sides=_fedavg,
    universal=False,
    prescription=_noise_scale,
    checks=(
        Check("algebra", "the privacy bound at sigma_g*", _privacy_term, part=_NOISE_TERM),
        Check("algebra", "the other terms are those of Theorem C.2", _same_as_theorem_c2),
        Check("algebra", "a constant that serves", fedavg_constant),
        Check("algebra", "the exponents of each term", exponents("fedavg")),
        *private.private_runs("fedavg"),
        *rates.checks("fedavg"),
    ),
    uses=(
        "noble2022.theorem4.1.third-party",
        "noble2022.theorem4.1.server",
        "noble2022.lemmaC.1",
        "noble2022.theoremC.2.convex",
        "noble2022.theoremC.2.convex.repaired",
    ),
)

STATEMENTS = (FEDAVG, SCAFFOLD)
