"""Observables of FedAvg with two step sizes only: the quantities of one round's local steps in zhang2021's (15), (19).

They concern all clients' gradients at the points of noisy local steps, which no server ever sees. Clients outside the
cohort take their steps too, and noise has the address of its client, so a client's steps are the same in both roles.
S_i is the sum over Q local steps from x of grad f_i before each of them, without clipping.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpfl_theory.errors import InputError
from dpfl_theory.simulation.base import Round
from dpfl_theory.simulation.observables.base import Observable, cached, nonnegative


class Steps:
    """All clients' local steps of one round: the gradients without noise at x, first (n, S, d), and their sums S_i,
    sums (n, S, d); apart (S,): the clients' mean of the squared distances of these gradients from those at x."""

    def __init__(self, h: Round) -> None:
        xp, context, run, o = h.context.engine.xp, h.context, h.run, h.again()
        self.count = run.local_steps
        self.step = o.row(run.local_step)
        start = xp.repeat(h.w[None], context.problem.n, axis=0)
        seen, self.sums = xp.zeros_like(start), xp.zeros_like(start)
        self.first = context.gradients(start)
        self.apart = xp.zeros_like(start[0, :, 0])
        for _ in range(self.count):
            at = start - self.step[None, :, None] * seen
            gradients = context.gradients(at)
            self.sums = self.sums + gradients
            self.apart = self.apart + ((gradients - self.first) ** 2).sum(axis=-1).mean(axis=0)
            seen = seen + o.each(o.everyone, lambda i, at=at: run.gradient(o, i, at))

    def mean_drift(self) -> Any:
        """||sqrt(Q) grad f(x) - (1/sqrt(Q)) (1/n) sum_i S_i||^2."""
        return ((self.count * self.first.mean(axis=0) - self.sums.mean(axis=0)) ** 2).sum(axis=-1) / self.count

    def drifts(self) -> Any:
        """(1/n) sum_i sum_q ||grad f_i(x_{i,q}) - grad f_i(x)||^2."""
        return self.apart

    def updates(self) -> Any:
        """sum_i ||eta_l S_i||^2."""
        return ((self.step[None, :, None] * self.sums) ** 2).sum(axis=-1).sum(axis=0)


def _of_steps(name: str, unit: tuple[int, int], latex: str, meaning: str, of: Callable[[Steps], Any]) -> Observable:
    def evaluate(h: Round) -> Any:
        bounds = h.run is not None and h.run.level in h.run.parameters and h.run.parameters[h.run.level].unit == "X"
        if getattr(h.run, "sign", 0) != 1 or hasattr(h.run, "control") or bounds:
            raise InputError(
                f"observable {name!r} needs the local steps of FedAvg with two step sizes, without a threshold, which "
                "this algorithm does not have"
            )
        return of(cached(h, "two-sided steps", lambda: Steps(h)))

    return nonnegative(name, unit, latex, meaning, evaluate)


OBSERVABLES = (
    _of_steps(
        "local-mean-drift",
        (2, -2),
        r"\|\sqrt{Q} \nabla f(x) - \frac{1}{\sqrt{Q} n} \sum_{i,q} \nabla f_i(x_{i,q})\|^2",
        "squared drift of the clients' mean local gradient from the gradient at the round's start",
        Steps.mean_drift,
    ),
    _of_steps(
        "local-drifts",
        (2, -2),
        r"\frac{1}{n} \sum_{i,q} \|\nabla f_i(x_{i,q}) - \nabla f_i(x)\|^2",
        "mean over the clients of the squared drifts of their local gradients",
        Steps.drifts,
    ),
    _of_steps(
        "local-updates-squared",
        (0, 2),
        r"\sum_i \|\eta_l \sum_q \nabla f_i(x_{i,q})\|^2",
        "sum over the clients of their squared updates, without the noise of the gradients",
        Steps.updates,
    ),
)
