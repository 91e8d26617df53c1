"""noble2022 equations (5) and (6): epsilon and delta from the cumulant generating function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

from dpfl_theory.core import Check, Outcome, PrivacyClaim, PrivacyPoint, Sides, Source, Statement, Symbols, checks
from dpfl_theory.core.formula import evaluate_side, symbols_of, total
from dpfl_theory.lazy import mpmath
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022.privacy._symbols import DELTA, PAPER, symbols
from dpfl_theory.statements.noble2022.privacy.composition import composed_delta
from dpfl_theory.statements.symbolic import equal


def gaussian_values(sigma: Any) -> Callable[[Any], dict[str, Any]]:
    """lambda and K_M(lambda) of the Gaussian mechanism, from lambda."""
    return lambda power: {"lambda": power, "cgf": power * (power + 1) / (2 * sigma**2)}


def response_cgf(power: Any, epsilon: Any, count: int) -> Any:
    """The CGF of ``count`` answers of randomised response, whose loss is +-epsilon."""
    return count * mpmath.log(
        (mpmath.exp((power + 1) * epsilon) + mpmath.exp(-power * epsilon)) / (1 + mpmath.exp(epsilon))
    )


def minimize(objective: Callable[[Any], Any]) -> Any:
    """The least value over lambda in [1e-6, 1e6] of a function that falls, then rises: by trisection of log lambda."""
    a, b = mpmath.mpf(-14), mpmath.mpf(14)
    for _ in range(120):
        first, second = a + (b - a) / 3, b - (b - a) / 3
        if objective(mpmath.exp(first)) <= objective(mpmath.exp(second)):
            b = second
        else:
            a = first
    return objective(mpmath.exp((a + b) / 2))


def smallest_epsilon(delta_of: Callable[[Any], tuple[Any, Any]], delta: Any) -> tuple[Any, Any]:
    """Limits of the epsilon at which a falling delta_of(epsilon) = (low, high) reaches delta, by bisection."""
    low, high = mpmath.mpf(0), mpmath.mpf(1)
    while delta_of(high)[1] > delta:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        below, above = delta_of(middle)
        if above <= delta:
            high = middle
        elif below > delta:
            low = middle
        else:
            break
    return low, high


def _guaranteed(epsilon_wanted: bool) -> Callable[[Statement, Mapping[str, Any]], PrivacyClaim]:
    def build(statement: Statement, instance: Mapping[str, Any]) -> PrivacyClaim:
        from dpfl_theory.privacy.gaussian import gaussian_delta

        given = "delta" if epsilon_wanted else "epsilon"

        def gaussian(parameter: str, target: str) -> tuple[Any, Any, Any]:
            z, x = mpmath.mpf(parameter), mpmath.mpf(target)
            if epsilon_wanted and x >= 1:  # the minimum is no minimum there
                return mpmath.mpf(0), mpmath.mpf(0), mpmath.inf
            best = z * mpmath.sqrt(-2 * mpmath.log(x)) if epsilon_wanted else max(z**2 * x - mpmath.mpf(1) / 2, 0)
            claimed = evaluate_side(statement, "rhs", {given: x, **gaussian_values(z)(mpmath.mpf(best))})
            if not epsilon_wanted:
                return (claimed, *gaussian_delta(x, z))
            return (claimed, *smallest_epsilon(lambda e: gaussian_delta(e, z), x))

        def response(parameter: str, target: str) -> tuple[Any, Any, Any]:
            e, x, count = mpmath.mpf(parameter), mpmath.mpf(target), instance["answers"]

            def bound(power: Any) -> Any:
                return evaluate_side(
                    statement, "rhs", {given: x, "lambda": power, "cgf": response_cgf(power, e, count)}
                )

            claimed = minimize(bound)
            if not epsilon_wanted:
                return (min(claimed, bound(mpmath.mpf(0))), *composed_delta(e, 0, count, x))  # the limit at 0
            return (claimed, *smallest_epsilon(lambda y: composed_delta(e, 0, count, y), x))

        def points() -> list[PrivacyPoint]:
            found = []
            with mpmath.workdps(30):
                for (name, parameter), target in product(instance["mechanisms"], instance["target"]):
                    values = (gaussian if name == "gaussian" else response)(parameter, target)
                    named = {"mechanism": name, "parameter": mpmath.mpf(parameter), given: mpmath.mpf(target)}
                    found.append(PrivacyPoint(named, *values))
            return found

        proof = (
            "for every mechanism: by Lemmas B.3 and B.4 each lambda gives a valid pair, and so does the "
            "infimum, whether or not it is attained"
        )
        return PrivacyClaim(f"the mechanism's smallest {'epsilon' if epsilon_wanted else 'delta'}", points, proof)

    return build


def _gaussian_minimum(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """(L + lambda (lambda + 1)/(2 sigma^2))/lambda - (1/(2 sigma^2) + sqrt(2 L)/sigma) is a square over lambda."""
    s, (z, log) = symbols_of(statement), sp.symbols("sigma_g L", positive=True)
    lam = s["lambda"]
    objective = total(statement).subs(s.cgf, lam * (lam + 1) / (2 * z**2)).subs(s.delta, sp.exp(-log))
    excess = (lam / z - sp.sqrt(2 * log)) ** 2 / (2 * lam)
    return equal(objective - excess, 1 / (2 * z**2) + sp.sqrt(2 * log) / z, "equation (5) of the Gaussian mechanism")


def _gaussian_exponent(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """lambda (lambda + 1)/(2 sigma^2) - lambda epsilon is a square less (sigma^2 epsilon - 1/2)^2/(2 sigma^2)."""
    s, z = symbols_of(statement), sp.Symbol("sigma_g", positive=True)
    lam, best = s["lambda"], z**2 * s.epsilon - sp.Rational(1, 2)
    objective = sp.log(total(statement)).subs(s.cgf, lam * (lam + 1) / (2 * z**2))
    return equal(objective - (lam - best) ** 2 / (2 * z**2), -(best**2) / (2 * z**2), "the exponent of equation (6)")


_ONE = {"mechanisms": [["gaussian", "0.1"]], "answers": 20}
_ANSWERS = [["randomised response", "0.1"], ["randomised response", "1"]]


def _epsilon_sides(s: Symbols) -> Sides:
    lam = s["lambda"]
    return Sides({"epsilon": s.epsilon}, {"conversion": sp.log(1 / s.delta) / lam, "CGF": s.cgf / lam})


def _delta_sides(s: Symbols) -> Sides:
    return Sides({"delta": s.delta}, {"moment": sp.exp(s.cgf - s["lambda"] * s.epsilon)})


EQ5: Statement = Statement(
    id="noble2022.eq5",
    kind="step",
    source=Source(PAPER, "Appendix B.2", "(5)"),
    symbols=symbols("epsilon", "delta", "lambda", "cgf"),
    hypotheses=(DELTA,),
    sides=_epsilon_sides,
    checks=(
        Check("algebra", "the minimum for the Gaussian mechanism", _gaussian_minimum),
        Check(
            "privacy",
            "Gaussian mechanism and randomised response",
            _guaranteed(True),
            {
                "mechanisms": [["gaussian", "0.5"], ["gaussian", "1"], ["gaussian", "10"], *_ANSWERS],
                "answers": 20,
                "target": ["0.1", "1e-3", "1e-5", "1e-10"],
            },
        ),
        *checks("privacy", _guaranteed(True), {"just inside delta < 1": {**_ONE, "target": ["0.99"]}}),
        *checks("privacy", _guaranteed(True), {"just outside delta < 1": {**_ONE, "target": ["1"]}}, "not-applicable"),
    ),
    smoke=("Gaussian mechanism and randomised response",),
    uses=("noble2022.lemmaB.3", "noble2022.lemmaB.4"),
)

EQ6: Statement = Statement(
    id="noble2022.eq6",
    kind="step",
    source=Source(PAPER, "Appendix B.2", "(6)"),
    symbols=symbols("delta", "epsilon", "lambda", "cgf"),
    sides=_delta_sides,
    checks=(
        Check("algebra", "the minimum for the Gaussian mechanism", _gaussian_exponent),
        Check(
            "privacy",
            "Gaussian mechanism and randomised response",
            _guaranteed(False),
            {
                "mechanisms": [["gaussian", "0.5"], ["gaussian", "1"], ["gaussian", "10"], *_ANSWERS],
                "answers": 20,
                "target": ["0.1", "0.5", "1", "1.5"],
            },
        ),
    ),
    uses=("noble2022.lemmaB.3", "noble2022.lemmaB.4"),
)

STATEMENTS = (EQ5, EQ6)
