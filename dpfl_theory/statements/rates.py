"""Exponents of rates, fitted to runs: the slope over a geometric grid with its limits, and notes that carry it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

__all__ = ["ALPHA", "Fit", "slope_of"]

ALPHA = 1e-6
"""The error probability of a fitted exponent's limits."""


def slope_of(letters: Sequence[float], samples: Sequence[Any], alpha: float = ALPHA) -> tuple[float, float, float]:
    """The least-squares slope of ln(mean) over ln(letter), and its limits by the delta method and Student's t.

    samples: for each letter the independent values of its lanes, shape (lanes,), with a positive mean.

    >>> import numpy as np
    >>> [round(v, 6) for v in slope_of([1.0, 2.0, 4.0], [np.full(3, 8.0), np.full(3, 4.0), np.full(3, 2.0)])]
    [-1.0, -1.0, -1.0]
    """
    import numpy as np
    from scipy import stats

    x = np.log(np.asarray(letters, dtype=float))
    means = np.array([float(np.mean(v)) for v in samples])
    errors = np.array([float(np.std(v, ddof=1)) / math.sqrt(len(v)) for v in samples]) / means
    weights = (x - x.mean()) / float(((x - x.mean()) ** 2).sum())
    slope = float(weights @ np.log(means))
    quantile = float(stats.t.isf(alpha / 2, min(len(v) for v in samples) - 1))
    width = quantile * float(np.sqrt(((weights * errors) ** 2).sum()))
    return slope, slope - width, slope + width


class Fit(Mapping[str, Any]):
    """Notes with an ``exponent`` that is fitted when they are read, as evidence does: a search for counterexamples
    builds many runs and reads the notes of none.

    >>> dict(Fit(lambda: {"slope": -0.5}))
    {'exponent': {'slope': -0.5}}
    """

    def __init__(self, fit: Callable[[], dict[str, Any]]) -> None:
        self._fit = fit

    def __getitem__(self, key: str) -> Any:
        if key != "exponent":
            raise KeyError(key)
        return self._fit()

    def __iter__(self) -> Iterator[str]:
        return iter(("exponent",))

    def __len__(self) -> int:
        return 1
