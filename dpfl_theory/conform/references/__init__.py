"""The reference algorithms for comparisons, found by a scan of the modules, each with ``REFERENCES``."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from dpfl_theory.conform.base import Reference
from dpfl_theory.conform.described import reference
from dpfl_theory.descriptions import algorithms

__all__ = ["references"]


_described = cache(reference)


def references() -> dict[str, type[Reference]]:
    """All references by name.

    >>> "dp-fedavg" in references(), "scaffold" in references()
    (True, True)
    """
    return dict(sorted({**_own(), **{name: _described(one) for name, one in algorithms().items()}}.items()))


@cache
def _own() -> dict[str, type[Reference]]:
    found = {}
    for info in pkgutil.iter_modules(__path__):
        for kind in getattr(importlib.import_module(f"{__name__}.{info.name}"), "REFERENCES", ()):
            found[kind.name] = kind
    return found
