"""das2022 Definition 5: the Gaussian mechanism's noise, as printed for every epsilon, and for epsilon <= 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Sides, Source, Statement, Symbol, Symbols, battery
from dpfl_theory.core.check_inputs import GaussianClaim, Outcome
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import prescription_of, symbols_of, total
from dpfl_theory.lazy import mpmath
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.relations import Formula, Proof, algebra, of

_SENSITIVITY = Symbol("Delta_2", "l2 sensitivity of the query $h$", (1, -1), "positive", r"\Delta_2")
_VARIANCE = Symbol("noise_variance", "variance of each coordinate of the noise", (2, -2), "positive", r"\sigma^2")

_DELTAS = ("1e-12", "1e-10", "1e-8", "1e-6", "1e-5", "1e-4", "1e-3", "0.01", "0.05", "0.1", "0.2", "0.4", "0.6", "0.8")
_TOP_DELTAS = ("0.88", "0.9", "0.95", "0.99")
_EPSILONS = tuple(f"{10 ** (-3 + k / 10):.6g}" for k in range(61))
"""From 1/1000 to 1000, evenly spaced in the logarithm."""


def definition5_claim(statement: Statement, instance: Mapping[str, Any]) -> GaussianClaim:
    """The claim that the prescribed noise is enough: s is its deviation at epsilon = Delta_2 = 1.

    The right side says which delta is claimed for the noise that is prescribed for delta: a share of it, here the
    whole.
    """
    formula, share = prescription_of(statement)["noise_variance"], total(statement) / symbols_of(statement).delta
    if not share.is_Rational:
        raise ValueError(f"{statement.id} claims {total(statement)}, which is no share of delta")

    def scale(claimed: Any) -> Any:
        with mpmath.workdps(65):
            delta = min(mpmath.mpf(claimed) * int(share.q) / int(share.p), mpmath.mpf(1))
            return mpmath.sqrt(evaluate(formula, {"delta": delta, "epsilon": 1, "Delta_2": 1}))

    return GaussianClaim(scale, tuple(instance["epsilon"]), tuple(instance["delta"]))


def _claim(name: str, epsilons: tuple[str, ...], deltas: tuple[str, ...], expected: str = "holds") -> Check:
    return Check("privacy", name, definition5_claim, {"epsilon": list(epsilons), "delta": list(deltas)}, expected)


@algebra("the true delta grows with epsilon")
def _growth(own: Formula) -> Proof:
    """The left side with sigma = s Delta_2/epsilon: its slope in epsilon is e^epsilon (phi(a)/s - Phi(-a)), a =
    epsilon/(2s) + s.

    By Mills' ratio Phi(-a) < phi(a)/a <= phi(a)/s because a >= s, so the true delta grows with epsilon.
    """
    epsilon, s = own.epsilon, sp.Symbol("s", positive=True)
    delta = of(own.statement, noise_variance=(s * own.Delta_2 / epsilon) ** 2).lhs
    a = epsilon / (2 * s) + s
    density = sp.exp(-(a**2) / 2) / sp.sqrt(2 * sp.pi)
    claimed = sp.exp(epsilon) * (density / s - _phi_integral(-a))
    return sp.expand(sp.diff(delta, epsilon)), sp.expand(claimed), "the growth of the true delta in epsilon"


@algebra(
    "Mills' ratio",
    part="It decides Mills' ratio, by which the true delta grows with epsilon; the other checks decide that delta.",
)
def _mills(_: Formula) -> Proof:
    """phi(a)/a - Phi(-a) has derivative -phi(a)/a^2 < 0 and tends to 0, so it is positive for a > 0 (Mills' ratio)."""
    a = sp.symbols("a", positive=True)
    density = sp.exp(-(a**2) / 2) / sp.sqrt(2 * sp.pi)
    gap = density / a - _phi_integral(-a)
    if sp.limit(gap, a, sp.oo) != 0:
        return Outcome(False, "phi(a)/a - Phi(-a) does not tend to 0")
    return sp.expand(sp.diff(gap, a)), -density / a**2, "the derivative of phi(a)/a - Phi(-a)"


def _tail(name: str, epsilon: str, s: str) -> Check:
    """For epsilon up to the given one and s from the given one on, the true delta is below delta = 1.25 e^(-s^2/2).

    With b = s - epsilon/(2s): delta_true < Phi(-b) < phi(b)/b, and phi(b) = phi(s) e^(epsilon/2 - epsilon^2/(8 s^2)) is
    at most phi(s) e^(epsilon/2). Hence delta_true/delta < e^(epsilon/2)/(1.25 sqrt(2 pi) b), which decreases in s.
    """

    @algebra(name, epsilon=epsilon, s=s)
    def check(own: Formula, epsilon: str, s: str) -> Proof:
        z, e = sp.symbols("s epsilon", positive=True)
        b = z - e / (2 * z)
        exponent = sp.simplify(b**2 / 2 - (z**2 / 2 - e / 2 + e**2 / (8 * z**2)))
        slope = sp.simplify(sp.diff(b, z) - (1 + e / (2 * z**2)))  # b grows with s
        # delta = numerator e^(-s^2/2) inverts the prescribed s^2 = 2 log(numerator/delta);
        # the right side is what is claimed.
        unit = of(own.statement, epsilon=1, Delta_2=1).prescribed["noise_variance"]
        numerator = sp.simplify(sp.exp(unit / 2) * own.delta)
        ratio = sp.exp(e / 2) / (numerator * sp.sqrt(2 * sp.pi) * b) / (own.rhs / own.delta)
        point = {z: sp.Rational(s), e: sp.Rational(epsilon)}
        at, positive = ratio.subs(point), bool(b.subs(point) > 0)
        below = sp.N(numerator * sp.exp(-(point[z] ** 2) / 2), 6)
        return Outcome(
            exponent == 0 and slope == 0 and positive and bool(at < 1),
            f"for epsilon <= {epsilon} and delta <= {below} the true delta is below {sp.N(at, 6)} delta",
            {"ratio": str(sp.N(at, 20)), "delta": str(below)},
        )

    return check


def _phi_integral(x: Any) -> Any:
    """The normal distribution function, as sympy differentiates it."""
    return sp.erfc(-x / sp.sqrt(2)) / 2


def _sides(s: Symbols) -> Sides:
    z = sp.sqrt(s.noise_variance) / s.Delta_2
    first = _phi_integral(1 / (2 * z) - s.epsilon * z)
    second = sp.exp(s.epsilon) * _phi_integral(-1 / (2 * z) - s.epsilon * z)
    return Sides(lhs={"upper tail": first, "lower tail": -second}, rhs={"delta": s.delta})


def _prescription(s: Symbols) -> Mapping[str, Any]:
    log = sp.log(sp.Rational(5, 4) / s.delta)
    return {"noise_variance": 2 * log * s.Delta_2**2 / s.epsilon**2}


DEFINITION5: Statement = das.statement(
    id="das2022.definition5",
    kind="definition",
    source=Source(das.PAPER, "Definition 5, Appendix A"),
    symbols=das.NOTATION(_VARIANCE, _SENSITIVITY),
    sides=_sides,
    prescription=_prescription,
    checks=battery(
        _growth,
        _mills,
        _claim("all epsilon and delta", _EPSILONS, (*_DELTAS, *_TOP_DELTAS), "violated"),
        _claim("epsilon <= 5, delta = 1e-6 to 1e-5", ("0.5", "1", "2", "5"), ("1e-6", "1e-5")),
    ),
)

REPAIRED: Statement = replace(
    DEFINITION5,
    id="das2022.definition5.repaired",
    hypotheses=(
        Hypothesis(
            lambda s: (s.epsilon > 0, s.epsilon <= 1),
            constructed="the checks list their epsilons; the one that goes beyond 1 says so",
        ),
    ),
    checks=battery(
        _growth,
        _mills,
        _tail("tail of small delta", epsilon="1", s="21/20"),
        _tail("tail of small delta, epsilon <= 3.78", epsilon="189/50", s="7"),
        _claim("0 < epsilon <= 1", _EPSILONS[:31], (*_DELTAS, *_TOP_DELTAS, "1")),
        _claim("beyond what is stated: epsilon <= 3.78", ("1", "2", "3", "3.5", "3.78"), (*_DELTAS, *_TOP_DELTAS, "1")),
    ),
    smoke=("beyond what is stated: epsilon <= 3.78",),
)

STATEMENTS = (DEFINITION5, REPAIRED)
