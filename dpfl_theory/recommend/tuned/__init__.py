"""The private algorithms whose hyper-parameters a search can choose, found by a scan of the modules, each with
``TUNED``."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from dpfl_theory.descriptions import algorithms
from dpfl_theory.recommend.tuned.base import Axis, Budget, Tuned
from dpfl_theory.recommend.tuned.described import space

__all__ = ["Axis", "Budget", "Tuned", "tuned"]


def tuned() -> dict[str, type[Tuned]]:
    """All of them by the algorithm's name.

    >>> "dp-fedavg" in tuned()
    True
    """
    described = {name: space(one) for name, one in algorithms().items() if one.mechanism() is not None}
    return dict(sorted({**_own(), **described}.items()))


@cache
def _own() -> dict[str, type[Tuned]]:
    found: dict[str, type[Tuned]] = {}
    for info in pkgutil.iter_modules(__path__):
        kinds = getattr(importlib.import_module(f"{__name__}.{info.name}"), "TUNED", ())
        found |= {kind.name: kind for kind in kinds}
    return found
