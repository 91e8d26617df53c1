"""The synthetic problem of das2022 Appendix F, and its starting points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np

from dpfl_theory.core.parameter import Meaning
from dpfl_theory.errors import InputError
from dpfl_theory.problems import parameters as p
from dpfl_theory.problems.base import Array, Problem
from dpfl_theory.problems.quadratic import Quadratic, from_factors
from dpfl_theory.problems.validation import count

__all__ = ["FAMILIES", "appendix_f", "appendix_f_start"]


def appendix_f(
    seed: p.Seed = 0,
    clients: p.Clients = 100,
    dimension: p.Dimension = 200,
    rank: Annotated[int, Meaning("rank of each client's quadratic")] = 20,
) -> Quadratic:
    """The synthetic problem of das2022 Appendix F: centres N(0, I), ``Q_i = A_i A_i^T``, A_i (d, rank) with entries
    N(0, 1/rank^2).

    >>> appendix_f(seed=1, clients=3, dimension=5, rank=2).describe()["clients"]
    3
    """
    clients, dimension, rank = count("clients", clients), count("dimension", dimension), count("rank", rank)
    rng = np.random.default_rng(count("seed", seed, 0))
    centres = rng.standard_normal((clients, dimension))
    factors = rng.standard_normal((clients, dimension, rank)) / rank
    return from_factors(factors, centres, name=f"das2022 Appendix F, seed {seed}")


def appendix_f_start(problem: Problem, initialisation: str, seed: int = 0) -> Array:
    """Appendix F's starting points: I1 is ``w* + z``, I2 is ``w* + z/5``, z uniform on (0, 1)^d; shape (d,) [X]."""
    scales = {"I1": 1.0, "I2": 0.2}
    if initialisation not in scales:
        raise InputError(f"initialisation {initialisation!r} is unknown: choose I1 or I2")
    w_star = problem.constants.w_star
    assert w_star is not None
    return np.asarray(w_star + scales[initialisation] * np.random.default_rng([seed, 1]).uniform(size=problem.d))


FAMILIES: dict[str, Callable[..., Problem]] = {"appendix-f": appendix_f}
