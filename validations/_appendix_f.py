"""The setting of das2022 Appendix F, shared by the scripts of Figures 1 to 3.

n = 100 quadratics in d = 200 dimensions of rank 20, K = 500 rounds, E = 20 local steps, (epsilon, delta) = (5, 1e-6),
full participation, eta_k = beta_k = eta. The paper does not say its q; q = 1 here, so sigma^2 = K C^2 log(1/delta)/(n
epsilon)^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from dpfl_theory.algorithms import FedAvg, Run, simulate
from dpfl_theory.algorithms.observables import Observable
from dpfl_theory.problems.appendix_f import appendix_f, appendix_f_start
from dpfl_theory.problems.quadratic import Quadratic

ROUNDS = 500
LOCAL_STEPS = 20
CLIENTS = 100
EPSILON, DELTA, Q = 5.0, 1e-6, 1.0
METHODS = {"clip": "Clip", "normalise": "Norm"}
INITIALISATIONS = ("I1", "I2")
THRESHOLDS = (100.0, 50.0, 40.0)
INSTANCES = 3  # the paper averages three independent runs

CONFIGURATION = {
    "clients": CLIENTS,
    "dimension": 200,
    "rank": 20,
    "rounds": ROUNDS,
    "local steps": LOCAL_STEPS,
    "epsilon": EPSILON,
    "delta": DELTA,
    "q": Q,
    "sampling": "full participation",
    "noise": "the same for both methods",
}


def sigma(threshold: float) -> float:
    """Theorem 3's standard deviation per coordinate of the noise on the average [F/X]."""
    return threshold * math.sqrt(Q * ROUNDS * math.log(1.0 / DELTA)) / (CLIENTS * EPSILON)


def problems(seed: int) -> list[Quadratic]:
    """The three independent instances."""
    return [appendix_f(seed=seed + i, clients=CLIENTS) for i in range(INSTANCES)]


def run(
    problem: Quadratic,
    instance: int,
    *,
    initialisation: str,
    threshold: float,
    step: float | Sequence[float],
    method: str,
    observe: Sequence[str | Observable],
    lanes: int,
    seed: int,
    device: str,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """One run of Algorithm 1 with every round kept; both methods of one (seed, instance) share their noise."""
    algorithm = FedAvg(
        local_step=step,
        local_steps=LOCAL_STEPS,
        bounding=method,
        threshold=threshold,
        sigma=sigma(threshold),
        noise="average",
    )
    start = appendix_f_start(problem, initialisation, seed + instance)
    return simulate(
        algorithm,
        problem,
        ROUNDS,
        lanes,
        seed=1000 * seed + instance,
        observe=observe,
        start=start,
        series=True,
        device=device,
        progress=progress,
    )


def rounded(values: Any, digits: int = 5) -> list[float]:
    """A list of floats with that many significant digits, to keep the data files readable."""
    return [float(f"{v:.{digits}g}") for v in values]
