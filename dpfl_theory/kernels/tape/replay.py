"""Replays the rounds of a run: one round is recorded, verified on the next one, and replayed for the rest.

A run on a tape is the run without it, bit for bit. A tape that fails the verification is not used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfl_theory.kernels.cpu import CpuEngine
from dpfl_theory.kernels.tape.operations import MOST_NUMBERS, Untraceable
from dpfl_theory.kernels.tape.program import Program
from dpfl_theory.kernels.tape.record import RecordingEngine, RoundNumber
from dpfl_theory.kernels.tape.tracing import Tape, contiguous, traced

if TYPE_CHECKING:
    from dpfl_theory.simulation.base import Algorithm, Context
    from dpfl_theory.simulation.observables import Observable

_LEAST_ROUNDS = 48
"""The number of rounds after which a tape saves more than recording costs."""
_MOST_STOPS = 8
"""The number of consecutive rounds that a tape may return before it is abandoned."""


def worthwhile(context: Context, rounds: int, every: int) -> bool:
    """Whether a run is long enough, and its arrays small enough, for a tape to be faster."""
    return type(context.engine) is CpuEngine and small(context) and rounds >= every + _LEAST_ROUNDS


def small(context: Context) -> bool:
    """Whether a round's arrays are so small that calls take longer than numbers."""
    problem, replicates = context.problem, context.replicates.count
    data = getattr(problem, "data", None)
    records = 0 if data is None else len(data.y) * data.classes
    return not problem.sparse and replicates * max(problem.n * problem.d, records) <= MOST_NUMBERS


def _map_arrays(function: Callable[[Any], Any], state: Any) -> Any:
    """The state with ``function`` of each of its arrays: itself, or those of its fields or entries."""
    if isinstance(state, np.ndarray) or traced(state):
        return function(state)
    if is_dataclass(state) and not isinstance(state, type):
        return replace(state, **{f.name: _map_arrays(function, getattr(state, f.name)) for f in fields(state)})
    if isinstance(state, (tuple, list)):
        return type(state)(_map_arrays(function, part) for part in state)
    raise Untraceable(f"a state that holds {type(state).__name__}")


def _arrays(state: Any) -> list[Any]:
    """The arrays of a state."""
    arrays: list[Any] = []
    _map_arrays(lambda x: arrays.append(x) or x, state)  # type: ignore[func-returns-value]
    return arrays


def _with_arrays(state: Any, arrays: Sequence[Any]) -> Any:
    """The state with other arrays."""
    following = iter(arrays)
    return _map_arrays(lambda _: next(following), state)


class Player:
    """One block of replicates, some of whose rounds are replayed.

    `watch` sees each round that was run normally. One of the first is recorded, and the next observed one verifies the
    tape: its state and the values of its observables. Then `play` takes over, and returns a round where a guard fails.
    """

    def __init__(self, algorithm: Algorithm, context: Context, observables: Sequence[Observable], every: int) -> None:
        self._algorithm, self._context, self._observables = algorithm, context, observables
        self._every = every
        self._verified = max(2, every)
        """The number of the round that verifies the tape: it is observed."""
        self._rounds: list[tuple[Any, Any]] = []
        """States and observables' values after the rounds before the recorded one, and after those until verified."""
        self._program: Program | None = None
        self._newest: Any = None
        self._stops = 0

    @property
    def ready(self) -> bool:
        """Whether a tape is in use."""
        return self._program is not None

    def watch(self, state: Any, k: int, accumulators: Sequence[Any]) -> None:
        """The state after round k, which was run normally, and the observables' values so far."""
        if self._verified - 2 <= k <= self._verified:
            values = [(a.total, a.smallest, a.last, a.series and a.series[-1]) for a in accumulators]
            self._rounds.append((state, values))
        if k == self._verified:
            try:
                program = self._recorded(self._rounds[0][0])
                self._program = program if self._agrees(program) else None
            except Exception:  # a traced array may fail where a plain array does not: the run itself reports the error
                self._program = None
            self._rounds = []

    def _recorded(self, state: Any) -> Program:
        tape = Tape()
        engine = RecordingEngine(tape)
        context = replace(self._context, engine=engine, kernels=self._context.problem.kernels(engine))
        before = [tape.array(np.array(x, order="C")) for x in _arrays(state)]
        if any(x.dtype != np.float64 for x in before):
            raise Untraceable("a state that holds other numbers than floats")
        number: Any = RoundNumber(self._verified - 1)
        after, round_ = self._algorithm.round(context, _with_arrays(state, before), number)
        next_state = [self._next(x, own, before) for x, own in zip(_arrays(after), before, strict=True)]
        boundary = len(tape.operations)
        values = [self._value(o.evaluate(round_)) for o in self._observables]
        return Program(tape.operations, boundary, before, next_state, values, engine.data)

    @staticmethod
    def _next(x: Any, own: Any, before: Sequence[Any]) -> Any:
        """A part of the next state as the program moves it: in C order, and no other part of the state before."""
        if x.shape != own.shape or x.dtype != np.float64:
            raise Untraceable("a state whose arrays change their shape or type")
        if traced(x) and x is not own and any(x.register is other.register for other in before):
            return x.copy()
        return contiguous(x)

    def _value(self, value: Any) -> Any:
        if value.shape != (self._context.replicates.count,) or value.dtype != np.float64:
            raise Untraceable("an observable without one number for each replicate")
        return contiguous(value)

    def _agrees(self, program: Program) -> bool:
        """Whether replaying a round gives the result of running it."""
        _, (before, old), (after, new) = self._rounds
        sums = self._sums(old, 1)
        program.load(_arrays(before))
        if program.run(sums, self._every, self._verified, self._verified + 1) == self._verified:
            return False
        pairs = list(zip(program.state(), _arrays(after), strict=True))
        for o, values in enumerate(new):
            pairs += [(part[o], x) for part, x in zip((*sums[:3], sums[3][:, 0]), values) if x is not None]
        return all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)

    def _sums(self, values: Sequence[Any], observed: int) -> tuple[Any, Any, Any, Any]:
        """Sums, smallest and newest values so far (observables, replicates), and space for those of some rounds."""
        replicates = self._context.replicates.count
        total, smallest, last = (np.array([own[part] for own in values]).reshape(-1, replicates) for part in range(3))
        return total, smallest, last, np.zeros((len(values), observed, replicates))

    def play(self, state: Any, accumulators: Sequence[Any], first: int, end: int) -> tuple[Any, int]:
        """Rounds first, ..., end - 1: the state after them, and the round before which it is. That is ``first`` if the
        tape cannot decide a round."""
        assert self._program is not None
        series = any(a.series is not None for a in accumulators)
        values = [(a.total, a.smallest, a.last) for a in accumulators]
        sums = self._sums(values, self._observed(first, end) if series else 0)
        if state is not self._newest:
            self._program.load(_arrays(state))
        reached = self._program.run(sums, self._every, first, end)
        self._stops = self._stops + 1 if reached == first else 0
        if reached == first:
            if self._stops == _MOST_STOPS:
                self._program = None
            return state, first
        for o, a in enumerate(accumulators):
            a.total, a.smallest, a.last = (part[o] for part in sums[:3])
            if a.series is not None:
                a.series.extend(sums[3][o, : self._observed(first, reached)])
        self._newest = _with_arrays(state, self._program.state())
        return self._newest, reached

    def _observed(self, first: int, end: int) -> int:
        """The number of rounds first, ..., end - 1 that are observed."""
        return -(-end // self._every) + (-first // self._every)
