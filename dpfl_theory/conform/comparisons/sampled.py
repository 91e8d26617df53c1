"""Tests on samples with a stated error, for noise that cannot be recorded and for runs with live noise.

Each test errs with probability at most alpha over the number of tests. Means and variances of Gaussian noise are
compared with exact ones. The fourth moment detects noise that is not Gaussian.
"""

from __future__ import annotations

import numpy as np

from dpfl_theory.conform.probes import Path, Spread, play, probe_without_noise
from dpfl_theory.conform.randomness import RecordingGenerator
from dpfl_theory.conform.references import Player
from dpfl_theory.conform.user_function import generators_kept, seeded
from dpfl_theory.problems.base import Array

__all__ = ["disagreement", "expected", "gaussian", "sample", "standard"]

RUNS = 800
"""Default number of runs of the function on each of two neighbouring data sets."""


def sample(player: Player, path: Path, runs: int, seed: int) -> Array:
    """w after the first round in ``runs`` independent runs, (runs, d)."""
    found = []
    with generators_kept():
        for k in range(runs):
            seeded(seed + k)
            found.append(play(player, path.world, path.v, path.who[:1], RecordingGenerator(seed + k).live())[0])
    return np.array(found)


def expected(player: Player, path: Path) -> tuple[Array, Array]:
    """The mean (d,) and the covariance (d, d) of w after the first round, for a player whose noise is recorded."""
    one = Path(path.v, path.world, path.who[:1])
    return probe_without_noise(player, one.world, one.v, one.who).w[0], Spread(one).outcome(player)


def disagreement(w: Array, mean: Array, covariance: Array, alpha: float) -> str | None:
    """A sentence if a sample (runs, d) does not have this mean and covariance; None if it may have them.

    Errs with probability at most alpha if the sample has them and is Gaussian.
    """
    from scipy import stats

    runs, d = w.shape
    share = alpha / (2 * d + d * (d - 1) / 2)
    quantile = float(stats.norm.isf(share / 2))
    variances = np.diag(covariance)
    rounding = 1e-9 * (float(np.max(np.abs(mean), initial=0.0)) + 1e-30)
    error = np.abs(w.mean(axis=0) - mean)
    allowed = quantile * np.sqrt(variances / runs) + rounding
    if np.any(error > allowed):
        j = int(np.argmax(error - allowed))
        return (
            f"coordinate {j} is on average {w[:, j].mean():.6g} over {runs} runs, and {mean[j]:.6g} +- "
            f"{allowed[j]:.2g} is expected"
        )
    low, high = (stats.chi2.ppf(p, runs - 1) / (runs - 1) for p in (share / 2, 1 - share / 2))
    found = w.var(axis=0, ddof=1)
    bad = (found > high * variances + rounding**2) | (found < low * variances - rounding**2)
    if np.any(bad):
        j = int(np.argmax(bad))
        return (
            f"the noise of coordinate {j} has standard deviation {found[j] ** 0.5:.6g} over {runs} runs, and "
            f"{variances[j] ** 0.5:.6g} (times {low**0.5:.3g} to {high**0.5:.3g}) is expected"
        )
    for i in range(d):
        for j in range(i):
            if variances[i] <= 0.0 or variances[j] <= 0.0:
                continue
            given = covariance[i, j] / (variances[i] * variances[j]) ** 0.5
            seen = float(np.corrcoef(w[:, i], w[:, j])[0, 1])
            if abs(
                np.arctanh(np.clip(seen, -1 + 1e-12, 1 - 1e-12)) - np.arctanh(np.clip(given, -1 + 1e-12, 1 - 1e-12))
            ) > (quantile / (runs - 3) ** 0.5):
                return (
                    f"the noise of coordinates {j} and {i} has correlation {seen:.3g} over {runs} runs, not {given:.3g}"
                )
    return None


def standard(w: Array) -> Array:
    """A sample scaled to mean 0 and variance 1 in each coordinate; unchanged where it does not vary."""
    centred = w - w.mean(axis=0)
    spread = centred.std(axis=0)
    return np.asarray(centred / np.where(spread > 0.0, spread, 1.0))


def gaussian(w: Array) -> bool:
    """Whether the fourth moment of a sample may be that of Gaussian noise (eight standard errors)."""
    runs, d = w.shape
    centred = w - w.mean(axis=0)
    spread = centred.std(axis=0)
    if np.any(spread <= 1e-12 * (np.abs(w).max() + 1e-30)):
        return True
    kurtosis = ((centred / spread) ** 4).mean()
    return bool(abs(kurtosis - 3.0) <= 8.0 * (24.0 / (runs * d)) ** 0.5 * d**0.5)
