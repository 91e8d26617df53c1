"""das2022 Appendix F: quadratics of low rank, E = 20 local steps, clipped updates, noise on the average.

The idea: in client i's eigenbasis E local steps are one diagonal map, and the update's length is the length of its
coordinates. A round is then two products of (replicates, d) and (d, R) matrices, R = n rank, whatever E is. Without it
each local step is two products with the client's factor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import fedavg
from benchmarks.fedavg import Setting, clipped_mean, local_updates
from benchmarks.harness import Array, Case, Contestant, block_width, load_jax, ours
from dpfl_theory.problems.quadratic import Quadratic, appendix_f


@dataclass(frozen=True)
class Size:
    """Clients, dimension, rank, replicates, rounds and local steps."""

    clients: int = 100
    dimension: int = 200
    rank: int = 20
    replicates: int = 64
    rounds: int = 500
    local_steps: int = 20


SIZES = {"full": Size(), "quick": Size(), "tiny": Size(4, 6, 2, 3, 5, 3)}
STEP, THRESHOLD = 0.001, 50.0
EPSILON, DELTA, ROUNDS = 5.0, 1e-6, 500  # validations/das2022/_appendix_f.py


def problem_of(size: Size) -> tuple[Quadratic, Array, Setting]:
    """The problem, a starting point I1 for each replicate, and the hyper-parameters."""
    problem = appendix_f(0, size.clients, size.dimension, size.rank)
    w_star = problem.constants.w_star
    assert w_star is not None
    start = w_star + np.random.default_rng(1).uniform(size=(size.replicates, size.dimension))
    sigma = THRESHOLD * math.sqrt(ROUNDS * math.log(1.0 / DELTA)) / (100 * EPSILON)
    # about the median length at the start, also for tiny sizes: half of the updates are clipped
    lengths = [float(np.linalg.norm(problem.client_gradient(i, start[0]))) for i in range(problem.n)]
    middle = size.local_steps * float(np.median(lengths))
    return problem, start, Setting(STEP, size.local_steps, min(THRESHOLD, middle), sigma)


def build(size: str, jax: bool) -> list[Case]:
    """One table."""
    s = SIZES[size]
    problem, start, setting = problem_of(s)
    R = s.clients * s.rank
    two, walked = 4.0 * s.replicates * s.dimension * R, 4.0 * s.replicates * s.dimension * R * s.local_steps
    contestants = [
        ours(setting.algorithm, problem, start, two),
        fedavg.numpy_batched("NumPy, eigenbasis", setting, start, _in_eigenbasis(np, problem, setting), two),
        fedavg.numpy_batched("NumPy, local steps", setting, start, stepwise(problem, setting), walked),
    ]
    if jax:
        contestants += _jax(problem, setting, start, two, walked)
    return [
        Case(
            "Appendix F of das2022",
            f"n = {s.clients}, d = {s.dimension}, rank {s.rank}, E = {s.local_steps}, {s.replicates} replicates, "
            f"{s.rounds} rounds, DP-FedAvg with clipping",
            start,
            s.rounds,
            contestants,
            "4 S d R in the eigenbasis with R = n rank, 4 S d R E by local steps",
            (block_width(problem, s.replicates), s.dimension, R),
        )
    ]


def _in_eigenbasis(xp: Any, problem: Quadratic, setting: Setting) -> Any:
    """The signal by the idea above; all clients have the same rank."""
    basis, values, n = xp.asarray(problem.basis), problem.eigenvalues, problem.n
    maps = xp.asarray(sum(values * (1.0 - setting.step * values) ** t for t in range(setting.local_steps)))
    rank = len(values) // n
    shift = xp.asarray(np.einsum("rd,rd->r", problem.basis, np.repeat(problem.centres, rank, axis=0)))

    def signal(w: Any) -> Any:
        z = (maps * (w @ basis.T - shift)).reshape(len(w), n, rank)
        norms = xp.sqrt(xp.einsum("snr,snr->sn", z, z))
        z = z * xp.minimum(1.0, setting.threshold / xp.maximum(norms, 1e-300))[:, :, None]
        return z.reshape(len(w), -1) @ basis / n

    return signal


def _factors(problem: Quadratic) -> Array:
    """A_i (n, d, rank) with Q_i = A_i A_i^T."""
    scaled = problem.basis * np.sqrt(problem.eigenvalues)[:, None]
    return np.ascontiguousarray(scaled.reshape(problem.n, -1, problem.d).transpose(0, 2, 1))


def stepwise(problem: Quadratic, setting: Setting) -> Any:
    """The signal by E local steps of all clients and replicates at a time."""
    factors, centres = _factors(problem), problem.centres[:, None, :]
    transposed = np.ascontiguousarray(factors.transpose(0, 2, 1))

    def signal(w: Array) -> Array:
        updates = local_updates(lambda at: ((at - centres) @ factors) @ transposed, w, problem.n, setting)
        return np.asarray(clipped_mean(np, updates, setting.threshold))

    return signal


def _jax(problem: Quadratic, setting: Setting, start: Array, two: float, walked: float) -> list[Contestant]:
    jnp = load_jax().numpy

    def loss(w: Any, own: Any) -> Any:
        factor, centre = own
        return 0.5 * jnp.sum(((w - centre) @ factor) ** 2)

    data = jnp.asarray(_factors(problem)), jnp.asarray(problem.centres)
    signal = _in_eigenbasis(jnp, problem, setting)
    return [
        fedavg.jax_batched("JAX, eigenbasis", setting, start, signal, two),
        fedavg.jax_plain(setting, start, loss, data, walked),
    ]
