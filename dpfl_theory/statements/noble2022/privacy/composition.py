"""noble2022 Lemmas B.1 and B.2: strong composition, and amplification by subsampling without replacement."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from dpfl_theory.core import Check, Hypothesis, PrivacyPoint, Sides, Source, Statement, Symbols, battery, claim, whole
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import evaluate_side, prescription_of, sides_of
from dpfl_theory.lazy import mpmath
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022.privacy._symbols import PAPER, edges, numbers, symbols
from dpfl_theory.statements.relations import Formula, Proof, algebra
from dpfl_theory.statements.symbolic import enclosure

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


def _strong_sides(s: Symbols) -> Sides:
    e, count = s.epsilon, s.T
    return Sides(
        {"budget": s.epsilon_bar},
        {"fluctuation": e * sp.sqrt(2 * count * sp.log(1 / s.delta_prime)), "drift": count * e * (sp.exp(e) - 1)},
    )


LEMMA_B1: Statement = Statement(
    id="noble2022.lemmaB.1",
    kind="lemma",
    source=Source(PAPER, "Lemma B.1, Appendix B.1"),
    symbols=symbols("epsilon_bar", "delta_bar", "epsilon", "delta", "T", "delta_prime"),
    hypotheses=(
        Hypothesis(
            lambda s: (
                s.epsilon > 0,
                s.delta >= 0,
                s.delta <= 1,
                s.T >= 1,
                whole(s.T),
                s.delta_prime > 0,
                s.delta_prime <= 1,
            ),
            r"$\varepsilon > 0$, $0 \le \delta \le 1$, $T \ge 1$ and $0 < \delta' \le 1$",
        ),
    ),
    relation="==",
    sides=_strong_sides,
    prescription=lambda s: {"delta_bar": s.T * s.delta + s.delta_prime},
    checks=battery(
        _mean_loss,
        Check(
            "privacy",
            "the worst mechanisms",
            _strong,
            {
                **numbers(epsilon="0.001 0.01 0.1 0.5 1 3", delta_prime="1e-10 1e-5 1e-2 0.5 1"),
                **numbers(delta="0 1e-10 1e-5 0.01"),
                "T": [1, 2, 10, 100, 1000],
            },
        ),
        edges(
            _strong,
            {"epsilon": ["3"], "T": [10], "delta": ["0"]},
            outside={"delta' <= 1": numbers(delta_prime="1.01")},
            inside={"delta' <= 1": numbers(delta_prime="0.99")},
        ),
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


LEMMA_B2: Statement = Statement(
    id="noble2022.lemmaB.2",
    kind="lemma",
    source=Source(PAPER, "Lemma B.2, Appendix B.1"),
    symbols=symbols("epsilon_prime", "delta_q", "epsilon", "delta", "q"),
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
        Check(
            "privacy",
            "randomised response on a sample, exactly",
            _amplified,
            {
                "sizes": [[2, 1], [3, 2], [4, 2], [5, 2], [6, 3], [6, 6], [8, 1]],
                "exp(epsilon)": ["1", "11/10", "3", "20"],
                "delta": ["0", "1/100", "1/2"],
            },
        ),
        edges(
            _amplified,
            {"sizes": [[2, 1]], "delta": ["1/100"]},
            outside={"epsilon >= 0": {"exp(epsilon)": ["0.99"]}},
            inside={"epsilon >= 0": {"exp(epsilon)": ["1.01"]}},
        ),
    ),
    smoke=("randomised response on a sample, exactly",),
)

STATEMENTS = (LEMMA_B1, LEMMA_B2)
