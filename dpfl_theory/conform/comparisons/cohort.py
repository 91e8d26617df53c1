"""How the clients of a round are drawn, against how that is accounted for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpfl_theory.conform.base import Values
from dpfl_theory.conform.result import Finding
from dpfl_theory.errors import InputError, told

__all__ = ["sampled"]

DRAWS = 2000


def sampled(sampler: Callable[..., Any], v: Values, seed: int, alpha: float) -> list[Finding]:
    """What is wrong with ``sampler(n, rng)``, which gives the members of a round, if clients are to be drawn by the
    scheme of the letters. Errs with probability at most alpha.

    >>> v = {"n": 6, "r": 3.0, "scheme": "poisson"}
    >>> [found.name for found in sampled(lambda n, rng: rng.choice(n, 3, replace=False), v, 0, 1e-6)]
    ['fixed-size cohorts accounted as Poisson']
    """
    from scipy import stats

    n, r, rng = int(v["n"]), float(v["r"]), np.random.default_rng(seed)
    counts, sizes = np.zeros(n, dtype=np.int64), []
    for _ in range(DRAWS):
        try:
            members = np.atleast_1d(np.asarray(sampler(n, rng), dtype=np.int64))
        except Exception as error:
            return [Finding("the sampler fails", f"the sampler raises {told(error)}")]
        if members.size and (members.min() < 0 or members.max() >= n):
            raise InputError(f"the sampler gives client {members.max()}: with {n} clients they are 0 to {n - 1}")
        if len(np.unique(members)) < len(members):
            said = "a client is in a cohort twice: draw without replacement, or account for replacement"
            return [Finding("clients drawn twice", said, f"{members.tolist()}", private=True)]
        counts[members] += 1
        sizes.append(len(members))
    spread = sorted(set(sizes))
    scheme = str(v["scheme"])
    if scheme == "poisson" and len(spread) == 1 and r < n:
        said = (
            "cohorts have one size, and the accounting is that of independent (Poisson) sampling: draw every client on "
            "its own with probability r/n, or account for fixed sizes"
        )
        seen = f"all of {DRAWS} cohorts have {spread[0]} of {n} clients"
        return [Finding("fixed-size cohorts accounted as Poisson", said, seen, private=True)]
    if scheme in ("fixed", "full") and spread != [int(r)]:
        said = f"cohorts have {spread[0]} to {spread[-1]} clients, and the accounting is that of {int(r)} each"
        return [Finding("cohorts of varying size", said, private=True)]
    low, high = (stats.binom.ppf(p, DRAWS, r / n) for p in (alpha / (4 * n), 1 - alpha / (4 * n)))
    wrong = [i for i in range(n) if not low <= counts[i] <= high]
    if wrong and scheme != "full":
        i = wrong[0]
        said = "clients do not take part with the probability r/n that the accounting amplifies by"
        return [
            Finding(
                *("a wrong sampling rate", said, f"client {i} is in {counts[i]} of {DRAWS} cohorts, r/n = {r / n:.4g}"),
                private=bool(counts[i] > high),
            )
        ]
    if scheme == "poisson":
        variance, right = float(np.var(sizes)), r * (1 - r / n)
        below, above = (stats.chi2.ppf(p, DRAWS - 1) / (DRAWS - 1) for p in (alpha / 4, 1 - alpha / 4))
        kurtosis = 1.5  # sizes are binomial, whose variance varies less than a Gaussian's; this leaves room
        if not right * (1 - kurtosis * (1 - below)) <= variance <= right * (1 + kurtosis * (above - 1)):
            said = "clients are not drawn independently of each other, which Poisson accounting needs"
            return [Finding("clients that are not independent", said, f"sizes vary by {variance:.4g}, not {right:.4g}")]
    return []
