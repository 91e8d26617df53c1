"""How far clipped or normalised FedAvg can travel: a radius that holds in all rounds except with a stated probability.

The update of round k moves the server by at most ``beta C |S_k|/r`` plus noise. The total number of participations is
binomial (Bernstein's inequality), and the noise sum is Gaussian (Laurent-Massart for its length). The largest of its
partial sums exceeds t with at most twice the probability that the last one does (Levy's inequality)."""

from __future__ import annotations

import math

import numpy as np

from dpfl_theory.algorithms.fedavg import DPFedAvg, server_noise
from dpfl_theory.problems.base import Array, Problem
from dpfl_theory.simulation import Simulation
from dpfl_theory.simulation.observables import Reach

__all__ = ["FAILURE", "fedavg_reach"]

FAILURE = 1e-30
"""The probability that a run leaves its reach. The mean beyond it, some 1e-30 of the range, is far below rounding."""


def fedavg_reach(algorithm: Simulation, problem: Problem, rounds: int, start: Array) -> Reach | None:
    """The `Reach` of a run with constant step sizes and one hyper-parameter set for all replicates; None where no bound
    holds (updates without a threshold, schedules, or no minimiser)."""
    w_star = problem.constants.w_star
    run, cohort = algorithm.run.with_defaults(), algorithm.cohort
    if w_star is None or not isinstance(run, DPFedAvg):
        return None
    numbers = (run.local_step, run.global_step, run.threshold, run.sigma)
    if not all(isinstance(v, (int, float)) for v in numbers):
        return None
    eta, beta, C, sigma = (float(v) for v in numbers)
    n, r = problem.n, cohort.divisor(problem.n)
    log = math.log(4.0 / FAILURE)
    participations = rounds * r
    if cohort.scheme == "poisson" and r < n:
        participations += log / 3.0 + math.sqrt((log / 3.0) ** 2 + 2.0 * participations * log)
        participations = min(participations, float(rounds * n))
    variance = sigma**2 * (rounds if type(run).noise is server_noise else participations / r)
    noise = math.sqrt(variance * (problem.d + 2.0 * math.sqrt(problem.d * log) + 2.0 * log))
    radius = float(np.linalg.norm(start - w_star)) + beta * (C * participations / r + noise)
    at_star = np.linalg.norm(problem.gradients_at_star, axis=1)
    return Reach(radius, problem.constants, at_star, C, eta, run.local_steps)
