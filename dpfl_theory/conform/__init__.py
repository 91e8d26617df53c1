"""Conformance: one's own implementation of a round against an algorithm as its paper prints it.

The package can be called: ``dpfl_theory.conform(function, "dp-fedavg")`` is `run.conform`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from dpfl_theory.conform.result import Conformance, Finding

__all__ = ["Conformance", "Finding"]


class _Callable(ModuleType):
    """This package, which can be called."""

    def __call__(self, *arguments: Any, **keywords: Any) -> Conformance:
        from dpfl_theory.conform.run import conform

        return conform(*arguments, **keywords)


sys.modules[__name__].__class__ = _Callable
