"""Tiny problems: three clients in one dimension, to measure the cost of a round itself.

The three quadratics of `validations/exact_moments.py`, by DP-FedAvg with clipping and by DP-ScaffNew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import fedavg, scaffnew
from benchmarks.fedavg import clipped_mean, local_updates
from benchmarks.harness import Array, Case, load_jax, ours
from dpfl_theory.problems.quadratic import from_matrices


@dataclass(frozen=True)
class Size:
    """Replicates and rounds."""

    replicates: int = 64
    rounds: int = 2000


SIZES = {"full": Size(), "quick": Size(), "tiny": Size(3, 12)}
CURVATURES, CENTRES = np.array([1.0, 0.25, 0.1]), np.array([0.0, 1.0, -2.0])


def build(size: str, jax: bool) -> list[Case]:
    """Two tables."""
    s, n = SIZES[size], len(CURVATURES)
    problem = from_matrices(CURVATURES[:, None, None], CENTRES[:, None])
    start: Array = 4.0 * np.random.default_rng(1).standard_normal((s.replicates, 1))
    q, c = CURVATURES[:, None, None], CENTRES[:, None, None]
    fed, scaff = fedavg.Setting(0.5, 3, 1.0, 0.1), scaffnew.Setting(1.0, 0.5, 1.0, 0.1)

    def signal(w: Array) -> Any:
        return clipped_mean(np, local_updates(lambda at: q * (at - c), w, n, fed), fed.threshold)

    by_fedavg = [
        ours(fed.algorithm, problem, start, 0.0),
        fedavg.numpy_batched("NumPy, batched", fed, start, signal, 0.0),
    ]
    by_scaffnew = [
        ours(scaff.algorithm, problem, start, 0.0),
        scaffnew.numpy_batched("NumPy, batched", scaff, start, n, lambda w: q * (w - c), 0.0),
    ]
    if jax:
        jnp = load_jax().numpy

        def loss(w: Any, own: Any) -> Any:
            return 0.5 * own[0] * jnp.sum((w - own[1]) ** 2)

        data = jnp.asarray(CURVATURES), jnp.asarray(CENTRES)
        by_fedavg += [fedavg.jax_plain(fed, start, loss, data, 0.0)]
        by_scaffnew += [scaffnew.jax_batched("JAX, batched", scaff, start, n, lambda w: q * (w - c), 0.0)]
    what = f"n = {n}, d = 1, {s.replicates} replicates, {s.rounds}"
    return [
        Case(
            "Tiny problem, DP-FedAvg",
            f"{what} rounds, E = {fed.local_steps}, with clipping",
            start,
            s.rounds,
            by_fedavg,
        ),
        Case(
            "Tiny problem, DP-ScaffNew",
            f"{what} iterations, p = {scaff.probability:g}",
            start,
            s.rounds,
            by_scaffnew,
            unit="iteration",
            checkpoints=(10, 20),
        ),
    ]
