"""monte-carlo: a bound against the running algorithm, decided by confidence limits.

Everything random goes to one side: with parts O_j of the statement's expectations, ``lhs <= rhs`` reads
``E Z <= B`` for ``Z = sum_j c_j O_j`` and a number B. Each lane gives one independent replicate of Z (a mean over
rounds).

*holds* needs the upper confidence limit of E Z to be at most B. The limit is rigorous where Z is bounded from above
within the run's `Reach`; otherwise it rests on the central limit theorem and is labelled asymptotic.
*violated* needs a lower limit above B that is valid at finite sample size; it exists where Z is bounded from below.
Undecided checks get more lanes until the instance's number of lanes, or the time budget, is spent.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfl_theory.algorithms import simulate
from dpfl_theory.algorithms.observables import get
from dpfl_theory.checks.decision import Limits, decide
from dpfl_theory.checks.evidence import Evidence, Interval
from dpfl_theory.checks.settings import Settings
from dpfl_theory.kernels import select
from dpfl_theory.problems.base import Array
from dpfl_theory.statements.claims import Experiment
from dpfl_theory.statements.model import Check, Statement, sympy_symbols

__all__ = ["Experiment", "Linear", "linearise", "run"]

_FIRST_BATCH = 128
_WATCHED = ("zero-updates", "empty-cohort")


@dataclass(frozen=True)
class Linear:
    """A side of a statement at given symbol values: named terms, each a constant and coefficients of observables."""

    terms: Mapping[str, tuple[float, Mapping[str, float]]]

    def total(self) -> tuple[float, dict[str, float]]:
        """The sum of the terms: constant, and coefficient of each observable."""
        constant = math.fsum(c for c, _ in self.terms.values())
        coefficients: dict[str, float] = {}
        for _, parts in self.terms.values():
            for name, c in parts.items():
                coefficients[name] = coefficients.get(name, 0.0) + c
        return constant, coefficients

    def at(self, means: Mapping[str, float]) -> dict[str, float]:
        """Each term's value when observable ``name`` has mean ``means[name]``."""
        return {
            term: constant + math.fsum(c * means[o] for o, c in parts.items() if c != 0.0)
            for term, (constant, parts) in self.terms.items()
        }


def linearise(statement: Statement, values: Mapping[str, float]) -> tuple[Linear, Linear]:
    """Both sides at these values of the symbols. Raises ValueError when a side is not linear in its expectations."""
    assert statement.sides is not None
    sides = statement.sides()
    symbols = sympy_symbols(statement)
    expectations = {e.name: e for e in statement.expectations}
    numbers = {symbols[name]: value for name, value in values.items() if name in symbols}

    def side(terms: Mapping[str, Any]) -> Linear:
        out: dict[str, tuple[float, Mapping[str, float]]] = {}
        for label, expression in terms.items():
            rest, parts = expression, dict[str, float]()
            for name, expectation in expectations.items():
                slope = expression.diff(symbols[name])
                if slope.free_symbols & {symbols[e] for e in expectations}:
                    raise ValueError(f"{statement.id}: the term {label!r} is not linear in its expectations")
                rest = rest.subs(symbols[name], 0)
                factor = float(slope.subs(numbers))
                for observable, sign in expectation.parts:
                    parts[observable] = parts.get(observable, 0.0) + sign * factor
            out[label] = (float(rest.subs(numbers)), {o: c for o, c in parts.items() if c != 0.0})
        return Linear(out)

    return side(sides.lhs), side(sides.rhs)


def run(statement: Statement, check: Check, settings: Settings) -> Evidence:
    """The evidence of one Monte-Carlo check; ``check.build(instance)`` returns its `Experiment`."""
    begun = time.perf_counter()
    experiment: Experiment = check.build(check.instance)
    engine = select(settings.device)

    def evidence(verdict: str, reason: str, **more: Any) -> Evidence:
        notes = {"problem": experiment.problem.describe(), **experiment.notes, **more.pop("notes", {})}
        return Evidence(
            statement.id,
            "monte-carlo",
            check.name,
            verdict,
            check.expected,
            reason,
            instance={
                **check.instance,
                "values": dict(experiment.values),
                "algorithm": experiment.algorithm.describe(),
            },
            seed=settings.seed,
            alpha=settings.alpha,
            device=engine.description,
            notes=notes,
            seconds=time.perf_counter() - begun,
            **more,
        )

    for assumption in statement.assumptions:
        failure = assumption.test(experiment.problem, experiment.values)
        if failure is not None:
            return evidence("not-applicable", f"the hypothesis '{assumption.text}' is not met: {failure}")
    lhs, rhs = linearise(statement, experiment.values)
    sample = _Sample(experiment, lhs, rhs, engine)
    trivial = sample.trivial()
    while True:
        sample.extend(min(experiment.lanes, max(_FIRST_BATCH, 2 * sample.lanes)), settings)
        limits = sample.limits(settings.alpha)
        if limits.decided or sample.lanes >= experiment.lanes or settings.out_of_time:
            break
        if limits.rigorous_out_of_sight(experiment.lanes):
            break
    means = sample.means()
    moved = math.fsum(c * means[o] for o, c in rhs.total()[1].items() if math.isfinite(means[o]))
    bound = limits.bound + moved
    verdict, reason = limits.verdict(moved, settings.out_of_time and sample.lanes < experiment.lanes)
    return evidence(
        verdict,
        reason,
        lhs=Interval(limits.mean + moved, *(end + moved for end in limits.shown)),
        rhs=bound,
        terms=rhs.at(means),
        vacuous=None if trivial is None else bound > trivial,
        asymptotic=not limits.decided,
        detectable=limits.detectable(moved),
        replicates=sample.lanes,
        notes={
            "means": means,
            "trivial": trivial,
            "lane_seconds": sample.seconds / sample.lanes,
            **{name.replace("-", "_"): value for name, value in sample.watched().items()},
        },
    )


class _Sample:
    """Replicates of Z, extended batch by batch with further lanes."""

    def __init__(self, experiment: Experiment, lhs: Linear, rhs: Linear, engine: Any) -> None:
        self.experiment = experiment
        self.engine = engine
        (a0, a), (b0, b) = lhs.total(), rhs.total()
        self.lhs = lhs
        self.bound = b0 - a0
        self.observables = sorted({*a, *b})
        # Where a weight C/||u|| or an empty cohort may be met, evidence says how often it was.
        self.watch = [o for o in _WATCHED if any("clipped" in name or "weighted" in name for name in self.observables)]
        self.coefficients = {o: a.get(o, 0.0) - b.get(o, 0.0) for o in self.observables}
        self.columns: dict[str, list[Array]] = {o: [] for o in (*self.observables, *self.watch)}
        self.lanes = 0
        self.seconds = 0.0

    def _simulate(self, rounds: int, lanes: int, first: int, settings: Settings) -> dict[str, Array]:
        e = self.experiment
        done = simulate(
            e.algorithm,
            e.problem,
            rounds,
            lanes,
            settings.seed,
            [*self.observables, *self.watch],
            start=e.start,
            first_lane=first,
            device=self.engine,
            progress=settings.progress,
        )
        self.seconds += done.seconds
        return {o: done[o].mean for o in self.columns}

    def extend(self, lanes: int, settings: Settings) -> None:
        """Simulate until there are ``lanes`` replicates, in batches that respect the deadline."""
        while self.lanes < lanes and not (self.lanes and settings.out_of_time):
            count = min(lanes - self.lanes, 512)
            for o, values in self._simulate(self.experiment.rounds, count, self.lanes, settings).items():
                self.columns[o].append(values)
            self.lanes += count

    def trivial(self) -> float | None:
        """The left side if every iterate were w_0: a bound above it says less than doing nothing."""
        at_start = self._simulate(1, 1, 0, Settings())
        means = {o: float(v[0]) for o, v in at_start.items()}
        self.seconds = 0.0
        value = math.fsum(self.lhs.at(means).values())
        return value if math.isfinite(value) else None

    def means(self) -> dict[str, float]:
        """Mean of each observable that the statement speaks of."""
        return {o: float(np.concatenate(self.columns[o]).mean()) for o in self.observables}

    def watched(self) -> dict[str, float]:
        """Mean number of zero updates, and of empty cohorts, per round; nothing where neither happened."""
        found = {o: float(np.concatenate(self.columns[o]).mean()) for o in self.watch}
        return {o: value for o, value in found.items() if value > 0.0}

    def limits(self, alpha: float) -> Limits:
        """The limits of E Z from the replicates so far."""
        z = np.zeros(self.lanes)
        for o in self.observables:
            c = self.coefficients[o]
            if c != 0.0:
                z = z + c * np.concatenate(self.columns[o])
        return decide(z, self.bound, *self._range(), alpha)

    def _range(self) -> tuple[float, float]:
        """The smallest and largest value that Z can have within the run's reach."""
        reach = self.experiment.reach
        if reach is None:
            return -math.inf, math.inf
        least = most = 0.0
        for o, c in self.coefficients.items():
            observable = get(o)
            if c != 0.0:
                ends = sorted((c * observable.low(reach), c * observable.high(reach)))
                least, most = least + ends[0], most + ends[1]
        return least, most
