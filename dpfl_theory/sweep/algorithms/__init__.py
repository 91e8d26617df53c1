"""The algorithms that a configuration may name, found by scan: one module for each kind, with ``ALGORITHMS``."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from dpfl_theory.sweep.algorithms.base import Certified, Hyper, Privacy

__all__ = ["Certified", "Hyper", "Privacy", "algorithms"]


@cache
def algorithms() -> dict[str, type[Hyper]]:
    """All algorithms by name.

    >>> sorted(algorithms())[:3]
    ['dp-clip21', 'dp-fedavg', 'dp-fedavg-record']
    """
    found: dict[str, type[Hyper]] = {}
    for info in pkgutil.iter_modules(__path__):
        for kind in getattr(importlib.import_module(f"{__name__}.{info.name}"), "ALGORITHMS", ()):
            (name,) = kind.model_fields["name"].annotation.__args__
            found[name] = kind
    return dict(sorted(found.items()))
