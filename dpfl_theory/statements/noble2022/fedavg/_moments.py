"""DP-FedAvg on one-dimensional quadratics: T rounds of Theorem C.2 repaired in fractions, with cohorts and noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import ceil, isqrt
from typing import Any

from dpfl_theory.core import Check, Statement, Values
from dpfl_theory.core import checks as each
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import prescription_of, symbols_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.noble2022._moments import Users, below, squares, users_of, weighted


def dissimilarity(users: Users, B: Fraction) -> Fraction:
    """The least G^2 of Assumption 4: the largest value over x of (1/M) sum_i F_i'(x)^2 - B^2 F'(x)^2.

    Raises ValueError where none exists.
    """
    M, star = len(users.curvatures), users.minimiser
    rests = [a * star - b for a, b in zip(users.curvatures, users.offsets)]  # F_i' = a_i z + rest_i; they add up to 0
    square = sum((a * a for a in users.curvatures), Fraction(0)) / M - (B * users.mean_curvature) ** 2
    mixed = sum((a * r for a, r in zip(users.curvatures, rests)), Fraction(0)) / M
    rest = sum((r * r for r in rests), Fraction(0)) / M
    if square < 0:
        return rest - mixed * mixed / square
    if square or mixed:
        raise ValueError(f"no G serves B = {B}: the curvatures differ too much")
    return rest


def cases(statement: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """The mean of E F(x^t) - F* or of E F'(x^t)^2 over t < T, weighted with (1 - mu eta~/2)^{-t} where the statement
    has mu, with the prescribed step rounded down to a fraction; rounded up at the 30th digit."""
    kind = "slope" if "slope" in symbols_of(statement) else "excess"
    step = prescription_of(statement)["eta_l"]
    for T, V in product(instance["T"], instance["V"]):
        root = isqrt(int(instance["size"]))
        if root**2 != int(instance["size"]):
            raise ValueError(f"lM = {instance['size']} is no square: eta_g = sqrt(lM) must be rational")
        users = users_of({**instance, "eta~ nu": 1, "eta_g": root, "V": V})
        B = Fraction(str(instance["B"]))
        square = Fraction(str(instance["G^2"])) if "G^2" in instance else dissimilarity(users, B)
        values = _values(users, B, square, T)
        users = replace(users, eta_l=below(evaluate(step, values), 10**9))
        rate = min(users.curvatures) * users.step / 2 if "mu" in symbols_of(statement) else Fraction(0)
        unit = users.mean_curvature**2 if kind == "slope" else users.mean_curvature / 2
        values |= {
            "eta_l": users.eta_l,
            kind: Fraction(ceil(unit * weighted(squares(users, T - 1, control=False), rate) * 10**30), 10**30),
        }
        yield Values(values, {"T": T, "V": V, "eta~ nu": users.step * users.smoothness, "G^2": square})


def _values(users: Users, B: Fraction, square: Fraction, T: int) -> dict[str, Any]:
    """The symbols' values, exact, G^2 = square; there is only one record, so that V is Sigma^2."""
    away = users.start - users.minimiser
    return {
        "eta_g": users.eta_g, "nu": users.smoothness, "mu": min(users.curvatures), "varsigma": 0, "s": 1, "R": 1,
        "Sigma": sp.sqrt(sp.Rational(users.variance)), "K": users.local_steps, "l": users.share,
        "M": len(users.curvatures), "T": T, "B": B, "G": sp.sqrt(sp.Rational(square)), "D0": abs(away),
        "F0": users.mean_curvature / 2 * away * away,
    }  # fmt: skip


_EQUAL = {"curvatures": ["1", "1"], "offsets": ["1", "-1"], "size": 1, "start": "2", "B": 1}
_INSTANCES: dict[str, dict[str, Any]] = {
    "one of two users, equal curvatures": {**_EQUAL, "K": 2, "T": [1, 32, 200], "V": ["0", "1/4", "100"]},
    "one of two users, curvatures 1 and 1/2": {
        **_EQUAL, "curvatures": ["1", "1/2"], "start": "-3", "B": 2, "K": 3, "T": [80, 200], "V": ["0", "1"],
    },
    "four of six users": {
        "curvatures": ["1", "1", "3/4", "3/4", "1/2", "1/2"], "offsets": ["3", "-3", "1", "-1", "2", "-2"], "size": 4,
        "start": "1", "B": 2, "K": 2, "T": [80, 200], "V": ["0", "1"],
    },
    "one user alone": {
        "curvatures": ["1"], "offsets": ["0"], "size": 1, "start": "1", "B": 1, "K": 4, "T": [32, 200],
        "V": ["1/100", "100"],
    },
}  # fmt: skip
_CURVED: dict[str, dict[str, Any]] = {
    "one of two users, one of them concave": {
        **_EQUAL, "curvatures": ["1", "-1/2"], "start": "2", "B": 4, "K": 3, "T": [1, 200], "V": ["0", "1"],
    },
}  # fmt: skip


_EDGE: dict[str, Any] = {**_INSTANCES["one user alone"], "B": "5/2", "V": ["1"]}
_LEAST = {"just inside T >= 8 (1 + B^2) nu/mu": {"T": [58]}}
_LESS = {"just outside T >= 8 (1 + B^2) nu/mu": {"T": [57]}}
_SIMILAR = {"just inside B >= 1": {"B": "1"}}
_TOO_SIMILAR = {"just outside B >= 1": {"B": "99/100", "G^2": "1"}}


def checks(kind: str) -> tuple[Check, ...]:
    """Few rounds and many, without noise and with much of it; concave users where they are allowed; and the edges of
    the hypotheses, for one user."""
    chosen = {**_INSTANCES, **(_CURVED if kind == "non-convex" else {})}
    edges = {name: {**_EDGE, "T": [100], **change} for name, change in {**_SIMILAR, **_TOO_SIMILAR}.items()}
    outside = [*_TOO_SIMILAR]
    if kind == "strongly convex":  # T >= 8 (1 + B^2) nu/mu
        chosen = {name: {**i, "T": [T for T in i["T"] if T > 1]} for name, i in chosen.items()}
        edges |= {name: {**_EDGE, **change} for name, change in {**_LEAST, **_LESS}.items()}
        outside += _LESS
    return (
        *each("exact", cases, {f"all rounds, {name}": i for name, i in chosen.items()}),
        *each("exact", cases, edges, dict.fromkeys(outside, "not-applicable")),
    )
