"""Observables of the EF21 mechanism only: the errors of the clients' memories and of the server's estimate."""

from __future__ import annotations

from typing import Any

from dpfl_theory.errors import InputError
from dpfl_theory.simulation.base import Round
from dpfl_theory.simulation.observables.base import nonnegative

__all__ = ["OBSERVABLES"]


def _memories(h: Round, observable: str) -> Any:
    """The server's estimate v (S, d), and the clients' memories v_i (n, S, d)."""
    if not hasattr(h.run, "remember"):
        raise InputError(f"observable {observable!r} needs memories v_i, which this algorithm does not have")
    return h.state.inner


def _largest_residual(h: Round) -> Any:
    xp, (_, v_i) = h.context.engine.xp, _memories(h, "largest-residual")
    missing = h.context.gradients(xp.repeat(h.w[None], h.context.problem.n, axis=0)) - v_i
    return xp.sqrt((missing * missing).sum(axis=2).max(axis=0))


def _estimate_noise(h: Round) -> Any:
    v, v_i = _memories(h, "estimate-noise")
    apart = v - v_i.mean(axis=0)
    return h.context.engine.xp.sqrt((apart * apart).sum(axis=1))


OBSERVABLES = (
    nonnegative(
        "largest-residual",
        (1, -1),
        r"\max_i \|\nabla f_i(x^k) - v_i^k\|",
        "largest distance of a client's memory from its gradient",
        _largest_residual,
        of_state=True,
    ),
    nonnegative(
        "estimate-noise",
        (1, -1),
        r"\|\hat{v}^k - \frac{1}{n}\sum_i v_i^k\|",
        "distance of the server's estimate from the mean of the clients' memories",
        _estimate_noise,
        of_state=True,
    ),
)
