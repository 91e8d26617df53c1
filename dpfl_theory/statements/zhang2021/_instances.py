"""Instances of zhang2021's rounds and runs, as plain data, and the exact checks that share them.

Rounds and trees of runs are of scalar quadratics, for `_round.ScalarRound`; simulated runs for `_runs.simulated`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Check, checks
from dpfl_theory.core.prose import plain
from dpfl_theory.statements.zhang2021._round import rounds
from dpfl_theory.statements.zhang2021._symbols import StepLimits

__all__ = [
    *(
        "ALLOWED",
        "AT_REST",
        "BROKEN",
        "CLIPPED",
        "EVERYBODY",
        "LONG",
        "LONGER",
        "ONE_ROUND",
        "PLAIN",
        "PRIVATE",
        "PRIVATE_OUTSIDE",
    ),
    *("REPAIRED_STEPS", "SIMULATED", "SIMULATED_BROKEN", "UNSTABLE", "edges", "exact", "quadratics", "step_edges"),
]

Instances = dict[str, dict[str, Any]]


def quadratics(q: str, m: str, Q: int, P: int, **more: Any) -> dict[str, Any]:
    """Clients q_i (x - m_i)^2/2, P of which take part in a round of Q local steps.

    >>> quadratics("1 1/2", "0 3", 2, 1)["m"]
    ['0', '3']
    """
    return {"q": q.split(), "m": m.split(), "Q": Q, "P": P, **more}


# One round.

PLAIN: Instances = {
    "one client, one step": quadratics("1", "0", 1, 1, noise="1"),
    "identical clients": quadratics("1 1 1", "0 0 0", 4, 2, noise="1"),
    "two clients far apart": quadratics("1 1", "-50 50", 3, 1, noise="1"),
    "different curvatures, one negative": quadratics("2 -1 1/2", "1 4 -3", 5, 2, noise="3", sigma="1/10"),
    "concave clients, full participation": quadratics("-1 -1", "0 2", 3, 2, noise="1/2"),
    "many steps": quadratics("1 3", "0 1", 30, 1, noise="1"),
}
"""Without clipping: no quantity depends on the noises' paths, so that Q may be large."""

CLIPPED: Instances = {
    "clipped, two clients far apart": quadratics("1 1", "-50 50", 2, 1, c="1/2", noise="1"),
    "clipped, noise decides": quadratics("1 2", "0 1", 4, 2, c="1/20", noise="2"),
    "clipped, skew noise": quadratics("2 -1 1/2", "1 4 -3", 3, 2, c="1/10", noise="3", law="skew", sigma="1/10"),
    "one client clipped": quadratics("1 1 1 1", "0 0 0 1000", 2, 3, c="1", noise="1"),
}
"""With clipping: all noise paths are enumerated."""

_POINTS = ["0", "1", "-7/3", "12"]
_STEP = {"eta Q L": "129/1000", "eta_g": "1", "x": _POINTS, "samplings": ["without", "anew", "shared"]}
REPAIRED_STEPS = {"eta Q L": "91/1000", "eta_g": "1/11", "x": _POINTS, "samplings": ["without", "anew"]}
"""0.091 < 1/sqrt(120) = 0.09129; with eta_g = 1/11 the product is at most P/(120 Q L) for every P >= 1."""


def exact(
    expected: str | Mapping[str, str] = "holds",
    step: Mapping[str, Any] | None = None,
    build: Callable[..., Any] = rounds,
    title: str = "",
    **more: Any,
) -> tuple[Check, ...]:
    """An exact check on every instance above, see `dpfl_theory.core.checks`; title: a prefix of the
    instances' names."""
    found = {title + name: {**_STEP, **(step or {}), **i, **more} for name, i in {**PLAIN, **CLIPPED}.items()}
    return checks("exact", build, found, expected)


def edges() -> tuple[Check, ...]:
    """An exact check just inside the limit of the local step, 1/(sqrt(60) QL), and one just outside."""
    of = quadratics("1 2", "-1 3", 2, 1, x=["0"], eta_g="1/20", noise="1")
    inside, outside = (f"just {where} eta_l <= 1/(sqrt(60) QL)" for where in ("inside", "outside"))
    found = {inside: {**of, "eta Q L": "129/1000"}, outside: {**of, "eta Q L": "130/1000"}}
    return checks("exact", rounds, found, {outside: "not-applicable"})


def step_edges(limits: StepLimits, build: Callable[..., Any], cohort: bool = True, **more: Any) -> tuple[Check, ...]:
    """Exact checks just inside and just outside each of the three limits of the steps, with identical clients that all
    take part, L = 1; cohort: whether P <= N is a hypothesis."""
    least, above = {60: ("129/1000", "130/1000"), 120: ("91/1000", "92/1000")}[limits.local]
    product, pairs = limits.product, limits.pairs
    many = product // pairs + 3
    symbols = (r"\eta_l", r"\eta_g \eta_l", r"\eta_g \eta_l")
    of_local, of_product, of_pairs = (plain(rf"${x} \le {limit}$") for x, limit in zip(symbols, limits.texts))
    found: Instances = {}
    outside = []
    for where, name, P, eta, share in (
        ("inside", of_local, 1, least, "1/2"),
        ("outside", of_local, 1, above, "1/2"),
        ("inside", of_product, 1, "1/100", "99/100"),
        ("outside", of_product, 1, "1/100", "101/100"),
        ("inside", of_pairs, many, "1/100", "99/100"),
        ("outside", of_pairs, many, "1/100", "101/100"),
    ):
        longest = P / (max(product, pairs * (P - 1)) * Fraction(eta))
        run = quadratics("1 " * P, "0 " * P, 2, P, x=["1"], samplings=["without"])
        edge = f"just {where} {name}"
        if where == "outside":
            outside.append(edge)
        found[edge] = {**run, "eta Q L": eta, "eta_g": str(Fraction(share) * longest), **more}
    if cohort:
        outside.append("just outside P <= N")
        found[outside[-1]] = {**found[next(iter(found))], "stated": {"N": "-1"}}
    return checks("exact", build, found, dict.fromkeys(outside, "not-applicable"))


# Several rounds, as trees.


def _tree(of: dict[str, Any], x: str, eta_l: str, eta_g: str, T: int, **more: Any) -> dict[str, Any]:
    return {**of, "x": x, "eta_l": eta_l, "eta_g": eta_g, "T": T, **more}


_APART = quadratics("1 1", "-1 1", 1, 1)

BROKEN: Instances = {
    "one of two clients, one round from the optimum": _tree(_APART, "0", "1/1000", "20", 1),
    "one of two clients, three rounds from the optimum": _tree(_APART, "0", "1/1000", "20", 3),
    "two draws of two clients, with replacement": _tree(
        {**_APART, "P": 2}, "0", "1/1000", "20", 3, samplings=["anew"]
    ),
}  # fmt: skip
"""The variance of the sampling, which the printed bound lacks."""

UNSTABLE = _tree(quadratics("200", "0", 1, 1), "1", "1/2000", "125/3", 2)
"""One client: eta_g eta_l = 1/48 = P/(48Q) is allowed, and a round multiplies x by 1 - 200/48 = -3.17."""

EVERYBODY: Instances = {
    "both clients, stochastic gradients": _tree(
        quadratics("1 1", "-1 1", 1, 2, noise="1", samplings=["without"]), "1/2", "1/20", "1/3", 3
    ),
    "one client, clipped": _tree(quadratics("1", "0", 2, 1, noise="1", c="1/10"), "2", "1/20", "1/10", 3),
    "three clients of different curvatures, at the limits with their L": _tree(
        quadratics("1 1/2 1/10", "-1 2 30", 4, 3, samplings=["without"]), "5", "129/4000", "1/8", 12
    ),
}
"""Inside the printed hypotheses, without sampling and with L = 1, so that no lost L matters."""

ALLOWED: Instances = {
    "one of two clients, from the optimum": _tree(_APART, "0", "1/1000", "8", 4),
    "one of two clients, large local step": _tree(_APART, "0", "9/100", "1/11", 4),
    "one of three clients, stochastic gradients": _tree(
        quadratics("1 1 1", "-3 0 1", 2, 1, noise="1"), "1/5", "9/200", "1/11", 2
    ),
    "two of three clients, clipped, different curvatures": _tree(
        quadratics("2 -1 1/2", "1 4 -3", 1, 2, noise="1", law="skew", c="1/20"), "1", "1/25", "1/6", 2
    ),
    "one of two clients, clipped, privacy noise, one round": _tree(
        {**_APART, "Q": 3}, "3", "3/100", "1/11", 1, noise="2", c="1/10", sigma="1/20"
    ),
}
LONGER: Instances = {
    "one of two clients, from the optimum, at the limit of the steps": _tree(_APART, "0", "1/1000", "50", 4),
    "two of three clients, stochastic gradients, at the limit of the steps": _tree(
        quadratics("1 1 1", "-3 0 1", 1, 2, noise="1"), "1/5", "129/1000", "3/4", 2
    ),
}
"""With the longer steps that sharper constants allow."""

AT_REST: Instances = {
    "clients of different curvatures, where the rounds rest": {
        **quadratics("1 " * 10 + "1/100 " * 10, "0 " * 10 + "100 " * 10, 10, 20),
        "eta_l": "9/1000",
        "eta_g": "1/10000",
        "T": 10**8,
    }
}
"""eta_l QL = 0.09: the drift of the local steps maintains the gradient, and neither the start nor the sampling term
allows it."""

ONE_ROUND: dict[str, Any] = {"x": "1", "T": 1}


def _long(Q: int, T: int, eta_l: str, eta_g: str) -> dict[str, Any]:
    return {"h": "1", "m": "1", "Q": Q, "T": T, "eta_l": eta_l, "eta_g": eta_g}


LONG: Instances = {
    "the paper's own steps, Q = 4, T = 1e6": _long(4, 10**6, "1/4000", "2"),
    "the paper's own steps, Q = 64, T = 1e8": _long(64, 10**8, "1/640000", "8"),
    "the other reading of the paper's own steps, Q = 64, T = 1e8": _long(64, 10**8, "1/80000", "8"),
}
"""eta_g = sqrt(QP) and eta_l = 1/(sqrt(T) Q L), Section 3.1, with P = 1 and L = 1; in the last 1/sqrt(TQL), as in the
available text."""


# Simulated runs.


def _run(problem: dict[str, Any], P: int, Q: int, T: int, **more: Any) -> dict[str, Any]:
    edges = {"eta Q L": "91/1000", "product": 1.0, "c": 1e9, "sigma": 0.0, "distance": 1.0}
    return {"problem": problem, "P": P, "Q": Q, "T": T, **edges, **more}


def _huber(**parameters: Any) -> dict[str, Any]:
    return {"family": "huber", "parameters": {"clients": 6, "dimension": 3, "seed": 2, **parameters}}


def _pair(threshold: float) -> dict[str, Any]:
    return {"family": "huber-scalar", "parameters": {"minimisers": [-0.5, 0.5], "thresholds": [threshold] * 2}}


def _axes(clients: int, dimension: int) -> dict[str, Any]:
    """Identical clients, ||x||^2/2 within 10/sqrt(d) of their minimiser in every coordinate."""
    return {"family": "huber-axes", "parameters": {"clients": clients, "dimension": dimension, "threshold": 10.0}}


_SCALAR = _pair(1.0)


def _equal(clients: int) -> dict[str, Any]:
    """Identical clients, quadratic within 4 of their minimiser: nothing is lost by sampling, and sigma_g = 0."""
    return {"family": "huber-scalar", "parameters": {"minimisers": [0.0] * clients, "thresholds": [4.0] * clients}}


_PULLED = {
    "family": "huber-scalar",
    "parameters": {"minimisers": [4.95] * 9 + [-1.0], "thresholds": [4.0] * 9 + [0.004]},
}
"""From 0 to 0.94, where the run ends, nine clients have the slope -4, clipped to 1/250, the slope of the last."""
_FINE = {"eta Q L": "1/1000"}
_SAME = {**_FINE, "sigma_g": 0.0}

SIMULATED: Instances = {
    # in each, one term makes up most of the bound; planted faults in the tests show how near the run comes to it
    "identical clients, what is left of the start": _run(_equal(2), 2, 2, 600, replicates=2, **_SAME),
    "identical clients, privacy noise": _run(
        _equal(2), 2, 1, 8000, c=3.0, sigma=1.2, distance=1.5, replicates=256, **_SAME
    ),
    "two clients apart, one takes part": _run(_SCALAR, 1, 2, 2000, distance=0.0, replicates=256, sigma_g=0.5, **_FINE),
    "nine of ten clients clipped to a thousandth": _run(
        _PULLED, 10, 2, 5000, c=0.001, distance=0.0, start=[0.0], replicates=2, product=0.7, **_FINE
    ),
    # all of them at once
    "Huber, two of six clients, clipped to the median": _run(_huber(), 2, 4, 50, c=1.0, replicates=512),
    "Huber, all clients, clipped hard, privacy noise": _run(_huber(), 6, 8, 50, c=0.1, sigma=0.2, replicates=512),
    # at the edges
    "Huber, four of twelve clients in 100 dimensions": _run(
        _huber(clients=12, dimension=100), 4, 2, 20, c=1.0, sigma=0.05, replicates=64
    ),
    "12 identical clients in 100 dimensions, privacy noise": _run(
        _axes(12, 100), 12, 2, 600, c=10.0, sigma=0.02, distance=1.5, replicates=16, **_SAME
    ),
    "two draws of two clients, with replacement": _run(
        _pair(4.0), 2, 2, 1500, distance=2.0, sampling="anew", sigma_g=0.5, replicates=64, **_FINE
    ),
    "Huber, 30 draws of 30 clients, with replacement, clipped": _run(
        _huber(clients=30), 30, 2, 40, c=1.0, sampling="anew", replicates=128
    ),
}
SIMULATED_BROKEN: Instances = {"two clients apart, one takes part": _run(_SCALAR, 1, 2, 400, distance=0.0, **_FINE)}

_BUDGET = {"delta": 1e-2, "epsilon": 2.0, "replicates": 256}
PRIVATE: Instances = {
    "thirty of 300 identical clients, noise dominates": _run(
        _equal(300), 30, 1, 1200, distance=1.5, **_BUDGET, **_SAME
    ),
    "ten of 100 identical clients, noise dominates": _run(_equal(100), 10, 2, 1500, distance=1.5, **_BUDGET, **_SAME),
    "thirty of 300 identical clients, what is left of the start": _run(
        _equal(300), 30, 1, 400, distance=1.5, **{**_BUDGET, "replicates": 64}, **{**_SAME, "product": 0.15}
    ),
    "Huber, three of thirty clients": _run(_huber(clients=30), 3, 4, 400, **_BUDGET),
    "just inside T >= 80 ln(1/delta) and epsilon <= ln(1/delta)/2": _run(
        _huber(clients=30), 3, 1, 369, **{**_BUDGET, "epsilon": 2.3, "replicates": 64}
    ),
    "just inside epsilon <= (P/N)^2 T": _run(
        _huber(clients=40), 3, 1, 400, **{**_BUDGET, "epsilon": 2.24, "replicates": 64}
    ),
}
PRIVATE_OUTSIDE: Instances = {
    "just outside T >= 80 ln(1/delta)": _run(_huber(clients=30), 3, 1, 368, **_BUDGET),
    "just outside epsilon <= ln(1/delta)/2": _run(_huber(clients=30), 3, 1, 400, **{**_BUDGET, "epsilon": 2.31}),
    "just outside epsilon <= (P/N)^2 T": _run(_huber(clients=40), 3, 1, 400, **{**_BUDGET, "epsilon": 2.26}),
    "just outside c' >= G": _run(_huber(clients=30), 3, 1, 400, **_BUDGET, c_prime=0.99),
    "every f_i just not L-smooth": _run(_huber(clients=30), 3, 1, 400, **_BUDGET, smoothness=0.99, product=0.9),
    "just outside eta_l <= 1/(sqrt(120) QL)": _run(
        _huber(clients=30), 3, 1, 400, **_BUDGET, **{"eta Q L": "92/1000", "product": 0.5}
    ),
    "just outside eta_g eta_l <= P/(120QL)": _run(_huber(clients=30), 3, 1, 400, **_BUDGET, product=1.01),
}
"""With delta = 1/100, so that 80 ln(1/delta) = 368.4 and ln(1/delta)/2 = 2.3026."""
