"""zhang2021 Theorem 3.2 with v = 4 and u = 1: the proof that the noise that relies on sampling is enough for zero-out
neighbours, and certified points.

With L = ln(1/delta), x = epsilon/L in (0, 1/2] and z a round's noise multiplier, 1/z^2 = epsilon^2/(4 q^2 T L) = s. Let
every client take part independently with probability q. For a whole number alpha a round has the Renyi moment
exp((alpha - 1) D) = E e^{s J(J-1)/2}, J ~ Bin(alpha, q) (the other order of the pair has no larger one: Mironov,
Talwar and Zhang 2019, Theorem 5). As e^y - 1 <= y e^y, (alpha - 1) D <= (s/2) alpha (alpha - 1) q^2 E e^{s (J'+1)
(J'+2)/2} with J' ~ Bin(m, q), m = alpha - 2, and X = J' + 3/2 is sub-Gaussian with proxy m/4 (Hoeffding): with b =
s m/4,

    E e^{s X^2/2 - s/8} <= (1 - b)^{-1/2} exp(s (m q + 3/2)^2/(2 (1 - b)) - s/8) =: F.

With alpha = 1 + ceil(sqrt(8)/x) = 1 + a/x, so m <= sqrt(8)/x: epsilon <= q^2 T gives s <= x/4 and b <= sqrt(2)/8, T >=
80 L gives s (m q)^2/2 <= L/T <= 1/80. T rounds and the change from Renyi divergence to (epsilon, delta) then cost at
most

    T alpha q^2 s F/2 + L/(alpha - 1) = epsilon (F (a + x)/8 + 1/a),  sqrt(8) <= a < sqrt(8) + x,

which is below epsilon for all x in (0, 1/2].
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Outcome, PrivacyClaim, PrivacyPoint, Statement, checks
from dpfl_theory.core.formula import evaluate_side, symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.symbolic import equal

__all__ = ["CHECKS", "LONG", "RANGE", "share"]

_MOST = 0.5
"""The range of epsilon/ln(1/delta)."""
_ROUNDS = 80
"""The least number of rounds over ln(1/delta)."""


RANGE = Hypothesis(
    lambda s: (s.epsilon > 0, s.epsilon <= sp.Min(s.P**2 * s.T / s.N**2, sp.Rational(_MOST) * sp.log(1 / s.delta))),
    r"$0 < \varepsilon \le \min\{(P/N)^2 T, \ln(1/\delta)/2\}$",
)
LONG = Hypothesis(lambda s: s.T >= _ROUNDS * sp.log(1 / s.delta), r"$T \ge 80 \ln(1/\delta)$")


def share(x: float, a: float, widest: float | None = None) -> float:
    """F (a + x)/8 + 1/a, with F at ``widest`` >= x: the cost of the T rounds, over epsilon.

    >>> round(share(0.5, math.sqrt(8)), 3), round(share(0.5, math.sqrt(8) + 0.5), 3)
    (0.956, 0.993)
    """
    y = x if widest is None else widest
    b = math.sqrt(2) / 8
    reach = (math.sqrt(1 / _ROUNDS) + 1.5 * math.sqrt(y / 8)) ** 2
    F = math.exp(reach / (1 - b) - y / 32) / math.sqrt(1 - b)
    return F * (a + y) / 8 + 1 / a


def _room(_: Statement, instance: Mapping[str, Any]) -> Outcome:
    """The cost's share of epsilon on cells [x, x + h] that cover (0, 1/2]: it is convex in a, so that the ends of
    [sqrt(8), sqrt(8) + x + h] decide, and F grows with x (s/8 is subtracted with less than the rest's slope)."""
    cells = int(instance["cells"])
    h, root = _MOST / cells, math.sqrt(8)
    # On a cell F and a + x are at most those of its right end, at the least and at the largest a.
    worst = max(share(k * h, a, (k + 1) * h) for k in range(cells) for a in (root, root + (k + 1) * h))
    return Outcome(worst < 1 - 1e-3, f"T rounds cost at most {worst:.4f} epsilon for all epsilon <= ln(1/delta)/2")


def _composed(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """At the prescribed noise s is epsilon^2/(4 q^2 T ln(1/delta)), and T rounds of alpha q^2 s/2 are alpha
    epsilon^2/(8 ln(1/delta))."""
    s = symbols_of(statement)
    inverse = s.c**2 / (s.P * total(statement))  # of the square of a round's noise multiplier
    log = sp.Symbol("log", positive=True)
    rounds = sp.simplify((s.T * (s.P / s.N) ** 2 * inverse / 2).subs(s.delta, sp.exp(-log)))
    return equal(rounds, s.epsilon**2 / (8 * log), "T rounds at alpha = 1")


def _certified(
    statement: Statement,
    instance: Mapping[str, Any],
    sampling: str = "poisson",
    proof: str | None = None,
    replace: bool = False,
) -> PrivacyClaim:
    """instance: points, and ``times``, by how much the noise's variance exceeds the prescribed one (1 where absent)."""
    from dpfl_theory.privacy import sampling as schemes
    from dpfl_theory.privacy.events import Repeated
    from dpfl_theory.privacy.pld import epsilon_limits, epsilon_low

    def points() -> list[PrivacyPoint]:
        found = []
        for N, P, T, epsilon in instance["N, P, T, epsilon"]:
            symbols = {"N": N, "P": P, "T": T, "c": 1, "epsilon": epsilon, "delta": float(instance["delta"])}
            scheme, times = getattr(schemes, sampling), int(instance.get("times", 1))
            z = math.sqrt(P * evaluate_side(statement, "rhs", symbols))
            if times > 1:  # for comparison: a lower limit for the prescribed noise itself
                symbols["epsilon without the factor, at least"] = epsilon_low(
                    Repeated(scheme(P / N, z, replace), T), symbols["delta"]
                )
            limits = epsilon_limits(Repeated(scheme(P / N, math.sqrt(times) * z, replace), T), symbols["delta"])
            found.append(PrivacyPoint(symbols, epsilon, limits.low, limits.high))
        return found

    return PrivacyClaim("the true epsilon", points, proof)


_PROOF = (
    "proved for every q = P/N, delta in (0, 1) and T >= 80 ln(1/delta), by the moments of the sampled Gaussian of "
    "order 1 + ceil(sqrt(8) ln(1/delta)/epsilon)"
)
_POINTS = {
    "N, P, T, epsilon": [
        [1920, 80, 1000, 1.5],
        [1920, 80, 10000, 5.0],
        [1920, 80, 3316, 5.75],
        [100, 2, 14400, 5.75],
        [10, 10, 1000, 5.75],
    ],
    "delta": "1e-5",
}
"""The paper's own settings with two numbers of rounds, and the corners of the range, with little and all sampling."""


_INSIDE = {"just inside T >= 80 ln(1/delta)": [1920, 80, 922, 1.5]}
_OUTSIDE = {
    "just outside T >= 80 ln(1/delta)": [1920, 80, 921, 1.5],
    "just outside epsilon <= (P/N)^2 T": [1920, 80, 3300, 5.75],
    "just outside epsilon <= ln(1/delta)/2": [1920, 80, 3400, 5.76],
}
"""ln(1/delta) = 11.513."""

_FEWER: dict[str, Any] = {**_POINTS, "N, P, T, epsilon": _POINTS["N, P, T, epsilon"][-1:], "stated": {"N": "-1"}}
_REPLACED = "It certifies v = 16 for the other neighbours, at these points; the statement concerns zero-out with v = 4."
_MOMENTS = "It decides that T rounds cost less than epsilon at the noise that another check takes from the right side."
CHECKS = (
    Check("algebra", "T rounds at the prescribed noise", _composed),
    Check("algebra", "room for the moments", _room, {"cells": 2000}, part=_MOMENTS),
    Check("privacy", "independent clients", partial(_certified, proof=_PROOF), _POINTS),
    Check("privacy", "cohorts of fixed size, at these points", partial(_certified, sampling="fixed_size"), _POINTS),
    *(
        Check(
            "privacy",
            f"4 times the noise where a client's data set is replaced, {name}, at these points",
            partial(_certified, sampling=sampling, replace=True),
            {**_POINTS, "times": 4},
            part=_REPLACED,
        )
        for name, sampling in (("independent clients", "poisson"), ("cohorts of fixed size", "fixed_size"))
    ),
    *checks(
        "privacy",
        partial(_certified, proof=_PROOF),
        {name: {**_POINTS, "N, P, T, epsilon": [point]} for name, point in {**_INSIDE, **_OUTSIDE}.items()},
        dict.fromkeys(_OUTSIDE, "not-applicable"),
    ),
    Check("privacy", "just outside P <= N", partial(_certified, proof=_PROOF), _FEWER, "not-applicable"),
)
"""The checks of a statement with v = 4 and u = 1."""
