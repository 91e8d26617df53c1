"""FedAvg: local steps of every client, and the messages of a cohort, bounded and with noise where it is private."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from dpfl_theory.semantics.base import RunIndex, Vector, World, average, runs

__all__ = ["SAMPLINGS", "FedAvg", "draws", "fedavg", "local_phase", "local_steps"]

SAMPLINGS = ("without", "anew", "shared")
"""A cohort of different clients, or draws with replacement. In the latter case each draw is a run of its own
(``anew``); or there is one run for each client, which counts as often as it is drawn (``shared``)."""


def local_steps(
    world: World, client: int, x: Vector, eta: Any, gradients: Sequence[Callable[[Vector], Vector]]
) -> list[Vector]:
    """The points y^0 = x, ..., y^K of a client's local steps y^k = y^{k-1} - eta g_k(y^{k-1})."""
    path = [x]
    for g in gradients:
        path.append(path[-1] - eta * g(path[-1]))
    return path


def local_phase(
    world: World, i: int, x: Vector, eta: Any, K: int, *, t: int = 0, errors: bool = False, run: int = 0
) -> list[Vector]:
    """The points of K local steps of client i. errors: of the gradient in step k, called ("error", t, i, k)."""

    def gradient(k: int, y: Vector) -> Vector:
        return world.stochastic_gradient(i, y, "error", t, i, k, run=run) if errors else world.gradient(i, y)

    return local_steps(world, i, x, eta, [partial(gradient, k) for k in range(K)])


def draws(world: World, size: int, sampling: str = "without") -> tuple[tuple[int, RunIndex], ...]:
    """A cohort of this size: each draw's client, and the number of this client's run."""
    if sampling not in SAMPLINGS:
        raise ValueError(f"sampling {sampling!r} is not one of {SAMPLINGS}")
    cohort = world.cohort(size, sampling != "without")
    return tuple((i, RunIndex(0)) for i in cohort) if sampling == "shared" else runs(cohort)


@dataclass(frozen=True)
class FedAvg:
    """The state between rounds, the server's vector; and, of the last round, the clients' points (empty where they were
    not used), and the cohort."""

    x: Vector
    paths: tuple[tuple[Vector, ...], ...] = ()
    cohort: tuple[int, ...] = ()


def fedavg(
    world: World,
    x: Vector,
    eta: Any,
    eta_g: Any,
    K: int,
    size: int | None = None,
    *,
    t: int = 0,
    errors: bool = False,
    noise: bool = False,
    unseen: bool = False,
    threshold: Any = None,
    message: Callable[[Vector], Vector] | None = None,
    sampling: str = "without",
) -> FedAvg:
    """One round: K local steps of every client; a cohort of ``size`` (all clients for None) sends its messages.

    errors: of client i's gradient in step k, called ("error", t, i, k). noise: of a message, called ("noise", t, i).
    unseen: clients outside the cohort take their steps too, as proofs have it. message: the message for a client's
    move, in place of clipping it to the threshold. sampling: one of `SAMPLINGS`.
    """
    heard = draws(world, world.clients if size is None else size, sampling)
    first = RunIndex(0)
    steps = dict.fromkeys([*((i, first) for i in range(world.clients) if unseen), *heard])
    paths = {(i, run): local_phase(world, i, x, eta, K, t=t, errors=errors, run=run) for i, run in steps}
    sent = []
    for i, run in heard:
        move = paths[i, run][K] - x
        if message is not None:
            move = message(move)
        elif threshold is not None:
            move = world.bounded(move, threshold)
        sent.append(move + world.error("noise", t, i, run=run) if noise else move)
    first_runs = tuple(tuple(paths.get((i, first), ())) for i in range(world.clients))
    return FedAvg(x + eta_g * average(sent), first_runs, tuple(i for i, _ in heard))
