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


# Each name is written out where it is imported: what rests on a module is read from the text (`checks.imports`), and a
# computed name may mean any module.
sympy: Any = _Lazy(lambda: importlib.import_module("sympy"))
mpmath: Any = _Lazy(lambda: importlib.import_module("mpmath"))
interpolate: Any = _Lazy(lambda: importlib.import_module("scipy.interpolate"))
optimize: Any = _Lazy(lambda: importlib.import_module("scipy.optimize"))
stats: Any = _Lazy(lambda: importlib.import_module("scipy.stats"))
