"""Conformance test: compare the implementation of a round with an algorithm as its paper prints it.

The package can be called: ``dpfl_theory.conform(function, "dp-fedavg")`` is `run.conform` with a time limit.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from dpfl_theory.conform.result import Conformance, Finding

__all__ = ["Conformance", "Finding"]


class _Callable(ModuleType):
    """This package, which can be called."""

    def __call__(
        self, function: Callable[..., Any], as_: str, *, limit: float | None = None, **keywords: Any
    ) -> Conformance:
        """`run.conform` with the same arguments.

        limit: seconds after which the test is ended, if the function is a Python function and this is the main thread.
        By default there is no limit. Raises `dpfl_theory.runtime.time_limits.TimeoutExceeded` at the limit.
        """
        from contextlib import nullcontext

        from dpfl_theory.conform.run import conform
        from dpfl_theory.errors import InputError
        from dpfl_theory.runtime.time_limits import TimeoutExceeded, at_most

        if limit is not None and not 0.0 < limit < float("inf"):
            raise InputError(f"`limit` is {limit!r}: give a positive number of seconds, or leave it out")
        try:
            with nullcontext() if limit is None else at_most(limit):
                return conform(function, as_, **keywords)
        except TimeoutExceeded as error:
            name = getattr(function, "__qualname__", type(function).__name__)
            raise TimeoutExceeded(
                f"the test of {name} was ended: {error}; decrease `runs` or increase `limit`"
            ) from error


sys.modules[__name__].__class__ = _Callable
