"""Divergence: the replicates of a run that diverged, and the rounds after which they did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpfl_theory.problems.base import Array
from dpfl_theory.simulation.base import Algorithm, Context

FAR = 1e50
"""The factor by which a server's vector may exceed its start, or 1 if that is larger, before its run counts as
diverged: its fourth powers, which errors of squares contain, are then still finite."""
NEVER = -1
"""The round of a replicate that did not diverge."""


class DivergenceWarning(RuntimeWarning):
    """Some replicates of a run diverged: their observed values are not measurements. The other replicates are not
    affected."""


def lost(w: Array, start: Array) -> NDArray[np.bool_]:
    """Which rows of ``w`` (replicates, d) [X] have diverged: not finite, or beyond `FAR` times the scale of ``start``.

    >>> import numpy as np
    >>> lost(np.array([[1.0], [np.nan], [1e51], [1e51]]), np.array([[0.0], [0.0], [0.0], [1e3]])).tolist()
    [False, True, True, False]
    """
    with np.errstate(invalid="ignore", over="ignore"):
        scale = np.maximum(1.0, np.abs(start).max(axis=1, initial=0.0))
        found: NDArray[np.bool_] = ~(np.abs(w) / scale[:, None] <= FAR).all(axis=1)
        return found


def first_rounds(algorithm: Algorithm, contexts: Sequence[Context], final: Array, rounds: int) -> NDArray[np.int64]:
    """The first k with w_k lost, for each replicate (replicates,), or `NEVER`: blocks with a lost replicate run again,
    unchanged, up to that round."""
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
            state = algorithm.initial_state(context)
            for k in range(rounds):
                state, _ = algorithm.round(context, state, k)
                far = lost(np.asarray(engine.to_host(algorithm.server(state))), start)
                own[wanted & far & (own == NEVER)] = k + 1
                if (own != NEVER)[wanted].all():
                    break
    return found


def divergence_text(diverged: NDArray[np.int64]) -> str:
    """The number of replicates that diverged, and the round after which the first did; empty where none did.

    >>> import numpy as np
    >>> divergence_text(np.array([NEVER, 12, 7])), divergence_text(np.array([NEVER]))
    ('diverged in 2 of 3 replicates, the first after round 7', '')
    """
    when = diverged[diverged != NEVER]
    if not len(when):
        return ""
    return f"diverged in {len(when)} of {len(diverged)} replicates, the first after round {when.min()}"
