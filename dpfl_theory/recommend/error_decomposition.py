"""Decomposition of a run's suboptimality: its causes are removed one after another, each by a run without it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpfl_theory.recommend.search import Plan, usual
from dpfl_theory.recommend.tuned import Tuned
from dpfl_theory.simulation import simulate

_REPLICATES = 8
_LONGER = 16
"""The factor by which the rounds are increased: the suboptimality that remains is not from too few rounds."""
_MOST = 10_000
_MOST_WIDE = 320
"""The same for sparse records with many features, for which only few runs are possible (`recommend.search.usual`)."""
_UNBOUNDED = 1e150
"""A threshold that no message reaches."""
_GOOD = {
    "the noise": "the noise does no harm",
    "cohorts": "more clients in a round do not help",
    "clipping": "clipping helps",
    "too few rounds": "more rounds do not help",
}
"""The text for a cause without which runs end higher."""


@dataclass(frozen=True)
class Cause:
    """One cause: its name, the suboptimality without it and the causes before it [F], and its share of the whole. The
    share is None where the runs end higher without it; then the cause stays."""

    name: str
    without: float
    share: float | None


def causes(tuned: Tuned, values: Mapping[str, float], gap: float, seed: int) -> list[Cause]:
    """The causes of the suboptimality ``gap`` of a choice of values: the noise, cohorts, clipping, too few rounds, and
    the rest. The shares add up to 1.

    >>> from dpfl_theory.problems import make
    >>> from dpfl_theory.recommend.tuned import Budget, tuned
    >>> problem = make("logistic-synthetic", clients=4, dimension=2, records=10)
    >>> one = tuned()["dp-fedavg"](problem, Budget(1.0, 1e-5, rounds=8))
    >>> values = one.values([0.5] * len(one.axes))
    >>> [cause.name for cause in causes(one, values, 0.5, 0)]
    ['the noise', 'clipping', 'too few rounds', 'the rest']
    """
    if not math.isfinite(gap) or gap <= 0.0:
        return []
    one, replicates, rounds = tuned, tuned.certified(values), tuned.iterations(values)
    found: list[Cause] = []
    left = gap
    for name, changed in _steps(tuned):
        tried = changed(one, replicates, rounds)
        ends = _mean(*tried, seed)
        better = ends <= left
        found.append(Cause(name, ends, (left - ends) / gap if better else None))
        if better:
            (one, replicates, rounds), left = tried, ends
    return [*found, Cause("the rest", 0.0, left / gap)]


State = tuple[Tuned, dict[str, float], int]


def _steps(tuned: Tuned) -> Iterator[tuple[str, Callable[[Tuned, dict[str, float], int], State]]]:
    """The causes that an algorithm's runs have, each with its removal."""
    yield "the noise", lambda one, replicates, rounds: (one, {**replicates, one.noise: 0.0}, rounds)
    cohort, threshold = tuned.budget.cohort, tuned.threshold
    if cohort is not None and cohort < tuned.problem.n:
        everybody = replace(tuned.budget, cohort=None, sampling=None)
        yield "cohorts", lambda one, replicates, rounds: (type(one)(one.problem, everybody), replicates, rounds)
    if threshold is not None:
        yield "clipping", lambda one, replicates, rounds: (one, {**replicates, threshold: _UNBOUNDED}, rounds)
    most = _MOST if usual(tuned.problem) == Plan() else _MOST_WIDE
    yield "too few rounds", lambda one, replicates, rounds: (one, replicates, max(rounds, min(_LONGER * rounds, most)))


def _mean(one: Tuned, replicates: Mapping[str, Any], rounds: int, seed: int) -> float:
    """The mean suboptimality after the given number of rounds, inf where a run diverges."""
    with np.errstate(all="ignore"):
        run = simulate(
            one.algorithm(replicates),
            one.problem,
            rounds,
            _REPLICATES if usual(one.problem) == Plan() else 1,
            seed,
            ("suboptimality",),
            device="cpu",
            warn=False,
        )
    found = float(np.mean(run["suboptimality"].last))
    return found if math.isfinite(found) else math.inf


def describe_causes(found: list[Cause], gap: float) -> str:
    """The causes in a sentence.

    >>> causes = [Cause("the noise", 0.25, 0.75), Cause("clipping", 0.3, None), Cause("the rest", 0.0, 0.25)]
    >>> describe_causes(causes, 1.0)
    'Of the suboptimality 1, 75% are from the noise, 25% from the rest; clipping helps.'
    """
    if not found:
        return "Some runs diverge." if not math.isfinite(gap) else "No suboptimality remains."
    parts = [f"{cause.share:.0%} {'are ' * (k == 0)}from {cause.name}" for k, cause in enumerate(_large(found))]
    good = [_GOOD[cause.name] for cause in found if cause.share is None]
    helped = f"; {' and '.join(good)}" if good else ""
    return f"Of the suboptimality {gap:.3g}, {', '.join(parts)}{helped}."


def _large(found: list[Cause]) -> list[Cause]:
    large = [cause for cause in found if cause.share is not None and cause.share >= 0.005]
    return sorted(large, key=lambda cause: -(cause.share or 0.0))
