"""Exponents of rates, fitted to runs: the slope over a geometric grid with its limits, and notes that contain it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Experiment, Statement
from dpfl_theory.core.formula import sides_of, symbols_of

ALPHA = 1e-6
"""The error probability of a fitted exponent's limits."""
_ROUNDING = 1e-9


def slope_of(symbols: Sequence[float], samples: Sequence[Any]) -> tuple[float, float, float]:
    """The least-squares slope of ln(mean) over ln(symbol), and its limits by the delta method and Student's t.

    samples: for each value of the symbol the independent values of its replicates, shape (replicates,), with a positive
    mean.

    >>> import numpy as np
    >>> [round(v, 6) for v in slope_of([1.0, 2.0, 4.0], [np.full(3, 8.0), np.full(3, 4.0), np.full(3, 2.0)])]
    [-1.0, -1.0, -1.0]
    """
    import numpy as np
    from scipy import stats

    x = np.log(np.asarray(symbols, dtype=float))
    means = np.array([float(np.mean(v)) for v in samples])
    errors = np.array([float(np.std(v, ddof=1)) / math.sqrt(len(v)) for v in samples]) / means
    weights = (x - x.mean()) / float(((x - x.mean()) ** 2).sum())
    slope = float(weights @ np.log(means))
    quantile = float(stats.t.isf(ALPHA / 2, min(len(v) for v in samples) - 1))
    width = quantile * float(np.sqrt(((weights * errors) ** 2).sum()))
    return slope, slope - width, slope + width


def terms(statement: Statement, values: Mapping[str, float]) -> dict[str, float]:
    """The right side's terms at these values of the symbols."""
    assert statement.sides is not None
    symbols = symbols_of(statement)
    numbers = {symbols[name]: value for name, value in values.items() if name in symbols}
    return {term: float(e.subs(numbers)) for term, e in sides_of(statement).rhs.items()}


def refuted(symbols: Sequence[float], low: float, high: float, claimed: str) -> bool:
    """Whether the limits of the exponent show that the decrease along the grid is less than claimed.

    >>> refuted([1.0, 2.0], -0.4, -0.3, "-1/2"), refuted([2.0, 1.0], 0.3, 0.4, "1/4")
    (True, False)
    """
    slope = float(Fraction(claimed))
    return low > slope + _ROUNDING if symbols[-1] > symbols[0] else high < slope - _ROUNDING


def fitted(
    statement: Statement,
    regime: Mapping[str, Any],
    found: Sequence[Experiment],
    observed: Callable[[Experiment], Any],
    share: Callable[[Mapping[str, float], float], float],
    without: Callable[[Experiment], Experiment] | None = None,
    symbols: Sequence[float] = (),
    constant: float = 1.0,
    judged: bool = True,
) -> dict[str, Any]:
    """The evidence on one grid, from its runs: the slope with its limits, the bound's own slope, and the constant that
    the bound would need at each point.

    regime: its ``symbol``, ``term`` and ``claimed`` exponent; found: the run at each point of the grid; observed: a
    run's values, shape (replicates,); share: of the leading term, from the terms and the bound; without: the same run
    without the term's source, for the least share of the observed value that vanishes with it; symbols: the symbol's
    values where the grid has others; constant: the one in the bounds; judged: whether the limits decide on the claimed
    exponent, which they do not if the bound also has logarithms.
    """
    import numpy as np

    samples, each = [observed(run) for run in found], [terms(statement, run.values) for run in found]
    bounds = [math.fsum(one.values()) for one in each]
    at = symbols or [float(value) for value in regime["grid"]]
    slope, low, high = slope_of(at, samples)
    evidence = {
        "letter": regime["symbol"],
        "term": regime["term"],
        "grid": [float(f"{v:.6g}") for v in at],
        "slope": round(slope, 5),
        "low": round(low, 5),
        "high": round(high, 5),
        "claimed": regime["claimed"],
        "slope_of_the_bound": round(slope_of(at, [np.full(2, b) for b in bounds])[0], 5),
        "share_of_the_term": round(min(map(share, each, bounds)), 4),
        "constant_needed": [float(f"{constant * np.mean(s) / b:.4g}") for s, b in zip(samples, bounds)],
        "alpha": ALPHA,
        "refuted_by": "too little decrease along the grid, or too much increase; never by the opposite",
    }
    if judged:
        evidence["refuted"] = refuted(at, low, high, regime["claimed"])
    if without:
        vanishing = (1.0 - float(np.mean(observed(without(run))) / np.mean(s)) for run, s in zip(found, samples))
        evidence["share_of_the_excess"] = round(min(vanishing), 4)
    return evidence


class Fit(Mapping[str, Any]):
    """Notes with an ``exponent`` that is fitted when they are read. Evidence reads them; a search for counterexamples
    builds many runs and reads no notes.

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
