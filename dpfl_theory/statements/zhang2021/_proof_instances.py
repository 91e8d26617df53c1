"""Instances of one round for the steps of zhang2021's proof: scalar quadratics, as plain data for `ScalarRound`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple
from fractions import Fraction
from typing import Any

from dpfl_theory.statements.model import Check, checks
from dpfl_theory.statements.zhang2021._limits import StepLimits
from dpfl_theory.statements.zhang2021._round import rounds

__all__ = ["CLIPPED", "PLAIN", "REPAIRED_STEPS", "edges", "exact", "step_edges"]

_THREE = ["without", "anew", "shared"]
_POINTS = ["0", "1", "-7/3", "12"]

PLAIN: dict[str, dict[str, Any]] = {
    "one client, one step": {"q": ["1"], "m": ["0"], "Q": 1, "P": 1, "noise": "1"},
    "identical clients": {"q": ["1"] * 3, "m": ["0"] * 3, "Q": 4, "P": 2, "noise": "1"},
    "two clients far apart": {"q": ["1", "1"], "m": ["-50", "50"], "Q": 3, "P": 1, "noise": "1"},
    "different curvatures, one negative": {
        "q": ["2", "-1", "1/2"],
        "m": ["1", "4", "-3"],
        "Q": 5,
        "P": 2,
        "noise": "3",
        "sigma": "1/10",
    },
    "concave clients, full participation": {"q": ["-1", "-1"], "m": ["0", "2"], "Q": 3, "P": 2, "noise": "1/2"},
    "many steps": {"q": ["1", "3"], "m": ["0", "1"], "Q": 30, "P": 1, "noise": "1"},
}
"""Without clipping: the moments are in closed form."""

CLIPPED: dict[str, dict[str, Any]] = {
    "clipped, two clients far apart": {"q": ["1", "1"], "m": ["-50", "50"], "Q": 2, "P": 1, "c": "1/2", "noise": "1"},
    "clipped, noise decides": {"q": ["1", "2"], "m": ["0", "1"], "Q": 4, "P": 2, "c": "1/20", "noise": "2"},
    "clipped, skew noise": {
        "q": ["2", "-1", "1/2"],
        "m": ["1", "4", "-3"],
        "Q": 3,
        "P": 2,
        "c": "1/10",
        "noise": "3",
        "law": "skew",
        "sigma": "1/10",
    },
    "one client clipped": {"q": ["1"] * 4, "m": ["0", "0", "0", "1000"], "Q": 2, "P": 3, "c": "1", "noise": "1"},
}
"""With clipping: all noise paths are enumerated."""

_STEP = {"eta Q L": "129/1000", "eta_g": "1", "x": _POINTS, "samplings": _THREE}
REPAIRED_STEPS = {"eta Q L": "91/1000", "eta_g": "1/11", "x": _POINTS, "samplings": ["without", "anew"]}
"""0.091 < 1/sqrt(120) = 0.09129; with eta_g = 1/11 the product is at most P/(120 Q L) for every P >= 1."""


def exact(
    expected: str | Mapping[str, str] = "holds",
    step: Mapping[str, Any] | None = None,
    build: Callable[..., Any] = rounds,
    title: str = "",
    **more: Any,
) -> tuple[Check, ...]:
    """An exact check on every instance above, see `dpfl_theory.statements.model.checks`; title: what is put before the
    instances' names."""
    found = {title + name: {**_STEP, **(step or {}), **i, **more} for name, i in {**PLAIN, **CLIPPED}.items()}
    return checks("exact", build, found, expected)


def edges() -> tuple[Check, ...]:
    """An exact check just inside the limit of the local step, 1/(sqrt(60) QL), and one just outside."""
    of = {"q": ["1", "2"], "m": ["-1", "3"], "x": ["0"], "Q": 2, "P": 1, "eta_g": "1/20", "noise": "1"}
    inside, outside = (f"just {where} eta_l <= 1/(sqrt(60) QL)" for where in ("inside", "outside"))
    found = {inside: {**of, "eta Q L": "129/1000"}, outside: {**of, "eta Q L": "130/1000"}}
    return checks("exact", rounds, found, {outside: "not-applicable"})


def step_edges(
    limits: StepLimits | None, build: Callable[..., Any], cohort: bool = True, **more: Any
) -> tuple[Check, ...]:
    """Exact checks just inside and just outside each of the three limits of the steps (None: the printed ones), with
    identical clients that all take part, L = 1; cohort: whether P <= N is a hypothesis."""
    local, product, pairs = (60, 48, 6) if limits is None else astuple(limits)
    least, above = {60: ("129/1000", "130/1000"), 120: ("91/1000", "92/1000")}[local]
    many = product // pairs + 3
    found: dict[str, dict[str, Any]] = {}
    outside = []
    for where, name, clients, eta, share in (
        ("inside", f"eta_l <= 1/(sqrt({local}) QL)", 1, least, "1/2"),
        ("outside", f"eta_l <= 1/(sqrt({local}) QL)", 1, above, "1/2"),
        ("inside", f"eta_g eta_l <= P/({product}Q{'L' if limits else ''})", 1, "1/100", "99/100"),
        ("outside", f"eta_g eta_l <= P/({product}Q{'L' if limits else ''})", 1, "1/100", "101/100"),
        ("inside", f"eta_g eta_l <= P/({pairs}QL(P-1))", many, "1/100", "99/100"),
        ("outside", f"eta_g eta_l <= P/({pairs}QL(P-1))", many, "1/100", "101/100"),
    ):
        longest = clients / (max(product, pairs * (clients - 1)) * Fraction(eta))
        run = {"q": ["1"] * clients, "m": ["0"] * clients, "x": ["1"], "Q": 2, "P": clients, "samplings": ["without"]}
        edge = f"just {where} {name}"
        if where == "outside":
            outside.append(edge)
        found[edge] = {**run, "eta Q L": eta, "eta_g": str(Fraction(share) * longest), **more}
    if cohort:
        outside.append("just outside P <= N")
        found[outside[-1]] = {**found[next(iter(found))], "stated": {"N": "-1"}}
    return checks("exact", build, found, dict.fromkeys(outside, "not-applicable"))
