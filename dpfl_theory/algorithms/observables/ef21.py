"""Observables of the EF21 mechanism only: the errors of the clients' memories and of the server's estimate."""

from __future__ import annotations

from typing import Any

from dpfl_theory.algorithms.base import Round
from dpfl_theory.algorithms.observables.base import Observable
from dpfl_theory.errors import InputError

__all__ = ["OBSERVABLES"]


def _memories(h: Round, observable: str) -> Any:
    if h.state is None or not hasattr(h.state, "v_i"):
        raise InputError(f"observable {observable!r} needs memories v_i, which this algorithm does not have")
    return h.state.v_i


def _largest_residual(h: Round) -> Any:
    xp, v_i = h.context.engine.xp, _memories(h, "largest-residual")
    missing = h.context.gradients(xp.repeat(h.w[None], h.context.problem.n, axis=0)) - v_i
    return xp.sqrt((missing * missing).sum(axis=2).max(axis=0))


def _estimate_noise(h: Round) -> Any:
    mean = _memories(h, "estimate-noise").mean(axis=0)
    apart = h.state.v - mean
    return h.context.engine.xp.sqrt((apart * apart).sum(axis=1))


OBSERVABLES = (
    Observable(
        "largest-residual",
        (1, -1),
        r"\max_i \|\nabla f_i(x^k) - v_i^k\|",
        "largest distance of a client's memory from its gradient",
        _largest_residual,
        lambda _: 0.0,
        of_state=True,
    ),
    Observable(
        "estimate-noise",
        (1, -1),
        r"\|\hat{v}^k - \frac{1}{n}\sum_i v_i^k\|",
        "distance of the server's estimate from the mean of the clients' memories",
        _estimate_noise,
        lambda _: 0.0,
        of_state=True,
    ),
)
