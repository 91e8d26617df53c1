"""noble2022 Lemma B.4: from Renyi DP to (epsilon, delta)-DP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from dpfl_theory.core import Check, Sides, Source, Statement, Symbol, Symbols, checks
from dpfl_theory.core.check_inputs import Outcome, PrivacyClaim, PrivacyPoint
from dpfl_theory.core.formula import evaluate_side, symbols_of, total
from dpfl_theory.lazy import mpmath
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022.privacy._symbols import DELTA, ORDER, PAPER, symbols
from dpfl_theory.statements.symbolic import all_equal


def worst_delta(order: Any, budget: Any, epsilon: Any) -> tuple[Any, Any]:
    """Limits of the largest delta that (alpha, budget)-RDP admits at epsilon > budget.

    A test turns P and Q into two-valued distributions (p, 1-p), (q, 1-q) with p^alpha q^(1-alpha) + (1-p)^alpha
    (1-q)^(1-alpha) <= e^((alpha-1) budget). Above: the second term is dropped, and p - e^epsilon q is at most p - e^(
    epsilon - budget) p^(alpha/(alpha-1)). This is largest at p = ((1 - 1/alpha) e^(budget - epsilon))^(alpha-1) if that
    is a probability, where it is p/alpha. Below: some p with the smallest q that the constraint admits.
    """
    with mpmath.workdps(40):
        a, gap, e = mpmath.mpf(order), mpmath.mpf(epsilon) - mpmath.mpf(budget), mpmath.mpf(budget)
        if a <= 1 or gap <= 0:
            return mpmath.mpf(0), mpmath.mpf(1)  # nothing is said there
        best = min(((1 - 1 / a) * mpmath.exp(-gap)) ** (a - 1), mpmath.mpf(1))
        growth = mpmath.exp(e + gap)
        found = mpmath.mpf(0)
        for p in (best, best / 2, best / 10, best / 100):
            most = mpmath.exp((a - 1) * e)
            low, high = mpmath.mpf(0), p  # at q = p the moment is 1
            for _ in range(110):
                q = (low + high) / 2
                if p**a * q ** (1 - a) + (1 - p) ** a * (1 - q) ** (1 - a) <= most:
                    high = q
                else:
                    low = q
            found = max(found, p - growth * high)
        return found, max(best - mpmath.exp(gap) * best ** (a / (a - 1)), 0) * (1 + mpmath.mpf(10) ** -30)


def _converted(statement: Statement, instance: Mapping[str, Any]) -> PrivacyClaim:
    def points() -> list[PrivacyPoint]:
        found = []
        for order, budget, delta in product(instance["alpha"], instance["budget"], instance["delta"]):
            with mpmath.workdps(40):
                values = {"alpha": mpmath.mpf(order), "rdp": mpmath.mpf(budget), "delta": mpmath.mpf(delta)}
                epsilon = evaluate_side(statement, "rhs", values)
            named = {"alpha": values["alpha"], "budget": values["rdp"], "delta": values["delta"]}
            found.append(PrivacyPoint(named, values["delta"], *worst_delta(order, budget, epsilon)))
        return found

    proof = (
        "for all alpha > 1, budgets and delta: a test with P(S) = p has Q(S) >= e^-budget p^(alpha/(alpha-1)) "
        "by its own term of the moment, so that P(S) - e^epsilon Q(S) is at most delta (1 - 1/alpha)^(alpha-1)/alpha"
    )
    return PrivacyClaim("the largest delta that the Renyi budget admits", points, proof)


def _largest(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """p - c p^(alpha/(alpha-1)), c = e^(epsilon - budget), at its stationary point; it is concave in p. There p is
    delta (1 - 1/alpha)^(alpha-1)."""
    s, b = symbols_of(statement), sp.Symbol("b", positive=True)  # b = 1/(alpha - 1)
    alpha = 1 + 1 / b
    c = sp.exp((total(statement) - s.rdp).subs(s.alpha, alpha))
    best = s.delta * (1 - 1 / alpha) ** (alpha - 1)
    p = sp.Symbol("p", positive=True)
    found = all_equal(
        (sp.log(c), -b * sp.log(s.delta), "the logarithm of c"),
        (sp.log(c * (1 + b)) / b, -sp.expand_log(sp.log(best)), "the stationary point"),
        ((p - p / (1 + b)).subs(p, best), best / alpha, "p - c p^(alpha/(alpha-1)) at its largest, and p/alpha"),
    )
    return replace(found, true=found.true or None)


_BUDGET = Symbol("rdp", r"Renyi budget of order $\alpha$", (0, 0), "positive", r"\epsilon_M(\alpha)")


def _conversion_sides(s: Symbols) -> Sides:
    log = sp.log(1 / s.delta) / (s.alpha - 1)
    return Sides({"epsilon": s.epsilon}, {"Renyi budget": s.rdp, "conversion": log})


_INSIDE = {
    "just inside alpha > 1": {"alpha": ["1.0001"], "budget": ["0.5"], "delta": ["0.01"]},
    "just inside delta < 1": {"alpha": ["2"], "budget": ["0.5"], "delta": ["0.99"]},
}
_OUTSIDE = {
    "just outside alpha > 1": {"alpha": ["0.99"], "budget": ["0.5"], "delta": ["0.01"]},
    "just outside delta < 1": {"alpha": ["2"], "budget": ["0.5"], "delta": ["1"]},
}

LEMMA_B4: Statement = Statement(
    id="noble2022.lemmaB.4",
    kind="lemma",
    source=Source(PAPER, "Lemma B.4, Appendix B.2"),
    symbols=(*symbols("epsilon"), _BUDGET, *symbols("delta", "alpha")),
    hypotheses=(ORDER, DELTA),
    relation="==",
    sides=_conversion_sides,
    checks=(
        Check("algebra", "the best test", _largest),
        Check(
            "privacy",
            "the worst mechanisms",
            _converted,
            {
                "alpha": ["1.01", "1.5", "2", "8", "64"],
                "budget": ["0.01", "0.5", "3"],
                "delta": ["0.9", "0.5", "0.01", "1e-5", "1e-10"],
            },
        ),
        *checks("privacy", _converted, _INSIDE),
        *checks("privacy", _converted, _OUTSIDE, "not-applicable"),
    ),
)

STATEMENTS = (LEMMA_B4,)
