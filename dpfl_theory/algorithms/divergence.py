"""Divergence: which lanes of a run have left every scale, and after which round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpfl_theory.algorithms.base import Algorithm, Context
from dpfl_theory.problems.base import Array

__all__ = ["FAR", "NEVER", "DivergenceWarning", "first_rounds", "lost", "told"]

FAR = 1e50
"""How many times its start, or 1 where that is larger, a server's vector may become before its run has diverged: fourth
powers, of which errors of squares are made, are then still numbers."""
NEVER = -1
"""The round of a lane that did not diverge."""


class DivergenceWarning(RuntimeWarning):
    """Some lanes of a run diverged: what is observed of them is no measurement. Others are not touched by it."""


def lost(w: Array, start: Array) -> NDArray[np.bool_]:
    """Which rows of ``w`` (lanes, d) [X] have diverged: not finite, or beyond `FAR` times the scale of ``start``.

    >>> import numpy as np
    >>> lost(np.array([[1.0], [np.nan], [1e51], [1e51]]), np.array([[0.0], [0.0], [0.0], [1e3]])).tolist()
    [False, True, True, False]
    """
    with np.errstate(invalid="ignore", over="ignore"):
        scale = np.maximum(1.0, np.abs(start).max(axis=1, initial=0.0))
        found: NDArray[np.bool_] = ~(np.abs(w) / scale[:, None] <= FAR).all(axis=1)
        return found


def first_rounds(algorithm: Algorithm, contexts: Sequence[Context], final: Array, rounds: int) -> NDArray[np.int64]:
    """The first k with w_k lost, for each lane (lanes,), or `NEVER`: blocks in which a lane is lost are played again,
    as they were, up to that round."""
    found = np.full(len(final), NEVER, dtype=np.int64)
    for context in contexts:
        engine = context.engine
        start = np.asarray(engine.to_host(context.start))
        wanted = lost(final[context.batch], start)
        if not wanted.any():
            continue
        context = replace(context, start=engine.asarray(start))
        own = found[context.batch]  # a view
        with engine.single_blas(), np.errstate(over="ignore", invalid="ignore"):
            state = algorithm.begin(context)
            for k in range(rounds):
                state, _ = algorithm.round(context, state, k)
                far = lost(np.asarray(engine.to_host(algorithm.server(state))), start)
                own[wanted & far & (own == NEVER)] = k + 1
                if (own != NEVER)[wanted].all():
                    break
    return found


def told(diverged: NDArray[np.int64]) -> str:
    """In how many lanes a run diverged, and after how many rounds the first of them; empty where none did.

    >>> import numpy as np
    >>> told(np.array([NEVER, 12, 7])), told(np.array([NEVER]))
    ('diverged in 2 of 3 lanes, the first after round 7', '')
    """
    when = diverged[diverged != NEVER]
    return f"diverged in {len(when)} of {len(diverged)} lanes, the first after round {when.min()}" if len(when) else ""
