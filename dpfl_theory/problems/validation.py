"""Checks of plain parameters; every failure is one sentence that names the value, the cause and the remedy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from dpfl_theory.errors import InputError
from dpfl_theory.problems.base import Array

__all__ = ["choice", "count", "fraction", "matrix", "nonnegative", "positive", "sparse_matrix", "vector"]


def count(name: str, value: Any, minimum: int = 1) -> int:
    """A whole number of at least ``minimum``.

    >>> count("clients", 3)
    3
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < minimum:
        raise InputError(f"{name} is {value!r}: a whole number of at least {minimum} is needed")
    return int(value)


def _number(name: str, value: Any, wanted: str) -> float:
    if isinstance(value, (bool, str)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InputError(f"{name} is {value!r}: {wanted} is needed")
    return float(value)


def nonnegative(name: str, value: Any) -> float:
    """A finite number >= 0."""
    number = _number(name, value, "a finite number that is zero or more")
    if not (math.isfinite(number) and number >= 0.0):
        raise InputError(f"{name} is {value!r}: a finite number that is zero or more is needed")
    return number


def positive(name: str, value: Any) -> float:
    """A finite number > 0."""
    number = _number(name, value, "a finite number above zero")
    if not (math.isfinite(number) and number > 0.0):
        raise InputError(f"{name} is {value!r}: a finite number above zero is needed")
    return number


def fraction(name: str, value: Any) -> float:
    """A number in [0, 1]."""
    number = _number(name, value, "a number between 0 and 1")
    if not 0.0 <= number <= 1.0:
        raise InputError(f"{name} is {value!r}: a number between 0 and 1 is needed")
    return number


def choice(name: str, value: Any, known: Sequence[str]) -> str:
    """One of a few names."""
    if value not in known:
        raise InputError(f"{name} is {value!r}: choose one of {', '.join(known)}")
    return str(value)


def _finite(name: str, value: Any, ndim: int) -> Array:
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
    array = _finite(name, value, 1)
    if length is not None and len(array) != length:
        raise InputError(f"{name} has {len(array)} entries: {length} are needed")
    return array


def matrix(name: str, value: Any) -> Array:
    """Finite numbers with two dimensions."""
    return _finite(name, value, 2)


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
