"""Runs algorithms round by round and sets them against the oracles, on the noise of the same addresses.

Comparisons return what is wrong as a list of sentences, so that the same function passes an implementation and is
seen to fail on a planted fault.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from oracles.fedavg import fedavg
from oracles.scaffnew import scaffnew

from dpfl_theory.algorithms.base import Algorithm, Context, Round
from dpfl_theory.algorithms.cohort import Cohort
from dpfl_theory.algorithms.hyperparameters import Schedule
from dpfl_theory.kernels.array import ArrayEngine
from dpfl_theory.kernels.cpu import CpuEngine
from dpfl_theory.kernels.engine import Engine, Lanes
from dpfl_theory.kernels.streams import COHORT, COIN, NOISE, SERVER_NOISE
from dpfl_theory.problems import make
from dpfl_theory.problems.base import Problem

CPU = CpuEngine()
ARRAY = ArrayEngine(np, "array", "NumPy as stand-in")
ENGINES: dict[str, Engine] = {"cpu": CPU, "array": ARRAY}

PROBLEMS: dict[str, dict[str, Any]] = {
    "dense": {"kind": "quadratic", "clients": 6, "dimension": 4, "seed": 1},
    "low-rank": {"kind": "quadratic", "clients": 6, "dimension": 5, "rank": 2, "seed": 2},
    "huber": {"kind": "huber", "clients": 6, "dimension": 3, "records": 5, "threshold": 0.5, "heterogeneity": 2.0},
    "logistic": {"kind": "logistic-synthetic", "clients": 6, "dimension": 3, "records": 8, "ridge": 0.1},
    "softmax": {"kind": "softmax-synthetic", "clients": 6, "dimension": 2, "records": 6, "classes": 3, "ridge": 0.05},
}


@functools.cache
def problem_of(name: str) -> Problem:
    return make(**PROBLEMS[name])


@dataclass
class Play:
    """What happened: server vectors (K+1, S, d), the K rounds and the K+1 states."""

    servers: np.ndarray
    rounds: list[Round]
    states: list[Any]
    context: Context


def play(
    algorithm: Algorithm,
    problem: Problem,
    rounds: int,
    start: np.ndarray,
    seed: int = 0,
    first_lane: int = 0,
    engine: Engine = CPU,
) -> Play:
    """Run without `simulate`, keeping everything; start (lanes, d)."""
    lanes = len(start)
    algorithm.validate(problem, lanes)
    kernels = problem.kernels(engine)
    context = Context(engine, problem, kernels, Lanes(seed, first_lane, lanes), slice(0, lanes), engine.asarray(start))
    states, happened = [algorithm.begin(context)], []
    with engine.blas_threads(kernels.blas_limit):
        for k in range(rounds):
            state, what = algorithm.round(context, states[-1], k)
            states.append(state)
            happened.append(what)
    servers = np.array([engine.to_host(algorithm.server(s)) for s in states])
    return Play(servers, happened, states, context)


def starting_points(problem: Problem, lanes: int, seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((lanes, problem.d)) * 2.0


def cohort_by_address(cohort: Cohort, n: int, seed: int, lane: int, k: int) -> list[int]:
    """Who takes part in one round of one lane, from the uniforms of the address."""
    if cohort.scheme == "full":
        return list(range(n))
    u = CPU.uniform(Lanes(seed, lane, 1), k, n, COHORT)[0]
    if cohort.scheme == "poisson":
        return [i for i in range(n) if u[i] < cohort.size / n]
    return sorted(int(i) for i in np.argsort(u)[: int(cohort.size)])


def _lane(value: Any, s: int) -> float:
    return float(np.ravel(value)[s]) if np.ndim(value) else float(value)


def _steps(step: Any, s: int, rounds: int) -> list[float]:
    if isinstance(step, Schedule):
        return [_lane(step.initial, s) * step.decay**k for k in range(rounds)]
    return [_lane(step, s)] * rounds


def fedavg_expected(
    a: Any, problem: Problem, rounds: int, start: np.ndarray, s: int, seed: int, lane: int
) -> np.ndarray:
    """The oracle's trajectory of lane ``first_lane + s``, whose noise and cohorts are read by address.

    The server sees per-client noise only added up, so any split of the sum serves: each member of S_k gets the same
    share of ``sqrt(r |S_k|) sigma z`` with z standard normal: a sum of |S_k| vectors N(0, r sigma^2 I).
    """
    n, d = problem.n, problem.d
    r = float(n) if a.cohort.scheme == "full" else float(a.cohort.size)
    cohorts = [cohort_by_address(a.cohort, n, seed, lane, k) for k in range(rounds)]
    zeta = np.zeros((rounds, n, d))
    shift = np.zeros((rounds, d))
    sigma = _lane(a.sigma, s)
    for k, members in enumerate(cohorts):
        z = CPU.normal(Lanes(seed, lane, 1), k, 1, d, SERVER_NOISE)[0, 0]
        if a.noise == "average":
            shift[k] = sigma * z
        elif members:
            zeta[k, members] = np.sqrt(r * len(members)) * sigma * z / len(members)
    eta, beta = (_steps(step, s, rounds) for step in (a.local_step, a.global_step or a.local_step))
    C = None if a.threshold is None else _lane(a.threshold, s)
    if a.noise == "client":
        return fedavg(problem, start, eta, beta, a.local_steps, a.bounding, C, r, cohorts, zeta)
    trajectory = [start]  # noise on the average: line 14 with a_k + N(0, sigma^2 I), one round at a time
    for k in range(rounds):
        once = (eta[k : k + 1], beta[k : k + 1], a.local_steps, a.bounding, C, r, cohorts[k : k + 1], zeta[k : k + 1])
        trajectory.append(fedavg(problem, trajectory[-1], *once)[-1] - beta[k] * shift[k])
    return np.array(trajectory)


def scaffnew_expected(
    a: Any, problem: Problem, rounds: int, start: np.ndarray, s: int, seed: int, lane: int
) -> tuple[np.ndarray, ...]:
    """The oracle's server vectors, client vectors and control variates."""
    one = Lanes(seed, lane, 1)
    coins = [bool(CPU.uniform(one, t, 1, COIN)[0, 0] < a.probability) for t in range(rounds)]
    noise = [_lane(a.sigma, s) * CPU.normal(one, t, problem.n, problem.d, NOISE)[:, 0] for t in range(rounds)]
    C = None if a.threshold is None else _lane(a.threshold, s)
    return scaffnew(problem, start, _lane(a.step, s), a.probability, C, coins, np.array(noise))


def differs(what: str, found: Any, expected: np.ndarray, scale: float, relative: float = 1e-10) -> list[str]:
    """A sentence when ``found`` is further than ``relative * scale`` from ``expected``."""
    if np.shape(found) != expected.shape:
        return [f"{what} has shape {np.shape(found)}, not {expected.shape}"]
    error = float(np.max(np.abs(found - expected), initial=0.0))
    return [] if error <= relative * scale else [f"{what} differs by {error:.3g} at scale {scale:.3g}"]


def disagreements(
    algorithm: Any,
    problem: Problem,
    rounds: int = 6,
    lanes: int = 3,
    seed: int = 11,
    first_lane: int = 4,
    engine: Engine = CPU,
    start: np.ndarray | None = None,
) -> list[str]:
    """How a run differs from its oracle, at the scale of the distance travelled."""
    points: np.ndarray | Sequence[Any] = starting_points(problem, lanes) if start is None else start
    run = play(algorithm, problem, rounds, np.asarray(points), seed, first_lane, engine)
    wrong = []
    for s in range(lanes):
        arguments = (algorithm, problem, rounds, points[s], s, seed, first_lane + s)
        if hasattr(algorithm, "probability"):
            x, x_i, h_i = scaffnew_expected(*arguments)
            travelled = float(np.max(np.abs(x_i - points[s])))
            clients = np.array([engine.to_host(state.x_i)[:, s] for state in run.states])
            variates = np.array([engine.to_host(state.h_i)[:, s] for state in run.states])
            wrong += differs(f"lane {s}: x_i", clients, x_i, travelled)
            wrong += differs(f"lane {s}: h_i", variates, h_i, float(np.max(np.abs(h_i))) + 1e-14)
        else:
            x = fedavg_expected(*arguments)
            travelled = float(np.max(np.abs(x - points[s])))
        wrong += differs(f"lane {s}: the server's vector", run.servers[:, s], x, travelled)
    return wrong
