"""What an algorithm is: a server loop written once over an engine, with its hyper-parameters as fields."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpfl_theory.errors import InputError
from dpfl_theory.kernels.engine import Engine, Lanes
from dpfl_theory.problems.base import Kernels, Problem

__all__ = ["Algorithm", "Context", "PerLane", "Round", "Schedule", "plain", "positive", "scheduled", "whole"]

PerLane = float | Sequence[float]
"""A hyper-parameter: one number for all lanes, or one for each lane."""


@dataclass(frozen=True)
class Schedule:
    """A step size that shrinks geometrically: ``initial * decay^k`` in round k (das2022 Appendix H uses decay 0.99).

    >>> Schedule(0.1, decay=0.5).at(2)
    0.025
    """

    initial: PerLane
    decay: float = 1.0

    def at(self, k: int) -> Any:
        """The step size of round k: a number, or an array with one number for each lane."""
        initial = np.asarray(self.initial, dtype=np.float64)
        value = initial * self.decay**k
        return float(value) if value.ndim == 0 else value


@dataclass(frozen=True)
class Context:
    """Where a run happens: a problem's kernels on an engine, the batch of lanes, and what never changes in a run."""

    engine: Engine
    problem: Problem
    kernels: Kernels
    lanes: Lanes
    batch: slice
    """Which of the run's lanes this batch holds."""
    start: Any
    """The starting point of each lane, (lanes, d) [X]."""

    def per_lane(self, value: Any) -> Any:
        """A hyper-parameter as a device array with one entry for each lane of this batch, shape (lanes,)."""
        array = np.asarray(value, dtype=np.float64)
        chosen = np.full(self.lanes.count, float(array)) if array.ndim == 0 else array[self.batch]
        return self.engine.asarray(chosen)


@dataclass
class Round:
    """What happened in one round, as far as observables may ask for it. Arrays belong to the device; S lanes, n
    clients.

    w (S, d) is the server's vector before the round's update; update_norms (S, n) the lengths of all clients' updates
    from w, sampled or not; cohort (S, n) who took part (0 or 1); threshold (S,) the clipping threshold or scaling
    factor; signal and noise (S, d) the two parts of what the server adds up; state whatever else the algorithm keeps.
    """

    context: Context
    k: int
    w: Any
    update_norms: Any = None
    cohort: Any = None
    threshold: Any = None
    signal: Any = None
    noise: Any = None
    state: Any = None
    cache: dict[str, Any] = field(default_factory=dict)


class Algorithm(ABC):
    """A server loop: `begin` makes the state, `round` maps it to the next and says what happened.

    The state is the algorithm's own; ``server(state)`` is the server's vector (lanes, d).
    """

    @abstractmethod
    def begin(self, context: Context) -> Any:
        """The state before round 0."""

    @abstractmethod
    def round(self, context: Context, state: Any, k: int) -> tuple[Any, Round]:
        """The state after round k, and what happened in it."""

    @abstractmethod
    def server(self, state: Any) -> Any:
        """The server's parameters in a state, (lanes, d) [X]."""

    def after(self, context: Context, state: Any, rounds: int) -> Round:
        """What observables of the state alone see after the last round."""
        return Round(context, rounds, self.server(state), state=state)

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """The algorithm's name and hyper-parameters as plain JSON data."""

    def validate(self, problem: Problem, lanes: int) -> None:
        """Raise InputError when the hyper-parameters do not fit the problem, or give another number of lanes."""
        for name, value in vars(self).items():
            given = value.initial if isinstance(value, Schedule) else value
            shape = np.shape(given) if isinstance(given, (list, tuple, np.ndarray)) else ()
            if shape not in ((), (lanes,)):
                what = f"{shape[0]} values for {lanes} lanes" if len(shape) == 1 else f"shape {shape}"
                raise InputError(f"{name} has {what}: give one number, or one for each lane")


def plain(value: Any) -> Any:
    """A hyper-parameter as JSON data: a number, a list with one for each lane, a schedule's two numbers, or None."""
    if isinstance(value, Schedule):
        return {"initial": plain(value.initial), "decay": plain(value.decay)}
    if value is None or isinstance(value, (int, float)):
        return value
    return float(value) if np.ndim(value) == 0 else [float(v) for v in value]  # NumPy's integers are not JSON


def positive(name: str, value: Any, zero: bool = False) -> None:
    """Raise InputError unless every entry of ``value`` is a finite positive number (or zero where allowed)."""
    try:
        entries = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} is {value!r}: a number, or one number for each lane, is needed") from None
    for entry in entries.ravel():
        if not math.isfinite(entry) or entry < 0 or (entry == 0 and not zero):
            need = "a finite number that is not negative" if zero else "a finite positive number"
            raise InputError(f"{name} is {entry:g}: {need} is needed")


def scheduled(name: str, value: Any) -> None:
    """Raise InputError unless ``value`` is positive, or a `Schedule` of positive numbers."""
    if isinstance(value, Schedule):
        positive(f"{name}'s initial value", value.initial)
        positive(f"{name}'s decay", value.decay)
    else:
        positive(name, value)


def whole(name: str, value: Any, least: int = 1) -> None:
    """Raise InputError unless ``value`` is an integer of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name} is {value!r}: a whole number of at least {least} is needed")
