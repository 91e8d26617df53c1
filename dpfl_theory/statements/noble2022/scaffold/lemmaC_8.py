"""noble2022 Lemma C.8: the convergence of DP-SCAFFOLD-warm for convex objectives, printed and with a step size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dpfl_theory.core import Check, Effect, Erratum, Outcome, Sides, Source, Statement, Symbols, Values
from dpfl_theory.core.formula import sides_of, symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022 import _explicit_runs as runs
from dpfl_theory.statements.noble2022 import _first_step as first
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022._causes import FIXED_STEP
from dpfl_theory.statements.noble2022._step_limit import rate, step_limit_symbolic, unless_quiet
from dpfl_theory.statements.noble2022.scaffold import _strongly_convex as strong
from dpfl_theory.statements.noble2022.scaffold import theoremC_1_explicit as explicit
from dpfl_theory.statements.noble2022.scaffold.lemmaC_7 import STEP
from dpfl_theory.statements.symbolic import all_equal

_WHERE = "Lemma C.8, Appendix C.3"


def _spread(s: Symbols) -> Any:
    """1 + lM/eta_g^2."""
    return 1 + s.l * s.M / s.eta_g**2


def _printed(s: Symbols) -> Sides:
    deviation = noble.deviation(s)
    root = sp.sqrt(s.T * s.K * s.l * s.M)
    return Sides(
        {"excess": s.excess},
        {
            "noise": s.c * s.D0 * deviation / root * sp.sqrt(_spread(s)),
            "start": s.c * s.nu / s.T * s.D0**2 * (1 / s.l) ** sp.Rational(2, 3),
        },
    )


def strongly_convex(s: Symbols) -> Any:
    """The printed right side for strongly convex objectives."""
    noise = noble.averaged(s) / (s.mu * s.T) * _spread(s)
    return s.c * (noise + s.mu * s.D0**2 * sp.exp(-rate(s) * s.T))


def _too_short_a_step(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
    """eta_l = 1/(1000 nu T) lies in the printed range, and nothing moves.

    M = l = K = s = eta_g = 1, x^0 = D_0. Convex: F(x) = nu x^2/2 up to |x| = D_0 and linear beyond, so that gradients
    are at most nu D_0 and E x^t >= D_0 - t eta_l nu D_0; strongly convex: F(x) = nu x^2/2, E x^t = (1 - eta_l nu)^t D_0
    (Bernoulli). By Jensen's inequality E F(xbar) - F* >= (nu/2)(1 - 1/1000)^2 D_0^2 for all weights. With Sigma = nu
    D_0/(100 c) and T = 100 c (T = 10^5 (1 + ln c) in the strongly convex case, mu = nu) the right side is smaller,
    whatever c >= 1 is.
    """
    s, strongly = symbols_of(statement), bool(instance["strongly"])
    right = strongly_convex(Symbols({**s, "mu": s.nu}, statement.id)) if strongly else total(statement)
    c, nu, D0 = s.c, s.nu, s.D0
    unit = {s[name]: 1 for name in ("K", "M", "l", "s", "R", "eta_g")} | {
        s.varsigma: 0,
        s.Sigma: nu * D0 / (100 * c),
    }
    T = 10**5 * (1 + sp.log(c)) if strongly else 100 * c
    ratio = right.subs(unit).subs(s.T, T).subs({nu: 1, D0: 1})  # both sides have the unit of nu D_0^2
    left = sp.Rational(999, 1000) ** 2 / 2
    at = [ratio.subs(c, value).evalf(20) for value in (1, 10**3, 10**6, 10**12)]
    falls = all(a >= b for a, b in pairwise(at))
    refuted = falls and at[0] < left
    return Outcome(
        False if refuted else None,
        f"with eta_l = 1/(1000 nu T) the left side is at least {float(left):.4g} nu D_0^2, the right side {ratio} of "
        f"it: {float(at[0]):.3g} for c = 1 and less for larger c",
        {"right": str(ratio)},
    )


def short_steps(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """The convex half of `_too_short_a_step` in fractions, with eta_g = 4/3 for a rational root: a lower limit of the
    left side, for several constants c."""
    found = []
    for c in instance["c"]:
        T, Sigma, eta_g = 100 * int(c), Fraction(1, 100 * int(c)), Fraction(4, 3)
        values: dict[str, Any] = dict.fromkeys(("K", "M", "l", "s", "R", "nu", "D0"), 1) | {"varsigma": 0}
        values |= {"c": int(c), "T": T, "Sigma": Sigma, "eta_g": eta_g, "eta_l": Fraction(1, 1000 * T)}
        found.append(Values({**values, "excess": (1 - eta_g / 1000) ** 2 / 2}, {"c": c, "T": T, "Sigma": Sigma}))
    return found


def _balance(s: Symbols) -> Any:
    """The eta~ at which the two terms of Theorem C.1.explicit are equal: D_0/sqrt(10 T W)."""
    return s.D0 / sp.sqrt(10 * s.T * noble.averaged(s) * _spread(s))


def best_step(values: Mapping[str, float]) -> float:
    """`_balance` of numbers; inf without noise."""
    return unless_quiet(_balance(symbols_of(REPAIRED)), values)


def _repaired(s: Symbols) -> Sides:
    return Sides(
        runs.without_warm_round(s, "excess", "F0"),
        {
            "noise": 4 * sp.sqrt(10) * s.D0 * sp.sqrt(noble.averaged(s) * _spread(s) / s.T),
            "start": 48 * s.nu * s.D0**2 / (s.l ** sp.Rational(2, 3) * s.T),
        },
    )


def _step(s: Symbols) -> Mapping[str, Any]:
    """eta~ = min(l^(2/3)/(24 nu), D_0/sqrt(10 T W))."""
    return {"eta": sp.Min(step_limit_symbolic(s), _balance(s))}


def _two_cases(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """f(eta) = 2 D^2/(eta T) + 20 eta W at eta = min(a, b), b = D/sqrt(10 T W), a = l^(2/3)/(24 nu).

    f(b) = 4 sqrt(10) D sqrt(W/T). If a < b, 20 a W <= 20 b W = half of that, and 2 D^2/(a T) is the other term.
    """
    s, ours = symbols_of(explicit.EXPLICIT), symbols_of(statement)
    given, terms = total(explicit.EXPLICIT), sides_of(statement).rhs
    named = {ours[name]: s[name] for name in ours if name in s}
    noise, start, b = (expression.subs(named) for expression in (terms["noise"], terms["start"], _balance(ours)))
    a = step_limit_symbolic(s)
    second = 20 * b * noble.averaged(s) * _spread(s)
    found = all_equal(
        (sp.simplify(given.subs(s.eta, b) ** 2), sp.simplify(noise**2), "the square of f at its best step"),
        (2 * s.D0**2 / (a * s.T), start, "f's first term at the longest step"),
        (sp.simplify(second**2), sp.simplify(noise**2 / 4), "f's second term there"),
    )
    return replace(found, true=found.true or None)


_SECOND = (
    "It decides the second half, for strongly convex objectives, whose bound is in the text; the sides are those of "
    "the first half, which the other checks decide."
)
_SYMBOLS = ("eta_g", "nu", *noble.VARIANCE, *noble.COHORT, "T", "D0")
_BASE = (noble.CONVEX, noble.SMOOTH, noble.GRADIENTS, noble.WARM, noble.WHOLE, noble.GLOBAL)

LEMMA: Statement = Statement(
    id="noble2022.lemmaC.8",
    kind="lemma",
    title="Convergence of DP-SCAFFOLD-warm for convex objectives",
    source=Source(
        noble.PAPER,
        _WHERE,
        note=(
            r"the display is the convex case; $O$ hides a constant $c$. The text draws the root over $\nu D_0^2 "
            "(1/l)^{2/3}/T$ too, where the units would not fit; it is read as ending before, as in Lemma C.9"
        ),
    ),
    text=(
        r"DP-SCAFFOLD-warm has weights $w_t$ such that for $\eta_g \ge 1$ and $\eta_l \le l^{2/3}/(24 \nu K \eta_g)$ "
        r"the averaged output satisfies the bound; for $\mu$-strongly convex $F_i$, $\eta_l \le l/(54 \mu K \eta_g)$ "
        r"and $T \ge \max(108/l, 48 \nu/(\mu l^{2/3}))$ too, it is $O(V (1 + lM/\eta_g^2)/(\mu TKlM) + \mu D_0^2 "
        r"\exp(-\min(l/108, \mu l^{2/3}/(48 \nu)) T))$."
    ),
    symbols=noble.symbols("c", "eta_l", *_SYMBOLS),
    expectations=(noble.OUTPUT_EXCESS,),
    hypotheses=(*_BASE, noble.ROUNDS),
    sides=_printed,
    checks=(
        Check("algebra", "a step that is too short, convex", _too_short_a_step, {"strongly": False}, "violated"),
        Check(
            "algebra",
            "a step that is too short, strongly convex",
            _too_short_a_step,
            {"strongly": True},
            "violated",
            _SECOND,
        ),
        Check("exact", "a step that is too short, convex", short_steps, {"c": [1, 100, 10000]}, "violated"),
        *first.checks("excess", "scaffold"),
    ),
    expected="violated",
    erratum=Erratum(
        cause=FIXED_STEP,
        grade="misprint",
        effect=Effect(
            0.0,
            r"Nothing changes at $T = 400$ (Figures 1 and 2), where steps are tuned: at the longest step and $\eta_g "
            r"= 1$ the two-slope instance asks for $c \ge 0.09$ there, which $c = 1$ covers.",
        ),
        printed=(
            r"the bounds, under $\eta_l \le l^{2/3}/(24 \nu K \eta_g)$ and, strongly convex, $l/(54 \mu K \eta_g)$"
        ),
        corrected=(
            r"read as 'for some $\eta_l$' the convex half holds, with an $\eta_l$ that depends on $T$, $D_0$ and the "
            r"noise: $K \eta_l \eta_g = \min(l^{2/3}/(24 \nu), D_0/\sqrt{10 T W})$, $W = V (1 + lM/\eta_g^2)/(KlM)$, "
            r"gives $4 \sqrt{10} D_0 \sqrt{W/T} + 48 \nu D_0^2/(l^{2/3} T)$; strongly convex, min(limit, $2L/(\mu "
            r"T)$), $L = \ln \max(e, \mu^2 D_0^2 T/W)$, gives $42 L W/(\mu T) + 1.6 \mu D_0^2 \exp(-\min(l/108, \mu "
            r"l^{2/3}/(48 \nu)) T)$, with a logarithm that the printed $O$ does not show"
        ),
        why=(
            "This is graded a misprint and Theorems C.1 and C.2 are not, though all mend by the words of Theorem 4.2. "
            r"The lemma gives a range for $\eta_l$, in which an $\eta_l$ that serves lies: two words are missing. The "
            r"theorems print $\eta_l$ as one formula, the largest of the range, and no words save that step. The "
            "words of Theorem 4.2, that step sizes exist, are missing here; with them the convex half holds, and the "
            "strongly convex half with a logarithm (that none is needed was neither shown nor refuted). As printed, "
            r"every $\eta_l$ in the range is claimed to serve. One that is too short does not move, and the longest, "
            "which Theorem C.1 takes from the range, does not quieten the noise."
        ),
        counterexample=(
            r"$F(x) = \nu x^2/2$ up to $|x| = D_0$, linear beyond (gradients of at most $\nu D_0$), $x^0 = D_0$, $M = "
            r"l = K = \eta_g = 1$, $\Sigma_g = \nu D_0/(100 c)$, $T = 100 c$, $\eta_l = 1/(1000 \nu T)$: the excess "
            r"stays above $0.498 \nu D_0^2$ for all weights, the right side is below $0.012 \nu D_0^2$. From $x^0 = "
            "x^*$ the first step of any length already refutes it: the right side is 0"
        ),
        repaired="noble2022.lemmaC.8.repaired",
        affects=tuple(f"noble2022.theoremC.1.{name}" for name in ("strongly-convex", "convex")),
        survives={
            "noble2022.theorem4.2.scaffold": "It says that some step sizes exist, and with those of the repaired lemma "
            "its bound follows, as its algebra checks show.",
        },
    ),
    uses=("noble2022.lemmaC.7",),
    typos=(
        r"The averaged output is over $x^1, \dots, x^T$; Lemma C.7 bounds $F(x^{t-1})$, so that its sum is over $x^0, "
        r"\dots, x^{T-1}$.",
        "The lemma says '$f_i$ are convex', and $f_i$ are the losses of single records; $F_i$ is meant.",
    ),
)

REPAIRED: Statement = Statement(
    id="noble2022.lemmaC.8.repaired",
    kind="lemma",
    title="Convergence of DP-SCAFFOLD-warm for convex objectives, with its step size",
    source=Source(
        noble.PAPER,
        _WHERE,
        note=(
            r"repaired: one step size, explicit constants, equal weights over $x^0, \dots, x^{T-1}$. "
            f"{explicit.EXPLICIT.source.note}"
        ),
    ),
    text=(
        r"Take convex $F_i$, $\eta_g \ge 1$, $W = V (1 + lM/\eta_g^2)/(KlM)$ and $\tilde\eta = \min(l^{2/3}/(24 \nu), "
        r"D_0/\sqrt{10 T W})$. Then the bound holds for every $T \ge 1$, if $x^0$ is not $x^*$ (there no step is "
        r"best). Take $\mu$-strongly convex $F_i$, $T \ge \max(108/l, 48 \nu/(\mu l^{2/3}))$ and $\tilde\eta = "
        r"\min(l^{2/3}/(24 \nu), l/(54 \mu), 2L/(\mu T))$, $L = \ln \max(e, \mu^2 D_0^2 T/W)$. Then some weights give "
        r"$42 L W/(\mu T) + 1.6 \mu D_0^2 \exp(-\min(l/108, \mu l^{2/3}/(48 \nu)) T)$."
    ),
    symbols=noble.symbols("eta", *_SYMBOLS, "F0"),
    expectations=(runs.EXCESS,),
    hypotheses=(*_BASE, noble.ROUNDS, STEP, runs.APART),
    sides=_repaired,
    prescription=_step,
    checks=(
        Check("algebra", "the step size, convex", _two_cases),
        Check("algebra", "the weights, strongly convex", strong.weights, {"T": [1, 2, 3, 5]}, part=_SECOND),
        Check("algebra", "the step size, strongly convex", strong.logarithm, part=_SECOND),
        *strong.one_user_checks("D_0 > 0"),
        *runs.runs(best_step, beyond=("l", "T")),
    ),
    uses=("noble2022.lemmaC.7", "noble2022.theoremC.1.explicit"),
)

STATEMENTS = (LEMMA, REPAIRED)
