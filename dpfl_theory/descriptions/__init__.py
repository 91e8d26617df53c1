"""The algorithms, each described once: parameters, named parts of the round, privacy, known faults in code."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from dpfl_theory.core.algorithm import Algorithm
from dpfl_theory.errors import InputError, format_error, unknown_name
from dpfl_theory.runtime.python_files import module_from_file

__all__ = ["algorithms", "file_of", "from_handle", "get", "handle", "register", "resolved"]

_REGISTERED: dict[str, type[Algorithm]] = {}
_FILES: dict[str, Path] = {}
"""The files of registered algorithms."""


@cache
def _own() -> dict[str, type[Algorithm]]:
    from dpfl_theory.descriptions import error_feedback, fedavg, record_level, scaffnew, scaffold, two_step_sizes

    modules = (fedavg, two_step_sizes, scaffnew, scaffold, record_level, error_feedback)
    return {one.name: one for module in modules for one in module.ALGORITHMS}


def algorithms() -> dict[str, type[Algorithm]]:
    """All algorithms by name.

    >>> sorted(algorithms())[:2]
    ['dp-clip21', 'dp-fedavg']
    """
    return dict(sorted({**_own(), **_REGISTERED}.items()))


def get(name: str) -> type[Algorithm]:
    """The algorithm of this name. Raises InputError for an unknown name, with the nearest one.

    >>> get("dp-fedavg").protects
    'client'
    """
    known = algorithms()
    if name not in known:
        raise unknown_name("algorithm", name, known)
    return known[name]


def register(algorithm: type[Algorithm]) -> type[Algorithm]:
    """Add an algorithm, for use in `simulate`, sweeps, `conform` and privacy; a class decorator.

    Raises InputError where the name is empty or taken by another algorithm of this package.
    """
    if not algorithm.name or algorithm.name in _own():
        raise InputError(f"the algorithm's name is {algorithm.name!r}: give a new one, as the class attribute `name`")
    _REGISTERED[algorithm.name] = algorithm
    return algorithm


def resolved(text: str) -> str:
    """The name of an algorithm that a user names; ``FILE.py:NAME`` runs the file, which registers it.

    Raises InputError where the file cannot be run, or registers no algorithm of this name.

    >>> resolved("dp-fedavg")
    'dp-fedavg'
    """
    file, _, name = text.rpartition(":")
    if not file.endswith(".py"):
        return text
    before = dict(_REGISTERED)
    try:
        module_from_file(Path(file))
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{file!r} cannot be run: {format_error(error)}") from error
    new = sorted(n for n, one in _REGISTERED.items() if before.get(n) is not one)
    if name not in new:
        has = f"it registers {', '.join(new)}" if new else "it registers none (`dpfl_theory.descriptions.register`)"
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
