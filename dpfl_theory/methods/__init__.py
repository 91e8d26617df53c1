"""Methods of checking, one module each, discovered by scan: their names, their costs and what they decide.

Each module here defines ``METHOD``, a `Method`, and imports nothing heavy. The module that ``METHOD.runner`` names runs
the checks. A new method is a new file, without any list to update.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from dpfl_theory.errors import unknown_name
from dpfl_theory.methods.base import Method

__all__ = ["Method", "get", "known"]


@cache
def known() -> Mapping[str, Method]:
    """All methods by name, cheap ones first.

    >>> list(known())
    ['algebra', 'exact', 'privacy', 'worst-case', 'monte-carlo']
    """
    modules = (importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__))
    found: list[Method] = [module.METHOD for module in modules if hasattr(module, "METHOD")]
    return {method.name: method for method in sorted(found, key=lambda method: (method.order, method.name))}


def get(name: str) -> Method:
    """The method of that name. Raises InputError for another name.

    >>> get("algebra").decisive
    False
    """
    if name not in known():
        raise unknown_name("method", name, known())
    return known()[name]
