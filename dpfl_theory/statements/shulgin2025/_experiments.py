"""How shulgin2025's statements on alpha-NormEC are run: with server normalisation, at the edges of their hypotheses.

The memories start at a share of the first gradients, v_i = share grad f_i(x_0), so that R = |1 - share| max_i ||grad
f_i(x_0)||. With share 0 the bound is at least 2R >= 2 ||grad f(x_0)||: it promises less than doing nothing does.
The catalogue imports this module to list its statements, so NumPy and the algorithms are imported where they are used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpfl_theory.problems import make
from dpfl_theory.statements.claims import Experiment
from dpfl_theory.statements.model import Check

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Array, Problem

__all__ = [
    *("ACCURATE", "FIRST", "NOISY", "ONE_CLIENT", "PRIVATE", "QUIET", "SMALL", "TRACKED"),
    *("accurate", "first_round", "prescribed", "private", "runs", "start_of"),
]


def _quadratics(condition: float = 20.0, heterogeneity: float = 2.0, **more: Any) -> dict[str, Any]:
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


_SORTED = {"partition": "shards", "shards_per_client": 1}
QUIET: dict[str, dict[str, Any]] = {
    "quadratics, R large, all at their limits": _run(_quadratics(), 4.0, 200),
    "quadratics, zero memories": _run(_quadratics(), 0.0, 200),
    "quadratics, R small": _run(_quadratics(), 0.98, 1000),
    "quadratics, alpha = 0": _run(_quadratics(), 0.9, 400, alpha=0.0),
    "quadratics, alpha = 0, R large, beta half of R": _run(_quadratics(), 3.0, 200, alpha=0.0, beta=0.5),
    "quadratics, alpha large": _run(_quadratics(), 0.9, 1000, alpha=30.0),
    "quadratics, short step and slow memories": _run(_quadratics(), 0.9, 800, step=0.3, beta=0.1),
    "one quadratic, first round only": _run(_quadratics(1.0, 0.0, clients=1, dimension=1), 0.7, 0),
    "one quadratic, R small": _run(_quadratics(1.0, 0.0, clients=1, dimension=1), 0.95, 100),
    "very heterogeneous quadratics": _run(_quadratics(100.0, 50.0), 0.95, 1000),
    "breast cancer sorted by label": _run(_cancer(**_SORTED), 0.9, 300, distance=0.0),
}
NOISY: dict[str, dict[str, Any]] = {
    "Huber, R small": _run(_huber(), 0.9, 60, 0.5),
    "Huber, zero memories, slow": _run(_huber(), 0.0, 40, 0.5, beta=0.1),
    "Huber, first round only": _run(_huber(), 0.95, 0, 1.0),
    "quadratics, R small, all at their limits": _run(_quadratics(), 0.95, 150, 0.05),
    "quadratics, R large, alpha = 0": _run(_quadratics(), 3.0, 40, 0.3, alpha=0.0),
    "quadratics, noise dominates": _run(_quadratics(), 0.9, 60, 20.0, beta=0.5),
    "breast cancer sorted by label": _run(_cancer(**_SORTED), 0.9, 60, 0.1, distance=0.0, lanes=512),
}


def start_of(problem: Problem, distance: float) -> Array:
    """A point at this distance from w* in a fixed direction, for distance 0 the origin."""
    import numpy as np

    if not distance:
        return np.zeros(problem.d)
    assert problem.constants.w_star is not None
    direction = np.random.default_rng(99).standard_normal(problem.d)
    return np.asarray(problem.constants.w_star + distance * direction / np.linalg.norm(direction))


def _experiment(instance: Mapping[str, Any]) -> Experiment:
    """``cushion``: R over the largest of the first residuals (1 unless given)."""
    problem = make(instance["problem"]["family"], **instance["problem"]["parameters"])
    start = start_of(problem, instance["distance"])
    R = instance.get("cushion", 1.0) * abs(1.0 - instance["share"]) * _first(problem, start)
    alpha = instance["alpha"] * R
    beta = instance["beta"] * (alpha + R)
    gamma = instance["step"] * beta * R / ((alpha + R) * problem.constants.L_max)
    return _run_of(instance, problem, start, instance["share"], R=R, alpha=alpha, beta=beta, gamma=gamma)


def _first(problem: Problem, start: Array) -> float:
    """max_i ||grad f_i(x^0)||."""
    import numpy as np

    return max(float(np.linalg.norm(problem.client_gradient(i, start))) for i in range(problem.n))


def _share(R: float, first: float) -> float:
    """A share of the first gradients that leaves the largest residual R."""
    return 1.0 + R / first if first < R else 1.0 - R / first


def _run_of(instance: Mapping[str, Any], problem: Problem, start: Array, share: float, **chosen: float) -> Experiment:
    from dpfl_theory.algorithms import alpha_norm_ec
    from dpfl_theory.algorithms.observables import Reach

    c, K, sigma = problem.constants, int(instance["K"]), float(chosen.pop("sigma", instance["sigma"]))
    values = {
        "gap": problem.value(start) - c.f_star,
        "K": float(K),
        "L": c.L_f,
        "L_max": c.L_max,
        "n": float(problem.n),
        "d": float(problem.d),
        "sigma": sigma,
        **chosen,
    }
    algorithm = alpha_norm_ec(chosen["gamma"], chosen["alpha"], chosen["beta"], sigma=sigma, memory=share)
    lanes, reach = int(instance.get("lanes", 2048)), Reach.anywhere(problem)
    return Experiment(problem, algorithm, K + 1, start, values, lanes, reach, random=sigma > 0.0)


def accurate(instance: Mapping[str, Any]) -> Experiment:
    """R = D/sqrt(K + 1), D in units of M = L_max sqrt(2 (f(x^0) - f_inf)/L); alpha in units of R. The step is at
    Corollary 1's limit, or, where ``step`` is 0, that of (12)."""
    problem = make(instance["problem"]["family"], **instance["problem"]["parameters"])
    start = start_of(problem, instance["distance"])
    c, root = problem.constants, math.sqrt(instance["K"] + 1)
    gap = problem.value(start) - c.f_star
    D = instance["D"] * c.L_max * math.sqrt(2 * gap / c.L_f)
    R = D / root
    alpha = instance["alpha"] * R
    beta = instance["beta"] * (alpha + R)
    length = instance["step"] * D * beta / ((alpha + D) * c.L_max) or math.sqrt(2 * gap / c.L_f)
    share = _share(R, _first(problem, start))
    return _run_of(instance, problem, start, share, R=R, alpha=alpha, beta=beta, gamma=length / root, D=D, c=length)


def prescribed(instance: Mapping[str, Any]) -> Experiment:
    """The repaired (12): alpha = beta = (M + M^2/D)/sqrt(K + 1), R = (D + M)/sqrt(K + 1), D in units of M."""
    problem = make(instance["problem"]["family"], **instance["problem"]["parameters"])
    start = start_of(problem, instance["distance"])
    c, root = problem.constants, math.sqrt(instance["K"] + 1)
    length = math.sqrt(2 * (problem.value(start) - c.f_star) / c.L_f)
    M = c.L_max * length
    D = instance["D"] * M
    R, weight = (D + M) / root, (M + M**2 / D) / root
    share = _share(R, _first(problem, start))
    return _run_of(instance, problem, start, share, R=R, alpha=weight, beta=weight, gamma=length / root, D=D)


def private(instance: Mapping[str, Any]) -> Experiment:
    """Corollary 2: as Theorem 2 is run, sigma = c sqrt((K + 1) log(1/delta))/epsilon and beta_0 = beta (K + 1)."""
    quiet = _experiment({**instance, "sigma": 0.0})
    c, epsilon, delta, v = instance["c"], instance["epsilon"], instance["delta"], quiet.values
    sigma = c * math.sqrt((v["K"] + 1) * math.log(1 / delta)) / epsilon
    chosen = {name: v[name] for name in ("R", "alpha", "beta", "gamma")}
    found = _run_of(instance, quiet.problem, quiet.start, instance["share"], sigma=sigma, **chosen)
    more = {"beta_0": v["beta"] * (v["K"] + 1), "c": c, "epsilon": epsilon, "delta": delta}
    return replace(found, values={**found.values, **more})


def first_round(instance: Mapping[str, Any]) -> Experiment:
    """One round, of which ||grad f(x^0)|| and ||grad f(x^0) - v^1|| are computed apart from the engine."""
    import numpy as np

    found = _experiment({**instance, "K": 0})
    v, problem = found.values, found.problem
    gradients = np.array([problem.client_gradient(i, found.start) for i in range(problem.n)])
    missing = (1.0 - instance["share"]) * gradients
    lengths = v["alpha"] + np.linalg.norm(missing, axis=1)
    estimate = (instance["share"] * gradients + v["beta"] * missing / lengths[:, None]).mean(axis=0)
    mean = gradients.mean(axis=0)
    more = {"slope": float(np.linalg.norm(mean)), "error": float(np.linalg.norm(mean - estimate))}
    return replace(found, values={**v, **more})


def runs(
    found: Mapping[str, Mapping[str, Any]],
    build: Callable[[Mapping[str, Any]], Experiment] = _experiment,
    expected: str = "holds",
) -> tuple[Check, ...]:
    """A Monte-Carlo check on each named instance."""
    return tuple(Check("monte-carlo", name, build, instance, expected) for name, instance in found.items())


def _line(clients: int = 1, **more: Any) -> dict[str, Any]:
    """Quadratics on the line of curvature 1, their minimisers 5 times standard normal numbers; one has its at 0."""
    spread = {"condition": 1.0, "heterogeneity": 5.0 if clients > 1 else 0.0}
    return _quadratics(**{**spread, "clients": clients, "dimension": 1, **more})


_COUNTER = _run(_line(), 0.98, 0, cushion=10.0, alpha=0.0, beta=0.9, distance=5.0)
TRACKED: dict[str, tuple[dict[str, Any], str]] = {
    "one client, its residual R/10": (_COUNTER, "violated"),
    "one client, its residual R/10, alpha = R/100": ({**_COUNTER, "alpha": 0.01}, "violated"),
    "six clients on the line, round 51": (_run(_line(6), 0.5, 50, alpha=0.0), "violated"),
    "quadratics, round 201": (_run(_quadratics(), 0.9, 200, alpha=0.0), "violated"),
    "Huber, round 51": (_run(_huber(), 0.5, 50, alpha=0.0), "violated"),
    "breast cancer sorted by label, round 51": (
        _run(_cancer(**_SORTED), 0.5, 50, alpha=0.0, distance=0.0),
        "violated",
    ),
    "quadratics, beta = alpha": (_run(_quadratics(), 0.5, 100, alpha=1.0, beta=0.5), "holds"),
    "six clients on the line, beta = R/2, alpha = 0": (_run(_line(6), 0.5, 50, alpha=0.0, beta=0.5), "holds"),
    "very heterogeneous, beta = alpha": (_run(_quadratics(100.0, 50.0), 0.95, 300, alpha=1.0, beta=0.5), "holds"),
}
"""Lemma 2 over the rounds of a run, with the verdict on its printed form."""
FIRST: dict[str, dict[str, Any]] = {
    "quadratics": _run(_quadratics(), 0.9, 0),
    "quadratics, zero memories": _run(_quadratics(), 0.0, 0),
    "quadratics, the estimate far off": _run(_quadratics(), 4.0, 0, alpha=0.0, beta=0.5),
    "one quadratic, no overshoot": _run(_line(), 0.5, 0, alpha=0.0),
    "very heterogeneous quadratics": _run(_quadratics(100.0, 50.0), 0.5, 0),
    "breast cancer sorted by label": _run(_cancer(**_SORTED), 0.5, 0, distance=0.0),
}
ACCURATE: dict[str, dict[str, Any]] = {
    "quadratics, D = 3 M": _run(_quadratics(), 0.0, 300, D=3.0, alpha=2.0, beta=0.5),
    "quadratics, D = M/20": _run(_quadratics(), 0.0, 300, D=0.05),
    "very heterogeneous, D = M": _run(_quadratics(100.0, 50.0), 0.0, 500, D=1.0),
    "first round only": _run(_line(), 0.0, 0, D=0.5),
    "breast cancer sorted by label": _run(_cancer(**_SORTED), 0.0, 300, D=0.5, distance=0.0),
}
"""Corollary 1, with R = D/sqrt(K + 1)."""
SMALL: dict[str, tuple[dict[str, Any], str]] = {
    "condition 100, D = 3 M": (_run(_quadratics(100.0, 0.0), 0.0, 400, D=3.0, step=0), "holds"),
    "heterogeneous, D = 12 M": (_run(_quadratics(20.0, 5.0), 0.0, 200, D=12.0, alpha=0.0, step=0), "holds"),
    "condition 100, D = M/20": (_run(_quadratics(100.0, 0.0), 0.0, 400, D=0.05, step=0), "violated"),
    "condition 1000, D = M/20": (_run(_quadratics(1000.0, 0.0), 0.0, 1000, D=0.05, step=0), "violated"),
    "heterogeneous, condition 100, D = M/20": (_run(_quadratics(100.0), 0.0, 400, D=0.05, step=0), "violated"),
}
"""(12), whose step Corollary 1 allows for D > M only, with the verdict."""
PRIVATE: dict[str, dict[str, Any]] = {
    "Huber, epsilon = 8": _run(_huber(), 0.9, 20, epsilon=8.0, delta=1e-5, c=2.0, beta=0.5),
    "quadratics, epsilon = 1": _run(_quadratics(), 0.5, 30, epsilon=1.0, delta=1e-6, c=2.0, lanes=512),
    "breast cancer sorted by label, epsilon = 8": _run(
        _cancer(**_SORTED), 0.9, 40, epsilon=8.0, delta=1e-5, c=2.0, distance=0.0, lanes=512
    ),
}
"""Corollary 2 with the constant of the repaired noise."""
ONE_CLIENT: dict[str, Any] = _run(_line(), 0.5, 3, 1.0)
"""Noise on the line, where Lemma 3 gives away the most: a factor sqrt(2/pi)."""
