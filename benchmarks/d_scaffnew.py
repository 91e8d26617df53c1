"""DP-ScaffNew on binary features: 8000 records with 112 of them, logistic regression with ridge, as hou2023 runs it.

The records are like mushrooms or phishing web pages: 22 attributes, of each exactly one value holds. One iteration is
two products for each client; noise is needed only in replicates whose coin comes up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.b_logistic import jax_gradients, jax_loss, numpy_gradients, records
from benchmarks.harness import Array, Case, block_width, load_jax, ours
from benchmarks.scaffnew import Setting, jax_batched, numpy_batched
from dpfl_theory.problems.linear_model import LinearModel, linear_data


@dataclass(frozen=True)
class Size:
    """Records, features, attributes, clients, replicates and iterations."""

    records: int = 8000
    dimension: int = 112
    attributes: int = 22
    clients: int = 10
    replicates: int = 64
    rounds: int = 200


SIZES = {"full": Size(), "quick": Size(), "tiny": Size(40, 9, 3, 4, 3, 12)}
PROBABILITY, CONDITION, SIGMA = 0.1, 50.0, 0.05


def problem_of(size: Size) -> LinearModel:
    """One-hot attributes of unequal frequencies; labels of a noisy hyperplane; ridge for the condition number 50."""
    rng = np.random.default_rng(0)
    x = np.zeros((size.records, size.dimension))
    for columns in np.array_split(np.arange(size.dimension), size.attributes):
        shares = rng.dirichlet(np.ones(len(columns)))
        x[np.arange(size.records), rng.choice(columns, size.records, p=shares)] = 1.0
    y = np.sign(x @ rng.standard_normal(size.dimension) + rng.logistic(size=size.records))
    own = np.split(np.arange(size.records), size.clients)
    largest = max(float(np.linalg.eigvalsh(x[part].T @ x[part])[-1]) / len(part) for part in own) / 4.0
    return LinearModel(linear_data(x, y, own, "logistic", ridge=largest / (CONDITION - 1.0)), "binary features")


def build(size: str, jax: bool) -> list[Case]:
    """One table."""
    s = SIZES[size]
    problem = problem_of(s)
    ridge, n = problem.data.ridge, problem.n
    start: Array = np.random.default_rng(1).standard_normal((s.replicates, s.dimension))
    setting = Setting(1.0 / (ridge * CONDITION), PROBABILITY, 1.0, SIGMA)
    flops = 4.0 * s.replicates * s.records * s.dimension
    contestants = [
        ours(setting.algorithm, problem, start, flops),
        numpy_batched("NumPy, batched", setting, start, n, numpy_gradients(problem), flops),
    ]
    if jax:
        lib = load_jax()
        data = tuple(lib.numpy.asarray(part) for part in records(problem))
        gradient: Any = lib.grad(jax_loss(ridge))
        plain = lib.vmap(lib.vmap(gradient, in_axes=(0, None)), in_axes=(0, (0, 0)))
        contestants += [
            jax_batched("JAX, batched products", setting, start, n, jax_gradients(problem), flops),
            jax_batched("JAX, grad and vmap", setting, start, n, lambda w: plain(w, data), flops),
        ]
    return [
        Case(
            "DP-ScaffNew on binary features",
            f"{s.records} records, d = {s.dimension}, n = {n}, p = {PROBABILITY:g}, {s.replicates} replicates, "
            f"{s.rounds} iterations",
            start,
            s.rounds,
            contestants,
            "4 S N d with N records in all",
            (block_width(problem, s.replicates), s.dimension, s.records // s.clients),
            unit="iteration",
            checkpoints=(10, 20),
        )
    ]
