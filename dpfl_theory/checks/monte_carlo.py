"""monte-carlo: a bound against the running algorithm, decided by confidence limits.

All random terms go to one side: with parts O_j of the statement's expectations, ``lhs <= rhs`` reads
``E Z <= B`` for ``Z = sum_j c_j O_j`` and a number B. Each run gives one independent replicate of Z (of means over the
rounds, or of values after the last one). ``min_k E Z_k <= B`` has limits of its own, from replicates of every Z_k.

* *holds* needs the upper confidence limit of E Z to be at most B. The limit is rigorous where Z is bounded from above
  within the run's `Reach`; otherwise it depends on the central limit theorem and is labelled asymptotic.
* *violated* needs a lower limit above B that is valid at finite sample size; it exists where Z is bounded from below.
* Where the left side is known exactly (`Experiment.known`), limits that exclude it revoke *holds*.
* An equality *holds* where asymptotic limits contain the right side and are close to it (`Experiment.width`). It is
  *violated* where a limit that is valid at finite sample size excludes it.

Undecided checks get more replicates until the instance's number of them, or the time budget, is spent. A run that draws
nothing has its value as expectation; a second replicate shows whether it draws nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dpfl_theory.checks.decision import BoundLimits, certain, decide, decide_least
from dpfl_theory.checks.hypotheses import complete, unmet
from dpfl_theory.checks.linear_form import Linear, linearise
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, Experiment, Statement
from dpfl_theory.core.algorithm import Algorithm as Description
from dpfl_theory.core.evidence import Evidence, Interval
from dpfl_theory.kernels import select
from dpfl_theory.problems.base import Array
from dpfl_theory.simulation import Simulation, Stream, simulate
from dpfl_theory.simulation.divergence import NEVER, divergence_text
from dpfl_theory.simulation.observables import get
from dpfl_theory.simulation.simulate import standard_error

__all__ = ["Experiment", "run"]

MOST_REPLICATES = 10**9
"""More would take longer than is practical, or more memory than is available."""
_FIRST_BATCH = 128
_COPIES = 2  # replicates of a run that draws nothing


def run(statement: Statement, check: Check, settings: Settings) -> Evidence:
    """The evidence of one Monte-Carlo check; ``check.build(instance)`` returns its `Experiment`."""
    started = time.perf_counter()
    experiment: Experiment = check.make(statement)
    given: Any = experiment.algorithm
    if isinstance(given, Description):
        experiment = replace(experiment, algorithm=Simulation(given))
    engine = select(settings.device)
    if not 1 <= experiment.replicates <= MOST_REPLICATES:
        raise ValueError(f"replicates is {experiment.replicates}: give a number from 1 to {MOST_REPLICATES}")

    def evidence(verdict: str, reason: str, **more: Any) -> Evidence:
        notes = {"problem": experiment.problem.describe(), **experiment.notes, **more.pop("notes", {})}
        return Evidence.of_check(
            statement,
            check,
            verdict,
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
            seconds=time.perf_counter() - started,
            **more,
        )

    missing = unmet(statement, experiment.values, experiment.problem)
    if missing is not None:
        return evidence("not-applicable", f"the hypothesis '{missing[0]}' is not met: {missing[1]}")
    complete(statement, experiment.values, expectations=False)
    sides = linearise(statement, experiment.values)
    with np.errstate(over="ignore", invalid="ignore"):  # the reason mentions a run that diverges
        return _sampled(statement, experiment, sides, engine, settings, evidence)


def _sampled(
    statement: Statement,
    experiment: Experiment,
    sides: tuple[Linear, Linear],
    engine: Any,
    settings: Settings,
    evidence: Callable[..., Evidence],
) -> Evidence:
    """The decision from replicates of Z; ``evidence`` makes evidence of a verdict, its reason and the numbers."""
    lhs, rhs = sides
    spoken = [(e, o) for e in statement.expectations for o, _ in e.parts]
    columns = {e.column(o): _Column(experiment.instead.get(o, o), e.when, e.rival) for e, o in spoken}
    sample = _Sample(experiment, lhs, rhs, columns, engine)
    equality = statement.relation == "=="
    trivial = None if equality else sample.trivial()
    most = experiment.replicates if experiment.random else _COPIES
    while True:
        sample.extend(min(most, max(_FIRST_BATCH, 2 * sample.replicates)), settings)
        limits = sample.limits(settings.alpha)
        decided = limits.differs if equality else limits.decided
        if decided or sample.replicates >= most or settings.out_of_time:
            break
        if not equality and limits.rigorous_out_of_sight(most):
            break
    means = sample.means()
    moved = math.fsum(c * means[o] for o, c in rhs.total()[1].items() if math.isfinite(means[o]))
    bound = limits.bound + moved
    cut = settings.out_of_time and sample.replicates < most
    verdict, reason = limits.equality(moved, experiment.width, cut) if equality else limits.verdict(moved, cut)
    verdict, reason = sample.recognised(limits, moved, verdict, reason)
    diverged = np.concatenate(sample.diverged)
    notes = {"diverged": divergence_text(diverged)} if (diverged != NEVER).any() else {}
    shown = (limits.low, limits.high) if decided else (limits.asymptotic_low, limits.asymptotic_high)
    return evidence(
        verdict,
        reason,
        lhs=Interval(limits.mean + moved, *(end + moved for end in shown)),
        rhs=bound,
        terms=rhs.evaluate(means),
        vacuous=None if trivial is None and bound < math.inf else bound > (trivial or 0.0),
        asymptotic=not decided and not (equality and limits.exact),
        detectable=limits.detectable(moved),
        replicates=sample.replicates,
        notes={
            "means": means,
            "trivial": trivial,
            "standard_error": sample.standard_error(),
            "replicate_seconds": sample.seconds / sample.replicates,
            **notes,
            **{name.replace("-", "_"): value for name, value in sample.watched().items()},
        },
    )


def _taken(stream: Stream, when: str, rounds: int) -> Array:
    """The values of a run's stream that an expectation needs: (replicates,), or (replicates, rounds) for the least
    one."""
    if when == "least":
        return stream.every_round[:rounds].T
    return stream.last if when == "end" else stream.mean


class _Column(NamedTuple):
    """A streamed observable: its name, when it is taken, and whether it is the rival run's."""

    observable: str
    when: str = "mean"
    rival: bool = False


class _Sample:
    """Replicates of Z, extended by further runs. ``read``: the meaning of each column."""

    def __init__(
        self, experiment: Experiment, lhs: Linear, rhs: Linear, read: Mapping[str, _Column], engine: Any
    ) -> None:
        self.experiment = experiment
        self.engine = engine
        (a0, a), (b0, b) = lhs.total(), rhs.total()
        self.lhs = lhs
        self.bound = b0 - a0
        self.spoken = sorted({*a, *b})
        # Evidence says how often a weight C/||u||, or an empty cohort, occurred.
        spoken = [get(read[column].observable) for column in self.spoken]
        self.watch = list(dict.fromkeys(name for observable in spoken for name in observable.reported_with))
        self.read = {**{c: read[c] for c in self.spoken}, **{o: _Column(o) for o in self.watch}}
        self.coefficients = {c: a.get(c, 0.0) - b.get(c, 0.0) for c in self.spoken}
        self.columns: dict[str, list[Array]] = {c: [] for c in self.read}
        self.diverged: list[Any] = []  # the round after which a replicate's run, or its rival's, was lost
        self.ruined: list[Any] = []  # whether it ended without numbers: then no observation of it is a number either
        self.replicates = 0
        self.seconds = 0.0

    def _simulate(
        self, replicates: int, first: int, settings: Settings, rounds: int | None = None
    ) -> dict[str, tuple[Stream, int]]:
        """Each column's stream, and the number of rounds of its run: ``rounds``, or its own number."""
        found: dict[str, tuple[Stream, int]] = {}
        for run, rival in ((self.experiment, False), (self.experiment.rival, True)):
            own = {name: column for name, column in self.read.items() if column.rival == rival}
            if not own:
                continue
            if run is None:
                raise ValueError(f"the statement uses {', '.join(own)}, but its experiment has no rival run")
            done = simulate(
                run.algorithm,
                run.problem,
                rounds or run.rounds,
                replicates,
                settings.seed,
                [column.observable for column in own.values()],
                series=any(column.when == "least" for column in own.values()),
                start=run.start,
                first_replicate=first,
                device=self.engine,
                progress=settings.progress,
                warn=False,
            )
            self.seconds += done.seconds
            if rounds is None:
                self.diverged[-1] = np.maximum(self.diverged[-1], done.diverged)
                self.ruined[-1] |= ~np.isfinite(done.final).all(axis=1)
            found.update({name: (done[column.observable], rounds or run.rounds) for name, column in own.items()})
        return found

    def extend(self, replicates: int, settings: Settings) -> None:
        """Simulate until there are ``replicates`` replicates, or the deadline has passed."""
        while self.replicates < replicates and not (self.replicates and settings.out_of_time):
            count = min(replicates - self.replicates, 512)
            self.diverged.append(np.full(count, NEVER))
            self.ruined.append(np.zeros(count, dtype=bool))
            for column, (stream, rounds) in self._simulate(count, self.replicates, settings).items():
                self.columns[column].append(_taken(stream, self.read[column].when, rounds))
            self.replicates += count

    def trivial(self) -> float | None:
        """The left side if every iterate were w_0: a bound above it says nothing."""
        at_start = self._simulate(1, 0, Settings(), rounds=1)
        means = {column: float(stream.mean[0]) for column, (stream, _) in at_start.items()}
        self.seconds = 0.0
        value = math.fsum(self.lhs.evaluate(means).values())
        return value if math.isfinite(value) else None

    def means(self) -> dict[str, float]:
        """Mean of each column that the statement uses, in the round with the least mean of Z where there are columns of
        all rounds."""
        z = self._replicates()
        best = int(z.mean(axis=0).argmin()) if z.ndim > 1 else 0
        found = {c: np.concatenate(self.columns[c]).mean(axis=0) for c in self.spoken}
        return {c: float(np.atleast_1d(mean)[best]) for c, mean in found.items()}

    def standard_error(self) -> float | None:
        """The standard error of the mean of Z, in the round with the least one; None where it is unknown."""
        z = self._replicates()
        z = z if z.ndim == 1 else z[:, int(z.mean(axis=0).argmin())]
        return standard_error(z) if self.experiment.random and np.isfinite(z).all() else None

    def watched(self) -> dict[str, float]:
        """Mean numbers of zero updates and of empty cohorts per round, where there were any."""
        found = {o: float(np.concatenate(self.columns[o]).mean()) for o in self.watch}
        return {o: value for o, value in found.items() if value > 0.0}

    def limits(self, alpha: float) -> BoundLimits:
        """The limits of E Z, or min_k E Z_k, so far."""
        z, stayed = self._replicates(), np.concatenate(self.diverged) == NEVER
        if not self.experiment.random:
            parts = (abs(c) * np.abs(np.concatenate(self.columns[name])).max() for name, c in self.coefficients.items())
            values = z if z.ndim == 1 else z.min(axis=1)
            return certain(values, self.bound, float(max(parts, default=0.0)), stayed)
        return (decide if z.ndim == 1 else decide_least)(z, self.bound, *self._range(), alpha, stayed)

    def recognised(self, limits: BoundLimits, moved: float, verdict: str, reason: str) -> tuple[str, str]:
        """The verdict and its reason. Nothing is decided where asymptotic limits exclude the known value."""
        if verdict != "holds" or not self.experiment.known:
            return verdict, reason
        known = math.fsum(c * self.experiment.known[column] for column, c in self.coefficients.items() if c != 0.0)
        low, high = limits.asymptotic_low, limits.asymptotic_high
        if limits.equal:
            low, high = sorted((limits.mean * (1 - 1e-9), limits.mean * (1 + 1e-9)))
        what = "the left side" if moved == 0.0 else "the left side less the right one's expectations"
        if low <= known <= high:
            return verdict, f"{reason}; {what} is known to be {known:.6g}"
        message = f"{what} is known to be {known:.6g}, which the limits [{low:.6g}, {high:.6g}] exclude"
        return "inconclusive", f"{message}: this run is not the intended one"

    def _replicates(self) -> Array:
        """Z, shape (replicates,), or (replicates, rounds) for a least expectation."""
        z = np.zeros(self.replicates)
        for column in self.spoken:
            c = self.coefficients[column]
            if c != 0.0:
                values = c * np.concatenate(self.columns[column])
                z = z[:, None] + values if z.ndim < values.ndim else z + values
        z[np.concatenate(self.ruined) & ~(z.reshape(len(z), -1) == math.inf).any(axis=1)] = math.nan
        return z

    def _range(self) -> tuple[float, float]:
        """The smallest and largest value that Z can have within the run's reach."""
        least = most = 0.0
        for column, c in self.coefficients.items():
            run = self.experiment.rival if self.read[column].rival else self.experiment
            observable = get(self.read[column].observable)
            if c != 0.0:
                reach = None if run is None else run.reach
                if reach is None:
                    return -math.inf, math.inf
                ends = sorted((c * observable.low(reach), c * observable.high(reach)))
                least, most = least + ends[0], most + ends[1]
        return least, most
