"""noble2022 Lemma B.3 and equations (5) to (7): the cumulant generating function, its interpolation, and the privacy
that it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Outcome, PrivacyPoint, Sides, Statement, battery, claim
from dpfl_theory.core.formula import evaluate_side
from dpfl_theory.lazy import mpmath
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022 import _symbols as noble
from dpfl_theory.statements.noble2022.privacy import DELTA, both_sides
from dpfl_theory.statements.noble2022.privacy.composition import around, composed_delta, gaussian_moment
from dpfl_theory.statements.relations import Formula, Proof, algebra, of
from dpfl_theory.statements.symbolic import all_equal

Points = Iterator[PrivacyPoint]


def _cases(instance: Mapping[str, Any], other: str) -> Iterator[tuple[str, Any, Any]]:
    """Each mechanism's name and parameter with each value of another quantity."""
    for (name, parameter), value in product(instance["mechanisms"], instance[other]):
        yield name, mpmath.mpf(parameter), mpmath.mpf(value)


# Lemma B.3 and (7): Renyi DP from the CGF, and the CGF between integers.


def laplace_divergence(order: Any, scale: Any) -> Any:
    """The Renyi divergence of Laplace noise of this scale on answers at distance 1 (Mironov 2017, Table II)."""
    a, b = order, scale
    first = a * mpmath.exp((a - 1) / b) / (2 * a - 1)
    return mpmath.log(first + (a - 1) * mpmath.exp(-a / b) / (2 * a - 1)) / (a - 1)


def laplace_moment(power: Any, scale: Any) -> Any:
    """The same for Laplace noise, where the loss is (|y| - |y - 1|)/scale."""

    def integrand(y: Any) -> Any:
        return mpmath.exp((-abs(y - 1) + power * (abs(y) - abs(y - 1))) / scale) / (2 * scale)

    return mpmath.quad(integrand, [-80 * scale, -20 * scale, 0, 0.5, 1, 1 + 20 * scale, 1 + 80 * scale])


FAMILIES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "gaussian": (lambda order, deviation: order / (2 * deviation**2), gaussian_moment),
    "laplace": (laplace_divergence, laplace_moment),
    # A truthful bit with these odds, and its opposite; its loss is log(odds) or its negative.
    "randomised response": (
        lambda order, odds: mpmath.log((odds**order + odds ** (1 - order)) / (1 + odds)) / (order - 1),
        lambda power, odds: (odds * odds**power + odds**-power) / (1 + odds),
    ),
}
"""By name: the divergence of an order, in closed form, and E e^(power L), by definition. Both orders of a pair give the
same, so that these are suprema."""


def _budgets(statement: Statement, instance: Mapping[str, Any], logarithm: bool) -> Points:
    with mpmath.workdps(30):
        for name, x, lam in _cases(instance, "lambda"):
            divergence, moment = FAMILIES[name]
            true, mean = divergence(lam + 1, x), moment(lam, x)
            known = {"lambda": lam, "cgf": mpmath.log(mean) if logarithm else mean}
            claimed = evaluate_side(statement, "rhs", known)
            yield PrivacyPoint({"mechanism": name, "parameter": x, "lambda": lam}, claimed, *around(true))


_QUANTITY = "the Renyi divergence of order lambda + 1"
_WITH_LOGARITHM = claim(_QUANTITY, "by definition, for each pair, and so for the supremum", "==", 1e-11)(
    partial(_budgets, logarithm=True)
)
_AS_DEFINED = claim(_QUANTITY, "for every mechanism and lambda: log x <= x, with x the mean of e^(lambda L)")(
    partial(_budgets, logarithm=False)
)


def _interpolation(logarithm: bool) -> Any:
    @claim(
        "K_M(lambda)",
        "for every mechanism: for each pair of data sets K_M is convex in lambda (Hoelder), and so is the "
        "supremum over pairs; at lambda = 0 it has the value of e^0, which is the same for all pairs",
    )
    def build(statement: Statement, instance: Mapping[str, Any]) -> Points:
        with mpmath.workdps(30):
            for name, x, lam in _cases(instance, "lambda"):

                def value(power: Any, name: str = name, x: Any = x) -> Any:
                    """K_M, from the closed form of the divergence; exact at 0, where the ratio's power is 1."""
                    log = power * FAMILIES[name][0](power + 1, x) if power > 0 else mpmath.mpf(0)
                    return log if logarithm else mpmath.exp(log)

                low, high = mpmath.floor(lam), mpmath.ceil(lam)
                known = {"lambda": lam, "cgf_floor": value(low), "cgf_ceiling": value(high)}
                claimed = evaluate_side(statement, "rhs", known)
                # At integers both sides are the same number; elsewhere both are computed with 30 digits.
                limits = around(value(lam), "1e-25" if low < high else "0")
                yield PrivacyPoint({"mechanism": name, "parameter": x, "lambda": lam}, claimed, *limits)

    return build


@algebra("the gap of the Gaussian mechanism")
def _gaussian_gap(s: Formula) -> Proof:
    """For the Gaussian mechanism the interpolation exceeds K_M by t (1 - t)/(2 sigma_g^2), t the fraction of lambda."""
    n, t, z = sp.symbols("n t sigma_g", positive=True)

    def cgf(x: Any) -> Any:
        return x * (x + 1) / (2 * z**2)

    entered = s.rhs.subs(sp.floor(s["lambda"]), n)
    entered = entered.subs({s["lambda"]: n + t, s.cgf_floor: cgf(n), s.cgf_ceiling: cgf(n + 1)})
    return entered - cgf(n + t), t * (1 - t) / (2 * z**2), "the interpolation less K_M"


@algebra("the Gaussian mechanism")
def gaussian_divergence(s: Formula) -> Proof:
    """The loss L of N(1, sigma_g^2) against N(0, sigma_g^2) has log E e^(lambda L) = lambda (lambda + 1)/(2 sigma_g^2),
    so that the lemma gives Lemma B.6's alpha/(2 sigma_g^2) at alpha = lambda + 1."""
    lam, z, x = s["lambda"], sp.Symbol("sigma_g", positive=True), sp.Symbol("x", real=True)
    loss = (x**2 - (x - 1) ** 2) / (2 * z**2)
    exponent = lam * loss - (x - 1) ** 2 / (2 * z**2)  # of e^(lambda L) times the density of N(1, sigma_g^2)
    # Without what is left of the square, this is the density of N(1 + lambda, sigma_g^2), whose integral is 1.
    cgf = sp.simplify(exponent + (x - 1 - lam) ** 2 / (2 * z**2))
    if x in cgf.free_symbols:
        return Outcome(None, f"the square is not complete: {cgf}")
    budget = of(s.statement, cgf=cgf).rhs
    return budget, (lam + 1) / (2 * z**2), "the budget of the Gaussian mechanism, and Lemma B.6"


_POWERS: dict[str, Any] = {"lambda": [1, 2, 3]}


@algebra("any two answers", letters="y", **_POWERS)
def two_answers(s: Formula, y: Any, **instance: Any) -> Proof:
    """Answers of probabilities p, 1 - p against q, 1 - q: lambda times the Renyi divergence of order lambda + 1 is the
    logarithm of E e^(lambda L) at every whole lambda; as K_M is defined, y = E e^(lambda L) instead of log y, the
    budget is larger by (y - log y)/lambda, which is least at y = 1."""
    p, q = sp.symbols("p q", positive=True, probability=True)
    steps = []
    for power in instance["lambda"]:
        moment = p * sp.exp(power * sp.log(p / q)) + (1 - p) * sp.exp(power * sp.log((1 - p) / (1 - q)))
        divergence = sp.log(p ** (power + 1) * q**-power + (1 - p) ** (power + 1) * (1 - q) ** -power) / power
        budget = of(s.statement, **{"lambda": power, "cgf": sp.log(moment)}).rhs
        steps.append((sp.exp(power * budget), sp.exp(power * divergence), f"lambda = {power}"))
    found, excess = all_equal(*steps), y - sp.log(y)
    least = sp.solve(sp.diff(excess, y), y) == [1] and sp.diff(excess, y, 2).is_positive and excess.subs(y, 1) > 0
    return Outcome(True if found.true and least else None, f"{found.reason}; y - log y is at least 1")


LAMBDA = Hypothesis(lambda s: s["lambda"] > 0)


def _mechanisms(**parameters: str) -> dict[str, Any]:
    """Mechanisms with each of several parameters, which spaces separate."""
    pairs = ((name.replace("_", " "), text.split()) for name, text in parameters.items())
    return {"mechanisms": [[name, parameter] for name, values in pairs for parameter in values]}


def _at(name: str, build: Any, powers: str) -> Check:
    mechanisms = _mechanisms(gaussian="1 5", laplace="0.5 4", randomised_response="3 1.1")
    return Check("privacy", name, build, {**mechanisms, "lambda": powers.split()})


_AROUND_0 = {"lambda": ["0.01"]}, {"lambda": ["-0.01"]}

LEMMA_B3: Statement = noble.statement(
    **noble.named("noble2022.lemmaB.3"),
    hypotheses=(LAMBDA,),
    sides=lambda s: Sides({"Renyi budget": s.rdp}, {"CGF": s.cgf / s["lambda"]}),
    checks=battery(
        gaussian_divergence,
        two_answers,
        _at("with the logarithm, an equality", _WITH_LOGARITHM, "0.1 1 2.5 10"),
        _at("as K_M is defined, an upper bound", _AS_DEFINED, "0.1 1 2.5 10"),
        both_sides(_WITH_LOGARITHM, _mechanisms(gaussian="1"), "lambda > 0", *_AROUND_0),
    ),
)


EQ7: Statement = noble.statement(
    **noble.named("noble2022.eq7"),
    hypotheses=(LAMBDA,),
    sides=lambda s: Sides(
        {"CGF": s.cgf},
        {
            "below": (1 - s["lambda"] + sp.floor(s["lambda"])) * s.cgf_floor,
            "above": (s["lambda"] - sp.floor(s["lambda"])) * s.cgf_ceiling,
        },
    ),
    checks=battery(
        _gaussian_gap,
        _at("with the logarithm", _interpolation(True), "0.01 0.5 0.99 1 1.5 3 7.25 12.5"),
        _at("without the logarithm", _interpolation(False), "0.01 0.5 1 1.5 7.25"),
        both_sides(_interpolation(True), _mechanisms(gaussian="1"), "lambda > 0", *_AROUND_0),
    ),
)


# (5) and (6): epsilon for a delta, and delta for an epsilon.


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


def _guaranteed(given: str) -> Any:
    """given: the symbol of the privacy budget that is not bounded."""

    def gaussian(statement: Statement, z: Any, x: Any) -> tuple[Any, Any, Any]:
        from dpfl_theory.privacy.gaussian import gaussian_delta

        if given == "delta" and x >= 1:  # the minimum is no minimum there
            return mpmath.mpf(0), mpmath.mpf(0), mpmath.inf
        best = z * mpmath.sqrt(-2 * mpmath.log(x)) if given == "delta" else max(z**2 * x - mpmath.mpf(1) / 2, 0)
        power = mpmath.mpf(best)
        known = {given: x, "lambda": power, "cgf": power * (power + 1) / (2 * z**2)}
        limits = gaussian_delta(x, z) if given == "epsilon" else smallest_epsilon(lambda e: gaussian_delta(e, z), x)
        return (evaluate_side(statement, "rhs", known), *limits)

    def response(statement: Statement, e: Any, x: Any, count: int) -> tuple[Any, Any, Any]:
        def bound(power: Any) -> Any:
            known = {given: x, "lambda": power, "cgf": response_cgf(power, e, count)}
            return evaluate_side(statement, "rhs", known)

        claimed = minimize(bound)
        if given == "epsilon":
            return (min(claimed, bound(mpmath.mpf(0))), *composed_delta(e, 0, count, x))  # the limit at 0
        return (claimed, *smallest_epsilon(lambda y: composed_delta(e, 0, count, y), x))

    @claim(
        f"the mechanism's smallest {'epsilon' if given == 'delta' else 'delta'}",
        "for every mechanism: by Lemmas B.3 and B.4 each lambda gives a valid pair, and so does the "
        "infimum, whether or not it is attained",
    )
    def build(statement: Statement, instance: Mapping[str, Any]) -> Points:
        with mpmath.workdps(30):
            for name, parameter, x in _cases(instance, "target"):
                if name == "gaussian":
                    values = gaussian(statement, parameter, x)
                else:
                    values = response(statement, parameter, x, instance["answers"])
                yield PrivacyPoint({"mechanism": name, "parameter": parameter, given: x}, *values)

    return build


@algebra("the minimum for the Gaussian mechanism")
def _gaussian_minimum(s: Formula) -> Proof:
    """(L + lambda (lambda + 1)/(2 sigma^2))/lambda - (1/(2 sigma^2) + sqrt(2 L)/sigma) is a square over lambda."""
    (z, log), lam = sp.symbols("sigma_g L", positive=True), s["lambda"]
    objective = of(s.statement, cgf=lam * (lam + 1) / (2 * z**2), delta=sp.exp(-log)).rhs
    excess = (lam / z - sp.sqrt(2 * log)) ** 2 / (2 * lam)
    return objective - excess, 1 / (2 * z**2) + sp.sqrt(2 * log) / z, "equation (5) of the Gaussian mechanism"


@algebra("the minimum for the Gaussian mechanism")
def _gaussian_exponent(s: Formula) -> Proof:
    """lambda (lambda + 1)/(2 sigma^2) - lambda epsilon is a square less (sigma^2 epsilon - 1/2)^2/(2 sigma^2)."""
    z, lam = sp.Symbol("sigma_g", positive=True), s["lambda"]
    best = z**2 * s.epsilon - sp.Rational(1, 2)
    objective = sp.log(of(s.statement, cgf=lam * (lam + 1) / (2 * z**2)).rhs)
    return objective - (lam - best) ** 2 / (2 * z**2), -(best**2) / (2 * z**2), "the exponent of equation (6)"


def _two_mechanisms(given: str, targets: str) -> Check:
    mechanisms = _mechanisms(gaussian="0.5 1 10", randomised_response="0.1 1")
    instance = {**mechanisms, "answers": 20, "target": targets.split()}
    return Check("privacy", "Gaussian mechanism and randomised response", _guaranteed(given), instance)


_QUIET = {**_mechanisms(gaussian="0.1"), "answers": 20}

EQ5: Statement = noble.statement(
    **noble.named("noble2022.eq5"),
    hypotheses=(DELTA,),
    sides=lambda s: Sides(
        {"epsilon": s.epsilon}, {"conversion": sp.log(1 / s.delta) / s["lambda"], "CGF": s.cgf / s["lambda"]}
    ),
    checks=battery(
        _gaussian_minimum,
        _two_mechanisms("delta", "0.1 1e-3 1e-5 1e-10"),
        both_sides(_guaranteed("delta"), _QUIET, "delta < 1", {"target": ["0.99"]}, {"target": ["1"]}),
    ),
    smoke=("Gaussian mechanism and randomised response",),
    uses=("noble2022.lemmaB.3", "noble2022.lemmaB.4"),
)

EQ6: Statement = noble.statement(
    **noble.named("noble2022.eq6"),
    sides=lambda s: Sides({"delta": s.delta}, {"moment": sp.exp(s.cgf - s["lambda"] * s.epsilon)}),
    checks=battery(_gaussian_exponent, _two_mechanisms("epsilon", "0.1 0.5 1 1.5")),
    uses=("noble2022.lemmaB.3", "noble2022.lemmaB.4"),
)

STATEMENTS = (LEMMA_B3, EQ7, EQ5, EQ6)
