"""DP-SGD over Poisson lots of records in plain NumPy, one replicate: Abadi et al. 2016 Algorithm 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from oracles.record_gradient import gradient_of_record

from dpfl_theory.kernels.linear import LinearData


def poisson_lots_step(
    data: LinearData,
    w: np.ndarray,
    lots: Sequence[Sequence[int]],
    rate: float,
    step: float,
    C: float,
    noise: np.ndarray,
) -> np.ndarray:
    """w after a step. lots: for each client, the numbers of its records in the lot;  noise: N(0, z^2 I) (d,)."""
    total = C * noise
    for i, own in enumerate(lots):
        for j in own:
            g = gradient_of_record(data, int(data.offsets[i]) + int(j), w)
            total = total + g / max(1.0, float(np.linalg.norm(g)) / C)
    return np.asarray(w - step * total / (rate * len(data.y)))
