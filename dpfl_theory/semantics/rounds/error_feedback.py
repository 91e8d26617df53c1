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
    mean, which noise moves away from it."""

    x: Vector
    v_i: tuple[Vector, ...]
    v: Vector


def updated(g: Vector, memory: Vector, beta: Any, message: Callable[[Vector], Vector]) -> tuple[Vector, Vector]:
    """A client's message for a gradient g that its memory follows, Psi(g - v_i), and v_i + beta Psi(g - v_i)."""
    sent = message(g - memory)
    return sent, memory + sent * beta


def normalised_step(world: World, gamma: Any, v: Vector) -> Vector:
    """The step of length gamma that is subtracted from x: gamma v/||v||."""
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
    """One round, in which every client takes part.

    message: Psi. step: the step subtracted from x, from the server's estimate. noise: of a message, called
    ("noise", t, i); the memories do not contain it.
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
