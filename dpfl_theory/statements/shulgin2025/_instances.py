"""The runs of alpha-NormEC that shulgin2025's statements are checked on, at the edges of their hypotheses.

The memories start at a share of the first gradients, so that R = |1 - share| max_i ||grad f_i(x_0)||. With share 0 the
bound is at least 2R >= 2 ||grad f(x_0)||: it guarantees less than an algorithm that never moves does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def quadratics(condition: float = 20.0, heterogeneity: float = 2.0, **more: Any) -> dict[str, Any]:
    parameters = {"clients": 6, "dimension": 4, "condition": condition, "heterogeneity": heterogeneity, "seed": 3}
    return {"family": "quadratic", "parameters": {**parameters, **more}}


def _huber(**parameters: Any) -> dict[str, Any]:
    return {"family": "huber", "parameters": {"clients": 5, "dimension": 3, "seed": 2, **parameters}}


def _cancer(**parameters: Any) -> dict[str, Any]:
    return {
        "family": "logistic-data",
        "parameters": {"data": "breast-cancer", "features": 5, "clients": 8, **parameters},
    }


def _run(problem: Mapping[str, Any], share: float, K: int, sigma: float = 0.0, **more: Any) -> dict[str, Any]:
    """share: of the first gradients in the memories; alpha over R; beta over alpha + R; step: gamma over its limit;
    distance: ||x_0 - w*|| (0: x_0 = 0)."""
    edges = {"alpha": 0.1, "beta": 0.999, "step": 1.0, "distance": 3.0}
    return {"problem": problem, "share": share, "K": K, "sigma": sigma, **edges, **more}


def _isotropic(clients: int, dimension: int = 1) -> dict[str, Any]:
    """||x||^2/2 in every client: 3 away from the minimiser the gradient's length is 3."""
    return quadratics(1.0, 0.0, clients=clients, dimension=dimension)


def _corner(clients: int, **more: Any) -> dict[str, Any]:
    return quadratics(1000.0, **{"clients": clients, "dimension": 200, **more})


_STRETCHED = quadratics(1e6, 1.0, clients=2, dimension=2, seed=35)
"""Two clients whose long axes nearly agree: L_f/mu_f = 20311; the means of more turned quadratics are rounder."""
_SORTED = {"partition": "shards", "shards_per_client": 1}
QUIET: dict[str, dict[str, Any]] = {
    "quadratics, R large, all at their limits": _run(quadratics(), 4.0, 200),
    "quadratics, zero memories": _run(quadratics(), 0.0, 200),
    "quadratics, R small": _run(quadratics(), 0.98, 1000),
    "quadratics, alpha = 0": _run(quadratics(), 0.9, 400, alpha=0.0),
    "quadratics, alpha = 0, R large, beta half of R": _run(quadratics(), 3.0, 200, alpha=0.0, beta=0.5),
    "quadratics, alpha large": _run(quadratics(), 0.9, 1000, alpha=30.0),
    "quadratics, short step and slow memories": _run(quadratics(), 0.9, 800, step=0.3, beta=0.1),
    "one quadratic, first round only": _run(quadratics(1.0, 0.0, clients=1, dimension=1), 0.7, 0),
    "one quadratic, R small": _run(quadratics(1.0, 0.0, clients=1, dimension=1), 0.95, 100),
    "very heterogeneous quadratics": _run(quadratics(100.0, 50.0), 0.95, 1000),
    "breast cancer sorted by label": _run(_cancer(**_SORTED), 0.9, 300, distance=0.0),
    "40 clients in 200 dimensions, condition 1000": _run(_corner(40, heterogeneity=0.01), 0.95, 150),
    "200 clients, condition 1000": _run(_corner(200, dimension=4, heterogeneity=0.5), 0.95, 300),
    "one client, condition 1000": _run(quadratics(1000.0, clients=1), 0.95, 1000),
    "two clients, f of condition 20000": _run(_STRETCHED, 0.95, 1000),
}
NOISY: dict[str, dict[str, Any]] = {
    "Huber, R small": _run(_huber(), 0.9, 60, 0.5),
    "Huber, zero memories, slow": _run(_huber(), 0.0, 40, 0.5, beta=0.1),
    "Huber, first round only": _run(_huber(), 0.95, 0, 1.0),
    "quadratics, R small, all at their limits": _run(quadratics(), 0.95, 150, 0.05),
    "quadratics, R large, alpha = 0": _run(quadratics(), 3.0, 40, 0.3, alpha=0.0),
    "quadratics, noise dominates": _run(quadratics(), 0.9, 60, 20.0, beta=0.5),
    "breast cancer sorted by label": _run(_cancer(**_SORTED), 0.9, 60, 0.1, distance=0.0, replicates=512),
    "16 clients on the line, noise term 41% of a small bound": _run(
        _isotropic(16), 0.967, 80, 0.7, alpha=1.0, beta=0.95
    ),
    "16 clients in 4 dimensions, noise term 41% of a small bound": _run(
        _isotropic(16, 4), 0.967, 80, 0.35, alpha=1.0, beta=0.95
    ),
}
"""In the last two the bound is less than half of ||grad f(x^0)||, and noise a large share of it; in most others it is
above ||grad f(x^0)||, so that they would hold for an algorithm that never moves."""
NOISY_EDGES: dict[str, dict[str, Any]] = {
    "100 clients in 200 dimensions, condition 1000": _run(
        _corner(100, heterogeneity=0.01), 0.95, 90, 0.002, replicates=8
    ),
    "two clients, f of condition 20000": _run(_STRETCHED, 0.95, 400, 0.002, replicates=256),
}
"""Theorem 2 with bounds below ||grad f(x^0)||. Lemma 3 is not run on them: in many dimensions it is nearly an equality,
which samples cannot decide."""


def _line(clients: int = 1, **more: Any) -> dict[str, Any]:
    """Quadratics on the line of curvature 1, their minimisers 5 times standard normal numbers; one has its at 0."""
    spread = {"condition": 1.0, "heterogeneity": 5.0 if clients > 1 else 0.0}
    return quadratics(**{**spread, "clients": clients, "dimension": 1, **more})


_COUNTER = _run(_line(), 0.98, 0, cushion=10.0, alpha=0.0, beta=0.9, distance=5.0)
OVERSHOOTING: dict[str, dict[str, Any]] = {
    "one client, its residual R/10": _COUNTER,
    "one client, its residual R/10, alpha = R/100": {**_COUNTER, "alpha": 0.01},
    "six clients on the line, round 51": _run(_line(6), 0.5, 50, alpha=0.0),
    "quadratics, round 201": _run(quadratics(), 0.9, 200, alpha=0.0),
    "Huber, round 51": _run(_huber(), 0.5, 50, alpha=0.0),
    "breast cancer sorted by label, round 51": _run(_cancer(**_SORTED), 0.5, 50, alpha=0.0, distance=0.0),
}
WITHIN: dict[str, dict[str, Any]] = {
    "quadratics, beta = alpha": _run(quadratics(), 0.5, 100, alpha=1.0, beta=0.5),
    "six clients on the line, beta = R/2, alpha = 0": _run(_line(6), 0.5, 50, alpha=0.0, beta=0.5),
    "very heterogeneous, beta = alpha": _run(quadratics(100.0, 50.0), 0.95, 300, alpha=1.0, beta=0.5),
}
"""Lemma 2 over the rounds of a run: with beta too large for the radius R, and small enough for it."""
NO_OVERSHOOT = {name: WITHIN[name] for name in ("quadratics, beta = alpha", "very heterogeneous, beta = alpha")}
"""With beta <= alpha."""
BEYOND: dict[str, dict[str, Any]] = {
    f"one client, its residual 1.79 R, round {K + 1}": _run(
        _line(), 1.02, K, cushion=1 / 1.79, alpha=0.0, beta=0.9, distance=5.0
    )
    for K in (0, 40)
}
"""The repaired Lemma 2 with a first residual near its radius, here 1.8 R. The memory is on the side from which the
gradient moves away."""
FIRST: dict[str, dict[str, Any]] = {
    "quadratics": _run(quadratics(), 0.9, 0),
    "quadratics, zero memories": _run(quadratics(), 0.0, 0),
    "quadratics, the estimate far off": _run(quadratics(), 4.0, 0, alpha=0.0, beta=0.5),
    "one quadratic, no overshoot": _run(_line(), 0.5, 0, alpha=0.0),
    "very heterogeneous quadratics": _run(quadratics(100.0, 50.0), 0.5, 0),
    "breast cancer sorted by label": _run(_cancer(**_SORTED), 0.5, 0, distance=0.0),
}
ACCURATE: dict[str, dict[str, Any]] = {
    "quadratics, D = 3 M": _run(quadratics(), 0.0, 300, D=3.0, alpha=2.0, beta=0.5),
    "quadratics, D = M/20": _run(quadratics(), 0.0, 300, D=0.05),
    "very heterogeneous, D = M": _run(quadratics(100.0, 50.0), 0.0, 500, D=1.0),
    "first round only": _run(_line(), 0.0, 0, D=0.5),
    "breast cancer sorted by label": _run(_cancer(**_SORTED), 0.0, 300, D=0.5, distance=0.0),
}
"""Corollary 1, with R = D/sqrt(K + 1)."""
SMALL: dict[str, tuple[dict[str, Any], str]] = {
    "condition 100, D = 3 M": (_run(quadratics(100.0, 0.0), 0.0, 400, D=3.0, step=0), "holds"),
    "heterogeneous, D = 12 M": (_run(quadratics(20.0, 5.0), 0.0, 200, D=12.0, alpha=0.0, step=0), "holds"),
    "condition 100, D = M/20": (_run(quadratics(100.0, 0.0), 0.0, 400, D=0.05, step=0), "violated"),
    "condition 1000, D = M/20": (_run(quadratics(1000.0, 0.0), 0.0, 1000, D=0.05, step=0), "violated"),
    "heterogeneous, condition 100, D = M/20": (_run(quadratics(100.0), 0.0, 400, D=0.05, step=0), "violated"),
}
"""(12), whose step Corollary 1 allows for D > M only, with the verdict."""
_LEAST_D = {"D": 1.0001, "alpha": 1e6, "beta": 1.0 - 1e-6, "step": 0}
LARGE: dict[str, dict[str, Any]] = {
    "condition 100, D = 3 M, alpha = 1000 R": _run(quadratics(100.0, 0.0), 0.0, 400, D=3.0, alpha=1000.0, step=0),
    "heterogeneous, D = 12 M, alpha = 1000 R": _run(quadratics(20.0, 5.0), 0.0, 200, D=12.0, alpha=1000.0, step=0),
    "one quadratic, long run, D = 2 M, alpha = 10000 R": _run(_line(), 0.0, 2000, D=2.0, alpha=1e4, step=0),
    "one quadratic, 72 rounds, D = 1.0001 M": _run(_line(), 0.0, 71, **_LEAST_D),
    "one client in two dimensions, condition 300, D = 1.0001 M": _run(
        quadratics(300.0, 0.0, clients=1, dimension=2, seed=5), 0.0, 400, **_LEAST_D
    ),
}
"""(12) with steps that Corollary 1 allows. Where D is nearly M the bound is 3 L gamma, here 35% and 17% of ||grad
f(x^0)||, and the runs end at gradients of nearly L gamma/2: on the line they are (sqrt(K + 1) - k) L gamma, and the
shortest of these is longest for K + 1 = m (m + 1)."""
NEARLY: dict[str, dict[str, Any]] = {"one quadratic, first round, D = M/20": _run(_line(), 0.0, 0, D=0.05, step=0)}
"""The repaired (12) where it is nearly attained."""
CLOSER: dict[str, dict[str, Any]] = {
    "condition 1000, D = M/20, R = D/sqrt(K + 1)": {**SMALL["condition 1000, D = M/20"][0], "R": "as restored"},
    "one quadratic, D = M/20, R = D/sqrt(K + 1)": _run(_line(), 0.0, 100, D=0.05, step=0, R="as restored"),
}
"""The repaired (12) with first memories as near as in the restored form."""
PRIVATE: dict[str, dict[str, Any]] = {
    "Huber, epsilon = 8": _run(_huber(), 0.9, 20, epsilon=8.0, delta=1e-5, c=2.0, beta=0.5),
    "quadratics, epsilon = 1": _run(quadratics(), 0.5, 30, epsilon=1.0, delta=1e-6, c=2.0, replicates=512),
    "breast cancer sorted by label, epsilon = 8": _run(
        _cancer(**_SORTED), 0.9, 40, epsilon=8.0, delta=1e-5, c=2.0, distance=0.0, replicates=512
    ),
}
"""Corollary 2 with the constant of the repaired noise. The bounds are above ||grad f(x^0)||: an algorithm that never
moves would break only those of `ACCURATE_PRIVATE`."""
ACCURATE_PRIVATE: dict[str, dict[str, Any]] = {
    f"||x||^2/2, {what}": {"problem": _isotropic(n, d), "t": t, "K": K, "c": 2.0, "delta": 1e-5, "distance": way}
    for t, what, n, d, K, way in (
        (0.1, "epsilon = 84.8, n = 16", 16, 1, 78, 3.0),
        (0.05, "epsilon = 339, n = 16", 16, 1, 314, 3.0),
        (0.1, "epsilon = 170, n = 16, d = 4", 16, 4, 78, 3.0),
        (0.2, "epsilon = 21.2, n = 16, from 30 away", 16, 1, 400, 30.0),
        (0.2, "epsilon = 8.48, n = 100, from 30 away", 100, 1, 400, 30.0),
    )
}
"""Corollary 2 at t = (d log(1/delta)/(n epsilon^2))^(1/4), R = alpha = t and the best beta_0: the bound is 14.5 t,
while ||grad f(x^0)|| = 3; the last two are private by the repaired noise, epsilon <= 2 log(1/delta), and their bound is
24.4 while ||grad f(x^0)|| = 30."""
FLAT: dict[str, dict[str, Any]] = {
    f"the slope stays t = {t}, {what}": {"t": t, "n": n, "d": d, "K": K, "delta": 1e-5, "replicates": 256}
    for t, what, n, d, K in (
        (0.5, "epsilon = 13.6", 1, 1, 20),
        (0.25, "epsilon = 54.3", 1, 1, 20),
        (0.25, "epsilon = 13.6, n = 16", 16, 1, 20),
        (0.5, "epsilon = 13.6, n = d = 16", 16, 16, 20),
        (0.25, "epsilon = 54.3, K = 200", 1, 1, 200),
    )
}
"""Corollary 2 where its order is attained: min_k E||grad f(x^k)|| is t itself, whatever the noise."""
ONE_CLIENT: dict[str, Any] = _run(_line(), 0.5, 3, 1.0)
"""Noise on the line, where Lemma 3 has the most slack: a factor sqrt(2/pi)."""
_EVEN = {"alpha": 100.0, "beta": 100.0 / 101.0}
SHARP: dict[str, dict[str, Any]] = {
    "one quadratic, zero memories, alpha = beta = 100 R, first round": _run(_line(), 0.0, 0, **_EVEN),
    "quadratics, zero memories, alpha = beta = 100 R, long run": _run(quadratics(), 0.0, 1500, step=0.03, **_EVEN),
    "very heterogeneous, zero memories, alpha = beta = 100 R": _run(
        quadratics(100.0, 50.0), 0.0, 1500, step=0.03, **_EVEN
    ),
}
"""Theorem 1's sharpened bound where it is small although the memories start at 0."""
