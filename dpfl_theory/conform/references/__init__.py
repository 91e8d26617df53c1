"""The reference algorithms for comparisons, found by a scan of the modules, each with ``REFERENCES``."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from dpfl_theory.conform.base import Reference

__all__ = ["references"]


@cache
def references() -> dict[str, type[Reference]]:
    """All references by name.

    >>> "dp-fedavg" in references(), "scaffold" in references()
    (True, True)
    """
    found = {}
    for info in pkgutil.iter_modules(__path__):
        for kind in getattr(importlib.import_module(f"{__name__}.{info.name}"), "REFERENCES", ()):
            found[kind.name] = kind
    return dict(sorted(found.items()))
