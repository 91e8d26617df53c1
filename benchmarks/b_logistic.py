"""Logistic regression with full local gradients: DP-FedAvg with clipping, every local step two products a client.

The idea: replicates share the records, so the logits of a batch of replicates are one product (replicates, d) x (d, m)
for each client, and the gradients another one; the package does some replicates of one client at a time, so that the
logits stay in the cache between the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import fedavg
from benchmarks.fedavg import Setting, clipped_mean, local_updates
from benchmarks.harness import Array, Case, block_width, load_jax, ours
from dpfl_theory.problems import make
from dpfl_theory.problems.linear_model import LinearModel

__all__ = ["jax_gradients", "jax_loss", "numpy_gradients", "records"]


@dataclass(frozen=True)
class Size:
    """Clients, records of each, features, replicates, rounds and local steps."""

    clients: int = 100
    records: int = 100
    dimension: int = 100
    replicates: int = 64
    rounds: int = 20
    local_steps: int = 20


SIZES = {"full": Size(), "quick": Size(), "tiny": Size(3, 7, 4, 3, 5, 3)}


def problem_of(size: Size) -> tuple[LinearModel, Array, Setting]:
    """The problem, a starting point for each replicate, and hyper-parameters with which about half of all updates are
    clipped at the start."""
    problem = make(
        "logistic-synthetic",
        clients=size.clients,
        dimension=size.dimension,
        records=size.records,
        ridge=0.01,
    )
    assert isinstance(problem, LinearModel)
    start = np.random.default_rng(1).standard_normal((size.replicates, size.dimension))
    lengths = [float(np.linalg.norm(problem.client_gradient(i, start[0]))) for i in range(problem.n)]
    return problem, start, Setting(0.1, size.local_steps, size.local_steps * float(np.median(lengths)), 0.1)


def build(size: str, jax: bool) -> list[Case]:
    """One table."""
    s = SIZES[size]
    problem, start, setting = problem_of(s)
    flops = 4.0 * s.replicates * s.clients * s.records * s.dimension * s.local_steps
    gradients = numpy_gradients(problem)

    def signal(w: Array) -> Any:
        return clipped_mean(np, local_updates(gradients, w, problem.n, setting), setting.threshold)

    contestants = [
        ours(setting.algorithm, problem, start, flops),
        fedavg.numpy_batched("NumPy, batched", setting, start, signal, flops),
    ]
    if jax:
        lib = load_jax()
        batched = jax_gradients(problem)

        def jax_signal(w: Any) -> Any:
            local = lib.numpy.repeat(w[None], problem.n, axis=0)

            def step(at: Any, _: None) -> Any:
                return at - setting.step * batched(at), None

            last, _ = lib.lax.scan(step, local, None, length=setting.local_steps)
            return clipped_mean(lib.numpy, (local - last) / setting.step, setting.threshold)

        data = tuple(lib.numpy.asarray(part) for part in records(problem))
        contestants += [
            fedavg.jax_batched("JAX, batched products", setting, start, jax_signal, flops),
            fedavg.jax_plain(setting, start, jax_loss(problem.data.ridge), data, flops),
        ]
    return [
        Case(
            "Logistic regression",
            f"n = {s.clients}, {s.records} records each, d = {s.dimension}, E = {s.local_steps}, {s.replicates} "
            f"replicates, {s.rounds} rounds, DP-FedAvg with clipping",
            start,
            s.rounds,
            contestants,
            "4 S n m d E",
            (block_width(problem, s.replicates), s.dimension, s.records),
        )
    ]


def records(problem: LinearModel) -> tuple[Array, Array]:
    """x (n, m, d) and y (n, m) of clients with equally many records."""
    data = problem.data
    return data.x.reshape(problem.n, -1, data.x.shape[1]), data.y.reshape(problem.n, -1)


def numpy_gradients(problem: LinearModel) -> Any:
    """Logistic gradients (n, replicates, d) -> (n, replicates, d), batched products."""
    x, y = records(problem)
    transposed, labels, ridge = x.transpose(0, 2, 1), y[:, None, :], problem.data.ridge

    def gradients(w: Array) -> Array:
        z = w @ transposed
        z *= labels
        np.exp(z, out=z)
        z += 1.0
        np.divide(labels, z, out=z)
        g = z @ x
        g *= -1.0 / x.shape[1]
        g += ridge * w
        return np.asarray(g)

    return gradients


def jax_gradients(problem: LinearModel) -> Any:
    """The same in JAX."""
    lib = load_jax()
    x, y = (lib.numpy.asarray(part) for part in records(problem))

    def gradients(w: Any) -> Any:
        labels = y[:, None, :]
        slopes = -labels * lib.nn.sigmoid(-labels * lib.numpy.einsum("nsd,nmd->nsm", w, x))
        return lib.numpy.einsum("nsm,nmd->nsd", slopes, x) / x.shape[1] + problem.data.ridge * w

    return gradients


def jax_loss(ridge: float) -> Any:
    """One client's objective(w, (x, y)) in JAX."""
    jnp = load_jax().numpy

    def loss(w: Any, own: Any) -> Any:
        x, y = own
        return jnp.mean(jnp.logaddexp(0.0, -y * (x @ w))) + 0.5 * ridge * jnp.sum(w * w)

    return loss
