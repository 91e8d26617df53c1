"""Algorithms from a user's Python file, and how another process gets them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from dpfl_theory.algorithms import REGISTERED, algorithms, get
from dpfl_theory.core.algorithm import Algorithm
from dpfl_theory.errors import InputError, format_error

_FILES: dict[str, Path] = {}
"""The files of registered algorithms."""


def resolved(text: str) -> str:
    """The name of an algorithm that a user names; ``FILE.py:NAME`` runs the file, which registers it.

    Raises InputError where the file cannot be run, or registers no algorithm of this name.

    >>> resolved("dp-fedavg")
    'dp-fedavg'
    """
    file, _, name = text.rpartition(":")
    if not file.endswith(".py"):
        return text
    before = dict(REGISTERED)
    try:
        module_from_file(Path(file))
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{file!r} cannot be run: {format_error(error)}") from error
    new = sorted(n for n, one in REGISTERED.items() if before.get(n) is not one)
    if name not in new:
        has = f"it registers {', '.join(new)}" if new else "it registers none (`dpfl_theory.algorithms.register`)"
        raise InputError(f"{file!r} has no algorithm {name!r}: {has}")
    _FILES[name] = Path(file).resolve()
    return name


def file_of(algorithm: type[Algorithm]) -> Path | None:
    """The file that registered an algorithm; None for those of this package and of importable modules."""
    return _FILES.get(algorithm.name)


def handle(algorithm: type[Algorithm]) -> str:
    """A text from which another process gets the algorithm (`from_handle`)."""
    file = file_of(algorithm)
    return algorithm.name if file is None else f"{file}:{algorithm.name}"


def from_handle(text: str) -> type[Algorithm]:
    """The algorithm of a handle."""
    name = text.rpartition(":")[2]
    return get(name if name in algorithms() else resolved(text))


def module_from_file(file: Path) -> Any:
    """Run a file as a module; its folder is on the import path meanwhile. Raises InputError for a missing file."""
    if not file.is_file():
        raise InputError(f"the file {str(file)!r} does not exist: give the path of a Python file")
    spec = importlib.util.spec_from_file_location(f"dpfl_theory_user_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise InputError(f"the file {str(file)!r} is not a Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # for code that looks up its own module, as dataclasses do
    sys.path.insert(0, str(file.resolve().parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(file.resolve().parent))
    return module
