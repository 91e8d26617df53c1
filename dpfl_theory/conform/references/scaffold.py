"""SCAFFOLD as noble2022 Algorithm 1 prints it, with full gradients.

y = w;  K times  y = y - eta_l (grad f_i(y) - c_i + c);   c_i^+ = c_i - c + (w - y)/(K eta_l)
w = w + eta_g mean_S (y_i - w);   c = c + (|S|/n) mean_S (c_i^+ - c_i);   c_i = c_i^+ for i in S
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpfl_theory.conform.averaging import by_records
from dpfl_theory.conform.base import Fault, Letter, Reading, Reference, Values, faulty
from dpfl_theory.conform.mistakes import STEPS
from dpfl_theory.conform.references.fedavg import generic
from dpfl_theory.conform.references.two_sided import ETA_G, ETA_L
from dpfl_theory.conform.world import Client, World
from dpfl_theory.problems.base import Array

__all__ = ["FAULTS", "REFERENCES", "Scaffold", "State"]

Part = Callable[..., Any]
K = Letter("K", "local steps", (3, 1), "count", ("local_steps", "epochs", "E", "Q"))


@dataclass
class State:
    """c (d,): the server's control variate;  own (n, d): the clients'."""

    c: Array
    own: Array


@dataclass(frozen=True)
class Scaffold(Reference):
    """noble2022 Algorithm 1 in these parts, v being the letters.

    begin (w, n, v): the control variates at first.  gradient (client, y, v, rng): of a local step.  correction (own,
    c):
    what is added to it.  current (own, i, new): the control variate of client i, new being those made in this round.
    steps (v).  control (own, c, w, y, first, v): c_i^+, first being grad f_i(w).  message (new, own):
    what is sent of it.  weight (client, cohort, clients, v): of y - w.  share (cohort, clients, v): of each of what was
    told in c.  keep (own, members, new): the clients' control variates after the round.  move (w, step, v).
    """

    name: ClassVar[str] = "scaffold"
    source: ClassVar[str] = "noble2022 Algorithm 1 with full gradients"
    letters: ClassVar[tuple[Letter, ...]] = (ETA_L, ETA_G, K)
    scheme: ClassVar[str] = "fixed"
    readings: ClassVar[tuple[Reading, ...]] = (
        Reading("control variates are means of the local gradients"),
        Reading(
            "control variates are gradients at the server's parameters (option I of Karimireddy et al. 2020)",
            {"control": lambda own, c, w, y, first, v: first},
        ),
    )

    begin: Part = lambda w, n, v: State(np.zeros_like(w), np.zeros((n, len(w))))
    gradient: Part = lambda client, y, v, rng: client.gradient(y)
    correction: Part = lambda own, c: c - own
    current: Part = lambda own, i, new: own[i]
    steps: Part = lambda v: v["local_steps"]
    control: Part = lambda own, c, w, y, first, v: own - c + (w - y) / (v["local_steps"] * v["local_step"])
    message: Part = lambda new, own: new - own
    weight: Part = lambda client, cohort, clients, v: 1.0 / max(len(cohort), 1)
    share: Part = lambda cohort, clients, v: 1.0 / len(clients)
    keep: Part = lambda own, members, new: {int(i): new[j] for j, i in enumerate(members)}
    move: Part = lambda w, step, v: w + v["global_step"] * step

    def settled(self, v: dict[str, Any]) -> dict[str, Any]:
        return generic(v, local_step="eta_l", global_step="eta_g", local_steps="K")

    def round(
        self, w: Array, state: Any, clients: Sequence[Client], cohort: Array, rng: Any, v: Values
    ) -> tuple[Array, Any]:
        state = self.begin(w, len(clients), v) if state is None else state
        step, told = np.zeros(len(w)), np.zeros(len(w))
        new: list[Array] = []
        for i in cohort:
            client, own, y = clients[int(i)], self.current(state.own, int(i), new), w
            v = {**v, "records": len(client)}
            for _ in range(int(self.steps(v))):
                y = y - v["local_step"] * (self.gradient(client, y, v, rng) + self.correction(own, state.c))
            new.append(self.control(own, state.c, w, y, client.gradient(w), v))
            told = told + self.message(new[-1], own)
            step = step + self.weight(client, cohort, clients, v) * (y - w)
        own = state.own.copy()
        for i, value in self.keep(state.own, cohort, new).items():
            own[i] = value
        c = state.c + (self.share(cohort, clients, v) * told if len(cohort) else 0.0)
        return self.move(w, step, v), State(c, own)

    def length(self, client: Client, world: World, v: Values) -> float:
        return float(np.linalg.norm(client.gradient(world.start)))

    @classmethod
    def faults(cls) -> Sequence[Fault]:
        return FAULTS


def _begun(w: Array, n: int, v: Values) -> State:
    return State(w.copy(), np.tile(w, (n, 1)))


AT_ONCE: tuple[dict[str, Any], ...] = ({"current": lambda own, i, new: new[-1] if new else own[i]}, {})
"""Whether clients read, within a round, the control variate that another one has just written."""
FAULTS = (
    faulty(
        "control variate sent whole",
        "a client sends its new control variate c_i^+ and the server adds it to c: send the difference c_i^+ - c_i",
        "control",
        "Plato, issue 382",
        message=lambda new, own: new,
    ),
    faulty(
        "control variate scaled by epochs",
        "c_i^+ divides w - y by the number of local steps alone (or of epochs): divide it by K eta_l",
        "control",
        "Plato, pull request 386",
        control=lambda own, c, w, y, first, v: own - c + (w - y) / v["local_steps"],
    ),
    faulty(
        "control variate without the number of local steps",
        "c_i^+ divides w - y by eta_l alone (or by the batches of one epoch): divide it by K eta_l, K being all local "
        "steps of the round",
        "control",
        "PFLlib, issue 160; ki-ljl/Scaffold-Federated-Learning, issue 1",
        control=lambda own, c, w, y, first, v: own - c + (w - y) / v["local_step"],
    ),
    faulty(
        "server's control variate over the cohort",
        "c moves by the mean over the cohort: it is the sum over the cohort divided by n, so that c stays the mean "
        "of all "
        "c_i",
        "control",
        "NIID-Bench, issue 12",
        share=lambda cohort, clients, v: 1.0 / max(len(cohort), 1),
    ),
    faulty(
        "control variates that do not begin at zero",
        "the control variates begin at the model's parameters (or at random numbers): begin at zero, or with warm "
        "rounds",
        "control",
        "NIID-Bench, issue 8",
        begin=_begun,
    ),
    faulty(
        "the server's control variate never moves",
        "c_i is overwritten before the difference c_i^+ - c_i is taken, which then is zero",
        "control",
        "KarhouTam/SCAFFOLD-PyTorch, issue 1",
        message=lambda new, own: np.zeros_like(own),
    ),
    faulty(
        "the correction has the wrong sign",
        "the local step adds c_i - c to the gradient: it is c - c_i",
        "control",
        "Fed-BioMed, issue 734",
        correction=lambda own, c: own - c,
    ),
    faulty(
        "control variate with the number of records",
        "c_i^+ divides w - y by the number of the client's records (times the epochs): the local steps are "
        "gradients taken",
        "control",
        "FL4Health, pull request 64",
        control=lambda own, c, w, y, first, v: own - c + (w - y) / (v["records"] * v["local_steps"] * v["local_step"]),
    ),
    *(
        faulty(
            "one control variate for all clients",
            "all clients write one control variate: keep one for each client",
            "control",
            "YanshiShield, issue 91",
            keep=lambda own, members, new: dict.fromkeys(range(len(own)), new[-1]) if new else {},
            **at_once,
        )
        for at_once in AT_ONCE
    ),
    faulty(
        "no correction",
        "local steps do not use the control variates: this is FedAvg",
        "control",
        correction=lambda own, c: 0.0 * own,
    ),
    faulty(
        "the correction without the server's part",
        "local steps subtract c_i and do not add c",
        "control",
        correction=lambda own, c: -own,
    ),
    faulty(
        "the correction without the client's part",
        "local steps add c and do not subtract c_i",
        "control",
        correction=lambda own, c: c,
    ),
    faulty(
        "c is missing in the new control variate",
        "c_i^+ = c_i + (w - y)/(K eta_l) lacks - c",
        "control",
        control=lambda own, c, w, y, first, v: own + (w - y) / (v["local_steps"] * v["local_step"]),
    ),
    faulty(
        "the new control variate has the wrong sign",
        "c_i^+ has (y - w)/(K eta_l): it is (w - y)/(K eta_l), the mean of the gradients on the way",
        "control",
        control=lambda own, c, w, y, first, v: own - c - (w - y) / (v["local_steps"] * v["local_step"]),
    ),
    faulty(
        "the clients' control variates are not kept",
        "c_i stays what it was at first: keep c_i^+ for the next round",
        "control",
        keep=lambda own, members, new: {},
    ),
    faulty(
        "division by n in place of the cohort",
        "the model moves by the sum over the cohort divided by n: divide by the number of clients that take part",
        "average",
        weight=lambda client, cohort, clients, v: 1.0 / len(clients),
    ),
    faulty(
        "no division",
        "the differences are added up and not averaged",
        "average",
        weight=lambda client, cohort, clients, v: 1.0,
    ),
    faulty(
        "weights by numbers of records",
        "clients are weighted by their records, while the control variates weigh all alike",
        "average",
        weight=by_records,
    ),
    faulty("no global step size", "the average is added as it is", "step", move=lambda w, step, v: w + step),
    faulty("the step has the wrong sign", "the server moves the other way", "step", move=lambda w, step, v: w - step),
    *STEPS,
)

REFERENCES = (Scaffold,)
