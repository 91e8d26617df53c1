"""The epsilon from which on hou2023's T* is at least 1, as Theorem 1 asks: Corollary 1 at Section 3's budgets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.core import Check, Outcome, Statement
from dpfl_theory.core.formula import prescription_of, symbols_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.symbolic import all_equal

__all__ = ["CHECKS", "least_epsilon"]

SECTION3 = ("3.3", "2", "1", "0.5")
"""Its values of epsilon, each with delta = 1e-5."""
_LOGISTIC: dict[str, Any] = {"condition": 25, "d": 31, "v": 4, "delta": "1e-5", "epsilons": list(SECTION3)}
"""Ridge logistic regression on the breast-cancer data with an intercept, C = ||x_0 - x*||, h_0 = h*: Figure 12's
setting as far as it is printed; v = 4 is the constant of Lemma 1 repaired."""


def least_epsilon(s: Mapping[str, Any], T: Any) -> Any:
    """The epsilon with T* = 1, for T* as the statement prescribes it: T* is a constant plus 2 ln(epsilon)/rate."""
    rate = sp.log(1 / (1 - s["mu"] / s["L"]))
    return sp.exp((1 - T.subs(s["epsilon"], 1)) * rate / 2)


def _threshold(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
    """T* = 1 at epsilon^2 = v C^2 N d ln(1/delta)/(psi_0 x ln(1/x)), x = 1 - mu/L, and T* increases with epsilon; x
    ln(1/x) is concave with the maximum 1/e, at x = 1/e, so that epsilon >= C sqrt(e v N d ln(1/delta)/psi_0)."""
    s, x = symbols_of(statement), sp.Symbol("x", positive=True)
    chosen = prescription_of(statement)
    T = chosen["T"]
    psi = s.D**2 + ((chosen["eta"] / chosen["p"]) ** 2 * s.H**2 if "H" in s else 0)
    noise = s.v * s.C**2 * s.N * s.d * sp.log(1 / s.delta)
    rest = 1 - s.mu / s.L
    square = noise / (psi * rest * sp.log(1 / rest))
    inside = sp.exp(T * sp.log(1 / rest))  # T* is a multiple of its logarithm
    share = x * sp.log(1 / x)
    found = all_equal(
        (inside.subs(s.epsilon, sp.sqrt(square)), 1 / rest, "the argument of T* at this epsilon"),
        (s.epsilon * sp.diff(T, s.epsilon), 2 / sp.log(1 / rest), "the derivative of T* in ln(epsilon)"),
        (sp.diff(share, x).subs(x, sp.exp(-1)), 0, "the slope of x ln(1/x) at 1/e"),
        (share.subs(x, sp.exp(-1)), sp.exp(-1), "its value there"),
    )
    if not found.true:
        return found
    if not sp.diff(share, x, 2).is_negative:
        return Outcome(None, "x ln(1/x) was not found to be concave")
    return Outcome(
        True,
        "T* >= 1 if and only if epsilon^2 >= v C^2 N d ln(1/delta)/(psi_0 (1 - mu/L) ln([1 - mu/L]^(-1))), which is at "
        "least e v C^2 N d ln(1/delta)/psi_0",
    )


def _section3(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
    """T* at Section 3's budgets, and the least epsilon with T* >= 1, by the statement's own T*."""
    s = symbols_of(statement)
    # One client at a distance of 1: D^2 = N ||x_0 - x*||^2 and C = ||x_0 - x*|| leave N and the unit.
    own = {"L": instance["condition"], "mu": 1, "N": 1, "C": 1, "D": 1, "H": 0, "d": instance["d"]}
    own |= {"v": instance["v"], "delta": sp.Rational(instance["delta"])}
    T = prescription_of(statement)["T"].subs({s[name]: value for name, value in own.items() if name in s})
    known = {text: T.subs(s.epsilon, sp.Rational(text)).evalf() for text in instance["epsilons"]}
    edge = least_epsilon({**s, "mu": 1, "L": instance["condition"]}, T).evalf()
    if not all(number.is_Float for number in (edge, *known.values())):
        return Outcome(None, f"T* is no real number everywhere: {known}")
    least, found = float(edge), {text: round(float(number), 1) for text, number in known.items()}
    any_condition = float(sp.sqrt(sp.E * own["v"] * sp.log(1 / own["delta"])))
    return Outcome(
        max(found.values()) < 1.0 < least,
        f"T* >= 1 takes epsilon >= {least:.1f}; at epsilon = {', '.join(instance['epsilons'])} T* is "
        f"{', '.join(f'{v:g}' for v in found.values())}",
        {"least epsilon": least, "T*": found, "least epsilon over sqrt(d), whatever L/mu": any_condition},
    )


_RANGE = (
    "It decides from which epsilon on the prescribed T* is at least 1; the two sides concern instances where it is."
)
CHECKS = (
    Check("algebra", "the least epsilon with T* >= 1", _threshold, part=_RANGE),
    Check("algebra", "T* is below 1 at Section 3's epsilons", _section3, _LOGISTIC, part=_RANGE),
)
"""The checks of where T* is below 1."""
