"""Operators on a client's message."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpfl_theory.conform.base import Values
from dpfl_theory.conform.world import Client
from dpfl_theory.problems.base import Array

__all__ = ["by_records", "clipped", "length", "stretched"]


def length(u: Array) -> float:
    """||u||."""
    return float(np.linalg.norm(u))


def clipped(u: Array, level: float) -> Array:
    """u min(1, level/||u||), and 0 for u = 0."""
    norm = length(u)
    return u if norm <= level else u * (level / norm)


def stretched(u: Array, v: Values, peers: Sequence[Array]) -> Array:
    """Scaled to the level."""
    return u * (v["level"] / length(u)) if length(u) > 0.0 else u


def by_records(client: Client, cohort: Array, clients: Sequence[Client], v: Values) -> float:
    """m_i/sum of the cohort's m_j."""
    return len(client) / sum(len(clients[int(j)]) for j in cohort)
