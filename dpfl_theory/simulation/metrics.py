"""Observables that need data outside the problem: accuracy on held-out records."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfl_theory.errors import InputError
from dpfl_theory.kernels.linear import LinearData
from dpfl_theory.simulation.base import Round
from dpfl_theory.simulation.observables import Observable
from dpfl_theory.simulation.observables.base import nonnegative

__all__ = ["accuracy"]

_LIMIT = 1 << 24  # logits held at once, in numbers


def accuracy(data: LinearData, name: str = "test-accuracy") -> Observable:
    """The observable "accuracy", the mean over the clients of each one's share of correct labels (noble2022 D.3).

    data: held-out records of the same clients, with ``logistic`` or ``softmax`` loss. In a tie the first class is
    predicted, and a logit of exactly zero is +1. Raises InputError for other losses; a run raises it where the server's
    vector has another length.

    >>> from dpfl_theory.simulation import simulate
    >>> from dpfl_theory.algorithms.fedavg import FedAvg
    >>> from dpfl_theory.problems import make
    >>> problem = make("logistic-synthetic", clients=2, dimension=3, records=30, ridge=0.01)
    >>> run = simulate(FedAvg(eta=1.0), problem, 100, observe=[accuracy(problem.data)], device="cpu")
    >>> bool(run["test-accuracy"].last[0] > 0.7)
    True
    """
    if data.loss not in ("logistic", "softmax"):
        raise InputError(f"accuracy is not defined for the loss {data.loss!r}: use logistic or softmax records")
    sizes = np.diff(data.offsets)
    weight = np.repeat(1.0 / (len(sizes) * sizes), sizes)
    held: dict[int, tuple[Any, ...]] = {}

    def evaluate(h: Round) -> Any:
        engine = h.context.engine
        if h.w.shape[1] != data.parameters:
            raise InputError(f"the held-out records need {data.parameters} parameters, the problem has {h.w.shape[1]}")
        if id(engine) not in held:
            held[id(engine)] = (engine.asarray(data.x.T), engine.asarray(data.y), engine.asarray(weight), engine)
        x, y, share, _ = held[id(engine)]
        return _right(engine.xp, h.w, x, y, share, data.classes)

    return nonnegative(
        name,
        (0, 0),
        r"\frac{1}{n}\sum_i \frac{1}{m_i}\sum_j 1(\hat y_{ij} = y_{ij})",
        "share of correct labels on held-out records, averaged over the clients",
        evaluate,
        lambda _: 1.0,
        of_state=True,
    )


def _right(xp: Any, w: Any, x: Any, y: Any, share: Any, classes: int) -> Any:
    """The weighted share of correct labels for w (S, d), x (d0, N), y and share (N,): (S,)."""
    replicates = w.shape[0]
    total = xp.zeros(replicates)
    size = max(1, _LIMIT // (replicates * classes))
    for a in range(0, x.shape[1], size):
        cut = slice(a, a + size)
        logits = (w.reshape(replicates * classes, -1) @ x[:, cut]).reshape(replicates, classes, -1)
        label = xp.argmax(logits, axis=1) if classes > 1 else xp.where(logits[:, 0] >= 0.0, 1.0, -1.0)
        total = total + (label == y[cut]) @ share[cut]
    return total
