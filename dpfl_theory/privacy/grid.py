r"""The losses of a release on a grid, with limits from above and from below.

* **from above**: the mass in each cell of width h is split between the cell's ends, so that both P and Q keep their
  mass there. This is "connecting the dots" (Doroshenko et al., PETS 2022). The result dominates the pair at every
  epsilon.
* **from below**: each cell is merged to one outcome, which never helps an observer. Its loss is moved to an end of the
  cell at random, with mean 0. The error of n releases exceeds :math:`h\sqrt{n \log(2/\eta)/2}` with probability at most
  eta (Hoeffding); the lower limit subtracts both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpfl_theory.privacy.tails import Tails

Array = NDArray[np.float64]

LARGEST = 600.0
"""Losses above this count as infinite: e^600 is near the end of double precision."""


@dataclass(frozen=True)
class Grid:
    """Masses of P at the losses (start + i) h, and at an infinite loss."""

    start: int
    masses: Array
    h: float
    infinite: float = 0.0

    def losses(self) -> Array:
        return np.arange(self.start, self.start + len(self.masses), dtype=np.float64) * self.h


def end(tails: Tails, negligible: float) -> float:
    """A loss above which P's mass is at most this; at most `LARGEST`."""
    low, high = 0.0, 1e-9
    while high < LARGEST and mass(tails, high) > negligible:
        low, high = high, 2 * high
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if mass(tails, middle) > negligible else (low, middle)
    return min(high, LARGEST)


def cells(pair: tuple[Tails, Tails], ends: tuple[float, float], h: float, upper: bool) -> Grid:
    """The losses of one order of a pair on a grid of width h; ``pair`` is (P over Q, Q over P)."""
    above, below = (math.ceil(e / h) for e in ends)
    masses = np.zeros(below + above + 1)
    p, q = pair[0](h * np.arange(above + 1, dtype=np.float64))
    a = h * np.arange(above, dtype=np.float64)
    left, right = _split(-np.diff(p), -np.diff(q), a, h, upper)
    masses[below : below + above] += left
    masses[below + 1 :] += right
    # Losses below 0 are those above 0 of the other order, with the roles of P and Q exchanged.
    q_back, p_back = pair[1](h * np.arange(below + 1, dtype=np.float64))
    a = -h * np.arange(1, below + 1, dtype=np.float64)
    left, right = _split(-np.diff(p_back), -np.diff(q_back), a, h, upper)
    masses[below - 1 :: -1] += left if below else 0.0
    masses[below:0:-1] += right
    masses[0] += p_back[-1]  # from above: moved up; from below: it lies below every epsilon >= 0 either way
    masses[below] += max(0.0, 1.0 - p[0] - p_back[0])
    return Grid(-below, masses, h, infinite=float(p[-1]) if upper else 0.0)


def _split(p: Array, q: Array, a: Array, h: float, upper: bool) -> tuple[Array, Array]:
    """The masses that cells (a, a + h] give to their ends."""
    p = np.maximum(p, 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        right = (p - q * np.exp(a)) / -np.expm1(-h) if upper else p * (np.log(p) - np.log(q) - a) / h
    right = np.where(p > 0, np.clip(np.nan_to_num(right, nan=0.0), 0.0, p), 0.0)
    return p - right, right


def mass(tails: Tails, epsilon: float) -> float:
    """P's mass of losses above epsilon."""
    return float(tails(np.array([epsilon]))[0].item())
