"""Replace a module's code by changed code, in a process that has already imported the module.

Functions get the changed code, so that all references to them run it; classes keep their identity and get the
changed attributes; other values are set in the module and wherever they were imported by name.
"""

from __future__ import annotations

import functools
import sys
import types
from typing import Any

__all__ = ["plant"]

_KEPT = {
    *("__dict__", "__weakref__", "__module__", "__doc__", "__qualname__", "__slots__", "__abstractmethods__"),
    *("_abc_impl", "__setattr__", "__delattr__", "__subclasshook__"),
}
"""Attributes that a class keeps."""


def plant(name: str, source: str) -> None:
    """Replace the module's code by that of the ``source``. What the source raises when it is imported is raised."""
    module = sys.modules[name]
    new = types.ModuleType(name)
    new.__dict__.update({k: v for k, v in vars(module).items() if k.startswith("__") and k != "__builtins__"})
    exec(compile(source, str(module.__file__), "exec"), new.__dict__)
    for key, value in list(vars(new).items()):
        if key not in vars(module) or (key.startswith("__") and not isinstance(value, types.FunctionType)):
            continue
        old = vars(module)[key]
        if isinstance(value, type) and value.__module__ == name:
            _class(old, value)
        elif not _function(old, value) and not isinstance(value, types.ModuleType) and _own(value, name):
            _everywhere(name, key, old, _translated(module, value))
    _forget(name.rpartition(".")[0])


def _forget(package: str) -> None:
    """Clear the caches of the package's functions: what they keep, such as derived classes, is of the former code."""
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(f"{package}."):
            for value in list(vars(module).values()):
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()


def _translated(module: types.ModuleType, value: Any) -> Any:
    """A table of the module's classes and functions, with those that the process has had from the start."""

    def one(entry: Any) -> Any:
        if isinstance(entry, (type, types.FunctionType)) and entry.__module__ == module.__name__:
            return vars(module).get(entry.__name__, entry)
        return entry

    if type(value) is tuple:
        return tuple(map(one, value))
    if type(value) is dict:
        return {k: one(v) for k, v in value.items()}
    return value


def _own(value: Any, name: str) -> bool:
    """Whether a value is this module's, not one that it imports."""
    return getattr(value, "__module__", name) == name or not isinstance(value, (type, types.FunctionType))


def _everywhere(name: str, key: str, old: Any, value: Any) -> None:
    for other in list(sys.modules.values()):
        if getattr(other, "__dict__", {}).get(key, _KEPT) is old:
            other.__dict__[key] = value
    sys.modules[name].__dict__[key] = value


def _function(old: Any, new: Any) -> bool:
    """Whether these were functions, of which the old one has now the new one's code."""
    for peel in ("fget", "func", "__func__", "__wrapped__"):
        if isinstance(new, types.FunctionType) and peel != "__wrapped__":
            continue
        if hasattr(new, peel) and hasattr(old, peel) and not isinstance(new, type):
            if isinstance(old, functools._lru_cache_wrapper):
                old.cache_clear()
            return _function(getattr(old, peel), getattr(new, peel))
    if not isinstance(old, types.FunctionType) or not isinstance(new, types.FunctionType):
        return False
    if len(old.__code__.co_freevars) != len(new.__code__.co_freevars):
        return False
    old.__code__, old.__defaults__, old.__kwdefaults__ = new.__code__, new.__defaults__, new.__kwdefaults__
    return True


def _class(old: type, new: type) -> None:
    for key, value in vars(new).items():
        if key in _KEPT:
            continue
        before = vars(old).get(key)
        if isinstance(value, types.FunctionType) and value.__code__.co_filename == "<string>":
            setattr(old, key, value)  # made by dataclass, from the fields
        elif isinstance(value, (types.MemberDescriptorType, types.GetSetDescriptorType)):
            continue
        elif isinstance(value, type) and isinstance(before, type):
            _class(before, value)
        elif not _function(before, value):
            setattr(old, key, value)
