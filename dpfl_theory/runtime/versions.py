"""The versions of Python and of the libraries that affect the numbers."""

from __future__ import annotations

import contextlib
import functools
import platform
from collections.abc import Iterable
from importlib import metadata

_NAMED = ("dpfl-theory", "numpy", "scipy", "numba", "sympy", "cvxpy", "clarabel", "PEPit", "dp-accounting")
"""Libraries whose versions evidence names."""
_BESIDE = ("mpmath", "scikit-learn", "pyarrow", "networkx")
"""Libraries that affect the numbers in addition to these."""


@functools.cache
def versions() -> dict[str, str]:
    """Versions of Python, this package and the packages that affect the numbers."""
    return {"python": platform.python_version(), **_installed(_NAMED)}


@functools.cache
def libraries(packages: tuple[str, ...] = ()) -> dict[str, str]:
    """Versions of all libraries that affect the numbers and of these packages, and the kind of machine."""
    machine = f"{platform.system()} {platform.machine()}"
    return {**versions(), "machine": machine, **_installed((*_BESIDE, *packages))}


def _installed(names: Iterable[str]) -> dict[str, str]:
    found = {}
    for name in names:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found
