"""Search for the hyper-parameters with the smallest measured suboptimality, by runs with certified noise.

Many points are run at once, with one replicate for each draw of the noise. A generation of points is drawn with its own
seed around the best ones so far (the cross-entropy method). It includes their mean and the minimum of a quadratic that
fits the logarithms of their values: single runs scatter, and all good points together locate the minimum better than
the luckiest of them. The best few are run again with more replicates. The chosen one is run once
more, so that the reported result is independent of the choice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from dpfl_theory.problems.base import Array, Problem
from dpfl_theory.recommend.tuned import Tuned
from dpfl_theory.simulation import simulate

__all__ = ["Plan", "Trial", "confirmed", "least_of_quadratic", "measure", "search", "usual"]

_MOST_REPLICATES = 1024
_MOST_BYTES = 2**30
"""The largest size of an array (clients, replicates, d) of one run: wide problems run fewer replicates at once."""
_LEAST = 0.03
"""The least spread of a generation along a continuous axis."""


@dataclass(frozen=True)
class Plan:
    """The amount of computation: points of a generation, replicates of each, and generations; points and replicates of
    a second and of a third stage, and replicates of the last."""

    points: int = 128
    replicates: int = 2
    generations: int = 7
    finalists: int = 24
    second: int = 8
    best: int = 6
    third: int = 48
    last: int = 64

    @property
    def runs(self) -> int:
        """The total number of runs."""
        return (
            self.points * self.replicates * self.generations
            + self.finalists * self.second
            + self.best * self.third
            + self.last
        )


_WIDE = 2**19
_FEW = Plan(points=32, replicates=1, generations=4, finalists=6, second=4, best=2, third=16, last=32)


def usual(problem: Problem) -> Plan:
    """The default amount of computation. It is a tenth on sparse records with more than 2^19 parameters in all clients
    together, where a round of one replicate takes about 10 to 60 ms.

    >>> from dpfl_theory.problems import make
    >>> usual(make("quadratic", clients=2, dimension=2)) == Plan(), _FEW.runs
    (True, 216)
    """
    return _FEW if problem.sparse and problem.n * problem.d > _WIDE else Plan()


@dataclass(frozen=True)
class Trial:
    """A choice and its measurements: the suboptimality f(w_T) - inf f of each replicate [F], and the last vectors."""

    values: dict[str, float]
    hyperparameters: dict[str, float]
    gaps: Array
    final: Array

    @property
    def mean(self) -> float:
        """The mean suboptimality; inf where a run diverged."""
        return float(np.mean(self.gaps)) if np.isfinite(self.gaps).all() else math.inf

    @property
    def error(self) -> float:
        """Its standard error."""
        return float(np.std(self.gaps, ddof=1) / math.sqrt(len(self.gaps))) if len(self.gaps) > 1 else math.inf


def measure(
    tuned: Tuned, chosen: Sequence[dict[str, float]], replicates: int, seed: int, noise: bool = True
) -> list[Trial]:
    """Run each choice of values in the given number of replicates, optionally without noise."""
    found: list[Trial | None] = [None] * len(chosen)
    settings = [tuned.certified(values) for values in chosen]
    if not noise:
        settings = [{**s, tuned.noise: 0.0} for s in settings]
    for group in _together(tuned, chosen, replicates):
        rounds = [tuned.iterations(chosen[i]) for i in group]
        by_replicate: dict[str, Any] = {}
        for name, value in settings[group[0]].items():
            column = np.repeat([settings[i][name] for i in group], replicates)
            by_replicate[name] = value if np.ptp(column) == 0 else column
        algorithm = tuned.algorithm(by_replicate)
        with np.errstate(all="ignore"):
            run = simulate(
                algorithm,
                tuned.problem,
                max(rounds),
                len(group) * replicates,
                seed,
                ("suboptimality",),
                series=True,
                device="cpu",
                warn=False,
            )
        series = run["suboptimality"].every_round
        for j, i in enumerate(group):
            own = slice(j * replicates, (j + 1) * replicates)
            gaps = np.nan_to_num(series[rounds[j], own], nan=math.inf, posinf=math.inf)
            found[i] = Trial(dict(chosen[i]), settings[i], gaps, run.final[own])
    return [f for f in found if f is not None]


def _together(tuned: Tuned, chosen: Sequence[dict[str, float]], replicates: int) -> Iterator[list[int]]:
    """The numbers of the choices that share a run: with the same shared values, and within a factor of two in
    length."""
    shared = [axis.name for axis in tuned.axes if axis.shared]
    groups: dict[tuple[float, ...], list[int]] = {}
    for i, values in enumerate(chosen):
        length = math.ceil(math.log2(max(1, tuned.iterations(values))))
        groups.setdefault((*(values[name] for name in shared), length), []).append(i)
    held = 8 * tuned.problem.n * tuned.problem.d
    most = max(1, min(_MOST_REPLICATES, _MOST_BYTES // held) // replicates)
    for group in groups.values():
        for a in range(0, len(group), most):
            yield group[a : a + most]


_SHARE = 4
"""The best fourth of the points is fitted, but at least this multiple of the number of coefficients:"""
_EACH = 3
_REACH = 2.0
"""The number of standard deviations of these points within which the quadratic is trusted."""


def least_of_quadratic(tried: Sequence[tuple[float, Array]]) -> Array | None:
    """The minimum in [0, 1)^k of the quadratic that fits the logarithm of the lowest values, near the best of them;
    None if there are too few points.

    tried: pairs of a value and its point (k,); values that are not positive and finite are omitted.

    >>> rng = np.random.default_rng(0)
    >>> points = rng.random((60, 2))
    >>> found = least_of_quadratic([(math.exp(4 * float(np.sum((p - 0.3) ** 2))), p) for p in points])
    >>> bool(np.allclose(found, 0.3))
    True
    """
    positive = sorted(((value, point) for value, point in tried if 0.0 < value < math.inf), key=lambda t: t[0])
    if not positive:
        return None
    axes = len(positive[0][1])
    pairs = [(i, j) for i in range(axes) for j in range(i, axes)]
    coefficients = 1 + axes + len(pairs)
    kept = positive[: max(_EACH * coefficients, len(positive) // _SHARE)]
    if len(kept) < _EACH * coefficients:
        return None
    points, values = np.array([p for _, p in kept]), np.log([value for value, _ in kept])
    centre = points[: max(4, len(points) // 8)].mean(axis=0)
    x, weight = points - centre, np.linspace(1.0, 0.3, len(points))
    columns = np.column_stack([np.ones(len(x)), x, *(x[:, i] * x[:, j] for i, j in pairs)])
    found = np.linalg.lstsq(columns * weight[:, None], values * weight, rcond=None)[0]
    slope, bend = found[1 : 1 + axes], np.zeros((axes, axes))
    for (i, j), c in zip(pairs, found[1 + axes :]):
        bend[i, j] += c
        bend[j, i] += c
    reach = _REACH * points.std(axis=0)
    low = np.maximum(-reach, np.maximum(points.min(axis=0), 0.0) - centre)
    high = np.minimum(reach, np.minimum(points.max(axis=0), 1.0 - 1e-9) - centre)
    ends = [
        minimize(
            lambda v: slope @ v + 0.5 * v @ bend @ v, start, jac=lambda v: slope + bend @ v, bounds=list(zip(low, high))
        )
        for start in (np.zeros(axes), np.clip(x[0], low, high))
    ]
    return np.asarray(centre + min(ends, key=lambda end: float(end.fun)).x)


def search(tuned: Tuned, seed: int, plan: Plan | None = None, starts: Sequence[dict[str, float]] = ()) -> Trial:
    """The best choice found, with its results in `Plan.last` fresh replicates.

    starts: choices that are tried first, such as a rule's, and run again in the next stage whatever their first results
    are.
    """
    plan = plan or usual(tuned.problem)
    rng = np.random.default_rng(seed)
    axes = len(tuned.axes)
    centre, width = np.full(axes, 0.5), np.full(axes, math.inf)
    least = np.array(
        [_LEAST if axis.between else 1.0 / len(axis.values) for axis in tuned.axes]
    )  # a step to either side
    given = np.array([tuned.point(values) for values in starts][: plan.points]).reshape(-1, axes)
    tried: list[tuple[float, Array]] = []
    for generation in range(plan.generations):
        if generation == 0:
            cells = rng.permuted(np.tile(np.arange(plan.points), (axes, 1)), axis=1).T  # a Latin hypercube
            points = (cells + rng.random((plan.points, axes))) / plan.points
            points[: len(given)] = given
        else:
            points = np.clip(centre + width * rng.standard_normal((plan.points, axes)), 0.0, 1.0 - 1e-9)
            points[0] = centre
            if generation > 1 and (bottom := least_of_quadratic(tried)) is not None:
                points[1] = bottom
        results = measure(tuned, [tuned.values(p) for p in points], plan.replicates, seed + 1 + generation)
        tried += [(f.mean, p) for f, p in zip(results, points)]
        best = np.array([p for _, p in sorted(tried, key=lambda t: t[0])[: max(4, plan.points // 8)]])
        centre, width = best.mean(axis=0), np.maximum(best.std(axis=0), least)
    bottom = least_of_quadratic(tried)
    sure = [*given, centre, *([] if bottom is None else [bottom])]
    ranked = [(0.0, p) for p in sure] + sorted(tried, key=lambda t: t[0])
    return confirmed(tuned, ranked, seed, plan)


def confirmed(tuned: Tuned, ranked: Sequence[tuple[float, Array]], seed: int, plan: Plan) -> Trial:
    """The best of the first points of a ranking, by more replicates, with its results in fresh ones."""
    finalists: list[dict[str, float]] = []
    for _, p in ranked:
        if (values := tuned.values(p)) not in finalists:
            finalists.append(values)
        if len(finalists) == plan.finalists:
            break
    for look, replicates, kept in ((101, plan.second, plan.best), (102, plan.third, 1)):
        seen = sorted(measure(tuned, finalists, replicates, seed + look), key=lambda f: f.mean)
        finalists = [f.values for f in seen[:kept]]
    return measure(tuned, finalists, plan.last, seed + 103)[0]
