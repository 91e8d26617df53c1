"""noble2022 Lemmas B.4 to B.6: Renyi budgets, their conversion, their composition, and the Gaussian mechanism's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

from dpfl_theory.core import Check, PrivacyPoint, Sides, Source, Statement, battery, claim
from dpfl_theory.core.formula import evaluate_side
from dpfl_theory.lazy import mpmath
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022.privacy._divergences import around, gaussian_moment
from dpfl_theory.statements.noble2022.privacy._symbols import (
    DELTA,
    NOISE,
    ORDER,
    PAPER,
    SYMBOLS,
    edges,
    numbers,
    stated,
    symbols,
)
from dpfl_theory.statements.relations import Formula, Proof, algebra, of
from dpfl_theory.statements.symbolic import all_equal, enclosure

# Lemma B.4: from Renyi DP to (epsilon, delta)-DP.


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


@claim(
    "the largest delta that the Renyi budget admits",
    "for all alpha > 1, budgets and delta: a test with P(S) = p has Q(S) >= e^-budget p^(alpha/(alpha-1)) "
    "by its own term of the moment, so that P(S) - e^epsilon Q(S) is at most delta (1 - 1/alpha)^(alpha-1)/alpha",
)
def _converted(statement: Statement, instance: Mapping[str, Any]) -> Iterator[PrivacyPoint]:
    for order, budget, delta in product(instance["alpha"], instance["budget"], instance["delta"]):
        with mpmath.workdps(40):
            named = {"alpha": mpmath.mpf(order), "budget": mpmath.mpf(budget), "delta": mpmath.mpf(delta)}
            epsilon = evaluate_side(statement, "rhs", {**named, "rdp": named["budget"]})
        yield PrivacyPoint(named, named["delta"], *worst_delta(order, budget, epsilon))


@algebra("the best test")
def _largest(s: Formula) -> Proof:
    """p - c p^(alpha/(alpha-1)), c = e^(epsilon - budget), at its stationary point; it is concave in p. There p is
    delta (1 - 1/alpha)^(alpha-1)."""
    b, p = sp.symbols("b p", positive=True)  # b = 1/(alpha - 1)
    alpha = 1 + 1 / b
    c = sp.exp(of(s.statement, alpha=alpha).rhs - s.rdp)
    best = s.delta * (1 - 1 / alpha) ** (alpha - 1)
    found = all_equal(
        (sp.log(c), -b * sp.log(s.delta), "the logarithm of c"),
        (sp.log(c * (1 + b)) / b, -sp.expand_log(sp.log(best)), "the stationary point"),
        ((p - p / (1 + b)).subs(p, best), best / alpha, "p - c p^(alpha/(alpha-1)) at its largest, and p/alpha"),
    )
    return replace(found, true=found.true or None)


LEMMA_B4: Statement = Statement(
    id="noble2022.lemmaB.4",
    kind="lemma",
    source=Source(PAPER, "Lemma B.4, Appendix B.2"),
    symbols=(
        *symbols("epsilon"),
        replace(SYMBOLS["rdp"], meaning=r"Renyi budget of order $\alpha$"),
        *symbols("delta", "alpha"),
    ),
    hypotheses=(ORDER, DELTA),
    relation="==",
    sides=lambda s: Sides(
        {"epsilon": s.epsilon}, {"Renyi budget": s.rdp, "conversion": sp.log(1 / s.delta) / (s.alpha - 1)}
    ),
    checks=battery(
        _largest,
        Check(
            "privacy",
            "the worst mechanisms",
            _converted,
            numbers(alpha="1.01 1.5 2 8 64", budget="0.01 0.5 3", delta="0.9 0.5 0.01 1e-5 1e-10"),
        ),
        edges(
            _converted,
            numbers(alpha="2", budget="0.5", delta="0.01"),
            outside={"alpha > 1": numbers(alpha="0.99"), "delta < 1": numbers(delta="1")},
            inside={"alpha > 1": numbers(alpha="1.0001"), "delta < 1": numbers(delta="0.99")},
        ),
    ),
)


# Lemma B.5: composition.

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


@claim(
    "exp((alpha-1) times the Renyi divergence)",
    "for all pairs and alpha > 1: given M_1's output, the mean of the second ratio's power is at most "
    "e^((alpha-1) eps_2), whatever that output is; so the mean of the product is at most e^((alpha-1)(eps_1+eps_2))",
)
def _composition(statement: Statement, instance: Mapping[str, Any]) -> Iterator[PrivacyPoint]:
    for first, second, order in product(instance["odds"], instance["odds"], instance["alpha"]):
        pair, last, *own = adaptive_moments(Fraction(first), Fraction(second), order)
        budgets = (sp.log(sp.Rational(moment)) / (order - 1) for moment in own)
        budget = evaluate_side(statement, "rhs", dict(zip(("rdp_1", "rdp_2"), budgets)))
        bound = enclosure(sp.exp(sp.expand((order - 1) * budget)))[0]
        named = {"odds": Fraction(first), "odds of M_2": Fraction(second), "alpha": order}
        yield PrivacyPoint({**named, "seen": "both outputs"}, bound, pair, pair)
        yield PrivacyPoint({**named, "seen": "the last output"}, bound, last, last)


@algebra("two Gaussian mechanisms")
def _two_gaussians(s: Formula) -> Proof:
    """Two Gaussian answers: the divergences add up, so that the lemma is an equality for them."""
    alpha, a, b = sp.symbols("alpha sigma_1 sigma_2", positive=True)
    together = 1 / sp.sqrt(1 / a**2 + 1 / b**2)  # the sufficient statistic's deviation
    entered = of(s.statement, rdp_1=alpha / (2 * a**2), rdp_2=alpha / (2 * b**2))
    return alpha / (2 * together**2), entered.rhs, "two Gaussian mechanisms"


LEMMA_B5: Statement = Statement(
    id="noble2022.lemmaB.5",
    kind="lemma",
    source=Source(PAPER, "Lemma B.5, Appendix B.2"),
    symbols=symbols("rdp", "rdp_1", "rdp_2"),
    hypotheses=(ORDER,),
    sides=lambda s: Sides({"Renyi budget": s.rdp}, {"first": s.rdp_1, "second": s.rdp_2}),
    checks=battery(
        _two_gaussians,
        Check("privacy", "adaptive pairs, exactly", _composition, {"odds": ["3/2", "3"], "alpha": [2, 3, 5]}),
        edges(_composition, {"odds": ["3/2"], "alpha": [2]}, {"alpha > 1": stated(alpha="99/200")}),
    ),
)


# Lemma B.6: the Gaussian mechanism.


@algebra("the exponent")
def _square(s: Formula) -> Proof:
    """alpha log p + (1 - alpha) log q is alpha - 1 times the budget plus the log density of N(alpha, sigma^2)."""
    y = sp.Symbol("y", positive=True)
    left = (-s.alpha * (y - 1) ** 2 - (1 - s.alpha) * y**2) / (2 * s.sigma_g**2)
    right = -((y - s.alpha) ** 2) / (2 * s.sigma_g**2) + (s.alpha - 1) * s.rhs
    return left, right, "the exponent of p^alpha q^(1-alpha)"


def _gaussian(statement: Statement, instance: Mapping[str, Any]) -> Iterator[PrivacyPoint]:
    with mpmath.workdps(30):
        distance = mpmath.mpf(instance["distance"])
        for sigma, order in product(map(mpmath.mpf, instance["sigma_g"]), map(mpmath.mpf, instance["alpha"])):
            true = mpmath.log(gaussian_moment(order - 1, sigma / distance)) / (order - 1)
            values = {"sigma_g": sigma, "alpha": order, "distance": distance}
            yield PrivacyPoint(values, evaluate_side(statement, "rhs", values), *around(true))


_QUADRATURE = (
    "the Renyi divergence, by quadrature,",
    "for all alpha and dimensions: coordinates orthogonal to f(D) - f(D') have the same distribution, and "
    "along it p^alpha q^(1-alpha) is a normal density times e^(alpha (alpha-1) distance^2/(2 sigma_g^2))",
)
_ATTAINED = claim(*_QUADRATURE, "==", 1e-11)(_gaussian)


_GRID = numbers(sigma_g="0.5 1 7", alpha="1.1 2 3.5 20")

LEMMA_B6: Statement = Statement(
    id="noble2022.lemmaB.6",
    kind="lemma",
    source=Source(PAPER, "Lemma B.6, Appendix B.2"),
    symbols=symbols("rdp", "alpha", "sigma_g"),
    hypotheses=(ORDER, NOISE),
    sides=lambda s: Sides({"Renyi budget": s.rdp}, {"Gaussian": s.alpha / (2 * s.sigma_g**2)}),
    checks=battery(
        _square,
        Check("privacy", "attained at distance 1", _ATTAINED, {**_GRID, "distance": "1"}),
        Check("privacy", "nearer answers", claim(*_QUADRATURE)(_gaussian), {**_GRID, "distance": "0.3"}),
        edges(
            _ATTAINED,
            {**numbers(sigma_g="1", alpha="2"), "distance": "1"},
            outside={"alpha > 1": numbers(alpha="0.99"), "sigma_g > 0": stated(sigma_g="0")},
            inside={"alpha > 1": numbers(alpha="1.01")},
        ),
    ),
)

STATEMENTS = (LEMMA_B4, LEMMA_B5, LEMMA_B6)
