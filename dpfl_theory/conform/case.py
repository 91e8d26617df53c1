"""The comparison of one function with one algorithm: the request and the findings so far."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from dpfl_theory.conform import source_location
from dpfl_theory.conform.fault_search import Candidate, ObservedDifference, Search
from dpfl_theory.conform.probes import (
    LONG_STEP,
    STEP,
    Path,
    Plan,
    Spread,
    agree,
    play,
    probe_without_noise,
    responses,
)
from dpfl_theory.conform.randomness import RecordingGenerator
from dpfl_theory.conform.references import Player, Reference, Values
from dpfl_theory.conform.result import Finding, joined
from dpfl_theory.conform.settings import SHARES, cohorts, world
from dpfl_theory.conform.traces import chosen, points_of
from dpfl_theory.conform.user_function import Subject, UserFunctionError
from dpfl_theory.core.algorithm import Reading
from dpfl_theory.errors import InputError
from dpfl_theory.problems.base import Array

MOST = 4
"""Number of source lines that a finding shows."""
SEEDS = 40
"""Number of seeds that are tried until a coin comes up twice, or the same members take part."""
LOTS = 40
"""Number of seeds that are tried until a lot is empty. Where a lot has one record on average, one in three is."""
SHAPES = {"beta", "chisquare", "exponential", "gamma", "rayleigh", "standard_exponential", "standard_gamma"}
"""Methods of a generator that make parts of noise, and choose neither clients nor records."""
SEEN, DROWNED = 4, 1e-5
"""How many numbers of the noise are moved in both directions, and the relative difference from which rounding hides the
effect."""


@dataclass
class Case:
    """reference, subject, plan: the two sides of the comparison and its probes;  runs, alpha, seed: of samples;
    max_epsilon: the largest epsilon that a given noise multiplier may claim; several_readings: whether the deviations
    may be those from other readings; given: the names of given hyper-parameters; search: an earlier search, which
    goes on. The results are the matching reading,
    whether samples left it open, suspects: the descriptions that agree with the function where the noise is silent,
    explained: whether they explain the noise too, notes, the privacy of one round, excess: the largest mu over the
    claimed one or the algorithm's own, and the number of comparisons."""

    reference: Reference
    subject: Subject
    plan: Plan
    runs: int
    alpha: float
    seed: int
    reading: Reading | None = None
    several_readings: bool = False
    undecided: bool = False
    suspects: Sequence[Candidate] = ()
    explained: bool = False
    notes: list[str] = field(default_factory=list)
    privacy: dict[str, Any] = field(default_factory=dict)
    excess: float = 0.0
    compared: dict[str, int] = field(default_factory=dict)
    failed: Finding | None = None
    ran: Mapping[source_location.Line, int] | None = None
    drew: list[source_location.Line] = field(default_factory=list)
    max_epsilon: float = math.inf
    given: Collection[str] = ()
    search: Search | None = None
    _seen: dict[int, ObservedDifference] = field(default_factory=dict, repr=False)

    def reading_text(self, always: bool) -> str:
        """The reading that was found, or from which the deviations are counted; empty without one, or with several.
        always: also where the algorithm has only this one."""
        known = self.reading is not None and not self.several_readings
        return self.reading.text if known and self.reading and (always or len(self.reference.readings) > 1) else ""

    def setting(self, v: Values) -> str:
        """Words that tell these hyper-parameters from the others that are tried; empty where there are no others."""
        symbols = ("noise_multiplier", *v)
        differs = (one for one in symbols if any(other.get(one) != v.get(one) for other in self.plan.values))
        return "".join(f" with {symbol} = {v[symbol]:.4g}" for symbol in itertools.islice(differs, 1))

    def see(self, probe: Path | Spread) -> ObservedDifference:
        """The function's result on a probe, and its random choices there. It is called once for each probe."""
        if id(probe) not in self._seen:
            self._seen[id(probe)] = self._see(probe)
        return self._seen[id(probe)]

    @property
    def seen(self) -> list[ObservedDifference]:
        """The results so far."""
        return [*self._seen.values()]

    def _see(self, probe: Path | Spread) -> ObservedDifference:
        path = probe.path if isinstance(probe, Spread) else probe
        choices = chosen(self.subject, path)
        numbers = (
            probe_without_noise(self.subject, path.world, path.v, path.who).numbers if isinstance(probe, Spread) else 0
        )
        return ObservedDifference(probe, probe.outcome(self.subject), choices, numbers)

    @property
    def assumed(self) -> dict[str, Any]:
        """The hyper-parameters that are neither arguments of the function nor given, with their assumed values. The
        size of batches is left out where the function draws no batches."""
        asked = {*self.subject.taken.values(), *self.given}
        noise = {"sigma", "noise_multiplier"}
        known = asked | noise if noise & asked else asked
        if not any(choices["batches"] for one in self._seen.values() for choices in one.choices or ()):
            known |= {p.symbol for p in self.reference.parameters if p.kind == "size"}
        own = self.plan.values[0]
        return {p.symbol: own[p.symbol] for p in self.reference.parameters if not {p.symbol, *p.names} & known}

    def everything(self) -> list[ObservedDifference]:
        """All probes on which the function does not fail, quick ones first. Its first failure becomes ``failed``."""
        seen = []
        every: list[Path | Spread] = [*self.plan.paths, *self.plan.spreads]
        for probe in every:
            try:
                seen.append(self.see(probe))
            except UserFunctionError as error:
                self.failed = self.failed or failure(error, probe.name)
        return sorted(seen, key=lambda one: one.numbers)

    def by_draws(self, readings: Iterable[Reading]) -> list[Reading]:
        """The readings, first those that draw noise once in a round if the function does, or that do not if it does
        not: where the noise is added cannot be seen in w."""
        every = list(readings)
        if len({one.once for one in every}) == 1:
            return every
        path = self.plan.spreads[0].path.first
        try:
            drawn = probe_without_noise(self.subject, path.world, path.v, path.who)
        except UserFunctionError:
            return every
        few = drawn.numbers < 2 * path.world.d and len(drawn.draws) < len(path.who[0])
        once = few or drawn.numbers == path.world.d
        return sorted(every, key=lambda one: one.once != once)

    def with_more_steps(self, seen: Sequence[ObservedDifference]) -> list[ObservedDifference]:
        """What was seen, after a path with more local steps, if the function takes their number: in two or three steps
        a momentum and a proximal term look the same."""
        steps = self.reference.algorithm.parameters.get("local_steps")
        if steps is None or steps.symbol not in self.subject.taken.values():
            return [*seen]
        try:
            one = self.see(self.plan.more_steps)
        except UserFunctionError:
            return [*seen]
        return [one, *seen] if np.isfinite(one.value).all() and not one.hidden else [*seen]

    def never_runs(self) -> InputError | None:
        """The error of a function that fails in all first rounds, or in all second ones, also with a single client.

        A function that runs in some of them can be compared: that it fails in others is a finding."""
        first: UserFunctionError | None = None
        second: UserFunctionError | None = None
        for path in self.plan.paths:
            everyone = np.arange(path.world.n)
            for cohort in [*path.who, *(everyone[i : i + 1] for i in everyone)]:
                if error := self._failing(path, cohort):
                    first = first or error
                    continue
                for other in (cohort, np.setdiff1d(everyone, cohort)):
                    if (error := self._failing(path, cohort, other)) is None:
                        return None
                    second = second or error
        cause = second or first
        assert cause is not None
        given = "the state that it returned" if second else "state = None"
        remedy = cause.remedy or (
            f"make it run with {given} and the clients that `dpfl-theory conform --help` describes, then compare it"
        )
        at = f" ({source_location.short_name(cause.place[0])}, line {cause.place[1]})" if cause.place else ""
        where = f"in the {'second' if second else 'first'} round, with every cohort"
        return InputError(f"{cause.sentence} {where}{at}: {remedy}")

    def where_alone(self) -> str:
        """Where the function fails on some clients, and runs on others, if it does."""
        path = self.plan.paths[0]
        failing = [
            f"client {i} with {len(own.y)} record{'s' if len(own.y) > 1 else ''}"
            for i, own in enumerate(path.world.records)
            if self._failing(path, np.array([i]))
        ]
        if not 0 < len(failing) < path.world.n:
            return ""
        return f"of cohorts of a single client, it fails on {joined(failing)}, and runs on the others"

    @cached_property
    def empty_lot(self) -> list[Path]:
        """A round in which the function asks for no record, where lots are drawn; nothing where none was met. In
        another round with the same share it asks for some, and does not fail, so that the lot is the reason."""
        v = {**self.plan.values[0], "s": 1.0}
        if not self.reference.algorithm.lots or "s" not in self.subject.taken.values():
            return []
        on = world(self.reference, v, next(iter(SHARES)), 3)
        v["s"] = (1.0 + 1e-9) / sum(len(own.y) for own in on.records)  # so that s N, if rounded down, is not zero
        found, asked = list[Path](), False
        for seed in range(LOTS):
            one = replace(on, name=f"with an empty lot at s = {v['s']:.3g}", seed=seed, log=[])
            path = Path(v, one, tuple(cohorts(v, 1, 3)))
            failing = self._failing(path, *path.who)
            if points_of(one.log or ()):
                asked = asked or failing is None
            else:
                found.append(replace(path, world=replace(one, log=None)))
            if found and asked:
                return found[:1]
        return []

    def _failing(self, path: Path, *who: Any) -> UserFunctionError | None:
        """The error in rounds of these cohorts, if the function fails there."""
        try:
            probe_without_noise(self.subject, path.world, path.v, who)
        except UserFunctionError as error:
            return error
        return None

    def why_not_silent(self) -> str:
        """The reason why the noise cannot be silenced, if so: two runs with silent noise differ, or w is rounded."""
        path = self.plan.paths[0]
        one, two = (probe_without_noise(self.subject, path.world, path.v, path.who).w for _ in range(2))
        rng = RecordingGenerator(path.world.seed).use_means()
        play(self.subject, path.world, path.v, path.who[:1], rng)
        if self.reference.unit and (drawn := sorted(rng.others & SHAPES)):
            return f"some of the noise comes from {' and '.join(f'rng.{name}' for name in drawn)}"
        if not np.array_equal(one, two, equal_nan=True):
            return (
                "two runs with the same rng differ (noise comes from elsewhere, or the function keeps something "
                "outside the state)"
            )
        if np.isfinite(one).all() and any(np.array_equal(one, np.round(one, digits)) for digits in range(1, 9)):
            return "w is rounded to decimals, so that a small change of the noise is lost"
        return ""

    def otherwise_random(self) -> str:
        """The reason why the noise was not silenced after all, if so: w depends on the seed where only noise is random,
        and not who takes part, the number of steps, or the records of a batch."""
        for path in self.plan.paths:
            with contextlib.suppress(UserFunctionError):  # of a path on which it fails, nothing is known
                if self._depends_on_seed(path):
                    rng = RecordingGenerator(path.world.seed).use_means()
                    play(self.subject, path.world, path.v, path.who[:1], rng)
                    drawn = "".join(f"rng.{name} or " for name in sorted(rng.others))
                    return (
                        "some of the randomness does not come from the rng's normal numbers, but perhaps from "
                        f"{drawn}a generator that is made from the rng's numbers"
                    )
        return ""

    def _depends_on_seed(self, path: Path) -> bool:
        """Whether w depends on the seed in a round with silent noise and whole batches: in two rounds in which the same
        members take the same numbers of steps. A coin lets it communicate."""
        v = {**path.v, **({"s": 1.0} if "s" in path.v else {})}
        sizes = [len(own.y) for own in path.world.records]
        found, seed = dict[Hashable, Array](), path.world.seed
        for other in range(seed, seed + SEEDS):
            first = replace(path.first, v=v, world=replace(path.world, seed=other))
            drawn = chosen(self.subject, first)[0]
            if any(len(set(batch)) < sizes[i] for i, batches in drawn["batches"].items() for batch in batches):
                return False
            w = probe_without_noise(self.subject, first.world, v, first.who).w
            if "p" in v and not np.any(w != first.world.start):  # only of rounds that a coin lets communicate
                continue
            members = {int(i) for i in path.who[0]}  # a function that asks others chooses clients itself
            steps = frozenset((i, many) for i, many in drawn["steps"].items() if i in members)
            records = frozenset((i, str([sorted(batch) for batch in drawn["batches"].get(i, ())])) for i in members)
            if (choices := (steps, records)) in found:
                return not agree(path, found[choices], w)
            found[choices] = w
        return False

    def step(self) -> float:
        """The step by which numbers of the noise are moved: a long one where rounding hides a short one, or where w is
        in single precision."""
        path = self.plan.paths[0].first
        w = probe_without_noise(self.subject, path.world, path.v, path.who).w
        if np.array_equal(w, w.astype(np.float32)):
            return LONG_STEP
        moved = (responses(self.subject, path, size, maximum=SEEN, both=True) for size in (STEP, 1.6 * STEP))
        for near, far in zip(*moved):
            if float(np.max(np.abs(near - far))) > DROWNED * float(np.max(np.abs(near), initial=0.0)):
                return LONG_STEP
        return STEP

    def lines(self, role: str) -> tuple[source_location.Line, ...]:
        """Lines of the function for a role: the lines that draw noise, or those whose text matches the role."""
        path = self.plan.paths[0]
        rng = RecordingGenerator(path.world.seed).use_means()
        if self.ran is None:
            self.ran = source_location.executed_lines(lambda: play(self.subject, path.world, path.v, path.who, rng))
            self.drew = sorted({draw.place for draw in rng.draws if draw.place[0]})
        return (
            tuple(self.drew[:MOST])
            if role == "noise" and self.drew
            else tuple(source_location.suspicious(self.ran, role, MOST, len(path.who), sum(map(len, path.who))))
        )


def failure(error: UserFunctionError, where: str = "") -> Finding:
    """The finding that a function that runs elsewhere fails, with the place."""
    said = f"it runs in some rounds, and in others {error}"
    return Finding("the function fails", said, where, (error.place,) if error.place else ())


def player_of(reference: Reference, reading: Reading) -> Player:
    """The round of a reading."""
    return reference.with_parts(reading.parts).round
