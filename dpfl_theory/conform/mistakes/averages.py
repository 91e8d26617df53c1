"""Mistakes in rounds that average the clients' messages: in the average, the step, the local steps and the bound."""

from __future__ import annotations

from dpfl_theory.conform.base import Fault, faulty, sized

__all__ = ["STEPS", "added"]

STEPS = (
    faulty(
        "one local step too few",
        "a client takes one local step fewer than it should",
        "local",
        steps=lambda v: v["local_steps"] - 1,
    ),
    faulty(
        "one local step too many",
        "a client takes one local step more than it should",
        "local",
        steps=lambda v: v["local_steps"] + 1,
    ),
)
"""One local step too few or too many."""

DECAYS = (1.0, 0.5, 0.1, 5e-2, 1e-2, 5e-3, 1e-3, 5e-4, 1e-4)
"""Usual strengths of weight decay in training scripts, as far as a path shows them."""
PROXIMAL = (1.0, 0.5, 0.1, 5e-2, 1e-2, 5e-3, 1e-3)
"""The same for a proximal term, which is smaller since it is proportional to the client's path."""


def added(part: str) -> tuple[Fault, ...]:
    """Terms added to a local gradient by ``part`` (y, w) of a round, y being the client's point and w the
    server's."""

    def decay(strength: float) -> Fault:
        return Fault(
            "weight decay in the local steps",
            f"a local step adds {strength:.4g} times the client's parameters to the gradient: {decays}",
            "local",
            {part: lambda y, w: strength * y},
        )

    def proximal(strength: float) -> Fault:
        return Fault(
            "a proximal term in the local steps",
            f"a local step adds {strength:.4g} (y - w) to the gradient, which is FedProx: leave it out",
            "local",
            {part: lambda y, w: strength * (y - w)},
        )

    decays = "the algorithm has no weight decay; set it to 0, or put the term into the loss, which changes the loss"
    return (
        sized(f"a local step adds a multiple of the client's parameters to the gradient: {decays}", DECAYS, decay),
        sized(
            "a local step adds a multiple of y - w to the gradient, which is FedProx: leave it out", PROXIMAL, proximal
        ),
    )
