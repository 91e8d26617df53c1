"""Mistakes with SCAFFOLD's control variates, and the code that these share with its references."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfl_theory.conform.averaging import by_records
from dpfl_theory.conform.base import Fault, Values, faulty
from dpfl_theory.conform.mistakes.averages import STEPS, added
from dpfl_theory.problems.base import Array

__all__ = ["FAULTS", "State", "Trained", "mean_gradient"]


@dataclass
class State:
    """c (d,): the server's control variate;  own (n, d): the clients';  met (n,): the clients that took part before,
    where that matters."""

    c: Array
    own: Array
    met: Array | None = None


@dataclass(frozen=True)
class Trained:
    """A client after its local steps: c_i and c as it read them, its start w and its end y, (d,) each, and the gradient
    of its last step. ``at`` is its gradient at another point, with clipping and noise if the algorithm has them, and
    ``exactly`` the gradient without."""

    own: Array
    c: Array
    w: Array
    y: Array
    last: Array
    at: Callable[[Array], Array]
    exactly: Callable[[Array], Array]


def mean_gradient(t: Trained, v: Values) -> Array:
    """(w - y)/(K eta_l)."""
    return np.asarray((t.w - t.y) / (v["local_steps"] * v["local_step"]))


def _begun(w: Array, n: int, v: Values) -> State:
    return State(w.copy(), np.tile(w, (n, 1)))


NO_C = "c is missing in the new control variate"
AT_ONCE: tuple[dict[str, Any], ...] = ({"current": lambda own, i, new: new[-1] if new else own[i]}, {})
"""Whether a client reads the control variate that another client has written in the same round."""
DAMPING = (0.01, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.99)
"""Shares of c_i^+ that are tried for a damped control variate."""


def _in_the_loop() -> Iterator[Fault]:
    for share, of in (
        (lambda cohort, clients, v: 1.0 / len(clients), "n"),
        (lambda cohort, clients, v: 1.0 / max(len(cohort), 1), "|S|"),
    ):
        yield faulty(
            "the server's control variate moves within the round",
            f"c is updated (by 1/{of} of a client's difference) inside the loop over the clients, so that a client's "
            "steps depend on the clients before it: add the differences and move c once, by 1/n of their sum, after "
            "the loop",
            "control",
            server=lambda c, told, share: c + share * told,
            share=share,
        )


def _global_step() -> Iterator[Fault]:
    ways: tuple[tuple[str, Callable[[Values], float]], ...] = (
        ("is multiplied by", lambda v: v["global_step"]),
        ("is divided by K eta_l and", lambda v: 1.0 / v["global_step"]),
        ("is divided by K and, in place of eta_l, by", lambda v: v["local_step"] / v["global_step"]),
    )
    for words, factor in ways:
        yield faulty(
            "the global step in the control variate",
            f"in c_i^+ the difference w - y {words} the server's step eta_g: a control variate is a mean of gradients, "
            "(w - y)/(K eta_l), whatever the server's step is",
            "control",
            control=lambda t, v, factor=factor: t.own - t.c + factor(v) * mean_gradient(t, v),
        )


def _absent() -> Iterator[Fault]:
    for hears in (False, True):
        yield faulty(
            "clients that take no part train",
            "all clients train and write their control variates, whoever is in the cohort: c_i must not change for a "
            "client that takes no part, else the amplification by sampling is claimed but does not exist",
            "cohort",
            private=True,
            plain=(
                "all clients train and write their control variates, whoever is in the cohort: c_i must not change for "
                "a client that takes no part"
            ),
            absent=lambda own, c, train: train(),
            hears_absent=hears,
        )
        yield faulty(
            "control variates of absent clients move",
            "c_i^+ = c_i - c + (w - y)/(K eta_l) is formed with y = w for clients that take no part, which subtracts c "
            "from their control variates in every round: change only those of the cohort",
            "control",
            equivalent_to=NO_C if hears else "",
            absent=lambda own, c, train: own - c,
            hears_absent=hears,
        )


def _damped() -> Iterator[Fault]:
    for a in DAMPING:
        said = (
            f"c_i becomes {1 - a:.4g} c_i + {a:.4g} c_i^+, a moving average that the algorithm does not have: replace "
            "c_i by c_i^+"
        )
        yield faulty(
            "a damped control variate",
            said,
            "control",
            control=lambda t, v, a=a: (1 - a) * t.own + a * (t.own - t.c + mean_gradient(t, v)),
        )
        yield faulty(
            "a damped control variate",
            f"{said}, so that c_i is the value that the server got",
            "control",
            keep=lambda own, members, new, a=a: {
                int(i): (1 - a) * own[int(i)] + a * new[j] for j, i in enumerate(members)
            },
        )


NEW = (
    *_in_the_loop(),
    *_global_step(),
    *_absent(),
    faulty(
        "the control variate is the gradient at the end",
        "c_i^+ is the gradient at the end of the client's steps: it should be the mean of the gradients of its steps, "
        "c_i - c + (w - y)/(K eta_l), or (option I) the gradient at the server's parameters",
        "control",
        control=lambda t, v: t.at(t.y),
    ),
    faulty(
        "the control variate is the last gradient",
        "c_i^+ is only the gradient of the last local step: it should be the mean of those of all K steps, c_i - c + "
        "(w - y)/(K eta_l)",
        "control",
        control=lambda t, v: t.last,
    ),
    faulty(
        "the server's control variate moves by the sum",
        "c moves by the sum of the differences c_i^+ - c_i: divide it by the number n of all clients, so that c stays "
        "the mean of all c_i",
        "control",
        share=lambda cohort, clients, v: 1.0,
    ),
)
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
        "c_i^+ divides w - y only by the number of local steps (or of epochs): divide it by K eta_l",
        "control",
        "Plato, pull request 386",
        control=lambda t, v: t.own - t.c + (t.w - t.y) / v["local_steps"],
    ),
    faulty(
        "control variate without the number of local steps",
        "c_i^+ divides w - y only by eta_l (or by the batches of one epoch): divide it by K eta_l, where K counts all "
        "local steps of the round",
        "control",
        "PFLlib, issue 160; ki-ljl/Scaffold-Federated-Learning, issue 1",
        control=lambda t, v: t.own - t.c + (t.w - t.y) / v["local_step"],
    ),
    faulty(
        "server's control variate over the cohort",
        "c moves by the mean over the cohort: it should move by the sum over the cohort divided by n, so that c stays "
        "the mean of "
        "all c_i",
        "control",
        "NIID-Bench, issue 12",
        share=lambda cohort, clients, v: 1.0 / max(len(cohort), 1),
    ),
    faulty(
        "control variates that do not start at zero",
        "the control variates start at the model's parameters (or at random numbers): start them at zero, or with warm "
        "rounds",
        "control",
        "NIID-Bench, issue 8",
        begin=_begun,
    ),
    *(
        faulty(
            "control variates that do not start at zero",
            f"a client's control variate starts at the model's parameters when it first takes part{words}: start it at "
            "zero, or with warm rounds",
            "control",
            begin=begin,
            first=lambda w: w,
        )
        for words, begin in (
            ("", lambda w, n, v: State(np.zeros_like(w), np.zeros((n, len(w))))),
            (", and the server's at those of the first round", lambda w, n, v: State(w.copy(), np.zeros((n, len(w))))),
        )
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
        "the local step adds c_i - c to the gradient: it should add c - c_i",
        "control",
        "Fed-BioMed, issue 734",
        correction=lambda own, c: own - c,
    ),
    faulty(
        "control variate with the number of records",
        "c_i^+ divides w - y by the number of the client's records (times the epochs): K should be the number of "
        "gradients taken",
        "control",
        "FL4Health, pull request 64",
        control=lambda t, v: t.own - t.c + mean_gradient(t, v) / v["records"],
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
        "local steps subtract c_i but do not add c",
        "control",
        correction=lambda own, c: -own,
    ),
    faulty(
        "the correction without the client's part",
        "local steps add c but do not subtract c_i",
        "control",
        correction=lambda own, c: c,
    ),
    faulty(
        NO_C,
        "c_i^+ = c_i + (w - y)/(K eta_l) lacks the term - c",
        "control",
        control=lambda t, v: t.own + mean_gradient(t, v),
    ),
    faulty(
        "the new control variate has the wrong sign",
        "c_i^+ has (y - w)/(K eta_l): it should have (w - y)/(K eta_l), the mean of the gradients of its steps",
        "control",
        equivalent_to="the correction has the wrong sign",
        control=lambda t, v: t.own - t.c - mean_gradient(t, v),
    ),
    faulty(
        "the clients' control variates are not kept",
        "c_i keeps its first value: keep c_i^+ for the next round",
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
        "the differences are summed, not averaged",
        "average",
        weight=lambda client, cohort, clients, v: 1.0,
    ),
    faulty(
        "weights by numbers of records",
        "clients are weighted by their records, while the control variates give all clients the same weight",
        "average",
        weight=by_records,
    ),
    faulty("no global step size", "the average is added without a factor", "step", move=lambda w, step, v: w + step),
    faulty(
        "the step has the wrong sign",
        "the server moves in the opposite direction",
        "step",
        move=lambda w, step, v: w - step,
    ),
    *STEPS,
    *NEW,
    *added("pull"),
    *_damped(),
)
