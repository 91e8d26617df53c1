"""shulgin2025 equation (2) in plain NumPy, one replicate, and its bounding operators (5) and (6)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from oracles.two_sided import GradientOf


def psi(g: np.ndarray, operator: str, parameter: float = 0.0) -> np.ndarray:
    """``Psi(g)``; a vector without direction stays zero."""
    length = float(np.linalg.norm(g))
    if operator == "none":
        return g
    if operator == "clip":
        return g if length <= parameter else parameter * g / length  # (5)
    if operator == "normalise":
        return parameter * g / length if length > 0.0 else np.zeros_like(g)
    return g / (parameter + length) if parameter + length > 0.0 else np.zeros_like(g)  # (6)


def dp_sgd(
    gradient: GradientOf,
    x0: np.ndarray,
    gamma: Sequence[float],
    operator: str,
    parameter: float,
    B: float,
    cohorts: Sequence[Sequence[int]],
    z: Sequence[np.ndarray],
    first: int = 0,
) -> np.ndarray:
    """``x^0, ..., x^K`` (K+1, d) for given cohorts B^k and noise z[k] (d,), from round ``first`` on."""
    trajectory = [x0]
    for k, members in enumerate(cohorts):
        x, total = trajectory[-1], np.zeros_like(x0)
        for i in members:
            total += psi(gradient(i, x, first + k, 0), operator, parameter)
        trajectory.append(x - gamma[k] * (total / B + z[k]))  # (2)
    return np.array(trajectory)
