"""How shulgin2025's Theorems 1 and 2 are run: alpha-NormEC with server normalisation, at the edges of the hypotheses.

The memories start at a share of the first gradients, v_i = share grad f_i(x_0), so that R = |1 - share| max_i ||grad
f_i(x_0)||. With share 0 the bound is at least 2R >= 2 ||grad f(x_0)||: it promises less than doing nothing does.
The catalogue imports this module to list its statements, so NumPy and the algorithms are imported where they are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.problems import make
from dpfl_theory.statements.claims import Experiment
from dpfl_theory.statements.model import Check

__all__ = ["NOISY", "QUIET", "runs"]


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


def _experiment(instance: Mapping[str, Any]) -> Experiment:
    import numpy as np

    from dpfl_theory.algorithms import alpha_norm_ec
    from dpfl_theory.algorithms.observables import Reach

    problem = make(instance["problem"]["family"], **instance["problem"]["parameters"])
    c, K, distance, sigma = problem.constants, int(instance["K"]), instance["distance"], float(instance["sigma"])
    start = np.zeros(problem.d)
    if distance:
        assert c.w_star is not None
        direction = np.random.default_rng(99).standard_normal(problem.d)
        start = c.w_star + distance * direction / np.linalg.norm(direction)
    first = max(float(np.linalg.norm(problem.client_gradient(i, start))) for i in range(problem.n))
    R = abs(1.0 - instance["share"]) * first
    alpha = instance["alpha"] * R
    beta = instance["beta"] * (alpha + R)
    gamma = instance["step"] * beta * R / ((alpha + R) * c.L_max)
    values = {
        "gap": problem.value(start) - c.f_star,
        "gamma": gamma,
        "K": float(K),
        "R": R,
        "alpha": alpha,
        "beta": beta,
        "L": c.L_f,
        "L_max": c.L_max,
        "n": float(problem.n),
        "d": float(problem.d),
        "sigma": sigma,
    }
    algorithm = alpha_norm_ec(gamma, alpha, beta, sigma=sigma, memory=instance["share"])
    lanes, reach = int(instance.get("lanes", 2048)), Reach.anywhere(problem)
    return Experiment(problem, algorithm, K + 1, start, values, lanes, reach, random=sigma > 0.0)


def runs(found: Mapping[str, Mapping[str, Any]]) -> tuple[Check, ...]:
    """A Monte-Carlo check on each named instance."""
    return tuple(Check("monte-carlo", name, _experiment, instance) for name, instance in found.items())
