"""Observables of ScaffNew only: hou2023's Lyapunov function, its part of the control variates, and the messages."""

from __future__ import annotations

from typing import Any

from dpfl_theory.errors import InputError
from dpfl_theory.simulation.base import Round
from dpfl_theory.simulation.local_updates import dense
from dpfl_theory.simulation.observables.base import nonnegative, require_attribute

__all__ = ["OBSERVABLES"]


def _shifts(h: Round) -> Any:
    """hou2023: (eta^2/p^2) ||h_t - h*||^2 over the stacked clients."""
    context = h.context
    if not hasattr(h.run, "communicated") or context.problem.constants.w_star is None:
        raise InputError("observable 'scaffnew-lyapunov' needs ScaffNew's control variates and a minimiser w*")
    _, h_i = h.state.inner
    h_i = h_i - context.engine.asarray(context.problem.gradients_at_star)[:, None, :]
    weight = h.again().row(h.run.step / h.run.probability)
    return weight**2 * (h_i * h_i).sum(axis=(0, 2))


def _lyapunov(h: Round) -> Any:
    """hou2023: ||x_t - x*||^2 + (eta^2/p^2) ||h_t - h*||^2 over the stacked clients."""
    shifts = _shifts(h)
    x = h.state.inner[0] - h.context.engine.asarray(h.context.problem.constants.w_star)
    return (x * x).sum(axis=(0, 2)) + shifts


def _message_squared(h: Round) -> Any:
    messages = dense(require_attribute(h, "messages", "message-squared"))
    squares = (messages * messages).sum(axis=2)
    if h.cohort is None or len(squares) < h.context.problem.n:
        return squares.mean(axis=0)
    counts = h.cohort.T
    return (counts * squares).sum(axis=0) / h.context.engine.xp.maximum(counts.sum(axis=0), 1.0)


OBSERVABLES = (
    nonnegative(
        "message-squared",
        (0, 2),
        r"\frac{1}{n}\sum_i \|\hat{x}_{t+1}^{(i)} - x_t\|^2",
        "mean squared length of the messages that ScaffNew's clients would send in this iteration, before noise",
        _message_squared,
    ),
    nonnegative(
        "scaffnew-shifts",
        (0, 2),
        r"\frac{\eta^2}{p^2}\|\mathbf{h}_t - \mathbf{h}^*\|^2",
        "the control variates' part of hou2023's Lyapunov function",
        _shifts,
        of_state=True,
    ),
    nonnegative(
        "scaffnew-lyapunov",
        (0, 2),
        r"\psi_t",
        "hou2023's Lyapunov function over the stacked clients",
        _lyapunov,
        of_state=True,
    ),
)
