"""Whether a recommendation, and the optimum of a bound, lie where runs end lowest: runs over their neighbourhood.

Around a choice each hyper-parameter is changed by itself, the noise certified anew, in as many lanes with the same
draws of the noise (common random numbers). The values that are as good as the lowest are those whose paired difference
from it is within so many standard errors that, for normal differences, the truly best value is left out anywhere in one
neighbourhood with probability `ALPHA` at most.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from dpfl_theory.problems.base import Array
from dpfl_theory.recommend.base import Document
from dpfl_theory.recommend.search import measure
from dpfl_theory.recommend.tuned import Axis, Tuned

__all__ = ["ALPHA", "Along", "around", "confirmed", "sentences"]

ALPHA = 0.01
FARTHEST = 8.0
"""The largest factor by which a hyper-parameter is changed."""
STEPS = 6
"""Values to either side, evenly on a logarithmic scale."""
LANES = 128


@dataclass(frozen=True)
class Along:
    """One hyper-parameter changed by itself.

    axis: its name in `dpfl_theory.recommend.tuned`; values: those that were run, ascending; centre: the choice's;
    mean, error: of the suboptimality for each; as_good: whether each is as good as the lowest.
    """

    axis: str
    centre: float
    values: tuple[float, ...]
    mean: tuple[float, ...]
    error: tuple[float, ...]
    as_good: tuple[bool, ...]

    @property
    def best(self) -> tuple[float, float]:
        """The least and the largest value that are as good as the lowest."""
        good = [value for value, is_good in zip(self.values, self.as_good) if is_good]
        return min(good), max(good)

    def apart(self, value: float) -> float:
        """By which factor a value lies outside of those that are as good as the lowest: 1 within, less below them."""
        low, high = self.best
        return value / low if value < low else value / high if value > high else 1.0

    def describe(self) -> Document:
        """Plain data."""
        points = zip(self.values, self.mean, self.error, self.as_good)
        names = ("value", "suboptimality", "error", "as_good")
        finite = [(v, m if math.isfinite(m) else None, e if math.isfinite(e) else None, g) for v, m, e, g in points]
        return {
            "hyperparameter": self.axis,
            "value": self.centre,
            "best": list(self.best),
            "apart": self.apart(self.centre),
            "points": [dict(zip(names, point)) for point in finite],
        }


def _values(axis: Axis, centre: float, most: int) -> list[float]:
    """The values that are tried on an axis."""
    factors = np.geomspace(1.0 / FARTHEST, FARTHEST, 2 * STEPS + 1)
    if axis.between:
        return [centre * float(f) for f in factors] if centre > 0.0 else list(axis.values)
    if all(float(value).is_integer() for value in axis.values):
        limit = most if axis.name == "rounds" else math.inf
        found = {round(centre * f) for f in factors if 1 <= round(centre * f) <= limit}
        return sorted({float(value) for value in found} | {float(centre)})
    return sorted({value for value in axis.values if 1 / FARTHEST <= value / centre <= FARTHEST} | {centre})


def around(tuned: Tuned, centre: Mapping[str, float], seed: int, lanes: int = LANES) -> list[Along]:
    """Each hyper-parameter of a choice changed by itself, at most `FARTHEST` times.

    >>> from dpfl_theory.problems import make
    >>> from dpfl_theory.recommend.tuned import Budget, tuned
    >>> problem = make("logistic-synthetic", clients=4, dimension=2, records=10)
    >>> one = tuned()["dp-clip21"](problem, Budget(8.0, 1e-5, rounds=4))
    >>> [along.axis for along in around(one, one.values([0.5] * 3), 0, 8)]
    ['rounds', 'step', 'clip']
    """
    tried = {axis.name: _values(axis, centre[axis.name], tuned.most_rounds) for axis in tuned.axes}
    count = sum(map(len, tried.values()))
    limit = NormalDist().inv_cdf(1.0 - ALPHA / (count * (count - 1)))  # whichever of them is the lowest
    found = []
    for name, values in tried.items():
        gaps = [_gaps(tuned, {**centre, name: value}, lanes, seed) for value in values]
        mean = [float(np.mean(g)) if np.isfinite(g).all() else math.inf for g in gaps]
        error = [_error(g) for g in gaps]
        lowest = gaps[int(np.argmin(mean))]
        good = [math.isfinite(m) and _no_worse(g - lowest, limit) for g, m in zip(gaps, mean)]
        found.append(Along(name, float(centre[name]), tuple(values), tuple(mean), tuple(error), tuple(good)))
    return found


def _gaps(tuned: Tuned, values: dict[str, float], lanes: int, seed: int) -> Array:
    """Each run by itself, so that all have the same lanes' draws."""
    (found,) = measure(tuned, [values], lanes, seed)
    return found.gaps


def _error(gaps: Array) -> float:
    return float(np.std(gaps, ddof=1) / math.sqrt(len(gaps))) if np.isfinite(gaps).all() else math.inf


def _no_worse(differences: Array, limit: float) -> bool:
    return float(np.mean(differences)) <= limit * float(np.std(differences, ddof=1)) / math.sqrt(len(differences))


def confirmed(tuned: Tuned, chosen: Mapping[str, float], rules: Sequence[Document], seed: int) -> Document:
    """The neighbourhoods of a recommendation and of the optimum of its paper's bound, where it has one.

    rules: what the rules say (`dpfl_theory.recommend.ruled.reached`). Plain data: ``recommended`` and ``bound-optimal``
    (None without one), each a list of hyper-parameters with their ``points``, the ``best`` values, and by which factor
    the choice's lies ``apart`` from these (1 within them); ``sentences``.
    """
    told: Document = {"lanes": LANES, "false_alarms": ALPHA, "recommended": None, "bound-optimal": None}
    said: list[str] = []
    for which, values, vacuous in _choices(tuned, chosen, rules):
        found = around(tuned, values, seed)
        told[which] = [along.describe() for along in found]
        said += sentences(which, found, vacuous)
    return {**told, "sentences": said}


def _choices(
    tuned: Tuned, chosen: Mapping[str, float], rules: Sequence[Document]
) -> Iterator[tuple[str, Mapping[str, float], bool]]:
    yield "recommended", chosen, False
    for rule in rules:
        if rule["rule"] == "bound-optimal" and rule.get("hyperparameters"):
            values = tuned.placed(rule["hyperparameters"])
            if values["rounds"] <= tuned.most_rounds:
                yield "bound-optimal", values, bool(rule["vacuous"])


def sentences(which: str, found: Sequence[Along], vacuous: bool = False) -> list[str]:
    """What a neighbourhood shows.

    >>> step = Along("step", 1.0, (1.0, 2.0, 4.0), (0.3, 0.1, 0.1), (0.0, 0.0, 0.0), (False, True, True))
    >>> sentences("bound-optimal", [step])
    ["The bound's optimum does not lie where runs end lowest: step is 0.5 times the least of 2 to 4."]
    """
    what = "The recommendation" if which == "recommended" else "The bound's optimum"
    away = [(along, along.apart(along.centre)) for along in found]
    parts = [
        f"{along.axis} is {factor:.3g} times the {'least' if factor < 1.0 else 'largest'} of {_span(along.best)}"
        for along, factor in away
        if factor != 1.0
    ]
    empty = " (the bound is vacuous: it promises nothing there)" if vacuous else ""
    if not parts:
        spans = ", ".join(f"{along.axis} {_span(along.best)}" for along in found)
        return [f"{what} lies where runs end lowest{empty}: {spans}."]
    return [f"{what} does not lie where runs end lowest{empty}: {'; '.join(parts)}."]


def _span(best: tuple[float, float]) -> str:
    low, high = best
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
