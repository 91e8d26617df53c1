"""Lazy imports of heavy packages: ``from dpfl_theory.lazy import sympy as sp`` at the top of a module.

The catalogue is listed, searched and shown without computer algebra, which is loaded when a formula is evaluated. The
same holds for privacy accounting, whose options a shell requests whenever it completes a word.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


class _Lazy:
    """The names of a package; access to the first one imports it."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # introspection does not import the package
            raise AttributeError(name)
        package = self._load()
        vars(self).update(vars(package))  # later names are found without this method
        return getattr(package, name)


# Each name is written out where it is imported. Dependencies on a module are read from the text (`checks.imports`), and
# a computed name may mean any module.
sympy: Any = _Lazy(lambda: importlib.import_module("sympy"))
mpmath: Any = _Lazy(lambda: importlib.import_module("mpmath"))
numpy: Any = _Lazy(lambda: importlib.import_module("numpy"))
interpolate: Any = _Lazy(lambda: importlib.import_module("scipy.interpolate"))
optimize: Any = _Lazy(lambda: importlib.import_module("scipy.optimize"))
special: Any = _Lazy(lambda: importlib.import_module("scipy.special"))
stats: Any = _Lazy(lambda: importlib.import_module("scipy.stats"))
PEPit: Any = _Lazy(lambda: importlib.import_module("PEPit"))
