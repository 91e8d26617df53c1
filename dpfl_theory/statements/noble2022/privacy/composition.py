"""noble2022 Lemmas B.1, B.2 and B.4 to B.6: strong composition and amplification by subsampling without replacement;
Renyi budgets, their conversion, their composition, and the Gaussian mechanism's."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from dpfl_theory.core import Check, Hypothesis, PrivacyPoint, Sides, Statement, battery, claim, whole
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import evaluate_side, prescription_of, sides_of
from dpfl_theory.lazy import mpmath
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022 import _symbols as noble
from dpfl_theory.statements.noble2022.privacy import DELTA, NOISE, ORDER, both_sides, edges, numbers, stated
from dpfl_theory.statements.relations import Formula, Proof, algebra, of
from dpfl_theory.statements.symbolic import enclosure, proved

# Lemma B.1: strong composition.


def composed_delta(epsilon: Any, delta: Any, count: int, budget: Any) -> tuple[Any, Any]:
    r"""The smallest delta of ``count`` adaptive (epsilon, delta)-DP mechanisms at an epsilon-bar, over all of them.

    Kairouz, Oh and Viswanath (2015), Theorem 3.3: the worst mechanism reveals the data with probability delta and
    otherwise answers truthfully with probability e^epsilon/(1 + e^epsilon). Of count losses that are +-epsilon, j are
    positive:

    .. math:: 1 - (1 - \delta)^T \Big(1 - \sum_j \binom{T}{j}
              \frac{[e^{j \varepsilon} - e^{\bar\varepsilon} e^{(T-j) \varepsilon}]_+}{(1 + e^\varepsilon)^T}\Big)

    Returns limits that enclose the rounding.
    """
    with mpmath.workdps(50):
        e, odds = mpmath.mpf(epsilon), mpmath.exp(mpmath.mpf(epsilon))
        pure = mpmath.mpf(0)
        for j in range(count, -1, -1):
            if (2 * j - count) * e <= budget:
                break
            pure += mpmath.mpf(math.comb(count, j)) * odds**j * -mpmath.expm1(budget - (2 * j - count) * e)
        pure /= (1 + odds) ** count
        d = mpmath.mpf(delta)
        value = -mpmath.expm1(count * mpmath.log1p(-d) + mpmath.log1p(-pure)) if d < 1 else mpmath.mpf(1)
        rounding = value * mpmath.mpf(10) ** -30
        return value - rounding, value + rounding


@claim(
    "the largest delta of all mechanisms at epsilon-bar",
    "for all epsilon > 0, delta, T and delta' in (0, 1]: given that no mechanism reveals its data (else, T delta), "
    "the losses lie in [-epsilon, epsilon]; given the past they have mean epsilon (e^epsilon - 1)/(e^epsilon + 1) "
    "or less; so their sum exceeds epsilon-bar with probability delta' at most (Azuma, Hoeffding)",
)
def _strong(statement: Statement, instance: Mapping[str, Any]) -> Iterator[PrivacyPoint]:
    with mpmath.workdps(50):
        for numbers in product(*(instance[k] for k in ("epsilon", "T", "delta_prime", "delta"))):
            e, count, x, d = (n if isinstance(n, int) else mpmath.mpf(n) for n in numbers)
            values = {"epsilon": e, "delta": d, "T": count, "delta_prime": x}
            claimed = evaluate(prescription_of(statement)["delta_bar"], values)
            if x > 1:  # epsilon-bar is no real number there
                yield PrivacyPoint(values, claimed, 0, 1)
            else:
                budget = evaluate_side(statement, "rhs", values)
                yield PrivacyPoint(values, claimed, *composed_delta(e, d, count, budget))


@algebra("the mean loss of randomised response")
def _mean_loss(s: Formula) -> Proof:
    """Randomised response loses epsilon with probability e^epsilon/(1 + e^epsilon), and else gains it."""
    e, drift = s.epsilon, sides_of(s.statement).rhs["drift"] / s.T
    mean = e * sp.exp(e) / (1 + sp.exp(e)) - e / (1 + sp.exp(e))
    return mean * (sp.exp(e) + 1), drift, "e^epsilon + 1 times the mean loss, and the drift"


_STRONG = {**numbers(epsilon="0.001 0.01 0.1 0.5 1 3", delta_prime="1e-10 1e-5 1e-2 0.5 1"), "T": [1, 2, 10, 100, 1000]}
_THREE: dict[str, Any] = {"epsilon": ["3"], "T": [10], "delta": ["0"]}
_STATED = Hypothesis(
    lambda s: (s.epsilon > 0, s.delta >= 0, s.delta <= 1, s.T >= 1, whole(s.T), s.delta_prime > 0, s.delta_prime <= 1),
    r"$\varepsilon > 0$, $0 \le \delta \le 1$, $T \ge 1$ and $0 < \delta' \le 1$",
)

LEMMA_B1: Statement = noble.statement(
    **noble.named("noble2022.lemmaB.1"),
    symbols=noble.NOTATION(replace(noble.SYMBOLS["T"], meaning="number of composed mechanisms")),
    hypotheses=(_STATED,),
    relation="==",
    sides=lambda s: Sides(
        {"budget": s.epsilon_bar},
        {
            "fluctuation": s.epsilon * sp.sqrt(2 * s.T * sp.log(1 / s.delta_prime)),
            "drift": s.T * s.epsilon * (sp.exp(s.epsilon) - 1),
        },
    ),
    prescription=lambda s: {"delta_bar": s.T * s.delta + s.delta_prime},
    checks=battery(
        _mean_loss,
        Check("privacy", "the worst mechanisms", _strong, {**_STRONG, **numbers(delta="0 1e-10 1e-5 0.01")}),
        both_sides(_strong, _THREE, "delta' <= 1", numbers(delta_prime="0.99"), numbers(delta_prime="1.01")),
    ),
)


# Lemma B.2: subsampling.


@claim(
    "delta at epsilon', for randomised response to 'threshold or more of m records are 1'",
    "for all n, m, epsilon and delta: neighbours give M(D) = (1-q) m0 + q m1 and M(D') = (1-q) m0 + q m2; m0, m1 "
    "and m2 average M' over samples that can be matched so as to differ in one record; with b = e^(eps'-eps), M(D) "
    "- e^eps' M(D') is q (m1 - e^eps ((1-b) m0 + b m2)), whose positive part is q delta at most",
)
def _amplified(statement: Statement, instance: Mapping[str, Any]) -> Iterator[PrivacyPoint]:
    for n, m in instance["sizes"]:
        for ratio, delta in product(map(Fraction, instance["exp(epsilon)"]), map(Fraction, instance["delta"])):
            values = {"q": Fraction(m, n), "epsilon": sp.log(sp.Rational(ratio)), "delta": delta}
            # e^epsilon', equal ends where it is rational
            budgets = enclosure(sp.exp(evaluate_side(statement, "rhs", values)))
            claimed = evaluate(prescription_of(statement)["delta_q"], values)
            for threshold in range(1, m + 1):
                high, low = (_sampled_delta(n, m, ratio, delta, threshold, budget) for budget in budgets)
                named = {"n": n, "m": m, "exp(epsilon)": ratio, "delta": delta, "threshold": threshold}
                yield PrivacyPoint(named, claimed, low, high)


def _sampled_delta(n: int, m: int, ratio: Fraction, delta: Fraction, threshold: int, budget: Fraction) -> Fraction:
    """The exact delta at e^epsilon' = budget, over all neighbours in {0, 1}^n that differ in the first record.

    The mechanism reveals the truth with probability delta and otherwise lies with probability 1/(1 + ratio).
    """

    def answers(data: Sequence[int]) -> list[Fraction]:
        total = [Fraction(0)] * 4
        drawn = list(combinations(data, m))
        for records in drawn:
            truth = int(sum(records) >= threshold)
            total[truth] += delta
            for answer in (0, 1):
                total[2 + answer] += (1 - delta) * (ratio if answer == truth else 1) / (1 + ratio)
        return [x / len(drawn) for x in total]

    worst = Fraction(0)
    for ones in range(n):
        others = [1] * ones + [0] * (n - 1 - ones)
        pair = answers([0, *others]), answers([1, *others])
        for p, p_other in (pair, pair[::-1]):
            worst = max(worst, sum((max(a - budget * b, Fraction(0)) for a, b in zip(p, p_other)), Fraction(0)))
    return worst


@algebra("the difference of the mixtures")
def _difference(s: Formula) -> Proof:
    """The identity behind the lemma, for one output with probabilities m0, m1 and m2."""
    a = sp.Symbol("a", positive=True)  # e^epsilon
    m0, m1, m2 = sp.symbols("m0 m1 m2", positive=True, probability=True)
    amplified = sp.exp(s.rhs.subs(s.epsilon, sp.log(a)))
    b = (1 + s.q * (a - 1)) / a
    left = (1 - s.q) * m0 + s.q * m1 - amplified * ((1 - s.q) * m0 + s.q * m2)
    return left, s.q * (m1 - a * ((1 - b) * m0 + b * m2)), "M(D) - e^eps' M(D')"


_PAIR: dict[str, Any] = {"sizes": [[2, 1]], "delta": ["1/100"]}
_SAMPLES = {
    "sizes": [[2, 1], [3, 2], [4, 2], [5, 2], [6, 3], [6, 6], [8, 1]],
    **numbers(delta="0 1/100 1/2") | {"exp(epsilon)": ["1", "11/10", "3", "20"]},
}

LEMMA_B2: Statement = noble.statement(
    **noble.named("noble2022.lemmaB.2"),
    hypotheses=(
        Hypothesis(
            lambda s: (s["exp(epsilon)"] >= 1, s.delta >= 0, s.delta <= 1, s.m >= 1, s.m <= s.n),
            r"$\varepsilon \ge 0$, $0 \le \delta \le 1$ and $1 \le m \le n$",
        ),
    ),
    relation="==",
    sides=lambda s: Sides({"budget": s.epsilon_prime}, {"amplified": sp.log(1 + s.q * (sp.exp(s.epsilon) - 1))}),
    prescription=lambda s: {"delta_q": s.q * s.delta},
    checks=battery(
        _difference,
        Check("privacy", "randomised response on a sample, exactly", _amplified, _SAMPLES),
        both_sides(_amplified, _PAIR, "epsilon >= 0", {"exp(epsilon)": ["1.01"]}, {"exp(epsilon)": ["0.99"]}),
    ),
    smoke=("randomised response on a sample, exactly",),
)


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
    return proved(
        (sp.log(c), -b * sp.log(s.delta), "the logarithm of c"),
        (sp.log(c * (1 + b)) / b, -sp.expand_log(sp.log(best)), "the stationary point"),
        ((p - p / (1 + b)).subs(p, best), best / alpha, "p - c p^(alpha/(alpha-1)) at its largest, and p/alpha"),
    )


_BUDGETS = numbers(alpha="1.01 1.5 2 8 64", budget="0.01 0.5 3", delta="0.9 0.5 0.01 1e-5 1e-10")
_BUDGET = numbers(alpha="2", budget="0.5", delta="0.01")

LEMMA_B4: Statement = noble.statement(
    **noble.named("noble2022.lemmaB.4"),
    symbols=noble.NOTATION(replace(noble.SYMBOLS["rdp"], meaning=r"Renyi budget of order $\alpha$")),
    hypotheses=(ORDER, DELTA),
    relation="==",
    sides=lambda s: Sides(
        {"epsilon": s.epsilon}, {"Renyi budget": s.rdp, "conversion": sp.log(1 / s.delta) / (s.alpha - 1)}
    ),
    checks=battery(
        _largest,
        Check("privacy", "the worst mechanisms", _converted, _BUDGETS),
        both_sides(_converted, _BUDGET, "alpha > 1", numbers(alpha="1.0001"), numbers(alpha="0.99")),
        both_sides(_converted, _BUDGET, "delta < 1", numbers(delta="0.99"), numbers(delta="1")),
    ),
)


# Lemma B.5: composition.

Answers = tuple[Fraction, ...]
"""The probabilities of a mechanism's answers."""


def _moment(p: Answers, q: Answers, order: int) -> Fraction:
    """sum_o p^order q^(1 - order) = exp((order - 1) D_order(p || q))."""
    return sum((a**order * b ** (1 - order) for a, b in zip(p, q)), Fraction(0))


def _worse(pair: Sequence[Answers], order: int) -> Fraction:
    """The larger moment of a pair's two orders."""
    return max(_moment(pair[0], pair[1], order), _moment(pair[1], pair[0], order))


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
    both = [tuple(m1[side][o] * x for o in (0, 1) for x in after[o][side]) for side in (0, 1)]
    alone = [(x[0] + x[2], x[1] + x[3], x[4]) for x in both]
    return _worse(both, order), _worse(alone, order), _worse(m1, order), max(_worse(m, order) for m in after)


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


LEMMA_B5: Statement = noble.statement(
    **noble.named("noble2022.lemmaB.5"),
    hypotheses=(ORDER,),
    sides=lambda s: Sides({"Renyi budget": s.rdp}, {"first": s.rdp_1, "second": s.rdp_2}),
    checks=battery(
        _two_gaussians,
        Check("privacy", "adaptive pairs, exactly", _composition, {"odds": ["3/2", "3"], "alpha": [2, 3, 5]}),
        edges(_composition, {"odds": ["3/2"], "alpha": [2]}, {"alpha > 1": stated(alpha="99/200")}),
    ),
)


# Lemma B.6: the Gaussian mechanism.


def around(value: Any, slack: str = "1e-12") -> tuple[Any, Any]:
    """Limits of a number that this relative error may have changed; the usual one is what quadrature may lose."""
    return value * (1 - mpmath.mpf(slack)), value * (1 + mpmath.mpf(slack))


def gaussian_moment(power: Any, deviation: Any) -> Any:
    """E e^(power L) over N(1, deviation^2), where the privacy loss at y is (2y - 1)/(2 deviation^2)."""

    def integrand(y: Any) -> Any:
        return mpmath.npdf(y, 1, deviation) * mpmath.exp(power * (2 * y - 1) / (2 * deviation**2))

    return mpmath.quad(integrand, [1 + power + 4 * k * deviation for k in range(-4, 5)])


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

_ONE = {**numbers(sigma_g="1", alpha="2"), "distance": "1"}

LEMMA_B6: Statement = noble.statement(
    **noble.named("noble2022.lemmaB.6"),
    hypotheses=(ORDER, NOISE),
    sides=lambda s: Sides({"Renyi budget": s.rdp}, {"Gaussian": s.alpha / (2 * s.sigma_g**2)}),
    checks=battery(
        _square,
        Check("privacy", "attained at distance 1", _ATTAINED, {**_GRID, "distance": "1"}),
        Check("privacy", "nearer answers", claim(*_QUADRATURE)(_gaussian), {**_GRID, "distance": "0.3"}),
        both_sides(_ATTAINED, _ONE, "alpha > 1", numbers(alpha="1.01"), numbers(alpha="0.99")),
        edges(_ATTAINED, _ONE, {"sigma_g > 0": stated(sigma_g="0")}),
    ),
)

STATEMENTS = (LEMMA_B1, LEMMA_B2, LEMMA_B4, LEMMA_B5, LEMMA_B6)
