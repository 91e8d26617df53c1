"""The algorithms that hyper-parameters are recommended for, found by a scan of the modules, each with ``SETTINGS``."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from dpfl_theory.errors import unknown_name
from dpfl_theory.recommend.base import Setting

__all__ = ["get", "settings"]


@cache
def settings() -> dict[str, type[Setting]]:
    """The inputs of every algorithm, by the algorithm's name.

    >>> "dp-norm-ec" in settings()
    True
    """
    found: dict[str, type[Setting]] = {}
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_"):
            for kind in importlib.import_module(f"{__name__}.{module.name}").SETTINGS:
                found[kind.name] = kind
    return dict(sorted(found.items()))


def get(name: str) -> type[Setting]:
    """The inputs of one algorithm; InputError for an unknown one, with the nearest name.

    >>> get("dp-norm-ec").title
    'DP-alpha-NormEC'
    """
    known = settings()
    if name not in known:
        raise unknown_name("algorithm", name, known)
    return known[name]
