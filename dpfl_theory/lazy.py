"""Heavy packages that load when first used: ``from dpfl_theory.lazy import sympy as sp`` at the top of a module.

A catalogue of statements is listed, searched and shown without algebra; what evaluates a formula loads it then.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["mpmath", "sympy"]


class _Lazy:
    """A package's names, looked up in the package, which the first of them imports."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # who only looks at the object
            raise AttributeError(name)
        package = import_module(self._name)
        vars(self).update(vars(package))  # so that the next one is found without this
        return getattr(package, name)

    def __repr__(self) -> str:
        return f"<{self._name}, loaded when first used>"


sympy: Any = _Lazy("sympy")
mpmath: Any = _Lazy("mpmath")
