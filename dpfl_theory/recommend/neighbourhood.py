"""The neighbourhood of a recommendation: the bound and the measured suboptimality, for one hyper-parameter at a time.

Each hyper-parameter in turn takes values from an eighth of the recommended one to eight times that. The others stay
fixed, except for those that the statement ties to it (das2022: beta = eta and C = GE), if the recommendation has these
ties too. The noise is certified again for every value, and the bound is the statement's own formula at this noise.

All values run with the same noise in each replicate, and are compared replicate by replicate. A value is excluded as an
optimum if some other value's mean suboptimality is less by more than z standard errors of the difference. This excludes
the true optimum of some line with probability at most ``RATE``. It is compared with m - 1 others on each of the lines,
and z is Student's quantile for ``RATE`` over the number of all these comparisons (asymptotic: mean differences are
assumed to be normal).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfl_theory.core.parameter import Parameter
from dpfl_theory.errors import InputError
from dpfl_theory.problems.base import Array
from dpfl_theory.recommend.constants_from_data import gap_at_start
from dpfl_theory.recommend.papers import get
from dpfl_theory.recommend.rule_runs import asks, choice, differing, hyperparameters_of, too_long
from dpfl_theory.recommend.search import measure
from dpfl_theory.recommend.tuned import Tuned

FACTORS = tuple(2.0 ** (k / 2) for k in range(-6, 7))
"""The factors for a recommended value."""
REPLICATES = 64
RATE = 0.01
"""The probability that the report excludes the true optimum of some line."""


@dataclass(frozen=True)
class StatementAt:
    """A statement's result for a run's hyper-parameters: its bound, or the reason for its absence, and its own
    hyper-parameters."""

    bound: float | None
    why: str | None
    own: Mapping[str, float]
    trivial: float = math.inf
    statement: str = ""
    bounds: str = ""


_Neighbour = tuple[float, dict[str, float], StatementAt]
"""A value, the run's hyper-parameters, and the statement's result for these."""


@dataclass(frozen=True)
class ParameterScan:
    """The values of one hyper-parameter, with the bound (NaN if it has no value) and the suboptimality in every
    replicate (values, replicates).

    trivial: a bound of the left side without any run; why: the reason why the bound has no value at some of them; step:
    whether it is the length of a step.
    """

    name: str
    recommended: float
    values: Array
    bound: Array
    gaps: Array
    trivial: float
    why: str | None
    step: bool = False

    @property
    def means(self) -> Array:
        """The mean suboptimality at each value; inf where a run diverges."""
        return np.asarray(self.gaps.mean(axis=1))

    def indistinct(self, z: float) -> Any:
        """The values that no other one beats by z standard errors of the paired difference; values that diverge are
        excluded."""
        finite = np.asarray(np.isfinite(self.gaps).all(axis=1))
        kept = finite.copy()
        for i in np.flatnonzero(finite):
            apart = self.gaps[i] - self.gaps[finite]
            errors = apart.std(axis=1, ddof=1) / math.sqrt(apart.shape[1])
            kept[i] = not (apart.mean(axis=1) > z * errors).any()
        return kept


def scanned(
    one: Tuned,
    here: Mapping[str, float],
    said: StatementAt,
    known: Mapping[str, Any] | str,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> Iterator[tuple[ParameterScan, list[dict[str, float]]]]:
    """A line for each hyper-parameter of a run, with the run at each of its values; said: the statement's result for
    the run."""
    for name in here:
        if (name in _searched(one) or name == one.kind.rounds) and here[name] > 0:
            found = list(_neighbours(one, here, name, said, known))
            yield _line(one, here, name, found, said.trivial, replicates, seed), [run for _, run, _ in found]


def _searched(one: Tuned) -> dict[str, Parameter]:
    """The parameters that a search chooses, by symbol."""
    return {parameter.symbol: parameter for parameter in one.searched.values()}


def statement_at(one: Tuned, run: Mapping[str, float], known: Mapping[str, Any] | str) -> StatementAt:
    """The statement's result for a run, at the noise that is certified for it."""
    if isinstance(known, str):
        return StatementAt(None, known, {})
    kind = get(one.name)
    try:
        asked = asks(one, run)
        setting = kind(**known, **asked)
        found = setting.answer(choice(one.name, setting, run))
    except (InputError, OverflowError, ZeroDivisionError) as error:
        return StatementAt(None, str(error), {})
    own, certificate = hyperparameters_of(one.name, found, asked), found["certificate"]
    trivial = setting.trivial()[0]
    if "[F]" in certificate["bounds"]:
        trivial = min(trivial, gap_at_start(one.problem))
    statement = certificate["statements"][0]
    unmet = [w for s in certificate["statements"] for w in s.get("failures", ())]
    rest = (own, trivial, statement["id"], certificate["bounds"])
    if others := differing(own, run):
        has = " and ".join(f"{name} = {own[name]:.4g}" for name in others)
        return StatementAt(None, f"{statement['id']} has {has} there", *rest)
    if unmet or found["bound"] is None:
        unknown = getattr(setting, "unknown", lambda: None)()
        return StatementAt(None, unmet[0] if unmet else unknown or "it gives no bound there", *rest)
    return StatementAt(found["bound"], None, *rest)


def _line(
    one: Tuned,
    current: Mapping[str, float],
    name: str,
    found: Sequence[_Neighbour],
    trivial: float,
    replicates: int,
    seed: int,
) -> ParameterScan:
    """Run a hyper-parameter's neighbourhood, each value separately, so that all have the replicates 0, 1, ..."""
    gaps = np.array([measure(one, [one.placed(run)], replicates, seed)[0].gaps for _, run, _ in found])
    bound = np.array([math.nan if there.bound is None else there.bound for _, _, there in found])
    why = next((there.why for _, _, there in found if there.why), None)
    if name == one.threshold:
        bound[:] = math.nan
        why = "it is for updates that are not clipped, whatever the threshold"
    step = name in _searched(one) and _searched(one)[name].attribute.endswith("step")
    values = np.array([value for value, _, _ in found])
    return ParameterScan(name, current[name], values, bound, gaps, trivial, why, step)


def _neighbours(
    one: Tuned, current: Mapping[str, float], name: str, said: StatementAt, known: Mapping[str, Any] | str
) -> Iterator[_Neighbour]:
    """The values of a hyper-parameter in ascending order, each with its run and the statement's result for that."""
    tied = bool(said.own) and not differing(said.own, current)
    values = {factor * current[name] for factor in FACTORS} | {current[name]}
    kind = "count" if name == one.kind.rounds else _searched(one)[name].kind
    if kind == "share":
        values = {min(value, 1.0) for value in values}
    if kind == "count":
        values = {max(1, round(value)) for value in values}
    for value in sorted(values):
        run = {**current, name: value}
        there = statement_at(one, run, known)
        if tied and there.own and not differing({name: value}, there.own):
            run |= there.own
            there = statement_at(one, run, known)
        if not too_long(one, one.placed(run)):
            yield value, run, there
