"""SCAFFOLD and DP-SCAFFOLD: local steps that control variates correct."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dpfl_theory.semantics.base import Vector, World, average

__all__ = ["Scaffold", "local_steps", "scaffold", "warm_start"]


def local_steps(
    world: World, client: int, x: Vector, eta: Any, gradients: Sequence[Callable[[Vector], Vector]]
) -> list[Vector]:
    """The points y^0 = x, ..., y^K of a client's local steps y^k = y^{k-1} - eta g_k(y^{k-1})."""
    path = [x]
    for g in gradients:
        path.append(path[-1] - eta * g(path[-1]))
    return path


@dataclass(frozen=True)
class Scaffold:
    """The state between rounds: the server's vector and control variate, and the users' control variates; and, of the
    last round, the points of the users' local steps (empty where they were not used), and the cohort."""

    x: Vector
    c: Vector
    c_i: tuple[Vector, ...]
    paths: tuple[tuple[Vector, ...], ...] = ()
    cohort: tuple[int, ...] = ()


def warm_start(world: World, x: Vector, K: int) -> Scaffold:
    """Before the first round: each user's control variate is the mean of K stochastic gradients at x, whose errors are
    called ("error", "warm", i, k)."""

    def variate(i: int) -> Vector:
        return average([world.stochastic_gradient(i, x, "error", "warm", i, k) for k in range(K)])

    own = tuple(variate(i) for i in range(world.clients))
    return Scaffold(x, average(own), own)


def scaffold(
    world: World,
    state: Scaffold,
    eta: Any,
    eta_g: Any,
    K: int,
    size: int,
    *,
    t: int = 0,
    errors: bool = True,
    unseen: bool = False,
) -> Scaffold:
    """One round: K local steps of every user; a cohort of ``size`` sends its messages. The error of user i's gradient
    in step k is called ("error", t, i, k).

    unseen: users outside the cohort take their steps too, as the paper's proofs have it.
    """
    x, c, c_i = state.x, state.c, state.c_i
    cohort = world.cohort(size)
    paths: list[tuple[Vector, ...]] = [()] * world.clients
    for i in range(world.clients) if unseen else cohort:

        def corrected(k: int, i: int = i) -> Callable[[Vector], Vector]:
            def step(y: Vector) -> Vector:
                g = world.stochastic_gradient(i, y, "error", t, i, k) if errors else world.gradient(i, y)
                return g - c_i[i] + c

            return step

        paths[i] = tuple(local_steps(world, i, x, eta, [corrected(k) for k in range(K)]))
    after = x + eta_g * average([paths[i][K] - x for i in cohort])
    heard = {i: c_i[i] - c + (x - paths[i][K]) / (K * eta) for i in cohort}
    new = tuple(heard.get(i, own) for i, own in enumerate(c_i))
    return Scaffold(after, average(new), new, tuple(paths), cohort)
