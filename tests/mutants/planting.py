"""Planting of faults: in a copy of a module, or in the functions of the module itself."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import types
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

__all__ = ["mutated", "plant"]


def changed_source(module: str, old: str, new: str) -> tuple[types.ModuleType, str]:
    """A module of the package, and its source with every ``old`` replaced; a fault that no longer applies is an
    error."""
    original = importlib.import_module(f"dpfl_theory.{module}")
    source = Path(str(original.__file__)).read_text()
    assert old in source, f"{module} no longer contains {old!r}: bring the planted fault up to date"
    return original, source.replace(old, new)


def mutated(module: str, old: str, new: str, interpreted: bool = False) -> types.ModuleType:
    """A copy of a module with every ``old`` in its source replaced.

    interpreted: without Numba's decorators, since compiling each fault would take seconds.
    """
    original, changed = changed_source(module, old, new)
    assert not interpreted or "@kernel(" in changed
    if interpreted:
        changed = re.sub(r"@kernel\(.*\)\n", "", changed)
    copy = types.ModuleType(f"{original.__name__}_with_a_fault")
    sys.modules[copy.__name__] = copy  # dataclasses look their module up
    try:
        exec(compile(changed, copy.__name__, "exec"), copy.__dict__)
    finally:
        del sys.modules[copy.__name__]
    return copy


def plant(monkeypatch: pytest.MonkeyPatch, module: str, old: str, new: str) -> None:
    """Replace every ``old`` in the functions and methods of a module of the package in place.

    All modules that have imported them then run the fault. A replacement without effect is an error. Functions get the
    code of the changed source and keep their names, defaults and classes.
    """
    original, changed = changed_source(module, old, new)
    codes = dict(_codes(compile(changed, str(original.__file__), "exec")))
    planted = []
    for function in _functions(original):
        code = codes.get(function.__qualname__)
        if code is not None and _told(code) != _told(function.__code__):
            monkeypatch.setattr(function, "__code__", code)
            planted.append(function.__qualname__)
    assert planted, f"no function of {module} changes with {old!r}: plant this fault in another way"


def _codes(code: types.CodeType) -> Iterator[tuple[str, types.CodeType]]:
    """The functions of a compiled module and of its classes by their qualified names."""
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield inner.co_qualname, inner
            if not inner.co_flags & 2:  # the body of a class, which has no fast locals
                yield from _codes(inner)


def _functions(module: types.ModuleType) -> Iterator[types.FunctionType]:
    """The functions and methods that a module defines."""
    for value in vars(module).values():
        members = [value, *vars(value).values()] if isinstance(value, type) else [value]
        for member in members:
            found: Any = getattr(member, "__func__", member)
            found = found.fget if isinstance(found, property) else found
            found = inspect.unwrap(found.func if isinstance(found, cached_property) else found)
            if isinstance(found, types.FunctionType) and found.__module__ == module.__name__:
                yield found


def _told(code: types.CodeType) -> Any:
    """The behaviour of a function, independent of its place in the file."""
    inner = [_told(c) if isinstance(c, types.CodeType) else (type(c), c) for c in code.co_consts]
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, inner
