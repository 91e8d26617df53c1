"""Heavy packages that load when first used: ``from dpfl_theory.lazy import sympy as sp`` at the top of a module.

A catalogue of statements is listed, searched and shown without algebra; what evaluates a formula loads it then. So it
is with the privacy of an algorithm, whose options a shell asks for whenever it completes a word.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

__all__ = ["interpolate", "mpmath", "optimize", "stats", "sympy"]


class _Lazy:
    """A package's names; the first that is asked for imports it."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # who only looks at the object
            raise AttributeError(name)
        package = self._load()
        vars(self).update(vars(package))  # so that the next one is found without this
        return getattr(package, name)


def _package(name: str) -> Any:
    return _Lazy(lambda: importlib.import_module(name))


sympy: Any = _package("sympy")
mpmath: Any = _package("mpmath")
interpolate: Any = _package("scipy.interpolate")
optimize: Any = _package("scipy.optimize")
stats: Any = _package("scipy.stats")
