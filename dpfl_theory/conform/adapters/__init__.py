"""Adapters from rounds written for other libraries to rounds on NumPy arrays. Each library is imported only when its
adapter is used.

    round = from_torch(my_round)      # my_round(w, state, clients, cohort, generator, **parameters) on tensors
    round = from_jax(my_round)        # my_round(w, state, clients, cohort, key, **parameters) on JAX arrays
    round = from_flower(make_strategy, make_client)     # Flower's strategies and clients
    round = from_pfl(make_training)                     # pfl-research's algorithms and privacy mechanisms

`dpfl_theory.conform` accepts their results, which keep the names of the parameters that the given functions take. The
noise that PyTorch and JAX draw is recorded. The re-use of a key or a seed is detected (`rng_reuse`), and
``findings()`` of the result lists it.
"""

from __future__ import annotations

from dpfl_theory.conform.adapters.common import LIBRARIES
from dpfl_theory.conform.adapters.flower import from_flower
from dpfl_theory.conform.adapters.jax_arrays import from_jax
from dpfl_theory.conform.adapters.pfl_research import from_pfl
from dpfl_theory.conform.adapters.pytorch import from_torch, least_squares

__all__ = ["LIBRARIES", "from_flower", "from_jax", "from_pfl", "from_torch", "least_squares"]
