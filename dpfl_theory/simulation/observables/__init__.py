"""Observables: the quantities that statements bound, streamed per round and replicate.

An observable maps a `Round` to one number for each replicate. It knows its unit and its formula. Where analysis gives
one, it has a range that it cannot leave while the server stays within a known distance of w* (`Reach`): rigorous
confidence limits depend on these ranges. Each module here holds ``OBSERVABLES``, a tuple; there is no list to maintain.

In the formulas ``u_i`` is client i's update, C the threshold, ``z_i = C/||u_i||`` and Delta_i = f_i(w*) - inf f_i. A
weight z_i times a quantity is 0 where the quantity is 0, and +inf where u_i = 0 and it is not.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from dpfl_theory.errors import unknown_name
from dpfl_theory.simulation.observables.base import Observable, Reach

__all__ = ["Observable", "Reach", "catalogue", "get"]


@cache
def catalogue() -> dict[str, Observable]:
    """All observables by name."""
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__))
    found = (getattr(importlib.import_module(f"{__name__}.{name}"), "OBSERVABLES", ()) for name in modules)
    return {o.name: o for some in found for o in some}


def get(observable: str | Observable) -> Observable:
    """The observable of that name; an `Observable` of the user's own is returned unchanged.

    >>> get("suboptimality").unit
    (1, 0)
    """
    if isinstance(observable, Observable):
        return observable
    known = catalogue()
    if observable not in known:
        raise unknown_name("observable", observable, known)
    return known[observable]
