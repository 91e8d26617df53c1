"""The longest step of Lemmas C.7 to C.9, eta~ = min(l^(2/3)/(24 nu), l/(54 mu)), and the decision at its corners."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from typing import Any

from dpfl_theory.core import Outcome
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.lazy import sympy as sp

__all__ = ["least_slacks", "limit", "rate", "step_limit_symbolic", "unless_quiet"]


def step_limit_symbolic(s: Mapping[str, Any]) -> Any:
    """l^(2/3)/(24 nu), from sympy symbols."""
    return s["l"] ** sp.Rational(2, 3) / (24 * s["nu"])


def limit(values: Mapping[str, Any]) -> float:
    """The longest eta~ as a number; without mu, or at 0, its second bound is absent.

    >>> limit({"l": 1, "nu": 2}), limit({"l": 1, "nu": 2, "mu": 2})
    (0.020833333333333332, 0.009259259259259259)
    """
    most, mu = values["l"] ** (2 / 3) / (24 * values["nu"]), values.get("mu")
    return float(min(most, values["l"] / (54 * mu)) if mu else most)


def rate(s: Mapping[str, Any]) -> Any:
    """min(l/108, mu l^(2/3)/(48 nu)), which is mu/2 times the longest eta~, from sympy symbols; with nu taken out,
    since sympy cannot typeset its exponential otherwise."""
    return sp.Min(s["l"] * s["nu"] / 108, s["mu"] * s["l"] ** sp.Rational(2, 3) / 48) / s["nu"]


def unless_quiet(step: Any, values: Mapping[str, Any]) -> float:
    """A step that balances the noise, as a number; inf without noise."""
    quiet = not (values["varsigma"] or values["Sigma"])
    return math.inf if quiet else float(evaluate(step, values))


def least_slacks(slacks: Mapping[str, Any], s: Mapping[str, Any], per: str) -> Outcome:
    """Whether expressions of l, nu, M, eta~, eta_g (and mu) are nonnegative up to the longest step, for eta_g >= 1.

    With theta = 24 nu eta~/l^(2/3), p = l^(2/3), h = 1/eta_g^2 and phi = 54 mu eta~/l in [0, 1] and z = lM/eta_g^2 >= 0
    each must be affine in each symbol: the corners of the first four decide, where the slack at z = 0 and its increase
    in z (named by ``per``) are not negative.
    """
    theta, p, h, phi, z = sp.symbols("theta p h phi z", positive=True)
    share, eta, eta_g = s["l"], s["eta"], s["eta_g"]
    least = {}
    for name, slack in slacks.items():
        ratio = sp.simplify(slack).subs(s["M"], z * eta_g**2 / share)
        ratio = ratio.subs(s["mu"], phi * share / (54 * eta)) if "mu" in s else ratio
        ratio = ratio.subs(eta, theta * step_limit_symbolic(s)).subs(eta_g, 1 / sp.sqrt(h))
        ratio = sp.expand(sp.simplify(ratio.subs(share, p ** sp.Rational(3, 2))))
        symbols = sorted(ratio.free_symbols, key=str)
        if not set(symbols) <= {theta, p, h, phi, z} or any(sp.degree(ratio, v) > 1 for v in symbols):
            return Outcome(None, f"the slack of {name} is not affine in each symbol: {ratio}")
        ends = [v for v in symbols if v != z]
        corners = [dict(zip(ends, c)) for c in product((0, 1), repeat=len(ends))]
        least[name] = min(ratio.subs(z, 0).subs(c) for c in corners)
        if z in symbols:
            least[f"{name}, {per}"] = min(sp.diff(ratio, z).subs(c) for c in corners)
    shown = ", ".join(f"{name} {value}" for name, value in least.items())
    fine = all(value >= 0 for value in least.values())
    return Outcome(True if fine else None, f"the least slack of each coefficient: {shown}", {"slacks": shown})
