"""Instances of runs for zhang2021's (22) and Theorem 3.1, as plain data (see `_runs`)."""

from __future__ import annotations

from typing import Any

__all__ = [
    "ALLOWED",
    "BROKEN",
    "EVERYBODY",
    "LONG",
    "ONE_ROUND",
    "PRIVATE",
    "PRIVATE_OUTSIDE",
    "SIMULATED",
    "SIMULATED_BROKEN",
    "UNSTABLE",
]

_APART = {"q": ["1", "1"], "m": ["-1", "1"], "x": "0", "Q": 1, "P": 1, "eta_l": "1/1000"}

BROKEN: dict[str, dict[str, Any]] = {
    "one of two clients, one round from the optimum": {**_APART, "eta_g": "20", "T": 1},
    "one of two clients, three rounds from the optimum": {**_APART, "eta_g": "20", "T": 3},
    "two draws of two clients, with replacement": {**_APART, "P": 2, "eta_g": "20", "T": 3, "samplings": ["anew"]},
}
"""The variance of the sampling, which the printed bound lacks."""

UNSTABLE: dict[str, Any] = {
    "q": ["200"],
    "m": ["0"],
    "x": "1",
    "Q": 1,
    "P": 1,
    "eta_l": "1/2000",
    "eta_g": "125/3",
    "T": 2,
}
"""One client: eta_g eta_l = 1/48 = P/(48Q) is allowed, and a round multiplies x by 1 - 200/48 = -3.17."""

EVERYBODY: dict[str, dict[str, Any]] = {
    "both clients, stochastic gradients": {
        "q": ["1", "1"],
        "m": ["-1", "1"],
        "x": "1/2",
        "Q": 1,
        "P": 2,
        "eta_l": "1/20",
        "eta_g": "1/3",
        "noise": "1",
        "T": 3,
        "samplings": ["without"],
    },
    "one client, clipped": {
        "q": ["1"],
        "m": ["0"],
        "x": "2",
        "Q": 2,
        "P": 1,
        "eta_l": "1/20",
        "eta_g": "1/10",
        "noise": "1",
        "c": "1/10",
        "T": 3,
    },
    "three clients of different curvatures, at the limits with their L": {
        "q": ["1", "1/2", "1/10"],
        "m": ["-1", "2", "30"],
        "x": "5",
        "Q": 4,
        "P": 3,
        "eta_l": "129/4000",
        "eta_g": "1/8",
        "T": 12,
        "samplings": ["without"],
    },
}
"""Inside the printed hypotheses, where nothing is sampled, with L = 1, so that no lost L matters."""

ALLOWED: dict[str, dict[str, Any]] = {
    "one of two clients, from the optimum": {**_APART, "eta_g": "8", "T": 4},
    "one of two clients, large local step": {**_APART, "eta_l": "9/100", "eta_g": "1/11", "T": 4},
    "one of three clients, stochastic gradients": {
        "q": ["1", "1", "1"],
        "m": ["-3", "0", "1"],
        "x": "1/5",
        "Q": 2,
        "P": 1,
        "eta_l": "9/200",
        "eta_g": "1/11",
        "noise": "1",
        "T": 2,
    },
    "two of three clients, clipped, different curvatures": {
        "q": ["2", "-1", "1/2"],
        "m": ["1", "4", "-3"],
        "x": "1",
        "Q": 1,
        "P": 2,
        "eta_l": "1/25",
        "eta_g": "1/6",
        "noise": "1",
        "law": "skew",
        "c": "1/20",
        "T": 2,
    },
    "one of two clients, clipped, privacy noise, one round": {
        **_APART,
        "x": "3",
        "Q": 3,
        "eta_l": "3/100",
        "eta_g": "1/11",
        "noise": "2",
        "c": "1/10",
        "sigma": "1/20",
        "T": 1,
    },
}

ONE_ROUND: dict[str, Any] = {"x": "1", "T": 1}

LONG: dict[str, dict[str, Any]] = {
    "the paper's own steps, Q = 4, T = 1e6": {
        "h": "1",
        "m": "1",
        "Q": 4,
        "T": 10**6,
        "eta_l": "1/4000",
        "eta_g": "2",
    },
    "the paper's own steps, Q = 64, T = 1e8": {
        "h": "1",
        "m": "1",
        "Q": 64,
        "T": 10**8,
        "eta_l": "1/640000",
        "eta_g": "8",
    },
    "the other reading of the paper's own steps, Q = 64, T = 1e8": {
        "h": "1",
        "m": "1",
        "Q": 64,
        "T": 10**8,
        "eta_l": "1/80000",
        "eta_g": "8",
    },
}
"""eta_g = sqrt(QP) and eta_l = 1/(sqrt(T) Q L), Section 3.1, with P = 1 and L = 1; in the last 1/sqrt(TQL), as the text
at hand has it."""


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

SIMULATED: dict[str, dict[str, Any]] = {
    # a term each that makes up most of the bound; how near the run comes to it the planted faults in the tests tell
    "identical clients, what is left of the start": _run(_equal(2), 2, 2, 600, lanes=2, **_SAME),
    "identical clients, privacy noise": _run(_equal(2), 2, 1, 8000, c=3.0, sigma=1.2, distance=1.5, lanes=256, **_SAME),
    "two clients apart, one takes part": _run(_SCALAR, 1, 2, 2000, distance=0.0, lanes=256, sigma_g=0.5, **_FINE),
    "nine of ten clients clipped to a thousandth": _run(
        _PULLED, 10, 2, 5000, c=0.001, distance=0.0, start=[0.0], lanes=2, product=0.7, **_FINE
    ),
    # all of them at once
    "Huber, two of six clients, clipped to the median": _run(_huber(), 2, 4, 50, c=1.0, lanes=512),
    "Huber, all clients, clipped hard, privacy noise": _run(_huber(), 6, 8, 50, c=0.1, sigma=0.2, lanes=512),
    # at the edges
    "Huber, four of twelve clients in 100 dimensions": _run(
        _huber(clients=12, dimension=100), 4, 2, 20, c=1.0, sigma=0.05, lanes=64
    ),
    "12 identical clients in 100 dimensions, privacy noise": _run(
        _axes(12, 100), 12, 2, 600, c=10.0, sigma=0.02, distance=1.5, lanes=16, **_SAME
    ),
    "two draws of two clients, with replacement": _run(
        _pair(4.0), 2, 2, 1500, distance=2.0, sampling="anew", sigma_g=0.5, lanes=64, **_FINE
    ),
    "Huber, 30 draws of 30 clients, with replacement, clipped": _run(
        _huber(clients=30), 30, 2, 40, c=1.0, sampling="anew", lanes=128
    ),
}
SIMULATED_BROKEN: dict[str, dict[str, Any]] = {
    "two clients apart, one takes part": _run(_SCALAR, 1, 2, 400, distance=0.0, **_FINE),
}

_BUDGET = {"delta": 1e-2, "epsilon": 2.0, "lanes": 256}
PRIVATE: dict[str, dict[str, Any]] = {
    "thirty of 300 identical clients, noise dominates": _run(
        _equal(300), 30, 1, 1200, distance=1.5, **_BUDGET, **_SAME
    ),
    "ten of 100 identical clients, noise dominates": _run(_equal(100), 10, 2, 1500, distance=1.5, **_BUDGET, **_SAME),
    "Huber, three of thirty clients": _run(_huber(clients=30), 3, 4, 400, **_BUDGET),
    "just inside T >= 80 ln(1/delta) and epsilon <= ln(1/delta)/2": _run(
        _huber(clients=30), 3, 1, 369, **{**_BUDGET, "epsilon": 2.3, "lanes": 64}
    ),
    "just inside epsilon <= (P/N)^2 T": _run(
        _huber(clients=40), 3, 1, 400, **{**_BUDGET, "epsilon": 2.24, "lanes": 64}
    ),
}
PRIVATE_OUTSIDE: dict[str, dict[str, Any]] = {
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
