"""The distribution of a sum of independent draws on a grid, by one Fourier transform."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ORDERS = 20
"""Chernoff's bound is taken at the orders 1/n to ``ORDERS``/n of both signs, for n grid points."""


def retained_range(masses: Array, times: int, lost: float) -> tuple[int, int]:
    """The range of sums of ``times`` draws from the masses (n,) that must be kept. By Chernoff's bound on both sides,
    all other sums together have at most the probability ``lost``.
    """
    n = len(masses)
    low, high = 0, (n - 1) * times
    rise = np.exp(np.arange(n) / n)
    for sign, factor in ((1, rise), (-1, 1.0 / rise)):
        weighted = masses
        for order in range(1, ORDERS + 1):
            weighted = weighted * factor
            bound = (times * math.log(float(weighted.sum())) + math.log(2.0 / lost)) * n / order
            if sign > 0:
                high = min(high, math.ceil(bound))
            else:
                low = max(low, math.floor(-bound))
    return low, high


def self_convolved(masses: Array, times: int, lost: float) -> tuple[int, Array]:
    """The distribution of the sum of ``times`` independent draws from the masses (n,) of 0 to n - 1, whose sum is 1.

    Returns the least sum that is kept and the masses from there. The omitted mass, which the Fourier transform folds
    back onto them, has at most the probability ``lost``.

    >>> first, masses = self_convolved(np.array([0.5, 0.5]), 2, 1e-15)
    >>> first, masses.round(12).tolist()
    (0, [0.25, 0.5, 0.25])
    """
    from scipy.fft import irfft, next_fast_len, rfft

    low, high = retained_range(masses, times, lost)
    length = next_fast_len(max(high - low + 1, len(masses)), real=True)
    convolved = irfft(_power(rfft(masses, length), times), length)
    return low, np.roll(convolved, -low)[: high - low + 1]


def _power(base: Any, exponent: int) -> Any:
    """By repeated squaring: a product rounds less than a complex power, and costs a tenth of it."""
    found = None
    while exponent:
        if exponent & 1:
            found = base.copy() if found is None else found * base
        exponent >>= 1
        if exponent:
            base = base * base
    return found
