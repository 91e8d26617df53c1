"""What an algorithm is: a server loop written once over an engine, with its hyper-parameters as fields."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpfl_theory.algorithms.hyperparameters import fits_lanes
from dpfl_theory.kernels.engine import Engine, Lanes
from dpfl_theory.problems.base import Kernels, Problem

__all__ = ["Algorithm", "Context", "Round"]


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
            fits_lanes(name, value, lanes)
