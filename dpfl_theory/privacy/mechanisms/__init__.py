"""The mechanism of each algorithm, found by a scan of the modules: a new mechanism is a new module with
``MECHANISMS``."""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from functools import cache

from dpfl_theory.errors import InputError, unknown_name
from dpfl_theory.privacy.mechanisms.base import Mechanism

__all__ = ["RENAMED", "Mechanism", "get", "mechanisms", "renamed"]

RENAMED = {"dp-sgd": "dp-distributed-gd"}
"""Old names, which work for one more release, and their replacements."""

ELSEWHERE = {
    "dp-sgd-record": "it is dp-fedavg-record with `user_rate=1` and `local_steps=1`, whose epsilon is the same",
}
"""Names of other commands that are a special case here."""


@cache
def mechanisms() -> dict[str, type[Mechanism]]:
    """Every described algorithm by name.

    >>> sorted(mechanisms())[:3]
    ['dp-clip21', 'dp-distributed-gd', 'dp-fedavg']
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
    if name in RENAMED:
        warnings.warn(renamed(name), FutureWarning, stacklevel=2)
        name = RENAMED[name]
    if name in ELSEWHERE:
        raise InputError(f"unknown algorithm {name!r}: {ELSEWHERE[name]}")
    if name not in known:
        raise unknown_name("algorithm", name, known)
    return known[name]


def renamed(name: str) -> str:
    """The meaning of an old name, and the mechanism that its user may have meant."""
    new = RENAMED[name]
    return (
        f"{name!r} is now called {new!r}, and the next release removes the old name: every client takes part in "
        "every round, and nothing is sampled. DP-SGD on Poisson samples of records, as in Opacus and TensorFlow "
        "Privacy, is 'poisson-gaussian'."
    )
