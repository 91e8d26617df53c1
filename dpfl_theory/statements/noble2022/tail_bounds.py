"""noble2022 equations (5) and (6): epsilon and delta from the cumulant generating function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

from dpfl_theory.statements.claims import Outcome, PrivacyClaim, PrivacyPoint
from dpfl_theory.statements.formula import letters_of
from dpfl_theory.statements.model import Check, Sides, Source, Statement
from dpfl_theory.statements.noble2022._letters import DELTA, PAPER, letters
from dpfl_theory.statements.noble2022.composition import composed_delta
from dpfl_theory.statements.symbolic import equal


def gaussian_epsilon(sigma: Any, delta: Any) -> Any:
    """Equation (5) for the Gaussian mechanism: the minimum, at lambda = sigma sqrt(2 log(1/delta))."""
    import mpmath

    return 1 / (2 * sigma**2) + mpmath.sqrt(-2 * mpmath.log(delta)) / sigma


def gaussian_delta_bound(sigma: Any, epsilon: Any) -> Any:
    """Equation (6) for the Gaussian mechanism: the minimum, at lambda = sigma^2 epsilon - 1/2, or the limit 1 at 0."""
    import mpmath

    power = sigma**2 * epsilon - mpmath.mpf(1) / 2
    return mpmath.exp(-(power**2) / (2 * sigma**2)) if power > 0 else mpmath.mpf(1)


def response_cgf(power: Any, epsilon: Any, count: int) -> Any:
    """The CGF of ``count`` answers of randomised response, whose loss is +-epsilon."""
    import mpmath

    return count * mpmath.log(
        (mpmath.exp((power + 1) * epsilon) + mpmath.exp(-power * epsilon)) / (1 + mpmath.exp(epsilon))
    )


def least(objective: Callable[[Any], Any]) -> Any:
    """The least value over lambda in [1e-6, 1e6] of a function that falls, then rises: by trisection of log lambda."""
    import mpmath

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
    import mpmath

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


def _guaranteed(epsilon_wanted: bool) -> Callable[[Mapping[str, Any]], PrivacyClaim]:
    def build(instance: Mapping[str, Any]) -> PrivacyClaim:
        import mpmath

        from dpfl_theory.privacy.gaussian import gaussian_delta

        def gaussian(parameter: str, target: str) -> tuple[Any, Any, Any]:
            z, x = mpmath.mpf(parameter), mpmath.mpf(target)
            if not epsilon_wanted:
                return (gaussian_delta_bound(z, x), *gaussian_delta(x, z))
            return (gaussian_epsilon(z, x), *smallest_epsilon(lambda e: gaussian_delta(e, z), x))

        def response(parameter: str, target: str) -> tuple[Any, Any, Any]:
            e, x, count = mpmath.mpf(parameter), mpmath.mpf(target), instance["answers"]
            if not epsilon_wanted:
                claimed = mpmath.exp(min(least(lambda power: response_cgf(power, e, count) - power * x), 0))
                return (claimed, *composed_delta(e, 0, count, x))
            claimed = least(lambda power: (response_cgf(power, e, count) - mpmath.log(x)) / power)
            return (claimed, *smallest_epsilon(lambda y: composed_delta(e, 0, count, y), x))

        def points() -> list[PrivacyPoint]:
            found = []
            with mpmath.workdps(30):
                for (name, parameter), target in product(instance["mechanisms"], instance["target"]):
                    values = (gaussian if name == "gaussian" else response)(parameter, target)
                    at = {"mechanism": name, "parameter": mpmath.mpf(parameter)}
                    at["delta" if epsilon_wanted else "epsilon"] = mpmath.mpf(target)
                    found.append(PrivacyPoint(at, *values))
            return found

        proof = (
            "for every mechanism: by Lemmas B.3 and B.4 each lambda gives a valid pair, and so does the "
            "infimum, whether or not it is attained"
        )
        return PrivacyClaim(f"the mechanism's smallest {'epsilon' if epsilon_wanted else 'delta'}", points, proof)

    return build


def _gaussian_minimum(_: Mapping[str, Any]) -> Outcome:
    """(L + lambda (lambda + 1)/(2 sigma^2))/lambda - (1/(2 sigma^2) + sqrt(2 L)/sigma) is a square over lambda."""
    import sympy as sp

    lam, z, log = sp.symbols("lambda sigma_g L", positive=True)
    objective = (log + lam * (lam + 1) / (2 * z**2)) / lam
    excess = (lam / z - sp.sqrt(2 * log)) ** 2 / (2 * lam)
    return equal(objective - excess, 1 / (2 * z**2) + sp.sqrt(2 * log) / z, "equation (5) of the Gaussian mechanism")


def _gaussian_exponent(_: Mapping[str, Any]) -> Outcome:
    """lambda (lambda + 1)/(2 sigma^2) - lambda epsilon is a square less (sigma^2 epsilon - 1/2)^2/(2 sigma^2)."""
    import sympy as sp

    lam, z, e = sp.symbols("lambda sigma_g epsilon", positive=True)
    best = z**2 * e - sp.Rational(1, 2)
    objective = lam * (lam + 1) / (2 * z**2) - lam * e
    return equal(objective - (lam - best) ** 2 / (2 * z**2), -(best**2) / (2 * z**2), "the exponent of equation (6)")


_ANSWERS = [["randomised response", "0.1"], ["randomised response", "1"]]


def _epsilon_sides(statement: Statement) -> Sides:
    import sympy as sp

    s = letters_of(statement)
    lam = s["lambda"]
    return Sides({"epsilon": s["epsilon"]}, {"conversion": sp.log(1 / s["delta"]) / lam, "CGF": s["cgf"] / lam})


def _delta_sides(statement: Statement) -> Sides:
    import sympy as sp

    s = letters_of(statement)
    return Sides({"delta": s["delta"]}, {"moment": sp.exp(s["cgf"] - s["lambda"] * s["epsilon"])})


_READING = (
    "'Given Lemma B.4 and Lemma B.3, it is possible to find the smallest': read as the smallest that the two lemmas "
    "give, so that what is checked is the guarantee. It is not the mechanism's smallest: {gap}. Stated with K_M as the "
    "logarithm of a moment; with the K_M that the paper defines, without it, the guarantee holds too and is weaker. "
    "The minimum is an infimum: randomised response approaches it as lambda grows"
)

EQ5: Statement = Statement(
    id="noble2022.eq5",
    kind="step",
    title="epsilon for a given delta, from the cumulant generating function",
    source=Source(
        PAPER,
        "Appendix B.2",
        "(5)",
        note=_READING.format(gap="for the Gaussian mechanism with sigma_g = 1, delta = 1e-5, 5.30 against 4.38"),
    ),
    text="M is (eps(delta), delta)-DP with eps(delta) = min over lambda > 0 of (log(1/delta) + K_M(lambda))/lambda.",
    symbols=letters("epsilon", "delta", "lambda", "cgf"),
    assumptions=(DELTA,),
    sides=lambda: _epsilon_sides(EQ5),
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
    ),
    uses=("noble2022.lemmaB.3", "noble2022.lemmaB.4"),
)

EQ6: Statement = Statement(
    id="noble2022.eq6",
    kind="step",
    title="delta for a given epsilon, from the cumulant generating function",
    source=Source(
        PAPER,
        "Appendix B.2",
        "(6)",
        note=_READING.format(gap="for the Gaussian mechanism with sigma_g = 1, epsilon = 5, 4.0e-5 against 5.8e-7"),
    ),
    text="M is (epsilon, delta(epsilon))-DP, delta(epsilon) = min over lambda > 0 of e^(K_M(lambda) - lambda epsilon).",
    symbols=letters("delta", "epsilon", "lambda", "cgf"),
    sides=lambda: _delta_sides(EQ6),
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
