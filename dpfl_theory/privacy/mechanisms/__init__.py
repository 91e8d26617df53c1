"""The mechanism of each algorithm, found by scan: a new one is one new module with ``MECHANISMS``."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from dpfl_theory.errors import unknown_name
from dpfl_theory.privacy.mechanisms.base import Mechanism

__all__ = ["Mechanism", "get", "mechanisms"]


@cache
def mechanisms() -> dict[str, type[Mechanism]]:
    """Every described algorithm by name.

    >>> sorted(mechanisms())[:3]
    ['dp-clip21', 'dp-fedavg', 'dp-fedavg-record']
    """
    found: dict[str, type[Mechanism]] = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name != "base":
            for kind in importlib.import_module(f"{__name__}.{module.name}").MECHANISMS:
                found[kind.name] = kind
    return dict(sorted(found.items()))


def get(name: str) -> type[Mechanism]:
    """The mechanism of one algorithm by name; InputError for an unknown one, with the nearest name.

    >>> get("dp-scaffnew").protects
    'client'
    """
    known = mechanisms()
    if name not in known:
        raise unknown_name("algorithm", name, known)
    return known[name]
