"""DP-ScaffNew (hou2023 Algorithm 2) as a JAX or NumPy user writes it.

    xhat_i = x_i - eta (g_i(x_i) - h_i);  with probability p, one coin for all clients:
    Delta_i = clip(xhat_i - x, C) + sigma z_i;  x = x_i = x + mean(Delta);  h_i += (p/eta)(mean(Delta) - Delta_i)
    else x_i = xhat_i

Without noise the coins are the package's own, read by address.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import ENGINE, Array, Contestant, load_jax
from dpfl_theory.algorithms.scaffnew import DPScaffNew
from dpfl_theory.kernels.engine import COIN, Replicates
from dpfl_theory.simulation import Simulation

__all__ = ["Setting", "jax_batched", "numpy_batched"]


@dataclass(frozen=True)
class Setting:
    """eta, p, C and sigma."""

    step: float
    probability: float
    threshold: float
    sigma: float

    def algorithm(self, private: bool) -> Simulation:
        """The package's algorithm."""
        sigma = self.sigma if private else 0.0
        return Simulation(DPScaffNew(eta=self.step, p=self.probability, C=self.threshold, sigma=sigma))

    def coins(self, rounds: int, replicates: int) -> Any:
        """The package's coins with seed 0, (rounds, replicates)."""
        where = Replicates(0, 0, replicates)
        return np.array([ENGINE.uniform(where, k, 1, COIN)[:, 0] for k in range(rounds)]) < self.probability


def _clip(xp: Any, message: Any, threshold: float) -> Any:
    norms = xp.sqrt((message * message).sum(axis=-1, keepdims=True))
    return message * xp.minimum(1.0, threshold / xp.maximum(norms, 1e-300))


def numpy_batched(
    name: str, setting: Setting, start: Array, clients: int, gradients: Callable[[Array], Array], flops: float
) -> Contestant:
    """NumPy; gradients: (n, replicates, d) -> (n, replicates, d). Only replicates that communicate clip, draw noise and
    send."""

    def run(rounds: int, private: bool) -> Array:
        rng = np.random.Generator(np.random.SFC64(0))
        given = None if private else setting.coins(rounds, len(start))
        x, local = start.copy(), np.repeat(start[None], clients, axis=0)
        control, gain = np.zeros_like(local), setting.probability / setting.step
        for k in range(rounds):
            coin = rng.random(len(start)) < setting.probability if given is None else given[k]
            local = local - setting.step * (gradients(local) - control)
            if coin.any():
                sent = _clip(np, local[:, coin] - x[coin], setting.threshold)
                if private:
                    sent += setting.sigma * rng.standard_normal(sent.shape)
                mean = sent.mean(axis=0)
                x[coin] += mean
                control[:, coin] += gain * (mean - sent)
                local[:, coin] = x[coin]
        return x

    return Contestant(name, run, flops)


def jax_batched(
    name: str, setting: Setting, start: Array, clients: int, gradients: Callable[[Any], Any], flops: float
) -> Contestant:
    """JAX with a scan over iterations; gradients: (n, replicates, d) -> (n, replicates, d)."""
    jax = load_jax()
    jnp, gain = jax.numpy, setting.probability / setting.step

    @partial(jax.jit, static_argnums=0)
    def loop(rounds: int, w: Any, sigma: Any, key: Any, given: Any) -> Any:
        def one(state: Any, inputs: Any) -> Any:
            (x, local, control), (key, given) = state, inputs
            toss, noise = jax.random.split(key)
            drawn = jax.random.uniform(toss, (len(start),)) < setting.probability
            coin = jnp.where(sigma > 0.0, drawn, given)[:, None]
            moved = local - setting.step * (gradients(local) - control)
            sent = _clip(jnp, moved - x, setting.threshold) + sigma * jax.random.normal(noise, local.shape)
            mean = sent.mean(axis=0)
            x = jnp.where(coin, x + mean, x)
            return (x, jnp.where(coin, x, moved), jnp.where(coin, control + gain * (mean - sent), control)), None

        local = jnp.repeat(w[None], clients, axis=0)
        keys = jax.random.split(key, rounds)
        return jax.lax.scan(one, (w, local, jnp.zeros_like(local)), (keys, given))[0][0]

    def run(rounds: int, private: bool) -> Array:
        given = np.zeros((rounds, len(start)), bool) if private else setting.coins(rounds, len(start))
        return np.asarray(loop(rounds, start, setting.sigma if private else 0.0, jax.random.key(0), given))

    return Contestant(name, run, flops)
