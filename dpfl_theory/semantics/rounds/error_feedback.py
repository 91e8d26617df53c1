"""Error feedback (EF21) with a bounding operator: Clip21 and alpha-NormEC, private or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from dpfl_theory.semantics.base import Vector, World, average

__all__ = ["ErrorFeedback", "alpha_norm_ec", "clip21", "error_feedback", "normalised_step", "updated"]


@dataclass(frozen=True)
class ErrorFeedback:
    """The state between rounds: the server's vector x, the clients' memories v_i, and the server's estimate v of their
    mean, which noise drives away from it."""

    x: Vector
    v_i: tuple[Vector, ...]
    v: Vector


def updated(g: Vector, memory: Vector, beta: Any, message: Callable[[Vector], Vector]) -> tuple[Vector, Vector]:
    """What a client sends of a gradient g that its memory is to follow, Psi(g - v_i), and v_i + beta Psi(g - v_i)."""
    sent = message(g - memory)
    return sent, memory + sent * beta


def normalised_step(world: World, gamma: Any, v: Vector) -> Vector:
    """What a step of length gamma takes away from x: gamma v/||v||."""
    taken: Vector = gamma * world.normalised(v)
    return taken


def error_feedback(
    world: World,
    state: ErrorFeedback,
    beta: Any,
    message: Callable[[Vector], Vector],
    step: Callable[[Vector], Vector],
    *,
    t: int = 0,
    noise: bool = False,
) -> ErrorFeedback:
    """One round, in which every client is heard.

    message: Psi. step: from the server's estimate, what x moves against. noise: of a message, called ("noise", t, i);
    the memories do not see it.
    """
    gradients = [world.gradient(i, state.x) for i in range(world.clients)]
    sent, memories = zip(*(updated(g, v, beta, message) for g, v in zip(gradients, state.v_i, strict=True)))
    heard = [m + world.error("noise", t, i) for i, m in enumerate(sent)] if noise else sent
    v = state.v + average(heard) * beta
    return ErrorFeedback(state.x - step(v), memories, v)


def clip21(
    world: World, state: ErrorFeedback, gamma: Any, tau: Any, *, t: int = 0, noise: bool = False
) -> ErrorFeedback:
    """One round of Clip21: messages clipped to tau, steps gamma v."""
    return error_feedback(
        world, state, world.one, lambda e: world.bounded(e, tau), lambda v: gamma * v, t=t, noise=noise
    )


def alpha_norm_ec(
    world: World, state: ErrorFeedback, gamma: Any, alpha: Any, beta: Any, *, t: int = 0, noise: bool = False
) -> ErrorFeedback:
    """One round of alpha-NormEC: messages e/(alpha + ||e||), steps of length gamma along v."""
    step = partial(normalised_step, world, gamma)
    return error_feedback(world, state, beta, lambda e: world.normalised(e, alpha), step, t=t, noise=noise)
