"""noble2022 Lemma B.4: from Renyi DP to (epsilon, delta)-DP."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from dpfl_theory.statements.claims import Outcome, PrivacyClaim, PrivacyPoint
from dpfl_theory.statements.formula import letters_of
from dpfl_theory.statements.model import Check, Sides, Source, Statement, Symbol
from dpfl_theory.statements.noble2022._letters import DELTA, ORDER, PAPER, letters
from dpfl_theory.statements.symbolic import equal


def worst_delta(order: Any, budget: Any, delta: Any) -> tuple[Any, Any]:
    """Limits of the largest delta that (alpha, budget)-RDP admits at epsilon = budget + log(1/delta)/(alpha - 1).

    A test turns P and Q into two-valued distributions (p, 1-p), (q, 1-q) with p^alpha q^(1-alpha) + (1-p)^alpha
    (1-q)^(1-alpha) <= e^((alpha-1) budget). Above: the second term is dropped, and p - e^epsilon q is largest at p =
    delta (1 - 1/alpha)^(alpha-1), where it is p/alpha. Below: some p with the smallest q that the constraint admits.
    """
    import mpmath

    with mpmath.workdps(40):
        a, d, e = mpmath.mpf(order), mpmath.mpf(delta), mpmath.mpf(budget)
        best = d * (1 - 1 / a) ** (a - 1)
        growth = mpmath.exp(e) * d ** (-1 / (a - 1))
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
        return found, best / a * (1 + mpmath.mpf(10) ** -30)


def _converted(instance: Mapping[str, Any]) -> PrivacyClaim:
    import mpmath

    def points() -> list[PrivacyPoint]:
        found = []
        for order, budget, delta in product(instance["alpha"], instance["budget"], instance["delta"]):
            at = {"alpha": mpmath.mpf(order), "budget": mpmath.mpf(budget), "delta": mpmath.mpf(delta)}
            found.append(PrivacyPoint(at, at["delta"], *worst_delta(order, budget, delta)))
        return found

    proof = (
        "for all alpha > 1, budgets and delta: a test with P(S) = p has Q(S) >= e^-budget p^(alpha/(alpha-1)) "
        "by its own term of the moment, so that P(S) - e^epsilon Q(S) is at most delta (1 - 1/alpha)^(alpha-1)/alpha"
    )
    return PrivacyClaim("the largest delta that the Renyi budget admits", points, proof)


def _largest(_: Mapping[str, Any]) -> Outcome:
    """p - c p^(alpha/(alpha-1)), c = delta^(-1/(alpha-1)), at its stationary point; it is concave in p."""
    import sympy as sp

    b, c = sp.symbols("b c", positive=True)  # b = 1/(alpha - 1)
    p = (1 / (c * (1 + b))) ** (1 / b)
    slope = 1 - c * (1 + b) * p**b
    if sp.simplify(slope) != 0:
        return Outcome(False, f"the slope at the stationary point is {sp.simplify(slope)}")
    alpha = 1 + 1 / b
    return equal(p - c * p ** (1 + b), p / alpha, "p - c p^(alpha/(alpha-1)) at its largest, and p/alpha")


_BUDGET = Symbol("rdp", "Renyi budget of order alpha", (0, 0), "positive", r"\epsilon_M(\alpha)")


def _conversion_sides(statement: Statement) -> Sides:
    import sympy as sp

    s = letters_of(statement)
    log = sp.log(1 / s["delta"]) / (s["alpha"] - 1)
    return Sides({"epsilon": s["epsilon"]}, {"Renyi budget": s["rdp"], "conversion": log})


LEMMA_B4: Statement = Statement(
    id="noble2022.lemmaB.4",
    kind="lemma",
    title="from Renyi DP to differential privacy",
    source=Source(
        PAPER,
        "Lemma B.4, Appendix B.2",
        note=(
            "printed '(epsilon, alpha)-RDP'; Definition B.2 has the order first, and so it is read here. The best "
            "conversion gives delta (1 - 1/alpha)^(alpha-1)/alpha instead of delta, about 1/(e alpha) of it"
        ),
    ),
    text="If M is (alpha, eps)-RDP, then M is (eps + log(1/delta)/(alpha - 1), delta)-DP for any 0 < delta < 1.",
    symbols=(*letters("epsilon"), _BUDGET, *letters("delta", "alpha")),
    assumptions=(ORDER, DELTA),
    relation="==",
    sides=lambda: _conversion_sides(LEMMA_B4),
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
    ),
)

STATEMENTS = (LEMMA_B4,)
