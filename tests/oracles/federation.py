"""What the oracles of algorithms without privacy have in common: the clients of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from oracles.two_sided import GradientOf


@dataclass(frozen=True)
class Federation:
    """gradient: (client i, its parameters, round t, local step q) -> g; sizes, steps: of each client, its records and
    its local steps in a round; eta: the local step of each round; cohorts: of each round; equal: whether clients have
    equal weights in place of weights by their records."""

    gradient: GradientOf
    sizes: Sequence[int]
    steps: Sequence[int]
    eta: Sequence[float]
    cohorts: Sequence[Sequence[int]]
    equal: bool = False

    def weights(self, t: int) -> list[float]:
        """The weights of the members of round t, which add up to 1."""
        own = [1 if self.equal else self.sizes[i] for i in self.cohorts[t]]
        return [one / sum(own) for one in own]

    def rounds(self) -> range:
        return range(len(self.cohorts))


def mean(weights: Sequence[float], vectors: Sequence[np.ndarray], empty: np.ndarray) -> np.ndarray:
    """Their weighted sum, and ``empty`` where there are none."""
    return np.asarray(sum((p * x for p, x in zip(weights, vectors)), np.zeros_like(empty)))
