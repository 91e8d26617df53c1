"""Conformance test: compare the implementation of a round with an algorithm as its paper prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpfl_theory.conform.result import Conformance, Finding

__all__ = ["Conformance", "Finding"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dpfl_theory.conform import result

    return getattr(result, name)
