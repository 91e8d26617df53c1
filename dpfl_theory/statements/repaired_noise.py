"""The repaired form of `prescribed_noise`: with 0 < epsilon <= 2 ln(1/delta) and every release counted, 4 is enough.

All of a client's releases together have noise multiplier z = sqrt(v L)/epsilon or more, L = ln(1/delta). Then delta is
below Phi(-b), b = sqrt(v L) - epsilon/(2 sqrt(v L)), and b^2 >= 2 L where epsilon/(2 v L) + sqrt(2/v) <= 1, which for
epsilon = 2 L means v >= 2 + sqrt(3). As delta tends to 0 the bound has the exact exponent, so no smaller v is enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from dpfl_theory.core import Check, ConstantClaim, Hypothesis, Outcome, PrivacyClaim, PrivacyPoint, Statement, checks
from dpfl_theory.core.formula import symbols_of
from dpfl_theory.lazy import mpmath
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.prescribed_noise import NEEDED, Squared, needed_points, noise_of, one_release, variance
from dpfl_theory.statements.symbolic import equal

__all__ = ["BUDGET", "GRID", "PROOF", "repaired_checks", "sufficiency_claim"]

DEMANDING = [["23.02585", "1e-5"], ["4.6", "0.1"], ["460.517", "1e-100"], ["4605.17", "1e-1000"]]
"""(epsilon, delta) with epsilon just below 2 ln(1/delta), where the smallest v comes near 2 + sqrt(3) = 3.732."""

GRID = {
    "delta": ["0.9", "0.5", "0.1", "1e-2", "1e-5", "1e-10", "1e-30", "1e-100", "1e-1000"],
    "share": ["1e-3", "0.1", "0.5", "1", "1.5", "2"],
}
"""Where a repaired statement is evaluated: deltas, and epsilon/ln(1/delta) in (0, 2]."""

OUTSIDE = "not-applicable"
_DELTA = {"delta > 0": {"delta": "0"}}
TAIL = "It decides Phi(-b) <= exp(-b^2/2)/2, which bounds the true delta; another check decides the value of b."
PROOF = (
    "for all delta in (0, 1) and 0 < epsilon <= 2 ln(1/delta): the true delta is below Phi(-b) <= "
    "exp(-b^2/2)/2 with b >= 1.5 sqrt(ln(1/delta)), so below delta^(9/8)/2, and fewer releases or more noise lower it"
)


BUDGET = Hypothesis(
    lambda s: (s.epsilon > 0, s.epsilon <= -2 * sp.log(s.delta)), (r"$0 < \varepsilon \le 2 \ln(1/\delta)$")
)


def sufficiency_claim(squared: Squared, statement: Statement, instance: Mapping[str, Any]) -> PrivacyClaim:
    """The true delta of the prescribed noise at each delta of the instance and each share of ln(1/delta) for epsilon;
    ``symbols`` has the values of the symbols that do not matter."""

    def points() -> list[PrivacyPoint]:
        found = []
        with mpmath.workdps(65):
            for delta in map(mpmath.mpf, instance["delta"]):
                for share in map(mpmath.mpf, instance["share"]):
                    at = {**instance["symbols"], "epsilon": -share * mpmath.log(delta), "delta": delta}
                    together = squared(at, variance(statement, at))
                    found.append(PrivacyPoint(at, delta, *one_release(at["epsilon"], together)))
        return found

    return PrivacyClaim("the true delta", points, PROOF)


def repaired_checks(
    squared: Squared, symbols: Mapping[str, Any], beyond: Mapping[str, Mapping[str, str]]
) -> tuple[Check, ...]:
    """The checks of a repaired statement: its constant, 4, is enough for 0 < epsilon <= 2 ln(1/delta).

    squared: as `prescribed_noise.Squared`; symbols: values of those that do not matter; beyond: how symbols are stated
    just outside other hypotheses, by the words of these.
    """
    one = {"delta": ["1e-5"], "share": ["1"], "symbols": symbols}
    edges = {f"just outside {words}": {**one, "stated": stated} for words, stated in {**_DELTA, **beyond}.items()}
    grid = {**GRID, "symbols": symbols}

    def exponent(statement: Statement, _: Mapping[str, Any]) -> Outcome:
        """b = epsilon z - 1/(2z) falls with epsilon, and is 1.5 sqrt(L) at the end of the range."""
        s = symbols_of(statement)
        log = sp.symbols("ell", positive=True)
        square = sp.simplify(squared(s, noise_of(statement)).subs(s.delta, sp.exp(-log)))
        z = sp.sqrt(square)
        b = sp.simplify(s.epsilon * z - 1 / (2 * z))
        slope = sp.simplify(sp.diff(b, s.epsilon))
        if slope.is_negative is not True:
            return Outcome(False, f"b does not fall with epsilon: its slope is {slope}")
        end = b.subs(s.epsilon, 2 * log)
        return equal(end, sp.Rational(3, 2) * sp.sqrt(log), "b at epsilon = 2 ln(1/delta)")

    def constant(statement: Statement, instance: Mapping[str, Any]) -> ConstantClaim:
        """v in the prescribed noise, whose square over all releases is v ln(1/delta)/epsilon^2."""
        at = {**symbols, "epsilon": 1, "delta": mpmath.exp(-1)}
        stated = float(squared(at, variance(statement, at)))
        return ConstantClaim("the constant", lambda: needed_points(instance["needed"], symbols, stated), argument=PROOF)

    return (
        Check("algebra", "the exponent", exponent),
        Check("algebra", "tail of the normal distribution", _tail, part=TAIL),
        Check("privacy", "0 < epsilon <= 2 ln(1/delta)", partial(sufficiency_claim, squared), grid),
        Check(
            "privacy",
            "just outside epsilon <= 2 ln(1/delta)",
            partial(sufficiency_claim, squared),
            {**grid, "share": ["2.02"]},
            OUTSIDE,
        ),
        *checks("privacy", partial(sufficiency_claim, squared), edges, OUTSIDE),
        Check("privacy", "the smallest constant", constant, {"needed": [*NEEDED[:3], *DEMANDING]}),
    )


def _tail(_: Statement, __: Mapping[str, Any]) -> Outcome:
    """h(b) = exp(-b^2/2)/2 - Phi(-b) vanishes at 0 and at infinity and has derivative exp(-b^2/2)(1/sqrt(2 pi) - b/2),
    which changes sign once, from + to -: so h >= 0 for b >= 0."""
    b = sp.symbols("b", positive=True)
    gap = sp.exp(-(b**2) / 2) / 2 - sp.erfc(b / sp.sqrt(2)) / 2
    if gap.subs(b, 0) != 0 or sp.limit(gap, b, sp.oo) != 0:
        return Outcome(False, "exp(-b^2/2)/2 - Phi(-b) does not vanish at both ends")
    slope = sp.exp(-(b**2) / 2) * (1 / sp.sqrt(2 * sp.pi) - b / 2)
    return equal(sp.diff(gap, b), slope, "the derivative of exp(-b^2/2)/2 - Phi(-b)")
