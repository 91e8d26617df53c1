"""What an algorithm is: a server loop written once over an engine, with its hyper-parameters as fields."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dpfl_theory.algorithms.hyperparameters import fits_lanes
from dpfl_theory.kernels.engine import Engine, Lanes
from dpfl_theory.problems.base import Kernels, Problem

__all__ = ["Algorithm", "Context", "Memoryless", "Round"]


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

    @cached_property
    def everyone(self) -> Any:
        """The numbers of all clients in every lane, (n, lanes)."""
        xp = self.engine.xp
        return xp.ascontiguousarray(
            xp.broadcast_to(xp.arange(self.problem.n)[:, None], (self.problem.n, self.lanes.count))
        )

    def gradients(self, w: Any, clients: Any = None) -> Any:
        """grad f_i(w_i) of clients (A, lanes), None for all n, at their own parameters w (A, lanes, d)."""
        return self.kernels.client_gradients(w) if clients is None else self.kernels.gradients_of(w, clients)

    def normals(self, k: int, stream: int, clients: Any = None, step: int = 0) -> Any:
        """Standard normals (A, lanes, d) of round k with the addresses of clients (A, lanes), None for all n."""
        n, d = self.problem.n, self.problem.d
        if clients is None:
            return self.engine.normal(self.lanes, k, n, d, stream, step)
        return self.engine.normal_of(self.lanes, k, clients, d, stream, step)


@dataclass
class Round:
    """What happened in one round, as far as observables may ask for it. Arrays belong to the device; S lanes, n
    clients.

    w (S, d) is the server's vector before the round's update; cohort (S, n) who took part (0 or 1; counts where clients
    are drawn with replacement); members (A, S) the numbers of the clients that were run and messages (A, S, d) what
    each sends, before noise; phase all clients' local steps from w, sampled or not, local_steps of them of size
    local_step (S,), whose ``updates()`` are (n, S, d), at the latest found when an observable asks for them; threshold
    (S,) the clipping threshold or scaling factor; signal and noise (S, d) the two parts of what the server adds up;
    difference (S, d) the signal where it is a mean of differences of parameters; state whatever else the algorithm
    keeps, and after the same when the round is over; algorithm the one that played the round, for observables of what
    its clients do unseen.
    """

    context: Context
    k: int
    w: Any
    _: KW_ONLY
    phase: Any = None
    local_step: Any = None
    local_steps: int | None = None
    cohort: Any = None
    members: Any = None
    messages: Any = None
    threshold: Any = None
    signal: Any = None
    noise: Any = None
    difference: Any = None
    state: Any = None
    after: Any = None
    algorithm: Any = None
    cache: dict[str, Any] = field(default_factory=dict)

    @property
    def update_norms(self) -> Any:
        """The lengths of all clients' updates from w (S, n), sampled or not; None without a phase."""
        return None if self.phase is None else self.phase.norms


class Algorithm(ABC):
    """A server loop: `begin` makes the state, `round` maps it to the next and says what happened.

    The state is the algorithm's own; ``server(state)`` is the server's vector (lanes, d). A round is a function of what
    it is given, and so is an observable's value: on small problems both are recorded in one round and played for the
    others (`dpfl_theory.algorithms.tape_run`).
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


class Memoryless(Algorithm):
    """An algorithm whose state is the server's vector (lanes, d) and nothing else."""

    def begin(self, context: Context) -> Any:
        return context.start

    def server(self, state: Any) -> Any:
        return state
