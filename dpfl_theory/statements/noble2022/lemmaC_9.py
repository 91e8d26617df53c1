"""noble2022 Lemma C.9: the convergence of DP-SCAFFOLD-warm for smooth objectives, printed and repaired."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

from dpfl_theory.statements.claims import Outcome
from dpfl_theory.statements.model import Check, Erratum, Sides, Source, Statement, sympy_symbols
from dpfl_theory.statements.noble2022 import _explicit_runs as runs
from dpfl_theory.statements.noble2022 import _proof_letters as proof
from dpfl_theory.statements.noble2022 import _round_instances as exact
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022 import lemmaC_4, lemmaC_5, lemmaC_6, lemmaC_7
from dpfl_theory.statements.noble2022._moments import RoundMoments, Users
from dpfl_theory.statements.symbolic import equal

_WHERE = "Lemma C.9, Appendix C.4"


def _printed() -> Sides:
    import sympy as sp

    s = sympy_symbols(LEMMA)
    deviation = s["varsigma"] / sp.sqrt(s["s"] * s["R"]) + s["Sigma"]
    root = sp.sqrt(s["T"] * s["K"] * s["l"] * s["M"])
    return Sides(
        {"gradient": s["gradient"]},
        {
            "noise": s["c"] * sp.sqrt(s["F0"]) * deviation / root * sp.sqrt(1 + s["l"] * s["M"] / s["eta_g"] ** 2),
            "start": s["c"] * s["nu"] / s["T"] * s["F0"] * (1 / s["l"]) ** sp.Rational(2, 3),
        },
    )


def _no_step_helps(_: Mapping[str, Any]) -> Outcome:
    """Whatever eta_l and the weights are: F_i(x) = nu x^2/2, M = l = K = s = eta_g = 1, errors of variance V =
    Sigma^2/2.

    E F'(x^t)^2 = nu^2 ((1 - eta nu)^(2t) D_0^2 + V eta^2 (1 + (1 - eta nu)^2 + ...)), t >= 1. If eta nu <= 1/(4T) the
    first part is at least (1 - 2T eta nu) nu^2 D_0^2 >= nu^2 D_0^2/2 = nu F_0; otherwise the second is at least nu^2 V
    eta^2 > V/(16 T^2) = nu F_0 for V = 16 T^2 nu F_0. At T = 4c the right side grows like c^(3/2) sqrt(nu) F_0 + nu
    F_0/4, below nu F_0 once nu is large: the units of the first term are wrong, and a change of units decides.
    """
    import sympy as sp

    s = sympy_symbols(LEMMA)
    assert LEMMA.sides is not None
    unit = {s[name]: 1 for name in ("K", "M", "l", "s", "R", "eta_g")} | {s["varsigma"]: 0}
    c, nu, F0, T = s["c"], s["nu"], s["F0"], s["T"]
    Sigma = sp.sqrt(2 * 16 * T**2 * nu * F0)
    right = sum(LEMMA.sides().rhs.values()).subs(unit).subs(s["Sigma"], Sigma).subs(T, 4 * c)
    ratio = sp.simplify(right.subs(F0, sp.Symbol("F0", positive=True)) / (nu * sp.Symbol("F0", positive=True)))
    tends = sp.limit(ratio, nu, sp.oo)
    return Outcome(
        False if tends < 1 else None,
        f"at T = 4c and V = 16 T^2 nu F_0 the left side is at least nu F_0 for every step size and all weights, the "
        f"right side {ratio} of it, which tends to {tends} as nu grows, for every c",
        {"right": str(ratio)},
    )


def _too_short_a_step(_: Mapping[str, Any]) -> Outcome:
    """The same with the first term mended by sqrt(nu): eta_l = 1/(1000 nu T) keeps E F'(x^t)^2 above 0.998 * 2 nu
    F_0."""
    import sympy as sp

    s = sympy_symbols(LEMMA)
    terms = _printed().rhs
    unit = {s[name]: 1 for name in ("K", "M", "l", "s", "R", "eta_g")} | {s["varsigma"]: 0}
    c, nu, F0 = s["c"], s["nu"], s["F0"]
    positive = sp.Symbol("F0", positive=True)
    right = (sp.sqrt(nu) * terms["noise"] + terms["start"]).subs(unit).subs(s["Sigma"], sp.sqrt(nu * F0) / (100 * c))
    ratio = sp.simplify(right.subs(s["T"], 100 * c).subs(F0, positive) / (nu * positive))
    at = [ratio.subs(c, value).evalf(20) for value in (1, 10**3, 10**6, 10**12)]
    left = sp.Rational(998, 1000) * 2
    refuted = at[0] < left and all(a >= b for a, b in pairwise(at))
    return Outcome(
        False if refuted else None,
        f"with eta_l = 1/(1000 nu T) and T = 100 c the left side is at least {float(left):.4g} nu F_0, the right side "
        f"{ratio} of nu F_0: {float(at[0]):.3g} for c = 1 and less for larger c",
    )


# The repaired form: the Lyapunov function F(x^t) + 12 nu^3 eta~^2/l F_t.


def descent(u: Users, m: RoundMoments) -> tuple[Fraction, Fraction]:
    """Its change over one round on quadratics: at most -(121/288) eta~ ||F'||^2 + nu eta~^2 V/(KlM) (19/8 + lM/(4
    eta_g^2))."""
    weight = 12 * u.smoothness**3 * u.step**2 / u.share
    half = u.mean_curvature / 2
    noise = u.smoothness * u.step**2 * u.variance / (u.local_steps * u.size)
    right = m.gap + weight * m.lag + noise * (Fraction(19, 8) + Fraction(u.size) / (4 * u.eta_g**2))
    return half * m.distance_after + weight * m.lag_after + Fraction(121, 288) * u.step * m.slope, right


def _combination(_: Mapping[str, Any]) -> Outcome:
    """F(x^t) <= F(x^{t-1}) - (eta~/2)||grad F||^2 + (eta~/2) nu^2 drift + (nu/2)||x^t - x^{t-1}||^2, with Lemma C.4,
    12 nu^3 eta~^2/l times Lemma C.5 (alpha = 2/3) and 10/27 of Lemma C.6, all sharpened.

    With theta = 24 nu eta~/l^(2/3), p = l^(2/3) and h = 1/eta_g^2 in [0, 1] each slack is affine in each letter, so the
    corners decide.
    """
    import sympy as sp

    s = sympy_symbols(lemmaC_4.C4_SHARPENED)
    theta, p, h, z = sp.symbols("theta p h z", positive=True)
    eta, nu, share, eta_g = s["eta"], s["nu"], s["l"], sp.Symbol("eta_g", positive=True)

    def side(statement: Statement, which: str) -> Any:
        assert statement.sides is not None
        own = sympy_symbols(statement)
        named = {own[name]: s[name] for name in own if name in s}
        named |= {own["alpha"]: sp.Rational(2, 3)} if "alpha" in own else {}
        return sum(getattr(statement.sides(), which).values()).subs(named)

    weight = 12 * nu**3 * eta**2 / share
    drift = side(lemmaC_6.C6_SHARPENED, "rhs") - side(lemmaC_6.C6_SHARPENED, "lhs")
    change = -eta / 2 * s["slope"] + eta / 2 * nu**2 * s["drift"] + nu / 2 * side(lemmaC_4.C4_SHARPENED, "rhs")
    change += weight * (side(lemmaC_5.C5_SHARPENED, "rhs") - s["lag"]) + sp.Rational(10, 27) * drift
    W = proof.averaged(s)
    claim = -sp.Rational(121, 288) * eta * s["slope"] + nu * eta**2 * W * (
        sp.Rational(19, 8) + share * s["M"] / (4 * eta_g**2)
    )
    slack = sp.expand(claim - change)
    scale = {"slope": eta, "drift": nu**2 * eta, "lag": nu**3 * eta**2, "noise": nu * eta**2 * W}
    least = {}
    for name, unit in scale.items():
        part = slack.subs({s[v]: 0 for v in ("slope", "drift", "lag")}) if name == "noise" else slack.coeff(s[name])
        ratio = sp.simplify(part / unit).subs(s["M"], z * eta_g**2 / share)
        ratio = ratio.subs(eta, theta * share ** sp.Rational(2, 3) / (24 * nu)).subs(eta_g, 1 / sp.sqrt(h))
        ratio = sp.expand(sp.simplify(ratio.subs(share, p ** sp.Rational(3, 2))))
        letters = sorted(ratio.free_symbols, key=str)
        if not set(letters) <= {theta, p, h, z} or any(sp.degree(ratio, v) > 1 for v in letters):
            return Outcome(None, f"the slack of {name} is not affine in each letter: {ratio}")
        least[name] = min(ratio.subs(dict(zip(letters, c))) for c in product((0, 1), repeat=len(letters)))
    shown = ", ".join(f"{name} {value}" for name, value in least.items())
    fine = all(value >= 0 for value in least.values())
    return Outcome(True if fine else None, f"the least slack of each coefficient: {shown}", {"slacks": shown})


def _noise(s: Mapping[str, Any]) -> Any:
    """W = V/(KlM) (6 + lM/eta_g^2)."""
    return proof.averaged(s) * (6 + s["l"] * s["M"] / s["eta_g"] ** 2)


def _two_cases(_: Mapping[str, Any]) -> Outcome:
    """288/121 < 12/5, 19/8 * 12/5 < 6 and 12/20 < 1, so the mean of ||grad F||^2 is at most f(eta~) = (12/5)
    F_0/(eta~ T) + nu eta~ W; at its best step b, f(b) = 2 sqrt((12/5) nu F_0 W/T), and nu b W is half of that."""
    import sympy as sp

    s = sympy_symbols(REPAIRED)
    W = sp.Symbol("W", positive=True)
    b = sp.sqrt(12 * s["F0"] / (5 * s["nu"] * s["T"] * W))
    best = 2 * sp.sqrt(sp.Rational(12, 5) * s["nu"] * s["F0"] * W / s["T"])
    first = equal(sp.Rational(12, 5) * s["F0"] / (b * s["T"]) + s["nu"] * b * W, best, "f at its best step")
    a = s["l"] ** sp.Rational(2, 3) / (24 * s["nu"])
    second = equal(
        sp.Rational(12, 5) * s["F0"] / (a * s["T"]), _repaired().rhs["start"], "f's first term at the longest step"
    )
    third = equal(_repaired().rhs["noise"] ** 2, best.subs(W, _noise(s)) ** 2, "the noise term")
    Q = sp.Rational
    room = Q(288, 121) <= Q(12, 5) and Q(12, 5) * Q(19, 8) <= 6 and Q(12, 5) / 4 <= 1
    every = (first, second, third)
    return Outcome(True if all(o.true for o in every) and room else None, "; ".join(o.reason for o in every))


def best_step(values: Mapping[str, float]) -> float:
    """The eta~ at which both terms of f are equal."""
    V = values["varsigma"] ** 2 / (values["s"] * values["R"]) + values["Sigma"] ** 2
    spread = 6 + values["l"] * values["M"] / values["eta_g"] ** 2
    W = V * spread / (values["K"] * values["l"] * values["M"])
    return math.sqrt(12 * values["F0"] / (5 * values["nu"] * values["T"] * W)) if W else math.inf


def _repaired() -> Sides:
    import sympy as sp

    s = sympy_symbols(REPAIRED)
    return Sides(
        runs.without_warm_round(s, "slope", "slope0"),
        {
            "noise": 2 * sp.sqrt(sp.Rational(12, 5) * s["nu"] * s["F0"] * _noise(s) / s["T"]),
            "start": sp.Rational(288, 5) * s["nu"] * s["F0"] / (s["l"] ** sp.Rational(2, 3) * s["T"]),
        },
    )


def _descent_checks() -> tuple[Check, ...]:
    return tuple(
        replace(check, name=f"one round, {check.name}")
        for check in exact.exact_checks(
            descent,
            lambda share: lemmaC_7.largest_step(share, Fraction(0)),
            {name: v for name, v in {**exact.CONVEX, **exact.OTHER}.items() if "K = 3" not in name},
        )
    )


_LETTERS = ("eta_g", "nu", *proof.VARIANCE, *proof.COHORT, "T", "F0")
_BASE = (noble.SMOOTH, noble.GRADIENTS, noble.WARM, proof.WHOLE, proof.GLOBAL, noble.ROUNDS)

LEMMA: Statement = Statement(
    id="noble2022.lemmaC.9",
    kind="lemma",
    title="Convergence of DP-SCAFFOLD-warm for smooth objectives",
    source=Source(proof.PAPER, _WHERE, note="O stands for a constant c; the output is x^t with probability w_t"),
    text=(
        "DP-SCAFFOLD-warm with nu-smooth F_i has weights w_t such that for eta_g >= 1, eta_l <= l^(2/3)/(24 nu K "
        "eta_g) and T >= 1 a random iterate, x^t with probability w_t, satisfies the bound."
    ),
    symbols=noble.letters("gradient", "c", "eta_l", *_LETTERS),
    assumptions=_BASE,
    sides=_printed,
    checks=(
        Check("algebra", "no step size helps", _no_step_helps, expected="violated"),
        Check("algebra", "a step that is too short, with units mended", _too_short_a_step, expected="violated"),
    ),
    expected="violated",
    homogeneous=False,
    erratum=Erratum(
        printed=(
            "sqrt(F_0) (varsigma/sqrt(sR) + Sigma_g)/sqrt(TKlM) sqrt(1 + lM/eta_g^2) as a term, for every eta_l in "
            "range"
        ),
        true=(
            "the term needs a factor sqrt(nu), and the step size must be chosen: K eta_l eta_g = min(l^(2/3)/(24 nu), "
            "sqrt(12 F_0/(5 nu T W))), W = V (6 + lM/eta_g^2)/(KlM), gives 2 sqrt((12/5) nu F_0 W/T) + (288/5) nu "
            "F_0/(l^(2/3) T) for the mean of ||grad F||^2 over x^0, ..., x^{T-1}"
        ),
        cause=(
            "a factor nu under the root was lost on the way from Karimireddy et al., and the choice of the step size "
            "too"
        ),
        counterexample=(
            "F(x) = nu x^2/2, M = l = K = eta_g = 1, T = 4c, Sigma_g^2 = 32 T^2 nu F_0: E||grad F||^2 >= nu F_0 for "
            "every step size and all weights, while the right side is nu F_0/4 + 16 c^(3/2) sqrt(nu) F_0, less than "
            "nu F_0 for nu > 456 c^3"
        ),
        repaired="noble2022.lemmaC.9.repaired",
        affects=("noble2022.theoremC.1.non-convex",),
    ),
    uses=("noble2022.lemmaC.1", "noble2022.lemmaC.4", "noble2022.lemmaC.5", "noble2022.lemmaC.6"),
    slips=(
        "The paper gives no proof; its Lemmas C.4 to C.6 are stated for convex F_i, but hold for smooth ones by "
        "||grad F||^2.",
        "The first line defines xbar^T as an average; for non-convex F a random iterate is meant, as in Theorem C.1.",
    ),
)

REPAIRED: Statement = Statement(
    id="noble2022.lemmaC.9.repaired",
    kind="lemma",
    title="Convergence of DP-SCAFFOLD-warm for smooth objectives, with its step size",
    source=Source(
        proof.PAPER,
        _WHERE,
        note=(
            "repaired: the factor nu, one step size, explicit constants, equal weights over x^0, ..., x^(T-1). The "
            "mean over T + 1 rounds counts the warm round, at x^0, which the second term takes back"
        ),
    ),
    text=(
        "With nu-smooth F_i, convex or not, eta_g >= 1, W = V (6 + lM/eta_g^2)/(KlM) and eta~ = min(l^(2/3)/(24 nu), "
        "sqrt(12 F_0/(5 nu T W))) the mean squared gradient satisfies the bound for every T >= 1, if x^0 is no "
        "minimiser."
    ),
    symbols=(*proof.letters("eta", *_LETTERS), runs.SLOPE0),
    expectations=(runs.SLOPE,),
    assumptions=(*_BASE, lemmaC_7.STEP, runs.AWAY),
    sides=_repaired,
    checks=(
        Check("algebra", "descent, from Lemmas C.4 to C.6", _combination),
        Check("algebra", "the step size", _two_cases),
        *_descent_checks(),
        *runs.runs(lambda: REPAIRED, best_step),
    ),
    uses=("noble2022.lemmaC.4.sharpened", "noble2022.lemmaC.5.sharpened", "noble2022.lemmaC.6.sharpened"),
)

STATEMENTS = (LEMMA, REPAIRED)
