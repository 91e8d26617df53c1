"""Heavy packages that load when first used: ``from dpfl_theory.lazy import sympy as sp`` at the top of a module.

A catalogue of statements is listed, searched and shown without algebra; what evaluates a formula loads it then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["mpmath", "sympy"]


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


def _sympy() -> Any:
    import sympy

    return sympy


def _mpmath() -> Any:
    import mpmath

    return mpmath


sympy: Any = _Lazy(_sympy)
mpmath: Any = _Lazy(_mpmath)
