"""What own theorems and configurations are put together from: problem families, algorithms, observables, hypotheses;
and the methods, papers and validations that there are.

Each module here holds ``KIND``, a `Kind`, whose items are found where they are defined: there is no list to keep.
Imports nothing heavy before items are asked for.
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
