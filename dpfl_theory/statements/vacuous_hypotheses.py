"""Whether a hypothesis's test can fail: a test that returns only None excludes no instance."""

from __future__ import annotations

import dis
import types
from collections.abc import Callable
from typing import Any

__all__ = ["never_excludes"]


def never_excludes(test: Callable[..., Any]) -> bool:
    """Whether every return of a Python function gives None, for example because a return was forgotten. False where
    that is not known.

    >>> never_excludes(lambda problem, values: None)
    True
    >>> never_excludes(lambda problem, values: None if values["eta"] <= 1 else "eta exceeds 1")
    False
    """
    code = getattr(test, "__code__", None)
    if not isinstance(code, types.CodeType) or code.co_flags & (0x20 | 0x80 | 0x200):  # generators, coroutines
        return False
    before, returns = None, []
    for step in dis.get_instructions(code):
        if step.opname == "RETURN_CONST":
            returns.append(step.argval is None)
        elif step.opname == "RETURN_VALUE":
            returns.append(before is not None and before.opname == "LOAD_CONST" and before.argval is None)
        before = step
    return all(returns)
