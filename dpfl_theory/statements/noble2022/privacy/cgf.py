"""noble2022 Lemma B.3 and equation (7): Renyi DP from the cumulant generating function, and its interpolation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Sides, Source, Statement, Symbols, checks
from dpfl_theory.core.check_inputs import Outcome, PrivacyClaim, PrivacyPoint
from dpfl_theory.core.formula import evaluate_side, symbols_of, total
from dpfl_theory.lazy import mpmath
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022.privacy._divergences import FAMILIES
from dpfl_theory.statements.noble2022.privacy._symbols import PAPER, symbols
from dpfl_theory.statements.symbolic import all_equal, equal

QUADRATURE, ROUNDING = "1e-12", "1e-25"
"""Relative widths that are given to integrals and to closed forms, both computed with 30 digits."""

_MECHANISMS = {
    "mechanisms": [
        ["gaussian", "1"],
        ["gaussian", "5"],
        ["laplace", "0.5"],
        ["laplace", "4"],
        ["randomised response", "3"],
        ["randomised response", "1.1"],
    ]
}


LAMBDA = Hypothesis(lambda s: s["lambda"] > 0)


def _equivalence(logarithm: bool) -> Callable[[Statement, Mapping[str, Any]], PrivacyClaim]:
    def build(statement: Statement, instance: Mapping[str, Any]) -> PrivacyClaim:
        def points() -> list[PrivacyPoint]:
            found = []
            with mpmath.workdps(30):
                slack = mpmath.mpf(QUADRATURE)
                for (name, parameter), power in product(instance["mechanisms"], instance["lambda"]):
                    divergence, moment = FAMILIES[name]
                    x, lam = mpmath.mpf(parameter), mpmath.mpf(power)
                    true, mean = divergence(lam + 1, x), moment(lam, x)
                    claimed = evaluate_side(
                        statement, "rhs", {"lambda": lam, "cgf": mpmath.log(mean) if logarithm else mean}
                    )
                    named = {"mechanism": name, "parameter": x, "lambda": lam}
                    found.append(PrivacyPoint(named, claimed, true * (1 - slack), true * (1 + slack)))
            return found

        quantity = "the Renyi divergence of order lambda + 1"
        if logarithm:
            return PrivacyClaim(quantity, points, "by definition, for each pair, and so for the supremum", "==", 1e-11)
        proof = "for every mechanism and lambda: log x <= x, with x the mean of e^(lambda L)"
        return PrivacyClaim(quantity, points, proof)

    return build


def _interpolation(logarithm: bool) -> Callable[[Statement, Mapping[str, Any]], PrivacyClaim]:
    def build(statement: Statement, instance: Mapping[str, Any]) -> PrivacyClaim:
        def points() -> list[PrivacyPoint]:
            found = []
            with mpmath.workdps(30):
                for (name, parameter), power in product(instance["mechanisms"], instance["lambda"]):
                    x, lam = mpmath.mpf(parameter), mpmath.mpf(power)

                    def value(power: Any, name: str = name, x: Any = x) -> Any:
                        """K_M, from the closed form of the divergence; exact at 0, where the ratio's power is 1."""
                        log = power * FAMILIES[name][0](power + 1, x) if power > 0 else mpmath.mpf(0)
                        return log if logarithm else mpmath.exp(log)

                    low, high, true = mpmath.floor(lam), mpmath.ceil(lam), value(lam)
                    known = {"lambda": lam, "cgf_floor": value(low), "cgf_ceiling": value(high)}
                    claimed = evaluate_side(statement, "rhs", known)
                    named = {"mechanism": name, "parameter": x, "lambda": lam}
                    slack = mpmath.mpf(ROUNDING) if low < high else 0  # at integers both sides are the same number
                    found.append(PrivacyPoint(named, claimed, true * (1 - slack), true * (1 + slack)))
            return found

        proof = (
            "for every mechanism: for each pair of data sets K_M is convex in lambda (Hoelder), and so is the "
            "supremum over pairs; at lambda = 0 it has the value of e^0, which is the same for all pairs"
        )
        return PrivacyClaim("K_M(lambda)", points, proof)

    return build


def _gaussian_gap(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """For the Gaussian mechanism the interpolation exceeds K_M by t (1 - t)/(2 sigma_g^2), t the fraction of lambda."""
    s, (n, t, z) = symbols_of(statement), sp.symbols("n t sigma_g", positive=True)

    def cgf(x: Any) -> Any:
        return x * (x + 1) / (2 * z**2)

    entered = total(statement).subs(sp.floor(s["lambda"]), n)
    entered = entered.subs({s["lambda"]: n + t, s.cgf_floor: cgf(n), s.cgf_ceiling: cgf(n + 1)})
    return equal(entered - cgf(n + t), t * (1 - t) / (2 * z**2), "the interpolation less K_M")


def _gaussian_divergence(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """The loss L of N(1, sigma_g^2) against N(0, sigma_g^2) has log E e^(lambda L) = lambda (lambda + 1)/(2 sigma_g^2),
    so that the lemma gives Lemma B.6's alpha/(2 sigma_g^2) at alpha = lambda + 1."""
    s = symbols_of(statement)
    lam, z, x = s["lambda"], sp.Symbol("sigma_g", positive=True), sp.Symbol("x", real=True)
    loss = (x**2 - (x - 1) ** 2) / (2 * z**2)
    exponent = lam * loss - (x - 1) ** 2 / (2 * z**2)  # of e^(lambda L) times the density of N(1, sigma_g^2)
    # Without what is left of the square, this is the density of N(1 + lambda, sigma_g^2), whose integral is 1.
    cgf = sp.simplify(exponent + (x - 1 - lam) ** 2 / (2 * z**2))
    if x in cgf.free_symbols:
        return Outcome(None, f"the square is not complete: {cgf}")
    budget = total(statement).subs(s.cgf, cgf)
    return equal(budget, (lam + 1) / (2 * z**2), "the budget of the Gaussian mechanism, and Lemma B.6")


def _two_answers(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
    """Answers of probabilities p, 1 - p against q, 1 - q: lambda times the Renyi divergence of order lambda + 1 is the
    logarithm of E e^(lambda L) at every whole lambda; as K_M is defined, y = E e^(lambda L) instead of log y, the
    budget is larger by (y - log y)/lambda, which is least at y = 1."""
    s, y = symbols_of(statement), sp.Symbol("y", positive=True)
    p, q = sp.symbols("p q", positive=True, probability=True)
    steps = []
    for power in instance["lambda"]:
        moment = p * sp.exp(power * sp.log(p / q)) + (1 - p) * sp.exp(power * sp.log((1 - p) / (1 - q)))
        divergence = sp.log(p ** (power + 1) * q**-power + (1 - p) ** (power + 1) * (1 - q) ** -power) / power
        budget = total(statement).subs({s["lambda"]: power, s.cgf: sp.log(moment)})
        steps.append((sp.exp(power * budget), sp.exp(power * divergence), f"lambda = {power}"))
    found, excess = all_equal(*steps), y - sp.log(y)
    least = sp.solve(sp.diff(excess, y), y) == [1] and sp.diff(excess, y, 2).is_positive and excess.subs(y, 1) > 0
    return Outcome(True if found.true and least else None, f"{found.reason}; y - log y is at least 1")


def _equivalence_sides(s: Symbols) -> Sides:
    return Sides({"Renyi budget": s.rdp}, {"CGF": s.cgf / s["lambda"]})


def _interpolation_sides(s: Symbols) -> Sides:
    lam = s["lambda"]
    return Sides(
        {"CGF": s.cgf},
        {"below": (1 - lam + sp.floor(lam)) * s.cgf_floor, "above": (lam - sp.floor(lam)) * s.cgf_ceiling},
    )


def _edges(build: Any) -> tuple[Check, ...]:
    """Both sides of lambda > 0, for the Gaussian mechanism."""
    one = {"mechanisms": [["gaussian", "1"]]}
    return (
        *checks("privacy", build, {"just inside lambda > 0": {**one, "lambda": ["0.01"]}}),
        *checks("privacy", build, {"just outside lambda > 0": {**one, "lambda": ["-0.01"]}}, "not-applicable"),
    )


LEMMA_B3: Statement = Statement(
    id="noble2022.lemmaB.3",
    kind="lemma",
    source=Source(PAPER, "Lemma B.3, Appendix B.2"),
    symbols=symbols("rdp", "cgf", "lambda"),
    hypotheses=(LAMBDA,),
    sides=_equivalence_sides,
    checks=(
        Check("algebra", "the Gaussian mechanism", _gaussian_divergence),
        Check("algebra", "any two answers", _two_answers, {"lambda": [1, 2, 3]}),
        Check(
            "privacy",
            "with the logarithm, an equality",
            _equivalence(True),
            {**_MECHANISMS, "lambda": ["0.1", "1", "2.5", "10"]},
        ),
        Check(
            "privacy",
            "as K_M is defined, an upper bound",
            _equivalence(False),
            {**_MECHANISMS, "lambda": ["0.1", "1", "2.5", "10"]},
        ),
        *_edges(_equivalence(True)),
    ),
)

EQ7: Statement = Statement(
    id="noble2022.eq7",
    kind="step",
    source=Source(PAPER, "Appendix B.2", "(7)"),
    symbols=symbols("cgf", "lambda", "cgf_floor", "cgf_ceiling"),
    hypotheses=(LAMBDA,),
    sides=_interpolation_sides,
    checks=(
        Check("algebra", "the gap of the Gaussian mechanism", _gaussian_gap),
        Check(
            "privacy",
            "with the logarithm",
            _interpolation(True),
            {**_MECHANISMS, "lambda": ["0.01", "0.5", "0.99", "1", "1.5", "3", "7.25", "12.5"]},
        ),
        Check(
            "privacy",
            "without the logarithm",
            _interpolation(False),
            {**_MECHANISMS, "lambda": ["0.01", "0.5", "1", "1.5", "7.25"]},
        ),
        *_edges(_interpolation(True)),
    ),
)

STATEMENTS = (LEMMA_B3, EQ7)
