"""noble2022 Lemmas B.5 and B.6: composition of Renyi budgets, and the Gaussian mechanism."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any

from dpfl_theory.core import Check, Sides, Source, Statement, Symbol, Symbols, checks
from dpfl_theory.core.check_inputs import Outcome, PrivacyClaim, PrivacyPoint
from dpfl_theory.core.formula import evaluate_side, symbols_of, total
from dpfl_theory.lazy import mpmath
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022.privacy._divergences import gaussian_moment
from dpfl_theory.statements.noble2022.privacy._symbols import NOISE, ORDER, PAPER, edges, symbols
from dpfl_theory.statements.symbolic import enclosure, equal

Answers = tuple[Fraction, ...]
"""The probabilities of a mechanism's answers."""


def _moment(p: Answers, q: Answers, order: int) -> Fraction:
    """sum_o p^order q^(1 - order) = exp((order - 1) D_order(p || q))."""
    return sum((a**order * b ** (1 - order) for a, b in zip(p, q)), Fraction(0))


def _response(odds: Fraction) -> tuple[Answers, Answers]:
    p = odds / (1 + odds), 1 / (1 + odds)
    return p, p[::-1]


def _three(odds: Fraction) -> tuple[Answers, Answers]:
    """Three answers, and two orders that differ."""
    p = odds / (2 + odds), 1 / (2 + odds), 1 / (2 + odds)
    return p, (Fraction(1, 3), Fraction(1, 2), Fraction(1, 6))


def adaptive_moments(first: Fraction, second: Fraction, order: int) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """(moment of both outputs, of the second alone, the mechanisms' own), the worse of both orders.

    The second mechanism is randomised response after the first answer 0, and a three-valued one after 1.
    """
    m1, after = _response(first), (_response(second), _three(second))
    bound_1 = max(_moment(*m1, order), _moment(m1[1], m1[0], order))
    bound_2 = max(max(_moment(*m, order), _moment(m[1], m[0], order)) for m in after)
    both, alone = [], []
    for one, other in ((0, 1), (1, 0)):
        joint = [tuple(m1[side][o] * x for o in (0, 1) for x in after[o][side]) for side in (one, other)]
        both.append(_moment(joint[0], joint[1], order))
        last = [(x[0] + x[2], x[1] + x[3], x[4]) for x in joint]
        alone.append(_moment(last[0], last[1], order))
    return max(both), max(alone), bound_1, bound_2


def _composition(statement: Statement, instance: Mapping[str, Any]) -> PrivacyClaim:
    def points() -> list[PrivacyPoint]:
        found = []
        for first, second, order in product(instance["odds"], instance["odds"], instance["alpha"]):
            pair, last, *own = adaptive_moments(Fraction(first), Fraction(second), order)
            budgets = (sp.log(sp.Rational(moment)) / (order - 1) for moment in own)
            budget = evaluate_side(statement, "rhs", dict(zip(("rdp_1", "rdp_2"), budgets)))
            bound = enclosure(sp.exp(sp.expand((order - 1) * budget)))[0]
            named = {"odds": Fraction(first), "odds of M_2": Fraction(second), "alpha": order}
            found.append(PrivacyPoint({**named, "seen": "both outputs"}, bound, pair, pair))
            found.append(PrivacyPoint({**named, "seen": "the last output"}, bound, last, last))
        return found

    proof = (
        "for all pairs and alpha > 1: given M_1's output, the mean of the second ratio's power is at most "
        "e^((alpha-1) eps_2), whatever that output is; so the mean of the product is at most e^((alpha-1)(eps_1+eps_2))"
    )
    return PrivacyClaim("exp((alpha-1) times the Renyi divergence)", points, proof)


def _two_gaussians(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """Two Gaussian answers: the divergences add up, so that the lemma is an equality for them."""
    s = symbols_of(statement)
    alpha, a, b = sp.symbols("alpha sigma_1 sigma_2", positive=True)
    together = 1 / sp.sqrt(1 / a**2 + 1 / b**2)  # the sufficient statistic's deviation
    entered = total(statement).subs({s.rdp_1: alpha / (2 * a**2), s.rdp_2: alpha / (2 * b**2)})
    return equal(alpha / (2 * together**2), entered, "two Gaussian mechanisms")


def _square(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """alpha log p + (1 - alpha) log q is alpha - 1 times the budget plus the log density of N(alpha, sigma^2)."""
    s, y = symbols_of(statement), sp.Symbol("y", positive=True)
    left = (-s.alpha * (y - 1) ** 2 - (1 - s.alpha) * y**2) / (2 * s.sigma_g**2)
    right = -((y - s.alpha) ** 2) / (2 * s.sigma_g**2) + (s.alpha - 1) * total(statement)
    return equal(left, right, "the exponent of p^alpha q^(1-alpha)")


def _gaussian(statement: Statement, instance: Mapping[str, Any]) -> PrivacyClaim:
    def points() -> list[PrivacyPoint]:
        found = []
        with mpmath.workdps(30):
            distance, slack = mpmath.mpf(instance["distance"]), mpmath.mpf("1e-12")  # what quadrature may lose
            for sigma, order in product(map(mpmath.mpf, instance["sigma_g"]), map(mpmath.mpf, instance["alpha"])):
                true = mpmath.log(gaussian_moment(order - 1, sigma / distance)) / (order - 1)
                values = {"sigma_g": sigma, "alpha": order, "distance": distance}
                found.append(
                    PrivacyPoint(
                        values, evaluate_side(statement, "rhs", values), true * (1 - slack), true * (1 + slack)
                    )
                )
        return found

    proof = (
        "for all alpha and dimensions: coordinates orthogonal to f(D) - f(D') have the same distribution, and "
        "along it p^alpha q^(1-alpha) is a normal density times e^(alpha (alpha-1) distance^2/(2 sigma_g^2))"
    )
    return PrivacyClaim("the Renyi divergence, by quadrature,", points, proof, instance["relation"], 1e-11)


_BUDGETS = (
    Symbol("rdp_1", "Renyi budget of $M_1$", (0, 0), "positive", r"\epsilon_1"),
    Symbol("rdp_2", "Renyi budget of $M_2$", (0, 0), "positive", r"\epsilon_2"),
)
_EDGE = {"sigma_g": ["1"], "distance": "1", "relation": "=="}
_GRID = {"sigma_g": ["0.5", "1", "7"], "alpha": ["1.1", "2", "3.5", "20"]}


def _composition_sides(s: Symbols) -> Sides:
    return Sides({"Renyi budget": s.rdp}, {"first": s.rdp_1, "second": s.rdp_2})


def _gaussian_sides(s: Symbols) -> Sides:
    return Sides({"Renyi budget": s.rdp}, {"Gaussian": s.alpha / (2 * s.sigma_g**2)})


LEMMA_B5: Statement = Statement(
    id="noble2022.lemmaB.5",
    kind="lemma",
    source=Source(PAPER, "Lemma B.5, Appendix B.2"),
    symbols=(*symbols("rdp"), *_BUDGETS),
    hypotheses=(ORDER,),
    sides=_composition_sides,
    checks=(
        Check("algebra", "two Gaussian mechanisms", _two_gaussians),
        Check("privacy", "adaptive pairs, exactly", _composition, {"odds": ["3/2", "3"], "alpha": [2, 3, 5]}),
        *edges(_composition, {"odds": ["3/2"], "alpha": [2]}, {"alpha > 1": {"alpha": "99/200"}}),
    ),
)

_OUTSIDE: dict[str, dict[str, Any]] = {
    "just outside alpha > 1": {**_EDGE, "alpha": ["0.99"]},
    "just outside sigma_g > 0": {**_EDGE, "alpha": ["2"], "stated": {"sigma_g": "0"}},
}

LEMMA_B6: Statement = Statement(
    id="noble2022.lemmaB.6",
    kind="lemma",
    source=Source(PAPER, "Lemma B.6, Appendix B.2"),
    symbols=symbols("rdp", "alpha", "sigma_g"),
    hypotheses=(ORDER, NOISE),
    sides=_gaussian_sides,
    checks=(
        Check("algebra", "the exponent", _square),
        Check("privacy", "attained at distance 1", _gaussian, {**_GRID, "distance": "1", "relation": "=="}),
        Check("privacy", "nearer answers", _gaussian, {**_GRID, "distance": "0.3", "relation": "<="}),
        *checks("privacy", _gaussian, {"just inside alpha > 1": {**_EDGE, "alpha": ["1.01"]}}),
        *checks("privacy", _gaussian, _OUTSIDE, "not-applicable"),
    ),
)

STATEMENTS = (LEMMA_B5, LEMMA_B6)
