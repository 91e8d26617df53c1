"""The sampling of a round's clients, compared with the sampling that is accounted for."""

from __future__ import annotations

import importlib.util
import inspect
import itertools
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dpfl_theory.conform.references import Values
from dpfl_theory.conform.result import Finding
from dpfl_theory.errors import InputError, format_error

__all__ = ["SamplerResult", "sampled"]

DRAWS = 2000
SOME = 40
"""Number of cohorts that are drawn again, by a newly loaded copy of the sampler."""
SECONDS = 30.0
"""Time limit for these."""
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
    before = repr(rng.bit_generator.state)
    members = np.zeros((DRAWS, n), dtype=bool)
    for k in range(DRAWS):
        try:
            drawn = np.atleast_1d(np.asarray(sampler(n, rng), dtype=np.int64))
        except Exception as error:
            return SamplerResult([Finding("the sampler fails", f"the sampler raises {format_error(error)}")])
        if drawn.size and (drawn.min() < 0 or drawn.max() >= n):
            raise InputError(f"the sampler gives client {drawn.max()}: with {n} clients they are 0 to {n - 1}")
        if len(np.unique(drawn)) < len(drawn):
            said = "a client is in a cohort twice: draw without replacement, or account for replacement"
            return SamplerResult([Finding("clients drawn twice", said, f"{drawn.tolist()}", private=True)])
        members[k, drawn] = True
    used = repr(rng.bit_generator.state) != before
    scheme = str(v["scheme"])
    if found := _sizes(members, n, r, scheme):
        return SamplerResult([found])
    if scheme == "full" or r >= n:
        return SamplerResult([])
    if found := _rates(members, r, alpha / 4):
        return SamplerResult([found])
    again = _again(sampler, n, seed)
    if found := _predicted(again, members):
        return SamplerResult([found])
    if found := _pairs(members, r, scheme, alpha / 4) or _rounds(members, r, alpha / 4):
        return SamplerResult([found])
    if scheme == "poisson" and (found := _spread(members, r, alpha / 4)):
        return SamplerResult([found])
    if not used and again is None:
        why = (
            "the sampler does not draw from the rng that it is given, and could not be loaded again: whether its "
            "cohorts come from a seed that others know was not tested"
        )
        return SamplerResult([], why)
    return SamplerResult([])


def _sizes(members: np.ndarray, n: int, r: float, scheme: str) -> Finding | None:
    """Cohorts of a wrong size."""
    spread = sorted(set(members.sum(axis=1).tolist()))
    if scheme == "poisson" and len(spread) == 1 and r < n:
        said = (
            "all cohorts have the same size, but the accounting assumes independent (Poisson) sampling: draw every "
            "client independently with probability r/n, or account for fixed sizes"
        )
        seen = f"all of {DRAWS} cohorts have {spread[0]} of {n} clients"
        return Finding("fixed-size cohorts accounted as Poisson", said, seen, private=True)
    if scheme in ("fixed", "full") and spread != [int(r)]:
        said = f"cohorts have {spread[0]} to {spread[-1]} clients, and the accounting assumes {int(r)} each"
        return Finding("cohorts of varying size", said, private=True)
    return None


def _rates(members: np.ndarray, r: float, alpha: float) -> Finding | None:
    """Clients that take part more or less often than they should."""
    n, counts = members.shape[1], members.sum(axis=0)
    low, high = _limits(DRAWS, r / n, alpha / n)
    wrong = [i for i in range(n) if not low <= counts[i] <= high]
    if not wrong:
        return None
    i = wrong[0]
    said = "clients do not take part with the probability r/n that the accounting's amplification uses"
    seen = f"client {i} is in {counts[i]} of {DRAWS} cohorts, r/n = {r / n:.4g}"
    return Finding("a wrong sampling rate", said, seen, private=bool(np.any(counts[wrong] > high)))


def _pairs(members: np.ndarray, r: float, scheme: str, alpha: float) -> Finding | None:
    """Clients that take part together more or less often than they should: fixed groups, neighbours in a list."""
    n = members.shape[1]
    p = (r / n) ** 2 if scheme == "poisson" else r * (r - 1) / (n * (n - 1))
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


def _rounds(members: np.ndarray, r: float, alpha: float) -> Finding | None:
    """Clients whose participation depends on the round before: groups in turn, or shuffled epochs."""
    n, first, second = members.shape[1], members[0::2], members[1::2]
    low, high = _limits(len(second), (r / n) ** 2, alpha / n)
    for i in range(n):
        count = int(np.sum(first[: len(second), i] & second[:, i]))
        if not low <= count <= high:
            said = (
                "whether a client takes part depends on the round before, as where clients take turns: the "
                "amplification by sampling needs cohorts that are drawn independently of each other"
            )
            seen = (
                f"client {i} is in both of two rounds in a row in {count} of {len(second)} cases, and "
                f"{(r / n) ** 2 * len(second):.0f} are expected"
            )
            return Finding("clients that take turns", said, seen, private=True)
    return None


def _spread(members: np.ndarray, r: float, alpha: float) -> Finding | None:
    """Sizes that vary more or less than those of independent draws."""
    from scipy import stats

    n, sizes = members.shape[1], members.sum(axis=1)
    variance, right = float(np.var(sizes)), r * (1 - r / n)
    below, above = (stats.chi2.ppf(p, DRAWS - 1) / (DRAWS - 1) for p in (alpha / 2, 1 - alpha / 2))
    kurtosis = 1.5  # sizes are binomial, whose variance varies less than a Gaussian's; this leaves room
    if right * (1 - kurtosis * (1 - below)) <= variance <= right * (1 + kurtosis * (above - 1)):
        return None
    said = "clients are not drawn independently of each other, which Poisson accounting needs"
    return Finding("clients that are not independent", said, f"sizes vary by {variance:.4g}, not {right:.4g}")


def _limits(trials: int, p: float, alpha: float) -> tuple[float, float]:
    from scipy import stats

    return float(stats.binom.ppf(alpha / 2, trials, p)), float(stats.binom.ppf(1 - alpha / 2, trials, p))


def _predicted(again: tuple[np.ndarray, np.ndarray] | None, members: np.ndarray) -> Finding | None:
    """Cohorts that are the same whatever generator the sampler gets."""
    if again is None:
        if len(np.unique(members, axis=0)) > 1:
            return None
        again = members[:SOME], members[:SOME]
    if not np.array_equal(*again):
        return None
    said = (
        "the cohorts are the same in every run, whatever the seed of the rng that the sampler is given: they come from "
        "a generator with its own seed, or clients are taken in turn. Whoever knows the program knows who takes part, "
        "and there is no amplification by sampling: draw from the rng, and keep its seed secret"
    )
    seen = f"two copies of the sampler with other seeds give the same {len(again[0])} cohorts"
    return Finding(PREDICTED, said, seen, private=True)


def _again(sampler: Callable[..., Any], n: int, seed: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The first cohorts of two copies of a sampler. Each copy is loaded again from the sampler's file in its own
    process, with other seeds of all generators. None where the sampler has no file, or cannot be loaded in this way."""
    from dpfl_theory.timeout import limited

    code = getattr(inspect.unwrap(sampler), "__code__", None)
    name = getattr(sampler, "__qualname__", "<locals>")
    file = None if code is None else Path(code.co_filename)
    if file is None or not file.is_file() or "<" in name:
        return None
    found = []
    for k in (1, 2):
        try:
            found.append(limited(lambda k=k: _cohorts(file, name, n, seed + 7919 * k), SECONDS))  # type: ignore[misc]
        except Exception:  # whatever its file raises when it is loaded
            return None
    return found[0], found[1]


def _cohorts(file: Path, name: str, n: int, seed: int) -> np.ndarray:
    """Cohorts of a sampler whose file is loaded again. Generators of libraries have secret seeds, unless the file sets
    them."""
    random.seed()
    np.random.seed()  # noqa: NPY002
    if (torch := sys.modules.get("torch")) is not None:
        torch.seed()
    spec = importlib.util.spec_from_file_location(f"dpfl_theory_anew_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(file.resolve().parent))
    spec.loader.exec_module(module)
    sampler: Any = module
    for part in name.split("."):
        sampler = getattr(sampler, part)
    rng, members = np.random.default_rng(seed), np.zeros((SOME, n), dtype=bool)
    for k in range(SOME):
        members[k, np.atleast_1d(np.asarray(sampler(n, rng), dtype=np.int64))] = True
    return members
