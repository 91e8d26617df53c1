"""noble2022 Theorem 4.2: the rates of DP-FedAvg and DP-SCAFFOLD-warm at the private noise scale.

Constants that are enough, and the exponents of its terms:

DP-SCAFFOLD-warm: c = 102, DP-FedAvg: 12, for the mean of x^0, ..., x^{T-1}. For the printed output, over x^1, ..., x^T,
204 and 24: for T >= 2 the weights 1/(T - 1) on x^1, ..., x^(T-1) give at most T/(T - 1) <= 2 times that mean, and for T
= 1 a short enough step leaves F(x^1) near F(x^0) <= F* + nu D_0^2/2, which the start's term covers. With log(2Tl/delta)
log(2/delta) in the bound delta need only give the logarithms a sign, and c = 51 and 12 serve.

Read for every delta its logarithms lost factors 2 that no constant restores.

Runs at sigma_g* for which no step size, no weights and no constant save the printed bound:

One dimension, equal users with the Huber loss F(x) = x^2/2 for |x| <= 1 and |x| - 1/2 beyond, so that nu = C = 1 and no
gradient is ever clipped; x^0 = D_0 = 1, F(x^0) - F* = 1/2, K = s = R = lM = 1, varsigma = G = 0, B = 1.

Let tau be the deviation of a step's noise, and W the weight on x^1, ..., x^T. Then xbar - x^0 = eta~ (N + r): r gathers
gradients, |r| <= 3TW (of a step: its own, its user's control variate and the server's; 1 without control variates), and
N is a sum of noise. Given the cohorts N is a centred Gaussian with deviation at least W (1 - 1/M) tau for M > 1: the
first user's warm control variate counts only in round 1, with coefficient 1 - 1/M. (Without control variates, and for
one user, where they cancel, the first step's noise has the deviation W tau.) Where N >= 3TW, xbar >= x^0 and F(xbar) >=
F(x^0). So E F(xbar) - F* >= (1/2)(1/2 - 3T/((1 - 1/M) tau sqrt(2 pi))), whatever the step sizes and weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Outcome, Sides, Statement, Symbols, battery
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022 import _rates as rates
from dpfl_theory.statements.noble2022 import _runs as runs
from dpfl_theory.statements.noble2022 import _symbols as noble
from dpfl_theory.statements.noble2022 import theoremC_2
from dpfl_theory.statements.noble2022.privacy._formulas import logarithms
from dpfl_theory.statements.noble2022.scaffold import lemmaC_8
from dpfl_theory.statements.relations import Formula, Proof, algebra, of
from dpfl_theory.statements.symbolic import equal


def privacy(s: Symbols, factor: int = 1) -> Any:
    """D_0 C sqrt(d log(factor Tl/delta) log(factor/delta))/(epsilon M R)."""
    logs = sp.log(factor * s.T * s.l / s.delta) * sp.log(factor / s.delta)
    return s.D0 * s.C * sp.sqrt(s.d * logs) / (s.epsilon * s.M * s.R)


def _private_terms(s: Symbols) -> dict[str, Any]:
    sampling = s.c * s.varsigma * s.D0 / sp.sqrt(s.s * s.R * s.l * s.M * s.K * s.T)
    return {"privacy": s.c * privacy(s), "sampling": sampling}


def scaffold_sides(s: Symbols) -> Sides:
    """The mean excess without the warm round, and the bound."""
    start = s.c * s.nu * s.D0**2 / (s.l ** sp.Rational(2, 3) * s.T)
    return Sides(runs.without_warm_round(s, "excess", "F0"), {**_private_terms(s), "start": start})


def _fedavg_sides(s: Symbols) -> Sides:
    third = sp.Rational(1, 3)
    return Sides(
        {"excess": s.excess},
        {
            **_private_terms(s),
            "start": s.c * s.B**2 * s.nu * s.D0**2 / s.T,
            "users": s.c * s.G * s.D0 * sp.sqrt(1 - s.l) / sp.sqrt(s.l * s.M * s.T),
            "drift": s.c * s.D0 ** (4 * third) * s.nu**third * s.G ** (2 * third) / s.T ** (2 * third),
        },
    )


def _noise_scale(s: Symbols) -> Mapping[str, Any]:
    """sigma_g* = s sqrt(lTK log(2Tl/delta) log(2/delta))/(epsilon sqrt(M))."""
    return {"sigma_g": s.s * sp.sqrt(s.l * s.T * s.K * logarithms(s)) / (s.epsilon * sp.sqrt(s.M))}


def _noise(s: Formula) -> Any:
    """Sigma_g(C) at sigma_g*."""
    return 2 * s.C * sp.sqrt(2 * s.d) * s.prescribed["sigma_g"] / (s.s * s.R)


@algebra(
    "the privacy bound at sigma_g*",
    part="It decides the bound's noise term at the prescribed sigma_g*, up to the constant, which other checks decide.",
)
def _privacy_term(s: Formula) -> Proof:
    """Sigma_g(C) D_0/sqrt(TKlM) at sigma_g* is 2 sqrt(2) times the privacy bound with log(2 .) for log(.)."""
    left = _noise(s) * s.D0 / sp.sqrt(s.T * s.K * s.l * s.M)
    return left, 2 * sp.sqrt(2) * privacy(s, 2), "the noise term at sigma_g* against the privacy bound"


@algebra("the other terms are those of Theorem C.2")
def _same_as_theorem_c2(s: Formula) -> Proof:
    """All terms but the privacy bound are those of Theorem C.2 (2) without Sigma_g."""
    given = s.like(theoremC_2.CONVEX, Sigma=0)
    ours = sum(v for name, v in s.terms.items() if name != "privacy")
    return given.rhs, ours, "Theorem C.2 against the last terms"


def _constant(method: str, found: list[Outcome], *factors: Any) -> Outcome:
    """Whether the terms agree and no factor is larger than the constant."""
    largest, enough = sp.Max(*factors), rates.CONSTANTS[method]
    said = f"{'; '.join(one.reason for one in found)}; the largest factor is {largest} <= {enough:g}"
    return Outcome(True if all(one.true for one in found) and largest <= enough else None, said)


@algebra("a constant that serves")
def scaffold_constant(s: Formula) -> Proof:
    """Lemma C.8 repaired with eta_g = sqrt(lM): sqrt(x^2 + y^2) <= x + y parts its noise term into that of the records
    and that of sigma_g*; log(2y) <= 2 log(y) for y >= 2 takes the latter's logarithms to the printed ones."""
    given, printed = (
        s.like(lemmaC_8.REPAIRED, Sigma=_noise(s), eta_g=sp.sqrt(s.l * s.M)).terms,
        of(s.statement, c=1).terms,
    )
    squares = (8 * sp.sqrt(5) * printed["sampling"]) ** 2 + (16 * sp.sqrt(10) * privacy(s, 2)) ** 2
    found = [
        equal(sp.expand(given["noise"] ** 2), sp.expand(squares), "the square of the noise term, in two parts"),
        equal(given["start"], 48 * printed["start"], "the start"),
    ]
    return _constant("scaffold", found, 2 * 16 * sp.sqrt(10), 48)


@algebra("a constant that serves")
def fedavg_constant(s: Formula) -> Proof:
    """Theorem C.2 (2) repaired at sigma_g*: sqrt(x^2 + y^2) <= x + y parts its noise term, log(2y) <= 2 log(y), lM >= 1
    and 6(1 + B^2) <= 12 B^2 for B >= 1."""
    given, printed = s.like(theoremC_2.CONVEX_REPAIRED, Sigma=_noise(s)).terms, of(s.statement, c=1).terms
    parts = (sp.sqrt(3) * printed["sampling"]) ** 2 + (2 * sp.sqrt(6) * privacy(s, 2)) ** 2
    users, drift = 3 * sp.sqrt(10) / 4, sp.cbrt(189) / 4
    room = sp.expand(sp.simplify(12 * printed["start"] / given["start"] * (1 + s.B**2) - (1 + s.B**2)))
    found = [
        equal(sp.expand(given["noise"] ** 2), sp.expand(parts), "the square of the noise term, in two parts"),
        equal(given["sampling of users"] ** 2, (users * printed["users"]) ** 2, "the square of the users"),
        equal(given["heterogeneity"] ** 3 * s.l * s.M, (drift * printed["drift"]) ** 3, "lM times the cubed drift"),
        equal(room, s.B**2 - 1, "what 12 B^2 leaves over 6(1 + B^2), in sixths"),
    ]
    return _constant("fedavg", found, sp.sqrt(3), 2 * 2 * sp.sqrt(6), users, drift, 12)


def exponents(method: str) -> Check:
    """The exponents that the runs are held to are those of the entered terms."""

    @algebra("the exponents of each term")
    def step(s: Formula) -> Proof:
        found = rates.exponents(s.statement)
        wanted = {(r["term"], r["symbol"]): sp.Rational(r["claimed"]) for r in rates.REGIMES if r["method"] == method}
        wrong = [f"{t} has {n}^({found[t, n]}), not {e}" for (t, n), e in wanted.items() if found[t, n] != e]
        shown = {f"{term}: {name}": str(power) for (term, name), power in found.items() if power != 0}
        return Outcome(not wrong, "; ".join(wrong) or f"{len(wanted)} exponents agree with the terms", shown)

    return step


def _battery(method: str, *own: Check) -> tuple[Check, ...]:
    return battery(_privacy_term, own, exponents(method), rates.private_runs(method), rates.fits(method))


SMALL = Hypothesis(
    lambda s: (s.delta > 0, s.delta <= sp.Rational(1, 2), s.T * s.l / s.delta >= 2),
    r"$\delta \le 1/2$ and $T l/\delta \ge 2$, so that $\log(2 y) \le 2 \log(y)$ for both logarithms",
)
DEFINED = Hypothesis(
    lambda s: (s.delta > 0, s.delta < 1, s.T * s.l >= s.delta),
    r"$0 < \delta < 1$ and $T l \ge \delta$, so that the privacy bound is a number",
)
_BASE = (noble.CONVEX, noble.SMOOTH, noble.GRADIENTS, noble.SAMPLING, noble.ROUNDS, SMALL)
_PRIVACY = ("noble2022.theorem4.1.third-party", "noble2022.theorem4.1.server")

SCAFFOLD: Statement = noble.statement(
    **noble.named("noble2022.theorem4.2.scaffold", provenance="restored"),
    symbols=noble.WARM_MEANS,
    hypotheses=(*_BASE, noble.WARM),
    sides=scaffold_sides,
    universal=False,
    prescription=_noise_scale,
    checks=_battery("scaffold", scaffold_constant),
    smoke=("exponent of T where the term 'start' leads",),
    uses=(*_PRIVACY, "noble2022.theoremC.1.convex", "noble2022.lemmaC.8", "noble2022.lemmaC.8.repaired"),
)

FEDAVG: Statement = noble.statement(
    **noble.named("noble2022.theorem4.2.fedavg"),
    symbols=noble.MEANS,
    hypotheses=(*_BASE, noble.DISSIMILAR),
    sides=_fedavg_sides,
    universal=False,
    prescription=_noise_scale,
    checks=_battery("fedavg", fedavg_constant, _same_as_theorem_c2),
    uses=(*_PRIVACY, "noble2022.lemmaC.1", "noble2022.theoremC.2.convex", "noble2022.theoremC.2.convex.repaired"),
)


# Read for every delta.

SURE, RARE = "delta tends to 1", "Tl = delta"
"""One user, epsilon = 1/T, log(1/delta) = T^(-5); any delta, epsilon = delta/T^2 with M = T/delta users, lM = 1."""


def _refuted(family: str, **instance: Any) -> Check:
    """The floor that no step size and no weights get below, and the right side, as T grows. delta: of the second
    family."""

    @algebra(f"no constant serves: {family}", expected="violated", **instance)
    def step(s: Formula, T: list[str], delta: str | None = None) -> Proof:
        at = dict.fromkeys(("K", "s", "R", "nu", "C", "D0", "d"), sp.Integer(1)) | {"varsigma": sp.Integer(0)}
        at |= {"G": sp.Integer(0), "B": sp.Integer(1)} if "G" in s else {}
        if delta is None:
            users, budget = sp.Integer(1), {"delta": sp.exp(-(s.T**-5)), "epsilon": 1 / s.T}
        else:
            users, budget = s.T / sp.Rational(delta), {"delta": sp.Rational(delta)}
            budget["epsilon"] = budget["delta"] / s.T**2
        there = of(s.statement, **at, **budget, M=users, l=1 / users)
        tau, alone = 2 * there.prescribed["sigma_g"], 1 if users == 1 else 1 - 1 / users
        floor = (sp.Rational(1, 2) - 3 * s.T / (alone * tau * sp.sqrt(2 * sp.pi))) / 2
        right = sp.simplify(there.rhs)
        stays, tends = sp.limit(floor, s.T, sp.oo), sp.limit(right.subs(s.c, 1), s.T, sp.oo)
        needed = [float((floor / right).subs(s.c, 1).subs(s.T, sp.Rational(t)).evalf(30)) for t in T]
        proportional = sp.simplify(sp.diff(right, s.c) * s.c - right) == 0
        rising = needed == sorted(needed) and needed[-1] > 100 * needed[0] > 0
        refuted = stays == sp.Rational(1, 4) and tends == 0 and proportional and rising
        shown = ", ".join(f"{c:.3g} at T = {t}" for c, t in zip(needed, T))
        return Outcome(
            False if refuted else None,
            f"for all step sizes and weights the excess stays above what tends to {stays}, while the right side tends "
            f"to {tends} for every constant c: c must be at least {shown}",
            {"floor": str(floor), "right": str(right), "needed": dict(zip(T, needed))},
        )

    return step


def _read_literally(id_: str, statement: Statement) -> Statement:
    return replace(
        statement,
        id=id_,
        hypotheses=tuple(DEFINED if a is SMALL else a for a in statement.hypotheses),
        checks=battery(
            _refuted(SURE, T=["1e3", "1e6", "1e9"]), _refuted(RARE, T=["1e12", "1e18", "1e24"], delta="1e-6")
        ),
        reading_of=statement.id,
    )


SCAFFOLD_EVERY_DELTA = _read_literally("noble2022.theorem4.2.scaffold.every-delta", SCAFFOLD)
FEDAVG_EVERY_DELTA = _read_literally("noble2022.theorem4.2.fedavg.every-delta", FEDAVG)

STATEMENTS = (FEDAVG, SCAFFOLD, FEDAVG_EVERY_DELTA, SCAFFOLD_EVERY_DELTA)
