"""DP-SCAFFOLD with clipped gradients of records in JAX: one replicate's round, vmapped over replicates and scanned over
rounds.

``plain`` is what a JAX user writes: the gradient of one record by `jax.grad`, vmapped over records, clipped. The other
form finds the lengths without forming gradients, as the package does.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.harness import Array, Contestant

if TYPE_CHECKING:
    from benchmarks.c_record_clipping import Setting

__all__ = ["contestants"]


def contestants(setting: Setting, threshold: float, jax: Any, flops: float) -> list[Contestant]:
    """Both forms."""
    ridge, jnp = setting.problem.data.ridge, jax.numpy

    def loss(w: Any, x: Any, y: Any) -> Any:
        z = w @ x
        return jax.nn.logsumexp(z) - z[y] + 0.5 * ridge * jnp.sum(w * w)

    def plain(w: Any, x: Any, y: Any) -> Any:
        g = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(w, x, y)
        lengths = jnp.sqrt(jnp.sum(g * g, axis=(1, 2)))
        return jnp.sum(g * jnp.minimum(1.0, threshold / lengths)[:, None, None], axis=0)

    def by_formula(w: Any, x: Any, y: Any) -> Any:
        z = x @ w.T
        p = jax.nn.softmax(z) - jax.nn.one_hot(y, len(w))
        squares = (p * p).sum(1) * (x * x).sum(1) + 2.0 * ridge * (p * z).sum(1) + ridge**2 * (w * w).sum()
        factor = jnp.minimum(1.0, threshold / jnp.sqrt(squares))
        return (p * factor[:, None]).T @ x + ridge * factor.sum() * w

    return [
        _contestant("JAX, lengths by formula", setting, threshold, jax, by_formula, flops),
        _contestant("JAX, grad and vmap", setting, threshold, jax, plain, flops),
    ]


def _contestant(name: str, setting: Setting, threshold: float, jax: Any, sums: Any, flops: float) -> Contestant:
    jnp, random = jax.numpy, jax.random
    (M, R, A, b, classes), K, eta = setting.sizes, setting.local_steps, setting.step
    x, y = (jnp.asarray(part) for part in setting.records)
    S, shape = len(setting.start), (classes, setting.problem.d // classes)

    def subset(key: Any, size: int, count: int) -> Any:
        return jax.lax.top_k(random.uniform(key, (size,)), count)[1]

    def local(w: Any, correction: Any, i: Any, chosen: Any, keys: Any, noise: Any) -> Any:
        """A user's model after K steps; chosen (K, b) or None."""

        def step(at: Any, inputs: Any) -> Any:
            key, given = inputs
            own, other = random.split(key)
            rows = subset(own, R, b) if given is None else given
            total = sums(at, x[i, rows], y[i, rows]) + noise * random.normal(other, shape)
            return at - eta * (total / b + correction), None

        return jax.lax.scan(step, w, (keys, chosen))[0]

    def of_replicate(state: Any, key: Any, members: Any, chosen: Any, noise: Any) -> Any:
        """A round of one replicate: members (A,) and chosen (K, A, b), or None for both."""
        w, c, c_i = state
        first, second = random.split(key)
        members = subset(first, M, A) if members is None else members
        old, keys = c_i[members], random.split(second, (A, K))
        each = jax.vmap(local, in_axes=(None, 0, 0, None if chosen is None else 1, 0, None))
        models = each(w, c - old, members, chosen, keys, noise)
        new = old - c + (w - models) / (K * eta)
        return w + (models - w).mean(axis=0), c + (new - old).sum(axis=0) / M, c_i.at[members].set(new)

    @partial(jax.jit, static_argnums=0)
    def loop(rounds: int, start: Any, noise: Any, key: Any, given: Any) -> Any:
        axes = (0, 0, 1, 2, None) if given is not None else (0, 0, None, None, None)

        def one(state: Any, inputs: Any) -> Any:
            keys, given = inputs
            members, chosen = (None, None) if given is None else given
            return jax.vmap(of_replicate, in_axes=axes)(state, keys, members, chosen, noise), None

        state = start, jnp.zeros_like(start), jnp.zeros((S, M, *shape))
        return jax.lax.scan(one, state, (random.split(key, (rounds, S)), given))[0][0]

    def run(rounds: int, private: bool) -> Array:
        given = None if private else tuple(jnp.asarray(part) for part in setting.given(rounds))
        noise = 2.0 * threshold * setting.noise_multiplier if private else 0.0
        start = setting.start.reshape(S, *shape)
        return np.asarray(loop(rounds, start, noise, random.key(0), given)).reshape(S, -1)

    return Contestant(name, run, flops)
