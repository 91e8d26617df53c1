"""The algorithms that a configuration may name, found by scan: one module for each kind, with ``ALGORITHMS``."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from dpfl_theory import descriptions as _descriptions
from dpfl_theory.sweep.algorithms.base import Certified, Hyper, Privacy
from dpfl_theory.sweep.algorithms.described import model

__all__ = ["Certified", "Hyper", "Privacy", "algorithms"]


def algorithms() -> dict[str, type[Hyper]]:
    """All algorithms by name.

    >>> sorted(algorithms())[:3]
    ['dp-clip21', 'dp-fedavg', 'dp-fedavg-record']
    """
    return dict(sorted({**_own(), **{name: model(kind) for name, kind in _descriptions.algorithms().items()}}.items()))


@cache
def _own() -> dict[str, type[Hyper]]:
    found: dict[str, type[Hyper]] = {}
    for info in pkgutil.iter_modules(__path__):
        for kind in getattr(importlib.import_module(f"{__name__}.{info.name}"), "ALGORITHMS", ()):
            (name,) = kind.model_fields["name"].annotation.__args__
            found[name] = kind
    return found
