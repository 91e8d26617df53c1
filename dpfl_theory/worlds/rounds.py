"""What each algorithm does in one round, written once in the operations of a world.

scaffnew    hou2023 Algorithm 2, one iteration of ScaffNew and DP-ScaffNew
scaffold    noble2022 Algorithm 1, one round of DP-SCAFFOLD; without control variates DP-FedAvg, Algorithm 2
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dpfl_theory.worlds.base import Vector, World, average

__all__ = ["ScaffNew", "Scaffold", "local_steps", "scaffnew", "scaffold"]


def local_steps(
    world: World, client: int, x: Vector, eta: Any, gradients: Sequence[Callable[[Vector], Vector]]
) -> list[Vector]:
    """The points y^0 = x, ..., y^K of a client's local steps y^k = y^{k-1} - eta g_k(y^{k-1})."""
    path = [x]
    for g in gradients:
        path.append(path[-1] - eta * g(path[-1]))
    return path


@dataclass(frozen=True)
class ScaffNew:
    """The state between iterations: the server's vector x, the clients' x_i and control variates h_i."""

    x: Vector
    x_i: tuple[Vector, ...]
    h_i: tuple[Vector, ...]


def scaffnew(
    world: World, state: ScaffNew, eta: Any, p: Any, *, t: int = 0, noise: bool = True, threshold: Any = None
) -> ScaffNew:
    """One iteration: a local step of every client and, where the coin falls, a communication. Its errors are called
    ("noise", t, i)."""
    moved = [x - eta * (world.gradient(i, x) - h) for i, (x, h) in enumerate(zip(state.x_i, state.h_i))]
    if not world.coin(p):
        return ScaffNew(state.x, tuple(moved), state.h_i)
    sent = []
    for i, point in enumerate(moved):
        message = point - state.x
        message = message if threshold is None else world.bounded(message, threshold)
        sent.append(message + world.error("noise", t, i) if noise else message)
    mean = average(sent)
    x = state.x + mean
    shifts = tuple(h + (p / eta) * (mean - message) for h, message in zip(state.h_i, sent))
    return ScaffNew(x, (x,) * world.clients, shifts)


@dataclass(frozen=True)
class Scaffold:
    """The state between rounds: the server's vector and control variate, the users' control variates (None for
    DP-FedAvg), and, of all users of the last round, the points of their local steps."""

    x: Vector
    c: Vector | None
    c_i: tuple[Vector, ...] | None
    paths: tuple[tuple[Vector, ...], ...] = ()
    cohort: tuple[int, ...] = ()


def scaffold(
    world: World, state: Scaffold, eta: Any, eta_g: Any, K: int, size: int, *, t: int = 0, errors: bool = True
) -> Scaffold:
    """One round: K local steps of every user, of which a cohort of ``size`` is heard. The error of user i's gradient in
    step k is called ("error", t, i, k).

    Users outside the cohort take their steps too, unseen, as the paper's proofs have it.
    """
    x, c, c_i = state.x, state.c, state.c_i
    paths = []
    for i in range(world.clients):

        def noisy(k: int, i: int = i) -> Callable[[Vector], Vector]:
            def step(y: Vector) -> Vector:
                g = world.gradient(i, y)
                g = g + world.error("error", t, i, k) if errors else g
                return g if c is None or c_i is None else g - c_i[i] + c

            return step

        paths.append(tuple(local_steps(world, i, x, eta, [noisy(k) for k in range(K)])))
    cohort = world.cohort(size)
    after = x + eta_g * average([paths[i][K] - x for i in cohort])
    if c is None or c_i is None:
        return Scaffold(after, None, None, tuple(paths), cohort)
    heard = {i: c_i[i] - c + (x - paths[i][K]) / (K * eta) for i in cohort}
    new = tuple(heard.get(i, own) for i, own in enumerate(c_i))
    return Scaffold(after, average(new), new, tuple(paths), cohort)
