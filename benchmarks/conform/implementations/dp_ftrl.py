"""DP-FTRL with tree aggregation: the model is that of the noisy sum of all rounds; a tree keeps its nodes by height."""

from typing import Any

import numpy as np


class Tree:
    """The noise of prefixes of the rounds since the last restart."""

    def __init__(self, d: int, deviation: float) -> None:
        self.d, self.deviation, self.count = d, deviation, 0
        self.nodes: dict[int, Any] = {}

    def next(self, rng: Any) -> Any:
        """The noise of the prefix with one more round."""
        self.count += 1
        height = 0
        while self.count >> height & 1 == 0:
            self.nodes.pop(height, None)
            height += 1
        self.nodes[height] = rng.normal(0.0, self.deviation, self.d)
        return sum(noise for h, noise in self.nodes.items() if self.count >> h & 1)


def round(
    w: Any,
    state: Any,
    clients: Any,
    cohort: Any,
    rng: Any,
    *,
    lr: float,
    server_lr: float,
    local_steps: int,
    clip: float,
    noise_multiplier: float,
    restart_frequency: int,
    cohort_size: float,
) -> Any:
    deviation = noise_multiplier * clip
    if state is None:
        state = {"start": w, "sum": 0 * w, "earlier": 0 * w, "last": 0 * w, "tree": Tree(len(w), deviation)}
    if state["tree"].count == restart_frequency:
        state["earlier"] = state["earlier"] + state["last"]
        state["tree"] = Tree(len(w), deviation)
    for i in cohort:
        y = w.copy()
        for _ in range(local_steps):
            y -= lr * clients[i].gradient(y)
        norm = float(np.linalg.norm(y - w))
        state["sum"] = state["sum"] + (y - w) * min(1.0, clip / max(norm, 1e-12))
    state["last"] = state["tree"].next(rng)
    noisy = state["sum"] + state["earlier"] + state["last"]
    return state["start"] + server_lr * noisy / cohort_size, state
