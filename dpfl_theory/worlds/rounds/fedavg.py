"""FedAvg: local steps of every client, of which a cohort is heard, bounded and with noise where it is private."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dpfl_theory.worlds.base import Vector, World, average

__all__ = ["FedAvg", "fedavg", "local_steps"]


def local_steps(
    world: World, client: int, x: Vector, eta: Any, gradients: Sequence[Callable[[Vector], Vector]]
) -> list[Vector]:
    """The points y^0 = x, ..., y^K of a client's local steps y^k = y^{k-1} - eta g_k(y^{k-1})."""
    path = [x]
    for g in gradients:
        path.append(path[-1] - eta * g(path[-1]))
    return path


@dataclass(frozen=True)
class FedAvg:
    """The state between rounds, the server's vector; and, of the last round, the clients' points (none where they
    were not looked at), and who was heard."""

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
) -> FedAvg:
    """One round: K local steps of every client, of which a cohort of ``size`` (all where it is None) is heard.

    errors: of client i's gradient in step k, called ("error", t, i, k). noise: of a message, called ("noise", t, i).
    unseen: clients outside the cohort take their steps too, as proofs have it. message: what is sent of a client's
    move, in place of clipping it to the threshold.
    """
    cohort = world.cohort(world.clients if size is None else size)
    paths: list[tuple[Vector, ...]] = [()] * world.clients
    for i in range(world.clients) if unseen else cohort:

        def stochastic(k: int, i: int = i) -> Callable[[Vector], Vector]:
            return lambda y: world.gradient(i, y) + world.error("error", t, i, k) if errors else world.gradient(i, y)

        paths[i] = tuple(local_steps(world, i, x, eta, [stochastic(k) for k in range(K)]))
    sent = []
    for i in cohort:
        move = paths[i][K] - x
        if message is not None:
            move = message(move)
        elif threshold is not None:
            move = world.bounded(move, threshold)
        sent.append(move + world.error("noise", t, i) if noise else move)
    return FedAvg(x + eta_g * average(sent), tuple(paths), cohort)
