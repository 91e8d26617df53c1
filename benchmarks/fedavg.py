"""DP-FedAvg with clipped updates (das2022 Algorithm 1, option (i)) as a JAX or NumPy user writes it.

    u_i = (w - w_{i,E})/eta after E local gradient steps;   w <- w - eta ((1/n) sum_i u_i min(1, C/||u_i||) + sigma z)

Contestants differ in the computation of the mean of the clipped updates, the signal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Array, Contestant, load_jax
from dpfl_theory.algorithms.fedavg import DPFedAvg, server_noise
from dpfl_theory.simulation import Simulation

__all__ = ["Setting", "clipped_mean", "jax_batched", "jax_plain", "local_updates", "numpy_batched"]


@dataclass(frozen=True)
class Setting:
    """eta, E, C and sigma."""

    step: float
    local_steps: int
    threshold: float
    sigma: float

    def algorithm(self, private: bool) -> Simulation:
        """The package's algorithm."""
        sigma = self.sigma if private else 0.0
        run = DPFedAvg(eta=self.step, E=self.local_steps, C=self.threshold, sigma=sigma)
        return Simulation(run.replaced(noise=server_noise))


def clipped_mean(xp: Any, updates: Any, threshold: float) -> Any:
    """``(1/n) sum_i u_i min(1, C/||u_i||)`` of updates (n, replicates, d)."""
    norms = xp.sqrt(xp.einsum("nsd,nsd->ns", updates, updates))
    factors = xp.minimum(1.0, threshold / xp.maximum(norms, 1e-300))
    return xp.einsum("ns,nsd->sd", factors, updates) / len(updates)


def local_updates(gradients: Callable[[Any], Any], w: Any, clients: int, setting: Setting) -> Any:
    """The sums of the gradients along the local steps, in place; gradients: (n, replicates, d) -> (n, replicates,
    d)."""
    local = np.repeat(w[None], clients, axis=0)
    total = np.zeros_like(local)
    for _ in range(setting.local_steps):
        slope = gradients(local)
        total += slope
        local -= setting.step * slope
    return total


def numpy_batched(
    name: str, setting: Setting, start: Array, signal: Callable[[Array], Array], flops: float
) -> Contestant:
    """NumPy; signal: (replicates, d) -> (replicates, d)."""

    def run(rounds: int, private: bool) -> Array:
        rng = np.random.Generator(np.random.SFC64(0))
        w = start
        for _ in range(rounds):
            moved = signal(w)
            if private:
                moved = moved + setting.sigma * rng.standard_normal(w.shape)
            w = w - setting.step * moved
        return w

    return Contestant(name, run, flops)


def jax_batched(name: str, setting: Setting, start: Array, signal: Callable[[Any], Any], flops: float) -> Contestant:
    """JAX with a scan over rounds; signal: (replicates, d) -> (replicates, d)."""
    jax = load_jax()
    normal = jax.random.normal

    @partial(jax.jit, static_argnums=0)
    def loop(rounds: int, w: Any, sigma: Any, key: Any) -> Any:
        def one(w: Any, key: Any) -> Any:
            return w - setting.step * (signal(w) + sigma * normal(key, w.shape)), None

        return jax.lax.scan(one, w, jax.random.split(key, rounds))[0]

    def run(rounds: int, private: bool) -> Array:
        return np.asarray(loop(rounds, start, setting.sigma if private else 0.0, jax.random.key(0)))

    return Contestant(name, run, flops)


def jax_plain(setting: Setting, start: Array, loss: Callable[[Any, Any], Any], data: Any, flops: float) -> Contestant:
    """JAX as the pseudocode reads: one client's loss(w, its data), `jax.grad`, vmap over clients and over
    replicates."""
    jax = load_jax()
    jnp, gradient = jax.numpy, jax.grad(loss)

    def update(w: Any, own: Any) -> Any:
        def step(local: Any, _: None) -> Any:
            return local - setting.step * gradient(local, own), None

        local, _ = jax.lax.scan(step, w, None, length=setting.local_steps)
        u = (w - local) / setting.step
        return u * jnp.minimum(1.0, setting.threshold / jnp.maximum(jnp.linalg.norm(u), 1e-300))

    def of_replicate(w: Any) -> Any:
        return jax.vmap(update, in_axes=(None, 0))(w, data).mean(axis=0)

    return jax_batched("JAX, grad and vmap", setting, start, jax.vmap(of_replicate), flops)
