"""The interface of an algorithm: a server loop written once over an engine, with its hyper-parameters as fields."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dpfl_theory.kernels.engine import Engine, Replicates
from dpfl_theory.problems.base import Kernels, Problem
from dpfl_theory.simulation.hyperparameters import fits_replicates


@dataclass(frozen=True)
class Context:
    """The setting of a run: a problem's kernels on an engine, the batch of replicates, and data that never change in
    it."""

    engine: Engine
    problem: Problem
    kernels: Kernels
    replicates: Replicates
    batch: slice
    """The run's replicates in this batch."""
    start: Any
    """The starting point of each replicate, (replicates, d) [X]."""

    def per_replicate(self, value: Any) -> Any:
        """A hyper-parameter as a device array with one entry for each replicate of this batch, shape (replicates,)."""
        array = np.asarray(value, dtype=np.float64)
        chosen = np.full(self.replicates.count, float(array)) if array.ndim == 0 else array[self.batch]
        return self.engine.asarray(chosen)

    @cached_property
    def everyone(self) -> Any:
        """The numbers of all clients in every replicate, (n, replicates)."""
        xp = self.engine.xp
        return xp.ascontiguousarray(
            xp.broadcast_to(xp.arange(self.problem.n)[:, None], (self.problem.n, self.replicates.count))
        )

    def gradients(self, w: Any, clients: Any = None) -> Any:
        """grad f_i(w_i) of clients (A, replicates), None for all n, at their own parameters w (A, replicates, d)."""
        return self.kernels.client_gradients(w) if clients is None else self.kernels.gradients_of(w, clients)

    def normals(self, k: int, stream: int, clients: Any = None, step: int = 0) -> Any:
        """Standard normals (A, replicates, d) of round k with the addresses of clients (A, replicates), None for all
        n."""
        n, d = self.problem.n, self.problem.d
        if clients is None:
            return self.engine.normal(self.replicates, k, n, d, stream, step)
        return self.engine.normal_of(self.replicates, k, clients, d, stream, step)


@dataclass
class Round:
    """The data of one round that observables may read. Arrays belong to the device; S replicates, n clients.

    * w (S, d): the server's vector before the round's update;
    * cohort (S, n): who took part (0 or 1; counts where clients are drawn with replacement);
    * messages (A, S, d): what each client that was run sends, before noise;
    * phase: all clients' local steps from w, sampled or not, local_steps of them of size local_step (S,). Its
      ``updates()`` are (n, S, d), computed at the latest when an observable needs them;
    * threshold (S,): the clipping threshold or scaling factor;
    * signal and noise (S, d): the two parts of the server's sum;
    * difference (S, d): the signal where it is a mean of differences of parameters;
    * state: other data that the algorithm keeps, and after: the same when the round is over;
    * algorithm: the one that ran the round, and run: its description, with the values of this round;
    * again: makes the round's operations before their first draw, for observables that repeat some of its steps.
    """

    context: Context
    k: int
    w: Any
    _: KW_ONLY
    phase: Any = None
    local_step: Any = None
    local_steps: int | None = None
    cohort: Any = None
    messages: Any = None
    threshold: Any = None
    signal: Any = None
    noise: Any = None
    difference: Any = None
    state: Any = None
    after: Any = None
    algorithm: Any = None
    run: Any = None
    again: Callable[[], Any] = field(default=lambda: None, repr=False)
    cache: dict[str, Any] = field(default_factory=dict)

    @property
    def update_norms(self) -> Any:
        """The lengths of all clients' updates from w (S, n), sampled or not; None without a phase."""
        return None if self.phase is None else self.phase.lengths


class Algorithm(ABC):
    """A server loop: `initial_state` makes the state, `round` maps it to the next and returns the round's data.

    The state is the algorithm's own; ``server(state)`` is the server's vector (replicates, d). A round is a function of
    its arguments, and so is an observable's value: on small problems both are recorded in one round and replayed for
    the others (`dpfl_theory.kernels.tape`).
    """

    @abstractmethod
    def initial_state(self, context: Context) -> Any:
        """The state before round 0."""

    @abstractmethod
    def round(self, context: Context, state: Any, k: int) -> tuple[Any, Round]:
        """The state after round k, and the data of the round."""

    @abstractmethod
    def server(self, state: Any) -> Any:
        """The server's parameters in a state, (replicates, d) [X]."""

    def after(self, context: Context, state: Any, rounds: int) -> Round:
        """The data for observables of the state only, after the last round."""
        return Round(context, rounds, self.server(state), state=state)

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """The algorithm's name and hyper-parameters as plain JSON data."""

    def validate(self, problem: Problem, replicates: int) -> None:
        """Raise InputError when the hyper-parameters do not fit the problem, or are for another number of
        replicates."""
        for name, value in vars(self).items():
            fits_replicates(name, value, replicates)
