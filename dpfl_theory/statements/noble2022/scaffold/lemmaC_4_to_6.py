"""noble2022 Lemmas C.4 to C.6: the server's update, the lag of the control variates and the drift of the users in one
round; as printed, and without convexity, C.4 and C.6 with smaller constants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from dpfl_theory.core import Check, Hypothesis, Sides, Source, Statement, Symbols, battery
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022._runs import one_round
from dpfl_theory.statements.noble2022.scaffold import _lemma_proofs as proofs
from dpfl_theory.statements.noble2022.scaffold import _round_performance as worst
from dpfl_theory.statements.noble2022.scaffold import _rounds as exact

BASE = (noble.SMOOTH, noble.GRADIENTS, noble.WARM, noble.WHOLE)
_ROUND = ("eta", "nu", "drift", "lag", *noble.VARIANCE, *noble.COHORT)
_DRIFT = ("eta", "nu", "drift", "lag", "eta_g", "K", *noble.VARIANCE, "l", "M")
_LENGTH = Fraction(1, 24)
_SHORT = one_round(lambda values: 1 / 24)
_LAG = one_round(lambda values: float(values["l"] ** values["alpha"] / 24))


def _step(product: Fraction) -> Callable[[Fraction], Fraction | None]:
    """eta~ nu, whatever l is."""
    return lambda share: product


def _c4_sharp_sides(s: Symbols) -> Sides:
    return Sides(
        {"move": s.move},
        {
            "drift": 4 * s.eta**2 * s.nu**2 * s.drift,
            "lag": sp.Rational(8, 3) * s.nu**2 * s.eta**2 * s.lag,
            "slope": sp.Rational(4, 3) * s.eta**2 * s.slope,
            "noise": 4 * s.eta**2 * noble.averaged(s),
        },
    )


def _c5_sides(s: Symbols) -> Sides:
    """Without convexity by the gradient, whose square is at most 2 nu times the excess."""
    power = s.l ** (2 * s.alpha - 1)
    excess = {"excess": power * s.gap / (24 * s.nu)} if "gap" in s else {"slope": power * s.slope / (48 * s.nu**2)}
    return Sides(
        {"lag": s.lag_after},
        {
            "lag before": (1 - sp.Rational(17, 36) * s.l) * s.lag,
            **excess,
            "drift": sp.Rational(97, 48) * power * s.drift,
            "noise": s.l / s.nu**2 * noble.averaged(s) / 32,
        },
    )


def _c6_sides(s: Symbols) -> Sides:
    """As printed where the excess is a symbol; else by the gradient, where the lag is divided by eta_g^2 too."""
    half, square = sp.Rational(9, 2), s.eta_g**2
    if "gap" in s:
        lag, part, noise = half, sp.Rational(9, 40) * s.nu * s.gap, sp.Rational(27, 40)
    else:
        lag, part, noise = sp.Rational(216, 529) / square, sp.Rational(9, 1058) * s.slope, sp.Rational(324, 529)
    return Sides(
        {"drift": half * s.nu**2 * s.eta * s.drift},
        {
            "lag": lag * s.nu**3 * s.eta**2 * s.lag,
            "excess" if "gap" in s else "slope": part * s.eta / square,
            "noise": noise * s.eta**2 * s.nu / (s.K * square) * noble.variance(s),
        },
    )


def _c4_worst(kind: str) -> tuple[Check, ...]:
    """All sizes at a short step; at the longest step those with one user in the cohort, of at most two; and long local
    steps inside a server step of the longest length."""
    longest = worst.checks(kind, ("0",), lambda at: at["M"] <= 2 and at["size"] == 1, step="24")
    instance = {"class": kind, "M": 2, "size": 1, "K": 2, "eta_g": "1/12", "step": "24", "power": "0", "noise": True}
    name = f"one round, {kind}, M = 2, lM = 1, K = 2, eta~ nu = 1, eta_g = 1/12"
    long = Check("worst-case", name, worst.one_round, instance)
    return (*longest, *worst.checks(kind, ("0",), step="1/10"), long)


def _by_alpha(alpha: str) -> Callable[[Fraction], Fraction | None]:
    """l^alpha/24, where it and l^(2 alpha - 1) are fractions."""

    def limit(share: Fraction) -> Fraction | None:
        found, other = (exact.power(share, power) for power in (Fraction(alpha), 2 * Fraction(alpha) - 1))
        return None if found is None or other is None else found / 24

    return limit


def _c5_checks(tags: str, kind: str, *alphas: str) -> tuple[Check, ...]:
    quadratics: list[Check] = []
    for alpha in alphas:
        quadratics += exact.checks(_by_alpha(alpha), tags, "{}, eta~ nu = {}, alpha = " + alpha, alpha=alpha)
    many = {"class": kind, "M": 6, "size": 1, "K": 1, "step": "1", "power": "1/2", "noise": True}
    return (
        *quadratics,
        exact.outside("alpha >= 1/2", _LENGTH, alpha="99/200"),
        exact.outside("alpha <= 1", _LENGTH, alpha="101/100"),
        exact.outside("eta~ <= l/(24 nu)", Fraction(101, 2400), alpha="1"),
        *exact.draws(_by_alpha("1"), alpha="1"),
        *worst.checks(kind, ("1/2", "1")),
        Check("worst-case", f"one round, {kind}, M = 6, lM = 1, K = 1, step l^(1/2)", worst.one_round, many),
    )


def _c6_checks(tags: str, kind: str) -> tuple[Check, ...]:
    return (
        *exact.checks(_step(_LENGTH), tags),
        exact.outside("eta~ <= 1/(24 nu)", Fraction(101, 2400)),
        exact.outside("eta_g >= 1", _LENGTH, eta_g="99/100"),
        *exact.draws(_step(_LENGTH)),
        *worst.checks(kind, ("0",)),
    )


C4: Statement = Statement(
    id="noble2022.lemmaC.4",
    kind="lemma",
    source=Source(noble.PAPER, "Lemma C.4, Appendix C.3"),
    **noble.of_round(noble.symbols("move", "gap", *_ROUND), "move", "drift"),
    hypotheses=(
        *BASE,
        noble.CONVEX,
        noble.MINIMISER,
        Hypothesis(lambda s: s.eta <= 1 / s.nu, r"$\tilde\eta \le 1/\nu$"),
    ),
    sides=lambda s: Sides(
        {"move": s.move},
        {
            "drift": 4 * s.eta**2 * s.nu**2 * s.drift,
            "lag": 8 * s.nu**2 * s.eta**2 * s.lag,
            "excess": 8 * s.nu * s.eta**2 * s.gap,
            "noise": 9 * s.eta**2 * noble.averaged(s),
        },
    ),
    checks=battery(
        proofs.by_lemma_c2(_c4_sharp_sides),
        exact.checks(_step(Fraction(1)), "few long"),
        exact.outside("eta~ <= 1/nu", Fraction(101, 100)),
        exact.draws(_step(_LENGTH)),
        _c4_worst("convex"),
        _SHORT("round"),
    ),
    uses=("noble2022.corollaryC.1", "noble2022.lemmaC.2", "noble2022.lemmaC.3", "noble2022.lemmaC.4.sharpened"),
)
C4_SHARPENED: Statement = replace(
    C4,
    id="noble2022.lemmaC.4.sharpened",
    **noble.of_round(noble.symbols("move", "slope", *_ROUND), "move", "drift"),
    hypotheses=BASE,
    sides=_c4_sharp_sides,
    checks=battery(
        proofs.move,
        exact.checks(_step(Fraction(1)), "convex other long"),
        exact.checks(_step(Fraction(5)), "other"),
        exact.draws(_step(_LENGTH)),
        _c4_worst("non-convex"),
        _SHORT("round corners"),
    ),
    uses=("noble2022.lemmaC.1",),
)

_EXPONENT = Hypothesis(lambda s: (s.alpha >= sp.Rational(1, 2), s.alpha <= 1))
_STEP_ALPHA = Hypothesis(lambda s: s.eta <= s.l**s.alpha / (24 * s.nu), r"$\tilde\eta \le l^\alpha/(24 \nu)$")
C5: Statement = Statement(
    id="noble2022.lemmaC.5",
    kind="lemma",
    source=Source(noble.PAPER, "Lemma C.5, Appendix C.3"),
    **noble.of_round(noble.symbols("lag_after", "gap", "alpha", *_ROUND), "lag_after", "drift"),
    hypotheses=(*BASE, noble.CONVEX, noble.MINIMISER, _EXPONENT, _STEP_ALPHA),
    sides=_c5_sides,
    checks=battery(proofs.by_lemma_c2(_c5_sides), _c5_checks("few", "convex", "1/2", "1"), _LAG("round")),
    uses=("noble2022.lemmaC.2", "noble2022.lemmaC.5.sharpened"),
)
C5_SHARPENED: Statement = replace(
    C5,
    id="noble2022.lemmaC.5.sharpened",
    **noble.of_round(noble.symbols("lag_after", "slope", "alpha", *_ROUND), "lag_after", "drift"),
    hypotheses=(*BASE, _EXPONENT, _STEP_ALPHA),
    checks=battery(proofs.lag, _c5_checks("convex other", "non-convex", "1/2", "2/3", "1"), _LAG("round corners")),
    uses=("noble2022.lemmaC.1", "noble2022.lemmaC.4.sharpened"),
)

_C6_STEP = Hypothesis(
    lambda s: s.eta <= 1 / (24 * s.nu), r"$\eta_l \le 1/(24 \nu K \eta_g)$, that is $\tilde\eta \le 1/(24 \nu)$"
)
C6: Statement = Statement(
    id="noble2022.lemmaC.6",
    kind="lemma",
    source=Source(noble.PAPER, "Lemma C.6, Appendix C.3"),
    **noble.of_round(noble.symbols("gap", *_DRIFT), "drift"),
    hypotheses=(*BASE, noble.CONVEX, noble.MINIMISER, noble.GLOBAL, _C6_STEP),
    sides=_c6_sides,
    checks=battery(proofs.by_lemma_c2(_c6_sides), _c6_checks("few", "convex"), _SHORT("round")),
    uses=("noble2022.lemmaC.2", "noble2022.lemmaC.6.sharpened"),
)
C6_SHARPENED: Statement = replace(
    C6,
    id="noble2022.lemmaC.6.sharpened",
    **noble.of_round(noble.symbols("slope", *_DRIFT), "drift"),
    hypotheses=(*BASE, noble.GLOBAL, _C6_STEP),
    checks=battery(proofs.drift, _c6_checks("convex other", "non-convex"), _SHORT("round corners")),
    uses=("noble2022.lemmaC.1",),
)

STATEMENTS = (C4, C4_SHARPENED, C5, C5_SHARPENED, C6, C6_SHARPENED)
