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
    """The state between rounds, the server's vector; and, of the last round, all clients' points, and who was heard."""

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
    threshold: Any = None,
) -> FedAvg:
    """One round: K local steps of every client, of which a cohort of ``size`` (all where it is None) is heard.

    errors: of client i's gradient in step k, called ("error", t, i, k). noise: of a message, called ("noise", t, i).
    Clients outside the cohort take their steps too, unseen, as proofs have it.
    """
    paths = []
    for i in range(world.clients):

        def stochastic(k: int, i: int = i) -> Callable[[Vector], Vector]:
            return lambda y: world.gradient(i, y) + world.error("error", t, i, k) if errors else world.gradient(i, y)

        paths.append(tuple(local_steps(world, i, x, eta, [stochastic(k) for k in range(K)])))
    cohort = world.cohort(world.clients if size is None else size)
    sent = []
    for i in cohort:
        message = paths[i][K] - x
        message = message if threshold is None else world.bounded(message, threshold)
        sent.append(message + world.error("noise", t, i) if noise else message)
    return FedAvg(x + eta_g * average(sent), tuple(paths), cohort)
