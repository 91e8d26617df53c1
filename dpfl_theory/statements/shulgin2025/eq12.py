"""shulgin2025 equation (12): gradient descent's bound and a term for the memories, for two readings and repaired."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Outcome, Sides, Source, Statement, Symbols, Values
from dpfl_theory.core.formula import prescription_of, sides_of, symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.shulgin2025 import _many_rounds as many
from dpfl_theory.statements.shulgin2025 import _symbols as shu
from dpfl_theory.statements.shulgin2025 import _worst_cases as worst
from dpfl_theory.statements.shulgin2025._experiments import accurate, prescribed, runs
from dpfl_theory.statements.shulgin2025._instances import CLOSER, LARGE, NEARLY, SMALL
from dpfl_theory.statements.shulgin2025._line import (
    BEYOND_TWELVE,
    BEYOND_WEIGHTED,
    TWELVE,
    WEIGHTED,
    alpha_norm_ec,
    edges,
    root,
)
from dpfl_theory.statements.shulgin2025.corollary1 import COROLLARY1
from dpfl_theory.statements.symbolic import all_equal, equal

__all__ = ["ANY_D", "EQ12", "REPAIRED", "STATEMENTS"]


def _twelve(s: Symbols) -> Sides:
    root = sp.sqrt(s.K + 1)
    return Sides({"gradient": s.least}, {"gradient descent": sp.sqrt(2 * s.L * s.gap) / root, "memory": 2 * s.D / root})


def _twelve_from_corollary(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
    """The c that minimises Corollary 1's bound is sqrt(2 gap/L), and with it the bound is (12)."""
    s, own = symbols_of(COROLLARY1), symbols_of(statement)
    bound, best = total(COROLLARY1), sp.sqrt(2 * s.gap / s.L)
    printed = total(statement).subs({own[k]: v for k, v in s.items() if k != "c"})
    return all_equal(
        (sp.diff(bound, s.c).subs(s.c, best), 0, "the derivative in c at sqrt(2 gap/L)"),
        (bound.subs(s.c, best), printed, "Corollary 1 at that c and (12)"),
    )


def _any_accuracy(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
    """Corollary 1 allows c <= D beta/((alpha + D) L_max), and beta < alpha + R <= alpha + D: so c < D/L_max.

    For (12), c = sqrt(2 gap/L), hence D > L_max sqrt(2 gap/L), which is at least sqrt(2 L gap). R and c are those of
    the prescription.
    """
    s, chosen = symbols_of(statement), prescription_of(statement)
    root = sp.sqrt(s.K + 1)
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


def _least_accuracy(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
    """Where Corollary 1 allows the step of (12), 2D exceeds twice the first term: L_max sqrt(2 gap/L) = (L_max/L)
    sqrt(2 L gap)."""
    s = symbols_of(statement)
    root = sp.sqrt(s.K + 1)
    least = s.L_max * prescription_of(statement)["gamma"] * root
    first = sides_of(statement).rhs["gradient descent"] * root
    return equal(least, s.L_max / s.L * first, "the least D and the first term")


def _kept(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
    """With alpha = beta a step reduces a residual r to g(r) = r^2/(alpha + r), which grows with r. Where gamma L_max =
    m, rho = D/sqrt(K + 1) and alpha = m + m^2/rho: g(rho + m) = rho. So residuals of at most rho + m are reduced to at
    most rho, and the step then adds at most m."""
    s, chosen = symbols_of(statement), prescription_of(statement)
    rho, m = s.D / sp.sqrt(s.K + 1), chosen["gamma"] * s.L_max
    r, a = sp.Symbol("r", positive=True), s.alpha
    left = r - a * r / (a + r)
    return all_equal(
        (chosen["beta"], chosen["alpha"], "beta and alpha"),
        (chosen["R"], rho + m, "the prescribed R and rho + m"),
        (left, r**2 / (a + r), "the residual after a step"),
        (sp.diff(left, r), r * (2 * a + r) / (a + r) ** 2, "its derivative"),
        (left.subs(a, chosen["alpha"]).subs(r, chosen["R"]), rho, "the residual rho + m after a step"),
    )


def _twelve_again(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
    """The descent inequalities added up, with rho in place of R and gamma = sqrt(2 gap/(L (K + 1)))."""
    s = symbols_of(statement)
    root = sp.sqrt(s.K + 1)
    gamma = prescription_of(statement)["gamma"]
    bound = s.gap / (gamma * root**2) + 2 * s.D / root + s.L * gamma / 2
    return equal(bound, total(statement), "the mean of the descent inequalities and (12)")


def _uphill(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """One client, f = x^2/2, x^0 = 1: its memory is short of the gradient by R = (D + M)/sqrt(K + 1), M = 1, and leads
    away from the optimum as long as D exceeds sqrt(K + 1) times the gradient."""
    K, D, one = int(instance["K"]), Fraction(instance["D"]), Fraction(1)
    times = root(Fraction(K + 1))
    weight, R, gamma = (one + 1 / D) / times, (D + 1) / times, 1 / times
    rounds = alpha_norm_ec([one], [0 * one], one, [one - R], weight, weight, gamma, K + 1)
    symbols = {"K": Fraction(K), "D": D, "R": R, "alpha": weight, "beta": weight, "gamma": gamma}
    symbols |= {"gap": one / 2, "L": one, "L_max": one}
    return [Values({**symbols, "least": min(r.slope for r in rounds)}, symbols)]


def _prescription(s: Symbols) -> Mapping[str, Any]:
    return {"R": s.D / sp.sqrt(s.K + 1), "gamma": sp.sqrt(2 * s.gap / (s.L * (s.K + 1)))}


def _repaired_prescription(s: Symbols) -> Mapping[str, Any]:
    root, M = sp.sqrt(s.K + 1), s.L_max * sp.sqrt(2 * s.gap / s.L)
    weight = (M + M**2 / s.D) / root
    return {"R": (s.D + M) / root, "alpha": weight, "beta": weight, "gamma": M / (s.L_max * root)}


def _weights(s: Any) -> tuple[Any, ...]:
    root, M = sp.sqrt(s.K + 1), s.L_max * sp.sqrt(2 * s.gap / s.L)
    weight = (M + M**2 / s.D) / root
    return sp.Eq(s.alpha, weight), sp.Eq(s.beta, weight), s.R <= (s.D + M) / root


_TWELVE = ({"L": "1", "error": "33/32", "estimates": ["3", "13/4", "3", "11/4", "3", "13/4", "3", "7/2", "3", "3"]},)
"""R >= L gamma, where Corollary 1 allows the step: ten rounds, as fewer could not distinguish arbitrary steps from
these."""

_NEARER = (
    {"L": "1", "error": "1/16", "estimates": ["9/8", "19/16"]},
    {"L": "1", "error": "1/4", "estimates": ["3/2", "3/2", "11/8"]},
    {"L": "4", "error": "1/8", "estimates": ["5/4", "11/8", "5/4"]},
)
"""More accurate than Corollary 1 allows: estimates within less than gamma L of the gradients."""


_ARBITRARY = "It decides that D is not arbitrary: below a certain D no parameters are left; runs decide the bound then."
_KEPT = "It decides that residuals after the memories' update stay at most rho; the other checks decide the descent."
_CHOICE = Hypothesis(
    lambda s: sp.Eq(s.gamma, sp.sqrt(2 * s.gap / (s.L * (s.K + 1)))),
    (r"$\gamma = \sqrt{2 (f(x^0) - f_\text{inf})/(L (K + 1))}$"),
)

EQ12: Statement = Statement(
    id="shulgin2025.eq12",
    kind="corollary",
    source=Source(shu.PAPER, "Section 4, and Appendix F", "12", provenance="restored"),
    symbols=shu.symbols("gap", "gamma", "K", "R", "D", "alpha", "beta", "L", "L_max"),
    expectations=(shu.LEAST,),
    hypotheses=(
        *(shu.SMOOTH, shu.FIRST, shu.CONTRACTS, shu.ROUNDS, shu.QUIET, shu.ACCURATE),
        _CHOICE,
        Hypothesis(
            lambda s: s.gamma * sp.sqrt(s.K + 1) <= shu.step_limit(s, s.D),
            r"$\gamma \sqrt{K + 1} \le D \beta/((\alpha + D) L_\text{max})$, as Corollary 1 has it",
        ),
    ),
    sides=_twelve,
    prescription=_prescription,
    checks=(
        Check("algebra", "Corollary 1 at its best step", _twelve_from_corollary),
        *edges(TWELVE, {**BEYOND_TWELVE, "Corollary 1's limit of the step": {"R": "1"}}),
        *worst.grid_of(many.smallest_gradient, _TWELVE),
        *runs(LARGE, accurate),
    ),
    uses=("shulgin2025.corollary1",),
)

ANY_D: Statement = replace(
    EQ12,
    id="shulgin2025.eq12.any-D",
    hypotheses=(*(shu.SMOOTH, shu.FIRST, shu.CONTRACTS, shu.ROUNDS, shu.QUIET, shu.ACCURATE), _CHOICE),
    checks=(
        Check("algebra", "D is arbitrary", _any_accuracy, expected="violated", part=_ARBITRARY),
        *edges(TWELVE, BEYOND_TWELVE),
        *worst.grid_of(many.smallest_gradient, _TWELVE),
        *(c for name, (i, verdict) in SMALL.items() for c in runs({name: i}, accurate, verdict)),
    ),
    expected="violated",
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
            _weights, r"$\alpha = \beta = (M + M^2/D)/\sqrt{K + 1}$ and $R \le (D + M)/\sqrt{K + 1}$", rounding=1e-9
        ),
    ),
    prescription=_repaired_prescription,
    checks=(
        Check("algebra", "residuals after the update", _kept, part=_KEPT),
        Check("algebra", "descent inequalities added up", _twelve_again),
        Check("algebra", "the least D of the restored form", _least_accuracy),
        Check("exact", "a memory that leads away from the optimum", _uphill, {"K": 3, "D": "5"}),
        *edges(WEIGHTED, BEYOND_WEIGHTED),
        *worst.grid_of(many.smallest_gradient, _NEARER),
        *(c for name, (i, _) in SMALL.items() for c in runs({name: i}, prescribed)),
        *runs({**NEARLY, **CLOSER}, prescribed),
    ),
    uses=("shulgin2025.lemma2.repaired", "shulgin2025.descent"),
)

STATEMENTS = (EQ12, ANY_D, REPAIRED)
