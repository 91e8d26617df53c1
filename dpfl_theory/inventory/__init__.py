"""Inventory of the package: the available building blocks of user theorems and configurations.

These are problem families, algorithms, observables, hypotheses, methods, papers and validations. Each module here
defines ``KIND``, a `Kind`, whose items are found where they are defined, without any list to update. Nothing heavy is
imported before items are requested.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from dpfl_theory.inventory.base import Item, Kind, Parameter

__all__ = ["Item", "Kind", "Parameter", "kinds"]


@cache
def kinds() -> Mapping[str, Kind]:
    """Every kind by its name.

    >>> "problems" in kinds(), kinds()["problems"].one
    (True, 'problem')
    """
    modules = (importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__))
    found = (module.KIND for module in modules if hasattr(module, "KIND"))
    return {kind.name: kind for kind in sorted(found, key=lambda kind: kind.name)}
