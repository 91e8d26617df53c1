"""shulgin2025 equation (12): gradient descent's bound and a term for the memories, for two readings and repaired."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.algorithms.error_feedback import NormEC
from dpfl_theory.core import Check, Hypothesis, Outcome, Sides, Source, Statement, Symbols, Values, battery
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.rational import root
from dpfl_theory.statements.relations import Formula, Proof, algebra, exact, of
from dpfl_theory.statements.shulgin2025 import _symbols as shu
from dpfl_theory.statements.shulgin2025 import _worst_cases as worst
from dpfl_theory.statements.shulgin2025._line import clients, run_of
from dpfl_theory.statements.shulgin2025._runs import NORMALISE, ROUND, accurate, prescribed
from dpfl_theory.statements.shulgin2025.theorem1 import COROLLARY1
from dpfl_theory.statements.symbolic import equal


def _root(s: Symbols) -> Any:
    return sp.sqrt(s.K + 1)


def _prescription(s: Symbols) -> Mapping[str, Any]:
    M = s.L_max * sp.sqrt(2 * s.gap / s.L)
    weight = (M + M**2 / s.D) / _root(s)
    return {"R": (s.D + M) / _root(s), "alpha": weight, "beta": weight, "gamma": M / (s.L_max * _root(s))}


@algebra("Corollary 1 at its best step")
def _twelve_from_corollary(s: Formula) -> Proof:
    """The c that minimises Corollary 1's bound is sqrt(2 gap/L), and with it the bound is (12)."""
    corollary = of(COROLLARY1)
    best = sp.sqrt(2 * corollary.gap / corollary.L)
    printed = of(s.statement, **{name: corollary[name] for name in s if name in corollary}).rhs
    return [
        (sp.diff(corollary.rhs, corollary.c).subs(corollary.c, best), 0, "the derivative in c at sqrt(2 gap/L)"),
        (of(COROLLARY1, c=best).rhs, printed, "Corollary 1 at that c and (12)"),
    ]


@algebra(
    "D is arbitrary",
    "It decides that D is not arbitrary: below a certain D no parameters are left; runs decide the bound then.",
    "violated",
)
def _any_accuracy(s: Formula) -> Proof:
    """Corollary 1 allows c <= D beta/((alpha + D) L_max), and beta < alpha + R <= alpha + D: so c < D/L_max.

    For (12), c = sqrt(2 gap/L), hence D > L_max sqrt(2 gap/L), which is at least sqrt(2 L gap). R and c are those of
    the prescription.
    """
    chosen, root = s.prescribed, _root(s)
    most = s.D * (s.alpha + chosen["R"]) / ((s.alpha + s.D) * s.L_max)  # at beta = alpha + R
    slack = s.D**2 * (root - 1) / (root * (s.alpha + s.D) * s.L_max)  # not negative
    limit = equal(s.D / s.L_max - most, slack, "D/L_max less Corollary 1's limit of gamma sqrt(K + 1)")
    if not limit.true:
        return Outcome(None, limit.reason)
    half = sp.Rational(1, 2)
    at = {s.D: half, s.gap: half, s.L: 1, s.L_max: 1}
    needed, allowed = sp.simplify((chosen["gamma"] * root).subs(at)), (s.D / s.L_max).subs(at)
    return Outcome(
        False if needed.is_number and needed >= allowed else None,
        f"at L = L_max = 1, f(x^0) - f_inf = 1/2 and D = 1/2, (12) needs gamma sqrt(K + 1) = {needed}, and Corollary 1 "
        f"allows less than D/L_max = {allowed} for every alpha >= 0, every beta < alpha + R and every K",
        {"needed": str(needed), "allowed": str(allowed)},
    )


@algebra(
    "residuals after the update",
    "It decides that residuals after the memories' update stay at most rho; the other checks decide the descent.",
    letters="r",
)
def _kept(s: Formula, r: Any) -> Proof:
    """With alpha = beta a step reduces a residual r to g(r) = r^2/(alpha + r), which grows with r. Where gamma L_max =
    m, rho = D/sqrt(K + 1) and alpha = m + m^2/rho: g(rho + m) = rho. So residuals of at most rho + m are reduced to at
    most rho, and the step then adds at most m."""
    chosen = s.prescribed
    rho, m = s.D / _root(s), chosen["gamma"] * s.L_max
    left, a = r - s.alpha * r / (s.alpha + r), s.alpha
    return [
        (chosen["beta"], chosen["alpha"], "beta and alpha"),
        (chosen["R"], rho + m, "the prescribed R and rho + m"),
        (left, r**2 / (a + r), "the residual after a step"),
        (sp.diff(left, r), r * (2 * a + r) / (a + r) ** 2, "its derivative"),
        (left.subs(a, chosen["alpha"]).subs(r, chosen["R"]), rho, "the residual rho + m after a step"),
    ]


@exact("a memory that leads away from the optimum", K=3, D="5")
def _uphill(_: Statement, instance: Mapping[str, Any]) -> Values:
    """One client, f = x^2/2, x^0 = 1: its memory is short of the gradient by R = (D + M)/sqrt(K + 1), M = 1, and leads
    away from the optimum as long as D exceeds sqrt(K + 1) times the gradient."""
    K, D, one = int(instance["K"]), Fraction(instance["D"]), Fraction(1)
    weight, R, gamma = (one + 1 / D) / root(one * (K + 1)), (D + 1) / root(one * (K + 1)), one / root(one * (K + 1))
    algorithm = NormEC(gamma=gamma, alpha=weight, beta=weight, sigma=0)
    symbols = {**run_of(algorithm, clients([["1"], ["0"]]), one, [R], K + 1).end, "D": D}
    return Values(symbols, symbols)


def _longest(estimates: str, L: str = "1", **error: str) -> list[Check]:
    return worst.rounds_of(estimates, L, worst.smallest_gradient, **error)


_TWELVE = _longest("3 13/4 3 11/4 3 13/4 3 7/2 3 3", error="33/32")
"""R >= L gamma, where Corollary 1 allows the step: ten rounds, as fewer could not distinguish arbitrary steps from
these."""
_CHOICE = Hypothesis(
    lambda s: sp.Eq(s.gamma, sp.sqrt(2 * s.gap / (s.L * (s.K + 1)))),
    r"$\gamma = \sqrt{2 (f(x^0) - f_\text{inf})/(L (K + 1))}$",
)
_ANY_D = (shu.SMOOTH, shu.FIRST, shu.CONTRACTS, shu.ROUNDS, shu.QUIET, shu.ACCURATE, _CHOICE)

EQ12: Statement = shu.statement(
    id="shulgin2025.eq12",
    kind="corollary",
    source=Source(shu.PAPER, "Section 4, and Appendix F", "12", provenance="restored"),
    hypotheses=(
        *_ANY_D,
        Hypothesis(
            lambda s: s.gamma * sp.sqrt(s.K + 1) <= shu.step_limit(s, s.D),
            r"$\gamma \sqrt{K + 1} \le D \beta/((\alpha + D) L_\text{max})$, as Corollary 1 has it",
        ),
    ),
    sides=lambda s: Sides(
        {"gradient": s.least}, {"gradient descent": sp.sqrt(2 * s.L * s.gap) / _root(s), "memory": 2 * s.D / _root(s)}
    ),
    prescription=lambda s: {"R": s.D / _root(s), "gamma": sp.sqrt(2 * s.gap / (s.L * (s.K + 1)))},
    checks=battery(
        _twelve_from_corollary,
        ROUND("twelve", near="twelve", beyond="twelve-outside twelve-limit"),
        _TWELVE,
        NORMALISE.by(accurate)("large"),
    ),
    uses=("shulgin2025.corollary1",),
)

ANY_D: Statement = replace(
    EQ12,
    id="shulgin2025.eq12.any-D",
    hypotheses=_ANY_D,
    checks=battery(
        _any_accuracy,
        ROUND("twelve", near="twelve", beyond="twelve-outside"),
        _TWELVE,
        NORMALISE.by(accurate)("small", violated="less"),
    ),
    reading_of="shulgin2025.eq12",
)

REPAIRED: Statement = replace(
    EQ12,
    id="shulgin2025.eq12.repaired",
    source=Source(shu.PAPER, "Section 4, and Appendix F", "12"),
    hypotheses=(
        *(shu.SMOOTH, shu.FIRST, shu.ROUNDS, shu.QUIET),
        _CHOICE,
        Hypothesis(
            lambda s: (
                *(sp.Eq(s[name], _prescription(s)[name]) for name in ("alpha", "beta")),
                s.R <= _prescription(s)["R"],
            ),
            r"$\alpha = \beta = (M + M^2/D)/\sqrt{K + 1}$ and $R \le (D + M)/\sqrt{K + 1}$",
            rounding=1e-9,
        ),
    ),
    prescription=_prescription,
    checks=battery(
        _kept,
        # With rho in place of R and gamma = sqrt(2 gap/(L (K + 1))).
        algebra("descent inequalities added up")(
            lambda s: (
                s.gap / (s.prescribed["gamma"] * (s.K + 1)) + 2 * s.D / _root(s) + s.L * s.prescribed["gamma"] / 2,
                *(s.rhs, "the mean of the descent inequalities and (12)"),
            )
        ),
        # Where Corollary 1 allows the step of (12), 2D exceeds twice the first term.
        algebra("the least D of the restored form")(
            lambda s: (
                *(s.L_max * s.prescribed["gamma"] * _root(s), s.L_max / s.L * s.terms["gradient descent"] * _root(s)),
                "the least D and the first term",
            )
        ),
        _uphill,
        ROUND("weighted", near="weighted", beyond="weighted-outside"),
        # More accurate than Corollary 1 allows: estimates within less than gamma L of the gradients.
        _longest("9/8 19/16", error="1/16"),
        _longest("3/2 3/2 11/8", error="1/4"),
        _longest("5/4 11/8 5/4", "4", error="1/8"),
        NORMALISE.by(prescribed)("small less nearly closer"),
    ),
    uses=("shulgin2025.lemma2.repaired", "shulgin2025.descent"),
)

STATEMENTS = (EQ12, ANY_D, REPAIRED)
