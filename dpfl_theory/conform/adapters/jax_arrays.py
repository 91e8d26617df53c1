"""Rounds on JAX arrays."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpfl_theory.conform.adapters.common import Round, Seen, apart, needed
from dpfl_theory.conform.rng_reuse import NoiseWatcher
from dpfl_theory.conform.user_function import replaced
from dpfl_theory.conform.world import Client
from dpfl_theory.errors import InputError
from dpfl_theory.problems.base import Array


def from_jax(round_: Round, compiled: bool = False) -> Round:
    """A round on JAX arrays of double precision, with a key in place of rng.

    ``jax.random.normal`` takes its numbers from the rng that the test records, and the same numbers where a key is used
    again. If the round itself makes a key that is the same in every run, draws from this key stay unchanged.

    compiled: whether JAX compiles as usual. This is about twice as fast for a round that draws no noise inside
        ``jax.jit``, and makes no function for ``jax.jit`` in every round. By default nothing is compiled.

    Raises EnvironmentFault where JAX is not installed, and InputError for noise inside compiled functions.
    """
    jax = needed("jax", "JAX")
    jnp = needed("jax.numpy", "JAX")
    noise = NoiseWatcher()

    @functools.wraps(round_)
    def played(w: Array, state: Any, clients: Sequence[Client], cohort: Array, rng: Any, **hyperparameters: Any) -> Any:
        def play(seed: int, state: Any, clients: Sequence[Client]) -> Any:
            seen = [Seen(client, jnp.asarray, np.asarray) for client in clients]
            members = [int(i) for i in cohort]
            return round_(jnp.asarray(w), state, seen, members, jax.random.key(seed), **hyperparameters)

        before = jax.config.jax_enable_x64
        jax.config.update("jax_enable_x64", True)
        try:
            with (
                jax.disable_jit(not compiled),
                replaced({**_jax_keys(jax), (jax.random, "normal"): _jax_normal(jax, rng, noise)}),
            ):
                noise.round(rng, state, lambda seed, state: play(seed, state, apart(clients))[1])
                after, state = play(int(rng.integers(2**31)), state, clients)
                return np.asarray(after), state
        finally:
            jax.config.update("jax_enable_x64", before)

    played.findings = noise.findings  # type: ignore[attr-defined]
    return played


def _jax_keys(jax: Any) -> Mapping[tuple[Any, str], Any]:
    """The functions that make keys, and numbers from keys, compiled: without compilation they take most of a test's
    time."""

    def compiled(function: Any) -> Any:
        @functools.wraps(function)
        def made(*arguments: Any, **keywords: Any) -> Any:
            with jax.disable_jit(False):
                return function(*arguments, **keywords)

        return made

    names = ("key", "PRNGKey", "split", "fold_in", "bits", "uniform", "randint", "bernoulli", "permutation", "choice")
    return {(jax.random, name): compiled(getattr(jax.random, name)) for name in names}


def _jax_normal(jax: Any, rng: Any, noise: NoiseWatcher) -> Any:
    original = jax.random.normal
    partial_eval, _ = (needed(f"jax.{name}", "JAX") for name in ("interpreters.partial_eval", "custom_batching"))

    def normal(key: Any, shape: Any = (), *arguments: Any, **keywords: Any) -> Any:
        with jax.disable_jit(False):
            true = original(key, shape, *arguments, **keywords)
        typed = jax.numpy.issubdtype(key.dtype, jax.dtypes.prng_key)
        return numbers(jax.random.key_data(key) if typed else key, true)

    def numbers(place: Any, true: Any) -> Any:
        """The numbers from a place, or from each of many places under vmap."""
        if isinstance(place, partial_eval.DynamicJaxprTracer):
            raise InputError("noise is drawn inside a compiled function: use from_jax with compiled=False")
        if isinstance(place, jax.core.Tracer):
            many = jax.custom_batching.custom_vmap(lambda place, true: true)
            many.def_vmap(_for_each)
            return many(place, true)
        key, drawn = np.asarray(place).tobytes(), np.asarray(true)
        found = noise.normal(key, rng, drawn, lambda: rng.standard_normal(drawn.shape))
        return jax.numpy.asarray(found, dtype=drawn.dtype)

    def _for_each(size: int, batched: Sequence[bool], places: Any, true: Any) -> tuple[Any, bool]:
        one = [x if every else [x] * size for x, every in zip((places, true), batched)]
        return jax.numpy.stack([numbers(place, drawn) for place, drawn in zip(*one)]), True

    return normal
