"""Records of a classification data set for the validations: held-out parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]


def parted(count: int, sizes: Sequence[int], seed: Any) -> list[Rows]:
    """The record numbers 0..count-1 in random order, cut into parts of these sizes; the remaining records are left
    out."""
    order = np.random.default_rng(seed).permutation(count)
    return list(np.split(order[: sum(sizes)], np.cumsum(sizes)[:-1]))
