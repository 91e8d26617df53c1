"""Comparison of algorithms with the oracles, round by round, on the noise of the same addresses.

Comparisons return faults as a list of sentences, so that the same function passes an implementation and fails on a
planted fault. An algorithm needs an entry in STEPS (no memory except the server's vector) or TRACES.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from oracles import families
from oracles.adaptive_clipping import adaptive_clipping
from oracles.addresses import (
    CPU,
    batches_by_address,
    cohort_by_address,
    gradient_by_address,
    of_replicate,
    server_noise,
    step_of,
)
from oracles.dp_ftrl import dp_ftrl
from oracles.dp_mcmahan import dp_mcmahan
from oracles.dp_sgd import dp_sgd
from oracles.ef21 import ef21
from oracles.fedavg import fedavg
from oracles.feddyn import feddyn
from oracles.federation import Federation
from oracles.fednova import fednova
from oracles.fedopt import fedavgm, fedopt
from oracles.fedprox import fedprox
from oracles.local_dp import local_dp
from oracles.mcmahan import mcmahan
from oracles.poisson_lots import poisson_lots_step
from oracles.scaffnew import scaffnew
from oracles.scaffold import scaffold
from oracles.two_sided import two_sided

from dpfl_theory.algorithms.fedavg import server_noise as noise_by_server
from dpfl_theory.algorithms.fedavgm import FedAvgM
from dpfl_theory.algorithms.feddyn import FedDyn
from dpfl_theory.algorithms.fednova import FedNova
from dpfl_theory.algorithms.fedopt import FedAdam
from dpfl_theory.algorithms.mcmahan import EqualFedAvg
from dpfl_theory.algorithms.scaffold import all_users
from dpfl_theory.core.algorithm import Algorithm as Description
from dpfl_theory.kernels.array import ArrayEngine
from dpfl_theory.kernels.engine import COIN, NOISE, RECORDS, SERVER_NOISE, Engine, Replicates
from dpfl_theory.problems import make
from dpfl_theory.problems.base import Problem
from dpfl_theory.simulation.base import Algorithm, Context, Round
from dpfl_theory.simulation.cohort import Cohort
from dpfl_theory.simulation.gradients import RecordGradient

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
    """One of PROBLEMS, or "unequal": logistic clients with 3 to 9 records."""
    return families.unequal() if name == "unequal" else make(**PROBLEMS[name])


@dataclass
class Play:
    """The record of a run: server vectors (K+1, S, d), the K rounds and the K+1 states."""

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
    first_replicate: int = 0,
    engine: Engine = CPU,
) -> Play:
    """Run without `simulate`, keeping everything; start (replicates, d)."""
    replicates = len(start)
    algorithm.validate(problem, replicates)
    kernels = problem.kernels(engine)
    context = Context(
        engine,
        problem,
        kernels,
        Replicates(seed, first_replicate, replicates),
        slice(0, replicates),
        engine.asarray(start),
    )
    states, round_ = [algorithm.initial_state(context)], []
    with engine.single_blas():
        for k in range(rounds):
            state, what = algorithm.round(context, states[-1], k)
            states.append(state)
            round_.append(what)
    servers = np.array([engine.to_host(algorithm.server(s)) for s in states])
    return Play(servers, round_, states, context)


def starting_points(problem: Problem, replicates: int, seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((replicates, problem.d)) * 2.0


def fedavg_step(a: Any, problem: Problem, w: np.ndarray, k: int, s: int, seed: int, replicate: int) -> np.ndarray:
    """das2022 Algorithms 1 and 2.

    The server sees only the sum of per-client noise, so any split of the sum is valid. Each member of S_k gets the same
    share of ``sqrt(r |S_k|) sigma z`` with z standard normal, a sum of |S_k| vectors N(0, r sigma^2 I).
    """
    n, d, run = problem.n, problem.d, a.run.with_defaults()
    r = float(n) if a.cohort.scheme == "full" else float(a.cohort.size)
    members = cohort_by_address(a.cohort, n, seed, replicate, k)
    noise = of_replicate(getattr(run, "sigma", 0.0), s) * server_noise(d, seed, replicate, k)
    eta, beta = (step_of(step, s, k) for step in (run.local_step, run.global_step))
    average = type(run).noise is noise_by_server
    zeta = np.zeros((1, n, d))
    if not average and members:
        zeta[0, members] = np.sqrt(r * len(members)) * noise / len(members)
    operator = {"fedavg": "none", "dp-fedavg": "clip", "dp-normfedavg": "normalise"}.get(run.name, "none")
    C = of_replicate(getattr(run, "threshold", None) or 0.0, s)
    after = fedavg(problem, w, [eta], [beta], run.local_steps, operator, C, r, [members], zeta)[-1]
    return after - beta * noise if average else after  # line 14 with a_k + N(0, sigma^2 I)


def two_sided_step(a: Any, problem: Problem, x: np.ndarray, k: int, s: int, seed: int, replicate: int) -> np.ndarray:
    """zhang2021 Algorithms 1 to 3, or model clipping; the members share their noise as for FedAvg.

    Privacy needs division by the expected number of members, where it is random.
    """
    run, random = a.run, a.cohort.scheme == "poisson"
    members = cohort_by_address(a.cohort, problem.n, seed, replicate, k)
    noise = of_replicate(getattr(run, "sigma", 0.0), s) * server_noise(problem.d, seed, replicate, k)
    z = [np.tile(noise / np.sqrt(max(len(members), 1)), (len(members), 1))]
    models = run.name == "fedavg-model-clipping"
    divisor = float(a.cohort.size) if random and run.protects == "client" and not models else None
    c = None if run.protects == "record" or getattr(run, "threshold", None) is None else of_replicate(run.threshold, s)
    steps = [step_of(run.local_step, s, k)], [step_of(run.global_step, s, k)]
    gradient = gradient_of(a, problem, s, seed, replicate)
    if type(run).noise is not noise_by_server:
        return two_sided(gradient, x, *steps, run.local_steps, c, [members], z, k, models, divisor)[-1]
    quiet, expected = [np.zeros((len(members), problem.d))], a.cohort.divisor(problem.n)
    after = two_sided(gradient, x, *steps, run.local_steps, c, [members], quiet, k, models, divisor)[-1]
    return after + steps[1][0] * noise / np.sqrt(expected)


def gradient_of(a: Any, problem: Problem, s: int, seed: int, replicate: int) -> Any:
    """The gradients of a simulation's local steps: its oracle's, or those of the records where these are protected."""
    run = a.run
    if run.protects != "record":
        return gradient_by_address(a.gradient, problem, s, seed, replicate)
    oracle = RecordGradient(run.share, run.threshold, run.noise_multiplier)
    drawn = "size" in run.replaced_parts
    return gradient_by_address(oracle, problem, s, seed, replicate, over_drawn=drawn)


def dp_sgd_step(a: Any, problem: Problem, x: np.ndarray, k: int, s: int, seed: int, replicate: int) -> np.ndarray:
    """shulgin2025 equation (2)."""
    run = a.run
    members = cohort_by_address(a.cohort, problem.n, seed, replicate, k)
    z = of_replicate(run.sigma, s) * server_noise(problem.d, seed, replicate, k)
    B = float(problem.n) if a.cohort.scheme == "full" else float(a.cohort.size)
    gradient = gradient_by_address(a.gradient, problem, s, seed, replicate)
    return dp_sgd(gradient, x, [step_of(run.global_step, s, k)], *psi_of(run, s), B, [members], [z], k)[-1]


def dp_mcmahan_step(a: Any, problem: Problem, w: np.ndarray, k: int, s: int, seed: int, replicate: int) -> np.ndarray:
    """McMahan et al. 2018 Algorithm 1."""
    run, data = a.run.with_defaults(), getattr(problem, "data", None)
    return dp_mcmahan(
        gradient_by_address(a.gradient, problem, s, seed, replicate),
        w,
        [1] * problem.n if data is None else np.diff(data.offsets).tolist(),
        cohort_by_address(a.cohort, problem.n, seed, replicate, k),
        a.cohort.divisor(problem.n) / problem.n,
        k,
        server_noise(problem.d, seed, replicate, k),
        eta=step_of(run.local_step, s, k),
        server=step_of(run.global_step, s, k),
        E=run.local_steps,
        S=of_replicate(run.threshold, s),
        w_hat=of_replicate(run.cap, s),
        multiplier=of_replicate(run.noise_multiplier, s),
        clipped="noise" in run.replaced_parts,
    )


def local_dp_step(a: Any, problem: Problem, w: np.ndarray, k: int, s: int, seed: int, replicate: int) -> np.ndarray:
    """Local differential privacy; each member gets the same share of the sum of the noises, a vector sqrt(|S|) z."""
    run = a.run.with_defaults()
    members = cohort_by_address(a.cohort, problem.n, seed, replicate, k)
    share = server_noise(problem.d, seed, replicate, k) / np.sqrt(max(len(members), 1))
    return local_dp(
        gradient_by_address(a.gradient, problem, s, seed, replicate),
        w,
        members,
        k,
        [share] * len(members),
        eta=step_of(run.local_step, s, k),
        eta_s=step_of(run.global_step, s, k),
        E=run.local_steps,
        C=of_replicate(run.threshold, s),
        z=of_replicate(run.noise_multiplier, s),
        divisor=a.cohort.divisor(problem.n) if "divisor" in run.replaced_parts else 0.0,
    )


def dp_sgd_lots_step(a: Any, problem: Problem, w: np.ndarray, k: int, s: int, seed: int, replicate: int) -> np.ndarray:
    """DP-SGD. Record j of client i is in the lot where the uniform number i R + j is below the rate, R being the
    largest number of records; without uniform numbers where the rate is 1."""
    run, data = a.run.with_defaults(), problem.data  # type: ignore[attr-defined]
    sizes = np.diff(data.offsets)
    u = np.zeros((problem.n, int(sizes.max())))
    if run.share < 1.0:
        u = CPU.uniform(Replicates(seed, replicate, 1), k, u.size, RECORDS)[0].reshape(u.shape)
    lots = [[j for j in range(size) if u[i, j] < run.share] for i, size in enumerate(sizes)]
    noise = of_replicate(run.noise_multiplier, s) * server_noise(problem.d, seed, replicate, k)
    return poisson_lots_step(
        data, w, lots, run.share, step_of(run.global_step, s, k), of_replicate(run.threshold, s), noise
    )


def adaptive_clipping_trace(
    a: Any, problem: Problem, rounds: int, start: np.ndarray, s: int, seed: int, replicate: int
) -> dict[str, np.ndarray]:
    """Andrew et al. 2021 Algorithm 1. The count's normal number is the round's second draw."""
    run, one = a.run.with_defaults(), Replicates(seed, replicate, 1)
    z = of_replicate(run.noise_multiplier, s)
    theta, C = adaptive_clipping(
        gradient_by_address(a.gradient, problem, s, seed, replicate),
        start,
        [cohort_by_address(a.cohort, problem.n, seed, replicate, k) for k in range(rounds)],
        a.cohort.divisor(problem.n),
        [server_noise(problem.d, seed, replicate, k) for k in range(rounds)],
        [float(CPU.normal(one, k, 1, 1, SERVER_NOISE, 1)[0, 0, 0]) for k in range(rounds)],
        eta=of_replicate(run.local_step, s),
        eta_s=of_replicate(run.global_step, s),
        E=run.local_steps,
        C=of_replicate(run.threshold, s),
        beta=of_replicate(run.momentum, s),
        gamma=of_replicate(run.quantile, s),
        eta_C=of_replicate(run.clip_rate, s),
        multiplier=z,
        sigma_b=of_replicate(run.count_noise, s) or 5.0 * z,
    )
    return {"server": theta, "C": C}


def dp_ftrl_trace(
    a: Any, problem: Problem, rounds: int, start: np.ndarray, s: int, seed: int, replicate: int
) -> dict[str, np.ndarray]:
    """DP-FTRL."""
    run = a.run.with_defaults()
    w = dp_ftrl(
        gradient_by_address(a.gradient, problem, s, seed, replicate),
        start,
        [cohort_by_address(a.cohort, problem.n, seed, replicate, k) for k in range(rounds)],
        a.cohort.divisor(problem.n),
        [server_noise(problem.d, seed, replicate, k) for k in range(rounds)],
        eta=of_replicate(run.local_step, s),
        eta_s=of_replicate(run.global_step, s),
        E=run.local_steps,
        C=of_replicate(run.threshold, s),
        z=of_replicate(run.noise_multiplier, s),
        restart=run.restart,
    )
    return {"server": w}


def psi_of(run: Any, s: int) -> tuple[str, float]:
    """The name of the bounding operator of error feedback or DP-SGD, and its parameter in one replicate."""
    if hasattr(run, "threshold"):
        return "clip", of_replicate(run.threshold, s)
    return "smoothed-normalise", of_replicate(run.smoothing, s)


def scaffnew_trace(
    a: Any, problem: Problem, rounds: int, start: np.ndarray, s: int, seed: int, replicate: int
) -> dict[str, np.ndarray]:
    """hou2023 Algorithm 2."""
    one, run = Replicates(seed, replicate, 1), a.run
    coins = [bool(CPU.uniform(one, t, 1, COIN)[0, 0] < run.probability) for t in range(rounds)]
    sigma = of_replicate(getattr(run, "sigma", 0.0), s)
    noise = [sigma * CPU.normal(one, t, problem.n, problem.d, NOISE)[:, 0] for t in range(rounds)]
    threshold = getattr(run, "threshold", None)
    C = None if threshold is None else of_replicate(threshold, s)
    gradient = gradient_by_address(a.gradient, problem, s, seed, replicate)
    step = of_replicate(run.step, s)
    x, x_i, h_i = scaffnew(gradient, problem.n, start, step, run.probability, C, coins, np.array(noise))
    return {"server": x, "x_i": x_i, "h_i": h_i}


def ef21_trace(
    a: Any, problem: Problem, rounds: int, start: np.ndarray, s: int, seed: int, replicate: int
) -> dict[str, np.ndarray]:
    """shulgin2025 Algorithm 1. The server sees only the sum of the noise: each client gets the same share of it."""
    n, d, run = problem.n, problem.d, a.run
    v0 = of_replicate(getattr(run, "memory", 0.0), s) * np.array([problem.client_gradient(i, start) for i in range(n)])
    noise = [of_replicate(run.sigma, s) * server_noise(d, seed, replicate, k) / np.sqrt(n) for k in range(rounds)]
    z = np.repeat(np.array(noise)[:, None], n, axis=1)
    gradient = gradient_by_address(a.gradient, problem, s, seed, replicate)
    gamma = [step_of(run.step, s, k) for k in range(rounds)]
    beta, normalises = of_replicate(run.memory_step, s), "NormEC" in run.direction.__qualname__
    x, v_i, v = ef21(gradient, start, v0, gamma, *psi_of(run, s), beta, normalises, z)
    return {"server": x, "v_i": v_i, "v": v}


def scaffold_trace(
    a: Any, problem: Problem, rounds: int, start: np.ndarray, s: int, seed: int, replicate: int
) -> dict[str, np.ndarray]:
    """noble2022 Algorithm 1."""
    run = a.run
    everyone = type(run).warm_members is all_users
    chosen = [Cohort() if everyone and k < run.warm_start else a.cohort for k in range(rounds)]
    cohorts = [cohort_by_address(cohort, problem.n, seed, replicate, k) for k, cohort in enumerate(chosen)]
    eta_l, eta_g = ([step_of(step, s, k) for k in range(rounds)] for step in (run.local_step, run.global_step))
    gradient = gradient_of(a, problem, s, seed, replicate)
    x, c, c_i = scaffold(gradient, problem.n, start, eta_l, eta_g, run.local_steps, cohorts, run.warm_start)
    return {"server": x, "c": c, "c_i": c_i}


def momentum_trace(
    a: Any, problem: Problem, rounds: int, start: np.ndarray, s: int, seed: int, replicate: int
) -> dict[str, np.ndarray]:
    """das2022 Appendix H: v <- m v + (w - the algorithm's result from w), w <- w - v."""
    step, m = STEPS[name_of(a)], of_replicate(a.run.momentum, s)
    trajectory, velocity = [start], np.zeros_like(start)
    for k in range(rounds):
        w = trajectory[-1]
        velocity = m * velocity + w - step(a, problem, w, k, s, seed, replicate)
        trajectory.append(w - velocity)
    return {"server": np.array(trajectory)}


def average_trace(
    a: Any, problem: Problem, rounds: int, start: np.ndarray, s: int, seed: int, replicate: int
) -> dict[str, np.ndarray]:
    """``sum_t omega_t x_t / sum_t omega_t`` over t = 1, ..., T with omega_t = ratio^-t, and x_0 for T = 0; over t = 0,
    ..., T if the start counts."""
    x = trace(a.algorithm, problem, rounds, start, s, seed, replicate)["server"]
    omega = of_replicate(a.ratio, s) ** -np.arange(0.0, rounds + 1.0)
    first = 0 if a.with_start else 1
    means = [omega[first : T + 1] @ x[first : T + 1] / omega[first : T + 1].sum() for T in range(1, rounds + 1)]
    return {"server": np.array([start, *means])}


def federation_trace(
    a: Any, problem: Problem, rounds: int, start: np.ndarray, s: int, seed: int, replicate: int
) -> dict[str, np.ndarray]:
    """The algorithms without privacy that people implement, in all their readings."""
    run = a.run.with_defaults()
    kind, size = type(run), run.batch_size
    data = getattr(problem, "data", None)
    sizes = [1] * problem.n if data is None else np.diff(data.offsets).tolist()
    batches = [int(np.ceil(own / size)) if size else 1 for own in sizes]
    oracle = batches_by_address(problem, size, seed, replicate) if size else gradient_of(a, problem, s, seed, replicate)
    cohorts = [cohort_by_address(a.cohort, problem.n, seed, replicate, k) for k in range(rounds)]
    eta, eta_g = ([step_of(x, s, k) for k in range(rounds)] for x in (run.local_step, run.global_step))
    equal = kind.weight is EqualFedAvg.weight
    f = Federation(oracle, sizes, [run.local_steps * own for own in batches], eta, cohorts, equal)
    own = {name: of_replicate(getattr(run, name), s) for name in kind.parameters}
    if run.name in ("fedadam", "fedyogi", "fedadagrad"):
        values = own["first_decay"], own.get("second_decay"), own["adaptivity"]
        of_momentum = kind.squared is not FedAdam.squared
        return dict(zip(("server", "first", "second"), fedopt(f, start, run.name, eta_g, *values, of_momentum)))
    if run.name == "feddyn":
        by_share = kind.alpha is not FedDyn.alpha
        alpha = own["strength"]
        alphas = [alpha * sum(sizes) / (problem.n * one) if by_share else alpha for one in sizes]
        return dict(zip(("server", "h", "duals"), feddyn(f, start, alpha, alphas, kind.moved is not FedDyn.moved)))
    found = {
        "fedavg-mcmahan": lambda: mcmahan(f, start, eta_g),
        "fedprox": lambda: fedprox(f, start, eta_g, own["proximal"]),
        "fednova": lambda: fednova(f, start, eta_g, own["momentum_factor"], kind.effective is not FedNova.effective),
        "fedavgm": lambda: fedavgm(f, start, eta_g, own["decay"], kind.ahead is not FedAvgM.ahead),
    }
    return {"server": found[run.name]()}


STEPS: dict[str, Callable[..., np.ndarray]] = {
    "fedavg": fedavg_step,
    "dp-fedavg": fedavg_step,
    "dp-normfedavg": fedavg_step,
    "noisy-fedavg": fedavg_step,
    "fedavg-two-sided": two_sided_step,
    "dp-fedavg-two-sided": two_sided_step,
    "dp-fedavg-two-sided-unclipped": two_sided_step,
    "dp-fedavg-record": two_sided_step,
    "dp-sgd-record": two_sided_step,
    "fedavg-model-clipping": two_sided_step,
    "dp-norm-sgd": dp_sgd_step,
    "dp-fedavg-mcmahan": dp_mcmahan_step,
    "dp-fedavg-local": local_dp_step,
    "dp-sgd": dp_sgd_lots_step,
}
"""(algorithm, problem, w, round, replicate's place, seed, replicate) -> the next w, for algorithms without memory."""

TRACES: dict[str, Callable[..., dict[str, np.ndarray]]] = {
    "scaffnew": scaffnew_trace,
    "dp-scaffnew": scaffnew_trace,
    "dp-scaffnew-unclipped": scaffnew_trace,
    "dp-clip21": ef21_trace,
    "dp-norm-ec": ef21_trace,
    "scaffold": scaffold_trace,
    "dp-scaffold": scaffold_trace,
    "WeightedAverage": average_trace,
    **dict.fromkeys(
        ("fedavg-mcmahan", "fedprox", "fednova", "fedavgm", "fedadam", "fedyogi", "fedadagrad", "feddyn"),
        federation_trace,
    ),
    "dp-fedavg-adaptive": adaptive_clipping_trace,
    "dp-ftrl": dp_ftrl_trace,
}
"""(algorithm, problem, rounds, start, replicate's place, seed, replicate) -> the server's vectors, and parts of the
state by name, each with the rounds + 1 states first."""

PARTS = {"x_i": 0, "h_i": 1, "c": 0, "c_i": 1, "v": 0, "v_i": 1, "first": 0, "second": 1, "h": 0, "duals": 1, "C": 0}
"""The places of these parts in the state of a description."""


def name_of(a: Any) -> str:
    """The name of a description that is simulated, or of a hand-written algorithm's class."""
    return a.run.name if isinstance(getattr(a, "run", None), Description) else type(a).__name__


def part_of(state: Any, name: str) -> Any:
    """A part of a state by name."""
    return state.inner[PARTS[name]] if hasattr(state, "inner") else getattr(state, name)


def trace(
    a: Any, problem: Problem, rounds: int, start: np.ndarray, s: int, seed: int, replicate: int
) -> dict[str, np.ndarray]:
    """The oracle's result for one replicate."""
    name = name_of(a)
    if name not in TRACES and hasattr(getattr(a, "run", None), "momentum"):
        return momentum_trace(a, problem, rounds, start, s, seed, replicate)
    if name in TRACES:
        return TRACES[name](a, problem, rounds, start, s, seed, replicate)
    trajectory = [start]
    for k in range(rounds):
        trajectory.append(STEPS[name](a, problem, trajectory[-1], k, s, seed, replicate))
    return {"server": np.array(trajectory)}


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
    replicates: int = 3,
    seed: int = 11,
    first_replicate: int = 4,
    engine: Engine | Sequence[Engine] = CPU,
    start: np.ndarray | None = None,
) -> list[str]:
    """How a run differs from its oracle: parameters at the scale of the distance travelled, gradients at their own."""
    points: Any = starting_points(problem, replicates) if start is None else start
    engines = [engine] if isinstance(engine, Engine) else engine
    runs = [play(algorithm, problem, rounds, np.asarray(points), seed, first_replicate, e) for e in engines]
    wrong = []
    for s in range(replicates):
        expected = trace(algorithm, problem, rounds, points[s], s, seed, first_replicate + s)
        moving = [expected[name] for name in ("server", "x_i") if name in expected]
        travelled = max(float(np.max(np.abs(x - points[s]))) for x in moving)
        for (name, array), run in itertools.product(expected.items(), runs):
            own = run.context.engine
            if name == "server":
                found = run.servers[:, s]
            else:
                found = np.array([own.to_host(part_of(state, name))[..., s, :] for state in run.states])
            scale = travelled if name in ("server", "x_i") else float(np.max(np.abs(array))) + 1e-14
            wrong += differs(f"{own.name}, replicate {s}: {name}", found, array, scale)
    return wrong
