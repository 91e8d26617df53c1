"""The private stochastic gradient of noble2022 Algorithm 1 in plain NumPy: every record's gradient is formed, clipped
and added up. Comments give the paper's lines, as far as they are clear from its layout (x^t is updated in line 21).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import expit

from dpfl_theory.kernels.linear import LinearData


def gradient_of_record(data: LinearData, row: int, w: np.ndarray) -> np.ndarray:
    """The gradient at w (d,) of the loss of one record, ridge included."""
    x, y, bound = data.x[row], data.y[row], data.threshold[row]
    matrix = w.reshape(data.classes, -1)
    z = matrix @ x
    if data.loss == "softmax":
        weights = np.exp(z - z.max())
        slope = weights / weights.sum() - (np.arange(data.classes) == int(y))
    elif data.loss == "logistic":
        slope = -y * expit(-y * z)
    elif data.loss == "huber":
        slope = np.clip(z - y, -bound, bound)
    else:
        slope = z - y
    return np.asarray(np.outer(slope, x) + data.ridge * matrix).ravel()


def record_sum(
    data: LinearData, i: int, w: np.ndarray, subset: Sequence[int] | None, C: float | str | None
) -> tuple[np.ndarray, float]:
    """``sum_j g_j / max(1, ||g_j||/C)`` over records j of client i, None for all; and C, which may be the "median"."""
    first, last = int(data.offsets[i]), int(data.offsets[i + 1])
    rows = range(first, last) if subset is None else [first + int(j) for j in subset]
    gradients = [gradient_of_record(data, row, w) for row in rows]  # 9, 10
    lengths = [float(np.linalg.norm(g)) for g in gradients]
    bound = np.inf if C is None else float(np.median(lengths)) if isinstance(C, str) else C
    total = np.zeros(len(w))
    for g, length in zip(gradients, lengths):
        if length <= bound:  # 11
            total += g
        elif bound > 0.0:  # at C = 0, the median of gradients that vanish in floating point, nothing is left
            total += g / (length / bound)
    return total, bound


def record_gradient(
    data: LinearData,
    i: int,
    w: np.ndarray,
    subset: Sequence[int] | None,
    share: float,
    C: float | str | None,
    noise: np.ndarray,
) -> np.ndarray:
    """``H_i(w)`` for a given subset and noise N(0, sigma_g^2 I) (d,); the divisor is sR, whatever floor(sR) is."""
    R = int(data.offsets[i + 1] - data.offsets[i])
    total, bound = record_sum(data, i, w, subset, C)  # 8 to 11
    return total / (share * R) + (2.0 * bound / (share * R) * noise if noise.any() else 0.0)  # 12, 13
