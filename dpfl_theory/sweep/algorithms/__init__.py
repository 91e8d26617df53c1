"""The algorithms that a configuration may name: all that are described."""

from __future__ import annotations

from dpfl_theory import algorithms as _algorithms
from dpfl_theory.sweep.algorithms.base import Certified, Hyper, Privacy
from dpfl_theory.sweep.algorithms.described import model

__all__ = ["Certified", "Hyper", "Privacy", "algorithms"]


def algorithms() -> dict[str, type[Hyper]]:
    """All algorithms by name.

    >>> sorted(algorithms())[:3]
    ['dp-clip21', 'dp-fedavg', 'dp-fedavg-record']
    """
    return {name: model(kind) for name, kind in _algorithms.algorithms().items()}  # type: ignore[arg-type]
