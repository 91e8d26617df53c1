"""The symbols of shulgin2025's convergence analysis, each mapped once to its meaning, unit and domain.

With server normalisation the step gamma is a length. L is a smoothness constant of f (here L_f), L_max the largest one
of the f_i; alpha, beta and the memories v_i have the gradient's unit, and the noise has no unit.

Hypotheses are tested on the actual run: its values are taken from the algorithm and the problem. ``residual_0``, which
is not a symbol, is its max_i ||grad f_i(x^0) - v_i^0||. Without a run (a recommendation) R is taken as given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dpfl_theory.core.hypothesis import Hypothesis
from dpfl_theory.statements.model import Expected, Symbol

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

PAPER = "shulgin2025"
_CLOSE = 1e-9
"""Relative difference of two numbers that are computed in different ways and count as equal."""

_ALL = (
    Symbol("gap", "f(x^0) - f_inf", (1, 0), "positive", r"(f(x^0) - f^{\inf})"),
    Symbol("gamma", "step size after server normalisation", (0, 1), "positive", r"\gamma"),
    Symbol("K", "index of the last round; there are K + 1", (0, 0), "nonnegative", "K"),
    Symbol("R", "max_i ||grad f_i(x^0) - v_i^0||", (1, -1), "positive", "R"),
    Symbol("D", "R times sqrt(K + 1)", (1, -1), "positive", "D"),
    Symbol("tau", "clipping threshold", (1, -1), "positive", r"\tau"),
    Symbol("alpha", "smoothing of the normalisation", (1, -1), "nonnegative", r"\alpha"),
    Symbol("beta", "step of the memories", (1, -1), "positive", r"\beta"),
    Symbol("beta_0", "step of the memories times K + 1", (1, -1), "positive", r"\beta_0"),
    Symbol("L", "smoothness constant of f", (1, -2), "positive", "L"),
    Symbol("L_max", "largest smoothness constant of the f_i", (1, -2), "positive", r"L_{\max}"),
    Symbol("n", "number of clients", (0, 0), "integer", "n"),
    Symbol("d", "dimension", (0, 0), "integer", "d"),
    Symbol("sigma", "standard deviation of each coordinate of a client's noise", (0, 0), "nonnegative", r"\sigma"),
    Symbol("c", "the constant that the order of sigma hides", (0, 0), "positive", "c"),
    Symbol("epsilon", "privacy budget", (0, 0), "positive", r"\varepsilon"),
    Symbol("delta", "privacy failure probability", (0, 0), "probability", r"\delta"),
)
SYMBOLS = {symbol.name: symbol for symbol in _ALL}


def _least(name: str, latex: str, meaning: str) -> Expected:
    return Expected(name, (("gradient-norm", 1),), (1, -1), latex, meaning, when="least")


LEAST = _least("least", r"\min_k \|\nabla f(x^k)\|", "min_k ||grad f(x^k)|| over k = 0..K, of a run without noise")
E_LEAST = _least("E_least", r"\min_k \mathbb{E}\|\nabla f(x^k)\|", "min_k E||grad f(x^k)|| over k = 0..K")


def next_residual(radius: str) -> Expected:
    """Lemma 2's left side, after a round that started with residuals of at most this radius."""
    return Expected(
        "residual",
        (("largest-residual", 1),),
        (1, -1),
        r"\max_i \|\nabla f_i(x^{k+1}) - v_i^{k+1}\|",
        f"the largest residual after a round that started with residuals of at most {radius}",
        when="end",
    )


BOUND = Symbol("R", "a bound of the residuals ||grad f_i(x^k) - v_i^k||", (1, -1), "positive", "R")
SCALE = Symbol("R", "the length in the limits of beta and gamma", (1, -1), "positive", "R")
"""R of Lemma 2, as restored and as repaired."""


def six_digits(value: Any) -> str:
    """A number of any kind in six digits."""
    return f"{float(value):.6g}"


def symbols(*names: str) -> tuple[Symbol, ...]:
    """These symbols, in this order."""
    return tuple(SYMBOLS[name] for name in names)


def _contracts(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    if not values["alpha"] >= 0:
        return f"alpha = {six_digits(values['alpha'])} is negative"
    beta, most = values["beta"], values["alpha"] + values["R"]
    return (
        None
        if 0 < beta < most
        else f"beta = {six_digits(beta)} does not lie in (0, alpha + R) = (0, {six_digits(most)})"
    )


def _step(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    most = values["beta"] * values["R"] / ((values["alpha"] + values["R"]) * values["L_max"])
    if 0 < values["gamma"] <= most * (1 + 1e-12):
        return None
    return (
        f"gamma = {six_digits(values['gamma'])} does not lie in (0, beta R/((alpha + R) L_max)] = (0, "
        f"{six_digits(most)}]"
    )


def whole_rounds(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    K = values["K"]
    return None if K >= 0 and int(K) == K else f"K = {K} is not a whole number"


def too_small(problem: Problem | None, values: Mapping[str, Any], *names: str) -> str | None:
    """Why L or L_max is not a smoothness constant of the problem, None if it is."""
    if problem is None:
        return None
    least = {"L": problem.constants.L_f, "L_max": problem.constants.L_max}
    for name in names:
        if not least[name] <= values[name] * (1 + 1e-12):
            return (
                f"{name} = {six_digits(values[name])} is too small: the problem's constant is {six_digits(least[name])}"
            )
    return None


def _smooth(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    if not values["L"] <= values["L_max"] * (1 + 1e-12):
        return f"L = {values['L']} exceeds L_max, which suffices"
    return too_small(problem, values, "L", "L_max")


def _accuracy(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    R = values["D"] / (values["K"] + 1) ** 0.5
    if values["D"] > 0 and abs(values["R"] - R) <= 1e-9 * R:
        return None
    return f"R = {six_digits(values['R'])} is not D/sqrt(K + 1) = {six_digits(R)}"


def tracked_radius(values: Mapping[str, Any]) -> float:
    """The repaired Lemma 2's rho = max(R, q + beta R/(alpha + R)), q = max(0, sqrt(beta) - sqrt(alpha))^2.

    >>> round(tracked_radius({"R": 1.0, "alpha": 0.0, "beta": 0.9}), 9)
    1.8
    """
    R, alpha, beta = (float(values[name]) for name in ("R", "alpha", "beta"))
    if not (R > 0 and alpha >= 0 and beta >= 0):
        return R
    return max(R, max(0.0, math.sqrt(beta) - math.sqrt(alpha)) ** 2 + beta * R / (alpha + R))


def _residual(exactly: bool, tracked: bool = False) -> Callable[[Problem | None, Mapping[str, Any]], str | None]:
    name = "rho" if tracked else "R"

    def test(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
        if not values["R"] > 0:
            return f"R = {six_digits(values['R'])} is not positive"
        most = tracked_radius(values) if tracked else values["R"]
        found = values.get("residual_0")
        if found is None or (found <= most * (1 + _CLOSE) and (not exactly or found >= most * (1 - _CLOSE))):
            return None
        which = "is not" if exactly else "exceeds"
        return f"the run's largest residual is {six_digits(found)}, which {which} {name} = {six_digits(most)}"

    return test


def _quiet(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    sigma = values.get("sigma", 0.0)
    return None if sigma == 0 else f"the messages have noise, sigma = {six_digits(sigma)}"


def _noise(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    if not (values["sigma"] >= 0 and math.isfinite(values["sigma"])):
        return f"sigma = {values['sigma']} is not a standard deviation"
    for name in ("n", "d"):
        if problem is not None and values[name] != getattr(problem, name):
            return f"{name} = {six_digits(values[name])}, while the problem has {getattr(problem, name)}"
    return None


def _prescribed(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    count = values["K"] + 1
    beta = values["beta_0"] / count
    chosen = {
        "sigma": values["c"] * (count * math.log(1 / values["delta"])) ** 0.5 / values["epsilon"],
        "beta": beta,
        "gamma": beta * values["R"] / ((values["alpha"] + values["R"]) * values["L_max"]),
    }
    for name, value in chosen.items():
        if not abs(values[name] - value) <= _CLOSE * value:
            return f"{name} = {six_digits(values[name])} is not the prescribed {six_digits(value)}"
    return None


SMOOTH = Hypothesis.custom(
    "f is L-smooth and bounded from below, each f_i is L_i-smooth, L <= L_max = max_i L_i", _smooth
)
CONTRACTS = Hypothesis.custom("beta/(alpha + R) < 1", _contracts)
STEP = Hypothesis.custom("0 < gamma <= beta R/((alpha + R) L_max)", _step)
ROUNDS = Hypothesis.custom("K + 1 rounds, K a whole number", whole_rounds)
ACCURATE = Hypothesis.custom("R = D/sqrt(K + 1) with D > 0", _accuracy)
CLIENTS = Hypothesis.custom("each f_i is L_max-smooth", lambda problem, values: too_small(problem, values, "L_max"))
FIRST = Hypothesis.custom("R = max_i ||grad f_i(x^0) - v_i^0|| > 0", _residual(exactly=True))
WITHIN = Hypothesis.custom("max_i ||grad f_i(x^k) - v_i^k|| <= R and R > 0", _residual(exactly=False))
TRACKED = Hypothesis.custom(
    "max_i ||grad f_i(x^k) - v_i^k|| <= rho = max(R, q + beta R/(alpha + R)) and R > 0, q = max(0, sqrt(beta) - "
    "sqrt(alpha))^2",
    _residual(exactly=False, tracked=True),
)
QUIET = Hypothesis.custom("the server receives the messages without noise", _quiet)
NOISE = Hypothesis.custom("z_i^k ~ N(0, sigma^2 I_d) independent for each of the n clients and rounds", _noise)
PRESCRIBED = Hypothesis.custom("sigma, beta and gamma are the prescribed ones", _prescribed)
