"""SCAFFOLD as noble2022 Algorithm 1 prints it, with full gradients.

y = w;  K times  y = y - eta_l (grad f_i(y) - c_i + c);   c_i^+ = c_i - c + (w - y)/(K eta_l)
w = w + eta_g mean_S (y_i - w);   c = c + (|S|/n) mean_S (c_i^+ - c_i);   c_i = c_i^+ for i in S
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpfl_theory.conform.base import ETA_G, ETA_L, Fault, Hyperparameter, Reading, Reference, Values, generic
from dpfl_theory.conform.mistakes.control_variates import FAULTS, State, Trained, mean_gradient
from dpfl_theory.conform.world import Client, World
from dpfl_theory.problems.base import Array

__all__ = ["REFERENCES", "Scaffold"]

Part = Callable[..., Any]
K = Hyperparameter("K", "local steps", (3, 1), "count", ("local_steps", "epochs", "E", "Q"))


@dataclass(frozen=True)
class Scaffold(Reference):
    """noble2022 Algorithm 1 in these parts, v being the hyper-parameters.

    ``begin (w, n, v)``: the initial control variates.  first (w): that of a client that takes part for the first time;
    None if it is the initial one.  gradient (client, y, v, rng): of a local step.  pull (y, w): a term added to it.
    correction (own, c): of a gradient.  current (own, i, new): the control variate of client i, new being those made in
    this round.  ``server (c, told, share)``: the server's as a client reads it, ``told`` being the messages so far.
    steps (v).  control (t, v): c_i^+ of a `Trained` client.  message (new, own): the part of it that is sent. weight
    (client, cohort, clients, v): of y - w.  share (cohort, clients, v): the weight of each message in c. keep (own,
    members, new): the clients' control variates after the round.  absent (own, c, train): that of a client that takes
    no part, train() being the c_i^+ that it would have; None if it does not change.  hears_absent: whether these
    changes enter c.  move (w, step, v).
    """

    name: ClassVar[str] = "scaffold"
    source: ClassVar[str] = "noble2022 Algorithm 1 with full gradients"
    parameters: ClassVar[tuple[Hyperparameter, ...]] = (ETA_L, ETA_G, K)
    scheme: ClassVar[str] = "fixed"
    readings: ClassVar[tuple[Reading, ...]] = (
        Reading("control variates are means of the local gradients"),
        Reading(
            "control variates are gradients at the server's parameters (option I of Karimireddy et al. 2020)",
            {"control": lambda t, v: t.at(t.w)},
        ),
    )

    begin: Part = lambda w, n, v: State(np.zeros_like(w), np.zeros((n, len(w))))
    first: Part | None = None
    gradient: Part = lambda client, y, v, rng: client.gradient(y)
    pull: Part = lambda y, w: 0.0
    correction: Part = lambda own, c: c - own
    current: Part = lambda own, i, new: own[i]
    server: Part = lambda c, told, share: c
    steps: Part = lambda v: v["local_steps"]
    control: Part = lambda t, v: t.own - t.c + mean_gradient(t, v)
    message: Part = lambda new, own: new - own
    weight: Part = lambda client, cohort, clients, v: 1.0 / max(len(cohort), 1)
    share: Part = lambda cohort, clients, v: 1.0 / len(clients)
    keep: Part = lambda own, members, new: {int(i): new[j] for j, i in enumerate(members)}
    absent: Part | None = None
    hears_absent: bool = False
    move: Part = lambda w, step, v: w + v["global_step"] * step

    def with_defaults(self, v: dict[str, Any]) -> dict[str, Any]:
        return generic(v, local_step="eta_l", global_step="eta_g", local_steps="K")

    def round(
        self, w: Array, state: Any, clients: Sequence[Client], cohort: Array, rng: Any, v: Values
    ) -> tuple[Array, Any]:
        state = self.begin(w, len(clients), v) if state is None else state
        if self.first is not None:
            state = self._met(state, cohort, w)
        step, update = np.zeros(len(w)), np.zeros(len(w))
        share = self.share(cohort, clients, v)
        new: list[Array] = []
        for i in cohort:
            client, own = clients[int(i)], self.current(state.own, int(i), new)
            t = self.trained(client, own, self.server(state.c, update, share), w, rng, v)
            new.append(self.control(t, {**v, "records": len(client)}))
            update = update + self.message(new[-1], own)
            step = step + self.weight(client, cohort, clients, v) * (t.y - w)
        own = state.own.copy()
        for i, value in self.keep(state.own, cohort, new).items():
            own[i] = value
        if self.absent is not None:
            update = update + self._without(state, own, clients, cohort, w, rng, v)
        c = state.c + (share * update if len(cohort) else 0.0)
        return self.move(w, step, v), State(c, own, state.met)

    def _met(self, state: State, cohort: Array, w: Array) -> State:
        """The state after clients that take part for the first time have got their control variates."""
        own, met = state.own.copy(), np.zeros(len(state.own), dtype=bool) if state.met is None else state.met.copy()
        for i in map(int, cohort):
            own[i] = own[i] if met[i] else self.first(w)  # type: ignore[misc]
            met[i] = True
        return State(state.c, own, met)

    def trained(self, client: Client, own: Array, c: Array, w: Array, rng: Any, v: Values) -> Trained:
        """The local steps of one client."""

        def at(point: Array) -> Array:
            return np.asarray(self.gradient(client, point, v, rng))

        y, g = w, np.zeros(len(w))
        for _ in range(int(self.steps(v))):
            g = at(y)
            y = y - v["local_step"] * (g + self.pull(y, w) + self.correction(own, c))
        return Trained(own, c, w, y, g, at, client.gradient)

    def _without(
        self, state: State, own: Array, clients: Sequence[Client], cohort: Array, w: Array, rng: Any, v: Values
    ) -> Array:
        """Change the control variates of the clients that take no part, in ``own``, and return the messages to c."""
        assert self.absent is not None
        update = np.zeros(len(w))
        for i in set(range(len(clients))) - {int(j) for j in cohort}:

            def train(i: int = i) -> Array:
                t = self.trained(clients[i], state.own[i], state.c, w, rng, v)
                return np.asarray(self.control(t, {**v, "records": len(clients[i])}))

            own[i] = self.absent(state.own[i], state.c, train)
            update = update + (self.message(own[i], state.own[i]) if self.hears_absent else 0.0)
        return update

    def length(self, client: Client, world: World, v: Values) -> float:
        return float(np.linalg.norm(client.gradient(world.start)))

    @classmethod
    def faults(cls) -> Sequence[Fault]:
        return FAULTS


REFERENCES = (Scaffold,)
