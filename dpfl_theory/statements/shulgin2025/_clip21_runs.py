"""Runs for shulgin2025's statements on Clip21, and Clip21 on the line in rational numbers.

Imported to list the catalogue: NumPy and the algorithms are imported where they are used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpfl_theory.algorithms.error_feedback import Clip21, InformedClip21
from dpfl_theory.core import Experiment, Statement
from dpfl_theory.problems import make
from dpfl_theory.semantics.base import Vector, average
from dpfl_theory.semantics.operations import run_round
from dpfl_theory.semantics.rational import Quadratics
from dpfl_theory.statements.shulgin2025._experiments import start_of
from dpfl_theory.statements.shulgin2025._instances import quadratics

__all__ = ["INACTIVE", "NOT_QUITE", "ROUNDS", "experiment", "path", "paths"]

Step = tuple[Fraction, tuple[Fraction, ...], Fraction]


def path(
    curvatures: Sequence[Fraction],
    centres: Sequence[Fraction],
    x: Fraction,
    memories: Sequence[Fraction],
    tau: Fraction,
    gamma: Fraction,
    count: int,
) -> list[Step]:
    """(x^k, the residuals grad f_i(x^k) - v_i^k, v^{k+1}) for k = 0..count of Clip21 on f_i = curvature_i (x -
    centre_i)^2/2, without server normalisation.

    >>> one = Fraction(1)
    >>> path([one], [0 * one], 2 * one, [0 * one], one, one / 2, 1)[1]
    (Fraction(3, 2), (Fraction(1, 2),), Fraction(3, 2))
    """
    world = Quadratics(curvatures, [a * c for a, c in zip(curvatures, centres)])
    v_i = tuple(map(Vector, memories))
    algorithm, found = Clip21(gamma=gamma, tau=tau, sigma=0), list[Step]()
    now: Any = Vector(x), (average(v_i), v_i)
    for _ in range(count + 1):
        point, (_, v_i) = now
        missing = tuple((world.gradient(i, point) - v).known for i, v in enumerate(v_i))
        now = run_round(algorithm, world, *now).following
        found.append((point.known, missing, now[1][0].known))
    return found


def paths(instance: Mapping[str, Any]) -> list[tuple[dict[str, Any], list[Any], Fraction, Fraction]]:
    """The clients, their paths, tau and gamma."""
    found = []
    for clients in instance["clients"]:
        curvatures, centres = ([Fraction(t) for t in texts] for texts in clients)
        for texts in instance["runs"]:
            x, share, tau, gamma = (Fraction(t) for t in texts)
            memories = [share * a * (x - c) for a, c in zip(curvatures, centres)]
            steps = path(curvatures, centres, x, memories, tau, gamma, int(instance["rounds"]))
            values = {"curvatures": curvatures, "centres": centres, "x": x, "share": share, "tau": tau, "gamma": gamma}
            found.append((values, steps, tau, gamma))
    return found


_CANCER = {
    "family": "logistic-data",
    "parameters": {"data": "breast-cancer", "features": 5, "clients": 8, "partition": "shards", "shards_per_client": 1},
}


def _run(problem: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """share: of the first gradients in the memories; tau: over the largest residual R; step: gamma L, or over the limit
    of clip21.inactive with ``inactive``; distance: ||x_0 - w*|| (0: x_0 = 0); K: index of the last round."""
    return {"problem": problem, "share": 0.5, "tau": 0.5, "step": 1.0, "distance": 3.0, "K": 0, **more}


ROUNDS: dict[str, dict[str, Any]] = {
    "quadratics": _run(quadratics()),
    "one client": _run(quadratics(2.0, 0.0, clients=1, dimension=2), share=0.9),
    "quadratics, zero memories, short threshold": _run(quadratics(), share=0.0, tau=0.01),
    "quadratics, no clipping": _run(quadratics(), tau=2.0),
    "quadratics, short step": _run(quadratics(100.0, 20.0), step=0.1, share=3.0),
    "breast cancer sorted by label": _run(_CANCER, distance=0.0),
}
"""First rounds."""
INACTIVE: dict[str, dict[str, Any]] = {
    "quadratics": _run(quadratics(), share=0.95, tau=1.0, K=50, inactive=True),
    "very heterogeneous quadratics": _run(quadratics(100.0, 50.0), share=0.9, tau=1.0, K=100, inactive=True),
    "one quadratic, first round": _run(
        quadratics(1.0, 0.0, clients=1, dimension=1), share=1.0, tau=0.5, K=0, step=0.99, inactive=True
    ),
    "breast cancer sorted by label": _run(_CANCER, share=0.8, tau=1.0, K=50, distance=0.0, inactive=True),
}
"""tau over the largest of the first gradients' residuals; for share 1 over the first gradient."""


def experiment(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """K + 1 rounds; ||grad f(x^0)||, ||v^1|| and ||v^1 - grad f(x^0)|| of the first one are computed without the
    engine."""
    import numpy as np

    from dpfl_theory.simulation import Simulation
    from dpfl_theory.simulation.observables import Reach

    problem = make(instance["problem"]["family"], **instance["problem"]["parameters"])
    start, c = start_of(problem, instance["distance"]), problem.constants
    gradients = np.array([problem.client_gradient(i, start) for i in range(problem.n)])
    missing = (1.0 - instance["share"]) * gradients
    lengths = np.linalg.norm(missing, axis=1)
    R = float(lengths.max())
    tau = instance["tau"] * (R or float(np.linalg.norm(gradients, axis=1).max()))
    gap = problem.value(start) - c.f_star
    gamma = instance["step"] / c.L_f
    if instance.get("inactive"):
        gamma = min(gamma, instance["step"] * tau / (c.L_max * math.sqrt(2 * c.L_f * gap)))
    factors = np.minimum(1.0, tau / np.where(lengths > 0.0, lengths, tau))
    estimate = (instance["share"] * gradients + factors[:, None] * missing).mean(axis=0)
    mean = gradients.mean(axis=0)
    run = InformedClip21(gamma=gamma, tau=tau, sigma=0.0, memory=instance["share"])
    values = {
        "gap": gap,
        "gamma": run.step,
        "tau": run.threshold,
        "sigma": run.sigma,
        "R": R,
        "residual_0": abs(1.0 - run.memory) * float(np.linalg.norm(gradients, axis=1).max()),
        "L": c.L_f,
        "L_max": c.L_max,
        "K": float(instance["K"]),
        "slope": float(np.linalg.norm(mean)),
        "estimate": float(np.linalg.norm(estimate)),
        "error": float(np.linalg.norm(estimate - mean)),
    }
    rounds = int(instance["K"]) + 1
    return Experiment(problem, Simulation(run), rounds, start, values, reach=Reach.anywhere(problem), random=False)


def _stated(run: Mapping[str, Any], *named: str) -> dict[str, dict[str, Any]]:
    return {name: {**run, "stated": _STATED[name]} for name in named}


_STATED = {
    "just not L-smooth": {"L": "99/100"},
    "just not L_max-smooth": {"L_max": "99/100"},
    "just outside R as the largest residual": {"residual_0": "101/100"},
    "just outside tau > 0": {"tau": "0"},
    "just outside messages without noise": {"sigma": "+1/50"},
}
_FIRST_RUN = next(iter(ROUNDS.values()))
NOT_QUITE = {
    "descent": _stated(_FIRST_RUN, "just not L-smooth", "just outside messages without noise"),
    "residual": _stated(_FIRST_RUN, *list(_STATED)[1:]),
    "inactive": _stated(next(iter(INACTIVE.values())), *list(_STATED)[:3], *list(_STATED)[4:]),
}
"""Runs just outside the hypotheses of each statement, by symbols with other stated values."""
