"""ScaffNew and DP-ScaffNew: control variates, and a coin that decides when clients communicate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpfl_theory.semantics.base import Vector, World, average

__all__ = ["ScaffNew", "communication", "scaffnew"]


@dataclass(frozen=True)
class ScaffNew:
    """The state between iterations: the server's vector x, the clients' x_i and control variates h_i."""

    x: Vector
    x_i: tuple[Vector, ...]
    h_i: tuple[Vector, ...]


def communication(
    world: World, state: ScaffNew, gain: Any, *, t: int = 0, noise: bool = True, threshold: Any = None
) -> ScaffNew:
    """The messages of clients at x_i, and the new vectors of clients and server; the errors are called ("noise", t, i).

    gain: of the control variates, p/eta in Algorithm 2.
    """
    sent = []
    for i, point in enumerate(state.x_i):
        message = point - state.x
        message = message if threshold is None else world.bounded(message, threshold)
        sent.append(message + world.error("noise", t, i) if noise else message)
    mean = average(sent)
    x = state.x + mean
    shifts = tuple(h + gain * (mean - message) for h, message in zip(state.h_i, sent, strict=True))
    return ScaffNew(x, (x,) * world.clients, shifts)


def scaffnew(
    world: World,
    state: ScaffNew,
    eta: Any,
    p: Any,
    *,
    t: int = 0,
    noise: bool = True,
    threshold: Any = None,
    gain: Any = None,
) -> ScaffNew:
    """One iteration: a local step of every client and, if the coin says so, a communication.

    gain: in place of p/eta; with 0 the control variates do not change, which from zero is DP-FedAvg with a random
    number of local steps.
    """
    steps = enumerate(zip(state.x_i, state.h_i, strict=True))
    moved = ScaffNew(state.x, tuple(x - eta * (world.gradient(i, x) - h) for i, (x, h) in steps), state.h_i)
    if not world.coin(p):
        return moved
    return communication(world, moved, p / eta if gain is None else gain, t=t, noise=noise, threshold=threshold)
