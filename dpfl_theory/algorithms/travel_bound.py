"""How far clipped or normalised FedAvg can travel: a radius that holds in all rounds except with a stated probability.

The update of round k moves the server by at most ``beta C |S_k|/r`` plus noise. The total number of participations is
binomial (Bernstein's inequality), and the noise sum is Gaussian (Laurent-Massart for its length). The largest of its
partial sums exceeds t with at most twice the probability that the last one does (Levy's inequality)."""

from __future__ import annotations

import math

import numpy as np

from dpfl_theory.algorithms.bounding import Clip, Normalise
from dpfl_theory.algorithms.fedavg import FedAvg
from dpfl_theory.algorithms.observables import Reach
from dpfl_theory.problems.base import Array, Problem

__all__ = ["FAILURE", "fedavg_reach"]

FAILURE = 1e-30
"""The probability that a run leaves its reach. The mean beyond it, some 1e-30 of the range, is far below rounding."""


def fedavg_reach(algorithm: FedAvg, problem: Problem, rounds: int, start: Array) -> Reach | None:
    """The `Reach` of a run with constant step sizes and one hyper-parameter set for all replicates; None where no bound
    holds (updates without a threshold, schedules, or no minimiser)."""
    w_star = problem.constants.w_star
    step, global_step = algorithm.local_step, algorithm.global_step
    beta = step if global_step is None else global_step
    if w_star is None or not isinstance(algorithm.bounding, (Clip, Normalise)):
        return None
    numbers = (step, beta, algorithm.bounding.threshold, algorithm.sigma)
    if not all(isinstance(v, (int, float)) for v in numbers):
        return None
    eta, beta, C, sigma = (float(v) for v in numbers)  # type: ignore[arg-type]
    n, r = problem.n, algorithm.cohort.divisor(problem.n)
    log = math.log(4.0 / FAILURE)
    participations = rounds * r
    if algorithm.cohort.scheme == "poisson" and r < n:
        participations += log / 3.0 + math.sqrt((log / 3.0) ** 2 + 2.0 * participations * log)
        participations = min(participations, float(rounds * n))
    variance = sigma**2 * (participations / r if algorithm.noise == "per-client" else rounds)
    noise = math.sqrt(variance * (problem.d + 2.0 * math.sqrt(problem.d * log) + 2.0 * log))
    radius = float(np.linalg.norm(start - w_star)) + beta * (C * participations / r + noise)
    at_star = np.linalg.norm(problem.gradients_at_star, axis=1)
    return Reach(radius, problem.constants, at_star, C, eta, algorithm.local_steps)
