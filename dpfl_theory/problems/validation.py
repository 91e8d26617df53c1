"""Checks of plain parameters; every failure is one sentence that names the value, the cause and the remedy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from dpfl_theory.errors import InputError
from dpfl_theory.problems.base import Array


def count(name: str, value: Any, minimum: int = 1) -> int:
    """A whole number of at least ``minimum``.

    >>> count("clients", 3)
    3
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < minimum:
        raise InputError(f"{name} is {value!r}: a whole number of at least {minimum} is needed")
    return int(value)


def _number(name: str, value: Any, wanted: str, fits: Callable[[float], bool]) -> float:
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not (number and fits(float(value))):
        raise InputError(f"{name} is {value!r}: {wanted} is needed")
    return float(value)


def nonnegative(name: str, value: Any) -> float:
    """A finite number >= 0."""
    return _number(name, value, "a finite number that is zero or more", lambda x: math.isfinite(x) and x >= 0.0)


def positive(name: str, value: Any) -> float:
    """A finite number > 0."""
    return _number(name, value, "a finite number above zero", lambda x: math.isfinite(x) and x > 0.0)


def fraction(name: str, value: Any) -> float:
    """A number in [0, 1]."""
    return _number(name, value, "a number between 0 and 1", lambda x: 0.0 <= x <= 1.0)


def choice(name: str, value: Any, known: Sequence[str]) -> str:
    """One of a few names."""
    if value not in known:
        raise InputError(f"{name} is {value!r}: choose one of {', '.join(known)}")
    return str(value)


def finite_array(name: str, value: Any, ndim: int) -> Array:
    """Finite numbers with this number of dimensions."""
    try:
        array = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} contains a value that is not a number: give {ndim}-dimensional numeric data"
        ) from None
    if np.ndim(value) != ndim:
        raise InputError(f"{name} has {np.ndim(value)} dimension(s): {ndim} are needed")
    if array.size == 0:
        raise InputError(f"{name} has shape {array.shape}: give at least one number")
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        place = tuple(int(k) for k in bad[0])
        raise InputError(f"{name} is {array[place]} at {list(place)}: remove or replace the values that are not finite")
    return array


def vector(name: str, value: Any, length: int | None = None) -> Array:
    """Finite numbers, shape (length,)."""
    array = finite_array(name, value, 1)
    if length is not None and len(array) != length:
        raise InputError(f"{name} has {len(array)} entries: {length} are needed")
    return array


def sparse_matrix(name: str, value: Any) -> Any:
    """Finite numbers in CSR, each place once and in order; a copy.

    >>> sparse_matrix("x", sparse.coo_array([[0.0, 2.0]])).indices.tolist()
    [1]
    """
    if value.ndim != 2 or 0 in value.shape or value.dtype.kind not in "biuf":
        raise InputError(f"{name} has shape {value.shape} and type {value.dtype}: give a matrix of real numbers")
    found = sparse.csr_array(value, dtype=np.float64, copy=True)
    found.sum_duplicates()
    bad = np.flatnonzero(~np.isfinite(found.data))
    if len(bad):
        row = int(np.searchsorted(found.indptr, bad[0], side="right")) - 1
        raise InputError(
            f"{name} is {found.data[bad[0]]} at {[row, int(found.indices[bad[0]])]}: remove or replace the values that "
            "are not finite"
        )
    return found
