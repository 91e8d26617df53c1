"""DP-SCAFFOLD-warm as Lemmas C.8 and C.9 have it, run on objectives whose gradients the threshold never clips.

The warm start is one round by all users; the streamed mean over T + 1 rounds counts x^0 twice, which the left sides
take back, so that they are the mean over x^0, ..., x^{T-1}.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dpfl_theory.problems import make
from dpfl_theory.statements.claims import Experiment
from dpfl_theory.statements.model import Assumption, Check, Expected, Statement, Symbol

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

__all__ = ["AWAY", "EXCESS", "SLOPE", "SLOPE0", "experiment", "runs", "without_warm_round"]

EXCESS = Expected(
    "excess",
    (("suboptimality", 1),),
    (1, 0),
    r"\frac{1}{T+1}\sum_k \mathbb{E}(F(w_k) - F^*)",
    "mean excess over the warm round and the T rounds",
)
SLOPE = Expected(
    "slope",
    (("gradient-norm-squared", 1),),
    (2, -2),
    r"\frac{1}{T+1}\sum_k \mathbb{E}\|\nabla F(w_k)\|^2",
    "mean squared gradient over the warm round and the T rounds",
)
AWAY = Assumption(
    "x^0 is not a minimiser of F",
    lambda problem, values: None if values["F0"] > 0 else "F(x^0) = F(x*)",
)
SLOPE0 = Symbol("slope0", "||grad F(x^0)||^2", (2, -2), "nonnegative", r"\|\nabla F(x^0)\|^2")


def without_warm_round(s: Mapping[str, Any], mean: str, start: str) -> dict[str, Any]:
    """The mean over x^0, ..., x^{T-1}, from that over T + 1 rounds, the first of which stays at x^0."""
    return {"rounds": (1 + 1 / s["T"]) * s[mean], "warm round": -s[start] / s["T"]}


def _huber(**parameters: Any) -> dict[str, Any]:
    return {"family": "huber", "parameters": {"clients": 4, "dimension": 3, "seed": 2, **parameters}}


def _run(problem: Mapping[str, Any], size: int, K: int, T: int, sigma: float, **more: Any) -> dict[str, Any]:
    """share: s; distance: of x^0 from a minimiser; step: eta~ over its limit; eta_g: None for sqrt(lM)."""
    common = {"share": 1.0, "distance": 3.0, "step": 1.0, "eta_g": None, "lanes": 512}
    return {"problem": problem, "size": size, "K": K, "T": T, "sigma": sigma, **common, **more}


RUNS: dict[str, dict[str, Any]] = {
    "two of four users, records sampled": _run(_huber(), 2, 3, 150, 1.0, share=0.2),
    "one record a user, one user a round": _run(_huber(records=1), 1, 1, 100, 0.3),
    "all users, from the minimiser": _run(_huber(), 4, 2, 50, 5.0, distance=0.0),
    "very heterogeneous, one user a round": _run(_huber(heterogeneity=30.0, clients=9), 1, 5, 150, 0.1, eta_g=1.0),
    "200 dimensions": _run(_huber(dimension=200, records=5), 2, 2, 30, 0.5, lanes=128),
}


def start_of(problem: Problem, distance: float) -> Any:
    """A point at this distance from the minimiser in a fixed direction."""
    import numpy as np

    assert problem.constants.w_star is not None
    direction = np.random.default_rng(7).standard_normal(problem.d)
    return problem.constants.w_star + distance * direction / np.linalg.norm(direction)


def experiment(instance: Mapping[str, Any], best: Callable[[Mapping[str, float]], float] | None = None) -> Experiment:
    """best: eta~ from the letters' values, at most the limit; None for the instance's share of the limit."""
    import numpy as np

    from dpfl_theory.algorithms import Cohort, RecordGradient
    from dpfl_theory.algorithms.observables import Reach
    from dpfl_theory.algorithms.scaffold import Scaffold

    problem = make(instance["problem"]["family"], **instance["problem"]["parameters"])
    constants, start = problem.constants, start_of(problem, instance["distance"])
    records = int(np.diff(problem.data.offsets)[0])  # type: ignore[attr-defined]
    size, K, T = int(instance["size"]), int(instance["K"]), int(instance["T"])
    share, threshold = size / problem.n, constants.G_record
    eta_g = math.sqrt(size) if instance["eta_g"] is None else float(instance["eta_g"])
    drawn = instance["share"] * records
    gradient = np.mean([problem.client_gradient(i, start) for i in range(problem.n)], axis=0)
    values: dict[str, float] = {
        "nu": constants.L_max,
        "M": float(problem.n),
        "l": share,
        "K": float(K),
        "T": float(T),
        "R": float(records),
        "s": float(instance["share"]),
        "varsigma": threshold if records > 1 else 0.0,  # a record's variance is at most its second moment
        "Sigma": 2 * threshold * math.sqrt(2 * problem.d) * instance["sigma"] / drawn,
        "D0": float(instance["distance"]),
        "F0": max(problem.value(start) - constants.f_star, 0.0),
        "slope0": float(gradient @ gradient),
        "eta_g": eta_g,
    }
    values["eta"] = instance["step"] * share ** (2 / 3) / (24 * values["nu"])
    if best is not None:
        values["eta"] = min(values["eta"], best(values))
    algorithm = Scaffold(
        values["eta"] / (K * eta_g),
        eta_g,
        K,
        Cohort("fixed", size) if size < problem.n else Cohort(),
        RecordGradient(instance["share"], threshold, instance["sigma"]),
        warm_start=1,
        warm_cohort=Cohort(),
    )
    return Experiment(problem, algorithm, T + 1, start, values, lanes=instance["lanes"], reach=Reach.anywhere(problem))


def runs(
    statement: Callable[[], Statement], best: Callable[[Mapping[str, float]], float] | None = None
) -> tuple[Check, ...]:
    """The Monte-Carlo checks; ``statement`` names whose letters the values are kept for."""

    def build(instance: Mapping[str, Any]) -> Experiment:
        from dataclasses import replace

        found = experiment(instance, best)
        names = {symbol.name for symbol in statement().symbols}
        return replace(found, values={name: value for name, value in found.values.items() if name in names})

    chosen = {name: i for name, i in RUNS.items() if best is None or i["distance"]}
    return tuple(Check("monte-carlo", name, build, instance) for name, instance in chosen.items())
