"""Runs rounds of small problems from a tape: one round is recorded, verified on the next one, and replayed for the
rest.

A run on a tape is the run without it, bit for bit. A tape that does not reproduce the round after the recorded one is
not used, and no tape is used where a round cannot be recorded (`Untraceable`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from dpfl_theory.algorithms.base import Algorithm, Context
from dpfl_theory.algorithms.observables import Observable
from dpfl_theory.kernels.cpu import CpuEngine
from dpfl_theory.kernels.tape import MOST_NUMBERS, RoundNumber, Untraceable
from dpfl_theory.kernels.tape_program import Program
from dpfl_theory.kernels.tape_recorder import Recorder
from dpfl_theory.kernels.tape_tracing import Tape, traced

__all__ = ["Player", "worthwhile"]

_LEAST_ROUNDS = 48
"""The number of rounds after which a tape saves more than recording costs."""
_MOST_STOPS = 8
"""The number of consecutive rounds that a tape may return before it is abandoned."""


def worthwhile(context: Context, rounds: int, every: int) -> bool:
    """Whether a run is long enough, and its arrays small enough, for a tape to be faster."""
    problem, replicates = context.problem, context.replicates.count
    data = getattr(problem, "data", None)
    records = 0 if data is None else len(data.y) * data.classes
    numbers = replicates * max(problem.n * problem.d, records)
    return (
        type(context.engine) is CpuEngine
        and not problem.sparse
        and rounds >= every + _LEAST_ROUNDS
        and numbers <= MOST_NUMBERS
    )


def _leaves(state: Any) -> list[Any]:
    """The arrays of a state: itself, or those of its fields or entries."""
    if isinstance(state, np.ndarray) or traced(state):
        return [state]
    if is_dataclass(state):
        return [leaf for f in fields(state) for leaf in _leaves(getattr(state, f.name))]
    if isinstance(state, (tuple, list)):
        return [leaf for part in state for leaf in _leaves(part)]
    raise Untraceable(f"a state that holds {type(state).__name__}")


def _filled(state: Any, leaves: list[Any]) -> Any:
    """The state with other arrays, taken from the list's front."""
    if isinstance(state, np.ndarray) or traced(state):
        return leaves.pop(0)
    if is_dataclass(state) and not isinstance(state, type):
        return replace(state, **{f.name: _filled(getattr(state, f.name), leaves) for f in fields(state)})
    return type(state)(_filled(part, leaves) for part in state)


def _same(a: Any, b: Any) -> bool:
    return a.shape == b.shape and bool(((a == b) | ((a != a) & (b != b))).all())


class Player:
    """One block of replicates, some of whose rounds are replayed.

    `watch` sees each round that was run normally. One of the first rounds is recorded. The next observed one shows
    whether the tape does the same to the state and to the stored values of the observables. From then on `play` takes
    over, and returns a round where a decision in it differs.
    """

    def __init__(self, algorithm: Algorithm, context: Context, observables: Sequence[Observable], every: int) -> None:
        self._algorithm, self._context, self._observables = algorithm, context, observables
        self._every = every
        self._checked = max(2, every)
        """The number of the round that verifies the tape: it is observed."""
        self._states: list[Any] = []
        self._kept: list[Any] = []
        self._program: Program | None = None
        self._newest: Any = None
        self._stops = 0

    @property
    def ready(self) -> bool:
        """Whether a tape is in use."""
        return self._program is not None

    def watch(self, state: Any, k: int, accumulators: Sequence[Any]) -> None:
        """The state after round k, which was run normally, and the observables' values so far."""
        if self._checked - 2 <= k <= self._checked:
            self._states.append(state)
            self._kept.append([(a.total, a.smallest, a.last, a.series and a.series[-1]) for a in accumulators])
        if k == self._checked:
            try:
                self._program = self._recorded(self._states[0])
                if not self._agrees():
                    self._program = None
            except Exception:  # a traced array may fail where a plain array does not: the run itself reports the error
                self._program = None
            self._states, self._kept = [], []

    def _recorded(self, state: Any) -> Program:
        tape = Tape()
        engine = Recorder(tape)
        context = replace(self._context, engine=engine, kernels=self._context.problem.kernels(engine))
        begin = [tape.fresh(np.array(x, order="C")) for x in _leaves(state)]
        if any(x.dtype != np.float64 for x in begin):
            raise Untraceable("a state that holds other numbers than floats")
        number: Any = RoundNumber(self._checked - 1)
        after, round_ = self._algorithm.round(context, _filled(state, list(begin)), number)
        then = [self._stored_part(x, own, begin) for x, own in zip(_leaves(after), begin, strict=True)]
        boundary = len(tape.operations)
        values = [self._value(o.evaluate(round_)) for o in self._observables]
        return Program(tape.operations, boundary, begin, then, values, engine.data)

    @staticmethod
    def _stored_part(x: Any, own: Any, begin: Sequence[Any]) -> Any:
        """A part of the next state as the player moves it: in C order, and no other part of the state before."""
        if x.shape != own.shape or x.dtype != np.float64:
            raise Untraceable("a state whose arrays change their shape or type")
        if not traced(x) or x is own:
            return x
        return x.copy() if any(x.register is other.register for other in begin) else x.contiguous()

    def _value(self, value: Any) -> Any:
        if value.shape != (self._context.replicates.count,) or value.dtype != np.float64:
            raise Untraceable("an observable without one number for each replicate")
        return value.contiguous() if traced(value) else value

    def _agrees(self) -> bool:
        """Whether replaying a round gives the result of running it."""
        assert self._program is not None
        _, before, after = self._states
        _, old, new = self._kept
        sums = self._sums(old, 1)
        self._program.load(_leaves(before))
        if self._program.play(*sums, self._every, self._checked, self._checked + 1) == self._checked:
            return False
        states = zip(self._program.state(), _leaves(after), strict=True)
        kept = (
            (part[o], x)
            for o, own in enumerate(new)
            for part, x in zip((*sums[:3], sums[3][:, 0]), own)
            if x is not None
        )
        return all(_same(a, b) for a, b in states) and all(_same(a, b) for a, b in kept)

    def _sums(self, retained: Sequence[Any], observed: int) -> tuple[Any, Any, Any, Any]:
        """Sums, smallest and newest values so far (observables, replicates), and space for those of some rounds."""
        replicates = self._context.replicates.count
        started = [np.array([own[part] for own in retained]).reshape(-1, replicates) for part in range(3)]
        return started[0], started[1], started[2], np.zeros((len(retained), observed, replicates))

    def play(self, state: Any, accumulators: Sequence[Any], first: int, end: int) -> tuple[Any, int]:
        """Rounds first, ..., end - 1: the state after them, and the round before which it is. That is ``first`` if the
        tape cannot decide a round."""
        assert self._program is not None
        series = any(a.series is not None for a in accumulators)
        kept = [(a.total, a.smallest, a.last) for a in accumulators]
        sums = self._sums(kept, self._observed(first, end) if series else 0)
        if state is not self._newest:
            self._program.load(_leaves(state))
        reached = self._program.play(*sums, self._every, first, end)
        self._stops = self._stops + 1 if reached == first else 0
        if reached == first:
            if self._stops == _MOST_STOPS:
                self._program = None
            return state, first
        for o, a in enumerate(accumulators):
            a.total, a.smallest, a.last = sums[0][o], sums[1][o], sums[2][o]
            if a.series is not None:
                a.series.extend(sums[3][o, : self._observed(first, reached)])
        self._newest = _filled(state, self._program.state())
        return self._newest, reached

    def _observed(self, first: int, end: int) -> int:
        """The number of rounds first, ..., end - 1 that are observed."""
        return -(-end // self._every) + (-first // self._every)
