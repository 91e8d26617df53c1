"""The private algorithms whose hyper-parameters a search can choose, found by a scan of the modules, each with
``TUNED``."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from dpfl_theory.recommend.tuned.base import Axis, Budget, Tuned

__all__ = ["Axis", "Budget", "Tuned", "tuned"]


@cache
def tuned() -> dict[str, type[Tuned]]:
    """All of them by the algorithm's name.

    >>> "dp-fedavg" in tuned()
    True
    """
    found: dict[str, type[Tuned]] = {}
    for info in pkgutil.iter_modules(__path__):
        if info.name != "base":
            found |= {kind.name: kind for kind in importlib.import_module(f"{__name__}.{info.name}").TUNED}
    return dict(sorted(found.items()))
