"""Exact instances for the lemmas that bound one round: users, cohorts and step sizes at their limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Check, Statement, Values
from dpfl_theory.core import checks as checks_of
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022._moments import RoundMoments, Users, rounds, users_of

__all__ = [
    "CONVEX",
    "FEW",
    "GLOBAL",
    "LONG",
    "MIXED",
    "OTHER",
    "checks",
    "noise",
    "power",
    "root",
    "rounds_of",
    "symbols",
]


def _instance(curvatures: list[str], offsets: list[str], size: int, K: int, **more: Any) -> dict[str, Any]:
    common = {"start": ["0", "3"], "V": ["0", "1", "10000"], "T": 3, "eta_g": "1"}
    return {"curvatures": curvatures, "offsets": offsets, "size": size, "K": K, **common, **more}


CONVEX: dict[str, dict[str, Any]] = {
    "one user": _instance(["1"], ["0"], 1, 2),
    "two equal users, one at a time": _instance(["1", "1"], ["0", "0"], 1, 2),
    "two far apart, one at a time": _instance(["1", "1/4"], ["10", "-10"], 1, 2),
    "three users, all": _instance(["1", "0", "1/2"], ["1", "-5", "2"], 3, 2, eta_g="2", T=2),
    "four users, one at a time": _instance(["1", "1", "1/2", "0"], ["9", "-9", "1", "0"], 1, 1),
    "four users, one at a time, K = 3": _instance(["1", "1", "1/2", "0"], ["9", "-9", "1", "0"], 1, 3, T=2),
    "eight users, one at a time": _instance(["1", *["1/2"] * 7], ["9", *["-1"] * 7], 1, 1, T=2, V=["1"]),
}
OTHER: dict[str, dict[str, Any]] = {
    "two users, one concave": _instance(["1", "-1/2"], ["1", "0"], 1, 2),
    "four users, one concave": _instance(["1", "1", "-1", "0"], ["9", "-9", "1", "0"], 1, 1),
}

GLOBAL = {
    f"{name} users, one at a time, eta_g = 4": _instance(
        ["1", *["0"] * (M - 1)], ["0"] * M, 1, 1, start=["0"], V=["1"], T=2, eta_g="4"
    )
    for name, M in (("four", 4), ("eight", 8))
}
"""Only errors, from x* on, and a long global step: the number of users whose errors the server averages matters."""

LONG = {"one user, K = 3, eta_g = 1/12": _instance(["1"], ["0"], 1, 3, eta_g="1/12", T=1)}
"""Local steps that are long where the server's is not: there the drift helps least."""

MIXED = CONVEX | OTHER
"""For the sharpened forms, which ask for no convexity and imply the printed ones."""
FEW = {name: CONVEX[name] for name in ("one user", "three users, all", "eight users, one at a time")}
"""For the printed forms, which follow from the sharpened ones and hold wherever these do."""


def root(square: Fraction) -> Any:
    """The root of a fraction: a fraction, or a number of sympy.

    >>> root(Fraction(4, 9)), root(Fraction(2))
    (Fraction(2, 3), sqrt(2))
    """
    return evaluate(sp.sqrt(sp.Symbol("square", positive=True)), {"square": square})


def noise(V: Fraction) -> dict[str, Any]:
    """Symbols with varsigma^2/(sR) + Sigma_g^2 = V: 8/9 of it is that of two of four records, rational with V's root.

    >>> noise(Fraction(9))["varsigma"], noise(Fraction(9))["Sigma"]
    (Fraction(4, 1), Fraction(1, 1))
    """
    return {"s": Fraction(1, 2), "R": 4, "varsigma": root(16 * V / 9), "Sigma": root(V / 9)}


def symbols(users: Users, moments: RoundMoments, instance: Mapping[str, Any]) -> dict[str, Any]:
    """One round by the symbols of Lemmas C.4 to C.7. ``l`` of an instance takes the place of lM over M, of which
    Algorithm 1 draws a whole number of users; ``mu`` that of the least curvature."""
    steps = {"eta": users.step, "eta_g": users.eta_g, "nu": users.smoothness}
    sizes = {"K": users.local_steps, "l": Fraction(instance.get("l", users.share)), "M": len(users.curvatures)}
    exponent = {"alpha": Fraction(instance["alpha"])} if "alpha" in instance else {}
    steps["mu"] = Fraction(instance["mu"]) if "mu" in instance else min(users.curvatures)
    return {**vars(moments), **steps, **sizes, **exponent, **noise(users.variance)}


def rounds_of(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """Every round from every start and at every variance of the instance."""
    found = []
    for start in instance["start"]:
        for V in instance["V"]:
            users = users_of({**instance, "start": start, "V": V})
            at = {"x^0": start, "V": V, "M": len(users.curvatures), "lM": users.size, "K": instance["K"]}
            for t, moments in enumerate(rounds(users, int(instance["T"])), 1):
                found.append(Values(symbols(users, moments, instance), {"t": t, **at}))
    return found


def checks(
    limit: Callable[[Fraction], Fraction | None],
    instances: Mapping[str, Mapping[str, Any]],
    expected: str = "holds",
    named: str = "",
    **more: Any,
) -> tuple[Check, ...]:
    """One check an instance, at the step size ``limit`` of its l (left out where that is no fraction).

    named: the end of each name.
    """
    found = {}
    for name, instance in instances.items():
        step = limit(Fraction(int(instance["size"]), len(instance["curvatures"])))
        if step is not None:
            found[f"{name}, eta~ nu = {step}{named}"] = {**instance, "eta~ nu": str(step), **more}
    return checks_of("exact", rounds_of, found, expected)


def power(base: Fraction, exponent: Fraction) -> Fraction | None:
    """base^exponent where it is a fraction, else None.

    >>> power(Fraction(1, 8), Fraction(2, 3)), power(Fraction(1, 2), Fraction(1, 2))
    (Fraction(1, 4), None)
    """
    p, q = exponent.numerator, exponent.denominator
    roots = [round(v ** (1 / q)) for v in (base.numerator, base.denominator)]
    root = Fraction(roots[0], roots[1])
    return root**p if root**q == base else None
