"""The sampling of a round's clients, compared with the sampling that is accounted for."""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dpfl_theory.algorithms.user_files import module_from_file
from dpfl_theory.conform.quantiles import binomial, binomial_tails, chi_square_over_degrees
from dpfl_theory.conform.references import Values
from dpfl_theory.conform.result import Finding
from dpfl_theory.errors import InputError, format_error
from dpfl_theory.runtime.time_limits import limited

DRAWS = 2000
SOME = 40
"""Number of cohorts that are drawn again, by a newly loaded copy of the sampler."""
SECONDS = 30.0
"""Time limit for these."""
LAGS = 200
"""The largest number of rounds between two cohorts that are compared with each other."""
REPLACED = "with-replacement"
PREDICTED = "cohorts that can be predicted"
TOGETHER = "clients that are not independent"


class SamplerResult(NamedTuple):
    """The findings on a sampler, and the reason why a question was left open, if so."""

    findings: list[Finding]
    open: str = ""


def sampled(sampler: Callable[..., Any], v: Values, seed: int, alpha: float) -> SamplerResult:
    """The findings on ``sampler(n, rng)``, which gives the members of a round, compared with the declared sampling
    scheme. Errs with probability at most alpha.

    >>> v = {"n": 6, "r": 3.0, "scheme": "poisson"}
    >>> [found.name for found in sampled(lambda n, rng: rng.choice(n, 3, replace=False), v, 0, 1e-6).findings]
    ['fixed-size cohorts accounted as Poisson']
    """
    n, r, rng = int(v["n"]), float(v["r"]), np.random.default_rng(seed)
    scheme = str(v["scheme"])
    before = repr(rng.bit_generator.state)
    counts = np.zeros((DRAWS, n), dtype=np.int64)
    for k in range(DRAWS):
        try:
            given = sampler(n, rng)
            given = np.asarray(given if isinstance(given, np.ndarray) else [*given])
            if given.dtype == np.bool_:
                raise InputError("the sampler gives a mask of clients: give their numbers, np.flatnonzero(mask)")
            drawn = np.atleast_1d(given.astype(np.int64))
        except InputError:
            raise
        except Exception as error:
            return SamplerResult([Finding("the sampler fails", f"the sampler raises {format_error(error)}")])
        if drawn.size and (drawn.min() < 0 or drawn.max() >= n):
            wrong = drawn.min() if drawn.min() < 0 else drawn.max()
            raise InputError(f"the sampler gives client {wrong}: with {n} clients they are 0 to {n - 1}")
        if len(np.unique(drawn)) < len(drawn) and scheme != REPLACED:
            said = "a client is in a cohort twice: draw without replacement, or account for replacement"
            return SamplerResult([Finding("clients drawn twice", said, f"{drawn.tolist()}", private=True)])
        np.add.at(counts[k], drawn, 1)
    used = repr(rng.bit_generator.state) != before
    if scheme == "full" or r >= n:
        return SamplerResult([*filter(None, [_sizes(counts, n, r, scheme)])])
    again = _again(sampler, n, seed)
    alike = _predicted(again, counts)
    if wrong := [*filter(None, [_sizes(counts, n, r, scheme), alike])]:
        return SamplerResult(wrong)
    if scheme == "poisson" and (found := _missing(counts, r, seed, alpha / 5)):
        return SamplerResult([found])
    if found := _drawn_otherwise(counts, r, scheme, alpha / 5):
        return SamplerResult([found])
    if not used and again is None and _independent(sampler, n, seed):
        why = (
            "the sampler depends neither on the rng that it is given nor on the generators of Python, NumPy and "
            "PyTorch, and could not be loaded again: it has a generator of its own, and whether others know the seed "
            "of that was not tested; draw from the rng"
        )
        return SamplerResult([], why)
    return SamplerResult([])


def _drawn_otherwise(counts: np.ndarray, r: float, scheme: str, alpha: float) -> Finding | None:
    """Cohorts that are not drawn as the scheme says, by four tests that each err with probability at most alpha."""
    if found := _rates(counts, r, scheme, alpha):
        # the limits of a rate need independent cohorts
        return _rounds(counts, r, scheme, alpha, counts.mean(axis=0)) or found
    if found := _pairs(counts > 0, r, scheme, alpha) or _rounds(counts, r, scheme, alpha):
        return found
    return _spread(counts > 0, r, alpha) if scheme == "poisson" else None


OTHERWISE = ": give `sampling` or `cohort` if yours assumes another one"


def _sizes(counts: np.ndarray, n: int, r: float, scheme: str) -> Finding | None:
    """Cohorts of a wrong size."""
    spread = sorted(set(counts.sum(axis=1).tolist()))
    if scheme == "poisson" and len(spread) == 1 and r < n:
        said = (
            "all cohorts have the same size, but the accounting assumes independent (Poisson) sampling: draw every "
            "client independently with probability r/n, or account for fixed sizes, with `sampling` fixed"
        )
        seen = f"all of {DRAWS} cohorts have {spread[0]} of {n} clients"
        return Finding("fixed-size cohorts accounted as Poisson", said, seen, private=True)
    if scheme != "poisson" and len(spread) > 1:
        said = f"cohorts have {spread[0]} to {spread[-1]} clients, and the accounting assumes {int(r)} each{OTHERWISE}"
        return Finding("cohorts of varying size", said, private=True)
    if scheme != "poisson" and spread != [int(r)]:
        said = f"cohorts have {spread[0]} clients, and the accounting assumes {int(r)} each{OTHERWISE}"
        return Finding("cohorts of another size", said, private=spread[0] > r)
    if scheme == REPLACED and r >= 2.0 and counts.max() <= 1:
        said = (
            "no client is in a cohort twice, but the accounting assumes draws with replacement: account for draws "
            "without replacement"
        )
        return Finding("cohorts without replacement", said, f"none of {DRAWS} cohorts has a client twice")
    return None


def _missing(counts: np.ndarray, r: float, seed: int, alpha: float) -> Finding | None:
    """Sizes of cohorts that independent draws have and the sampler leaves out: empty cohorts, small or large ones.

    All draws of a right sampler leave out a size with probability (1 - q)^DRAWS, q being that of the smaller, or of the
    larger sizes. The events of different sizes are nested, so each side errs with probability at most alpha/2. Another
    cause, such as a wrong rate, is excluded: with independent cohorts of these sizes put back, the cohorts must be
    those of the scheme.
    """
    n, sizes = counts.shape[1], counts.sum(axis=1)
    low, high = int(sizes.min()), int(sizes.max())
    drawn = np.random.default_rng([seed, 29]).random((DRAWS, n)) < r / n
    kept = (low <= drawn.sum(axis=1)) & (drawn.sum(axis=1) <= high)
    whole = drawn.astype(counts.dtype)
    whole[kept] = counts[: int(kept.sum())]
    small, large = binomial_tails(low, high, n, r / n)
    missing = [DRAWS * math.log1p(-q) < math.log(alpha / 2) for q in (small, large)]
    if not any(missing) or _drawn_otherwise(whole, r, "poisson", alpha):
        return None
    which = "empty cohorts" if low == 1 else f"cohorts of fewer than {low} clients"
    which, q = (which, small) if missing[0] else (f"cohorts of more than {high} clients", large)
    said = (
        "independent (Poisson) sampling gives some, and the sampler none. One cause is that they are drawn again. "
        "Clients then take part with another probability and not independently, as the amplification by sampling "
        "assumes: use every cohort that is drawn"
    )
    seen = f"0 of {DRAWS} cohorts are such, and {q * DRAWS:.0f} are expected"
    return Finding(f"no {which}", said, seen, private=True)


def _rates(counts: np.ndarray, r: float, scheme: str, alpha: float) -> Finding | None:
    """Clients that take part more or less often than they should."""
    n, own = counts.shape[1], counts.sum(axis=0)
    trials, p = (DRAWS * int(r), 1.0 / n) if scheme == REPLACED else (DRAWS, r / n)
    low, high = _limits(trials, p, alpha / n)
    wrong = [i for i in range(n) if not low <= own[i] <= high]
    if not wrong:
        return None
    i = wrong[0]
    said = "clients do not take part with the probability r/n that the accounting's amplification uses"
    seen = f"client {i} is in {own[i]} of {DRAWS} cohorts, r/n = {r / n:.4g}"
    return Finding("a wrong sampling rate", said, seen, private=bool(np.any(own[wrong] > high)))


def _pairs(members: np.ndarray, r: float, scheme: str, alpha: float) -> Finding | None:
    """Clients that take part together more or less often than they should: fixed groups, neighbours in a list."""
    n = members.shape[1]
    p = r * (r - 1) / (n * (n - 1))
    if scheme == "poisson":
        p = (r / n) ** 2
    elif scheme == REPLACED:
        p = 1.0 - 2.0 * (1.0 - 1.0 / n) ** r + (1.0 - 2.0 / n) ** r
    pairs = list(itertools.combinations(range(n), 2))
    low, high = _limits(DRAWS, p, alpha / max(len(pairs), 1))
    for i, j in pairs:
        count = int(np.sum(members[:, i] & members[:, j]))
        if not low <= count <= high:
            said = (
                "some clients take part together more or less often than in random cohorts, as in fixed groups: the "
                "amplification by sampling cannot be claimed for cohorts that are drawn in another way than it assumes"
            )
            seen = f"clients {i} and {j} are together in {count} of {DRAWS} cohorts, and {p * DRAWS:.0f} are expected"
            return Finding(TOGETHER, said, seen, private=True)
    return None


def _rounds(counts: np.ndarray, r: float, scheme: str, alpha: float, rates: np.ndarray | None = None) -> Finding | None:
    """Cohorts that depend on an earlier one: groups in turn, shuffled epochs, cohorts that come again.

    X_k = sum_i (x_ki - r/n) (x_(k+L)i - r/n) has mean 0 given all earlier cohorts where these are independent, so that
    Freedman's inequality bounds the sum over k. The variance of X_k given these is at most V, and |X_k| at most M.
    rates: the clients' own ones in place of r/n.
    """
    n, p = counts.shape[1], r / counts.shape[1]
    own = counts - (p if rates is None else rates)
    if scheme == "poisson":
        largest = n * max(p, 1.0 - p) ** 2
        variance, most = p * (1.0 - p) * largest, largest
    elif scheme == REPLACED:
        most = r * r * (1.0 - 1.0 / n)
        variance = p * most
    else:
        most = r * (1.0 - p)
        variance = most * r * (n - r) / (n * (n - 1))
    lags = range(1, LAGS + 1)
    level = math.log(2.0 * len(lags) / alpha)
    for lag in lags:
        trials = DRAWS - lag
        total = float(np.sum(own[:-lag] * own[lag:]))
        allowed = level * most / 3.0 + math.sqrt((level * most / 3.0) ** 2 + 2.0 * level * trials * variance)
        if abs(total) <= allowed:
            continue
        before = "the round before" if lag == 1 else f"the round {lag} rounds before"
        said = (
            f"whether a client takes part depends on {before}, for example where clients take turns or cohorts come "
            "again: the amplification by sampling needs cohorts that are drawn independently of each other"
        )
        shared = float(np.mean(np.sum(counts[:-lag] * counts[lag:], axis=1)))
        apart = "1 round" if lag == 1 else f"{lag} rounds"
        seen = f"two cohorts {apart} apart share {shared:.3g} clients on average, and {r * p:.3g} are expected"
        return Finding("clients that take turns", said, seen, private=True)
    return None


def _spread(members: np.ndarray, r: float, alpha: float) -> Finding | None:
    """Sizes that vary more or less than those of independent draws."""
    n, sizes = members.shape[1], members.sum(axis=1)
    variance, right = float(np.var(sizes)), r * (1 - r / n)
    below, above = (chi_square_over_degrees(p, DRAWS - 1) for p in (alpha / 2, 1 - alpha / 2))
    kurtosis = 1.5  # sizes are binomial, whose variance varies less than a Gaussian's; this leaves room
    if right * (1 - kurtosis * (1 - below)) <= variance <= right * (1 + kurtosis * (above - 1)):
        return None
    said = "clients are not drawn independently of each other, which Poisson accounting needs"
    seen = f"sizes vary by {variance:.4g}, not {right:.4g}"
    return Finding("clients that are not independent", said, seen, private=True)


def _limits(trials: int, p: float, alpha: float) -> tuple[int, int]:
    return binomial(alpha / 2, trials, p), binomial(1 - alpha / 2, trials, p)


def _predicted(again: tuple[np.ndarray, np.ndarray] | None, members: np.ndarray) -> Finding | None:
    """Cohorts that are the same whatever generator the sampler gets."""
    if len(np.unique(members, axis=0)) == 1:
        said = "the cohort is the same in every round: there is no sampling, and no amplification by it"
        return Finding(PREDICTED, said, f"all of {len(members)} cohorts are the same", private=True)
    if again is None or not np.array_equal(*again):
        return None
    said = (
        "the cohorts are the same in every run, whatever the seed of the rng that the sampler is given: they come from "
        "a generator with its own seed, or clients are taken in turn. Whoever knows the program knows who takes part, "
        "and there is no amplification by sampling: draw from the rng, and keep its seed secret"
    )
    seen = f"two copies of the sampler with other seeds give the same {len(again[0])} cohorts"
    return Finding(PREDICTED, said, seen, private=True)


def _independent(sampler: Callable[..., Any], n: int, seed: int) -> bool:
    """Whether the next cohorts are the same with other seeds of the rng and of all generators of libraries."""
    found = _twice(lambda: sampler, n, seed)
    return found is None or np.array_equal(*found)


def _again(sampler: Callable[..., Any], n: int, seed: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The first cohorts of two copies of a sampler. Each copy is loaded again from the sampler's file in its own
    process, with other seeds of all generators. None where the sampler has no file, or cannot be loaded in this way."""
    code = getattr(inspect.unwrap(sampler), "__code__", None)
    name = getattr(sampler, "__qualname__", "<locals>")
    file = None if code is None else Path(code.co_filename)
    if file is None or not file.is_file() or "<" in name:
        return None

    def loaded() -> Any:
        sys.path.insert(0, str(file.resolve().parent))  # also for what the sampler imports when it is called
        return functools.reduce(getattr, name.split("."), module_from_file(file))

    return _twice(loaded, n, seed)


def _twice(sampler: Callable[[], Any], n: int, seed: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Cohorts with two seeds of the rng, each in its own process. Generators of libraries have secret seeds there,
    unless the call that gives the sampler sets them. None where something is raised."""

    def drawn(seed: int) -> np.ndarray:
        random.seed()
        np.random.seed()  # noqa: NPY002
        if (torch := sys.modules.get("torch")) is not None:
            torch.seed()
        own, rng, members = sampler(), np.random.default_rng(seed), np.zeros((SOME, n), dtype=bool)
        for k in range(SOME):
            members[k, np.atleast_1d(np.asarray(own(n, rng), dtype=np.int64))] = True
        return members

    try:
        one, two = (limited(functools.partial(drawn, seed + 7919 * k), SECONDS) for k in (1, 2))
    except Exception:  # whatever the sampler raises in another process, or its file when it is loaded
        return None
    return one, two
