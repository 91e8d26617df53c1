"""FedAvg whose clients add the noise of their own messages, in plain NumPy, one replicate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from oracles.two_sided import GradientOf, clip


def local_dp(
    gradient: GradientOf,
    w: np.ndarray,
    members: Sequence[int],
    t: int,
    normals: Sequence[np.ndarray],
    *,
    eta: float,
    eta_s: float,
    E: int,
    C: float,
    z: float,
    divisor: float = 0.0,
) -> np.ndarray:
    """The server's vector after round t, with standard normals (d,) for each member; divided by their number, or by
    ``divisor`` where it is given."""
    sent = []
    for i, normal in zip(members, normals, strict=True):
        local = w.copy()
        for step in range(E):
            local = local - eta * gradient(i, local, t, step)
        sent.append(clip(local - w, C) + z * C * normal)
    return np.asarray(w + eta_s * sum(sent) / (divisor or len(sent))) if sent else w
