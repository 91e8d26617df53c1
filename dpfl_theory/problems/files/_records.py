"""The content of a file: features, labels and, where the file has them, clients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfl_theory.errors import InputError

NEARLY = 1e-12
"""A column that varies by less than this share of its largest number varies by rounding."""

_LARGEST = 1e100
"""Squares of features and products with parameters stay far from overflow below this."""
_WHOLE = 2**53
"""Whole numbers beyond this are not all doubles."""


@dataclass(frozen=True, eq=False)
class Records:
    """Records as they are in a file.

    name: the file's name without its ending;  x (N, d0): the features, a NumPy array or a SciPy CSR array;  y (N,):
    labels or targets, numbers or text;  clients (N,): the client of each record, or None;  features: the columns'
    names.

    >>> Records("two", np.eye(2), np.array(["a", "b"]), None, ("first", "second")).x.shape
    (2, 2)
    """

    name: str
    x: Any
    y: NDArray[Any]
    clients: NDArray[Any] | None
    features: tuple[str, ...]


def numbers(path: Path, x: Any, features: Sequence[str]) -> Any:
    """The features, a dense or CSR matrix, as doubles; InputError with the column and record (counted from 1) of the
    first value that cannot be one."""
    values = x if isinstance(x, np.ndarray) else x.data
    if values.dtype.kind not in "biuf":
        if values.dtype.kind != "c":
            raise InputError(f"the features in {str(path)!r} are values of type {values.dtype}: give real numbers")
        wrong, why = values.imag != 0.0, "a complex number"
        wrong = wrong if wrong.any() else np.ones(wrong.shape, dtype=bool)
    elif values.dtype.kind in "iu":
        wrong, why = (np.abs(values.astype(np.longdouble)) > _WHOLE), "a whole number that loses digits as a double"
    else:
        values = np.asarray(values, dtype=np.float64)
        wrong, why = ~(np.abs(values) <= _LARGEST), f"not a finite number of at most {_LARGEST:g}"
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        value = values.ravel()[place]
        if isinstance(x, np.ndarray):
            row, column = divmod(place, x.shape[1])
        else:
            row, column = int(np.searchsorted(x.indptr, place, side="right")) - 1, int(x.indices[place])
        raise InputError(
            f"column {features[column]!r}, record {row + 1} of {str(path)!r} is {value}: {why}; correct it or leave "
            "the column out"
        )
    if not isinstance(x, np.ndarray):
        return x.astype(np.float64)
    x = np.ascontiguousarray(x, dtype=np.float64)
    _keep_their_digits(path, x, features)
    return x


def _keep_their_digits(path: Path, x: Any, features: Sequence[str]) -> None:
    """Raises InputError for a column that varies too little relative to its size: after its mean is subtracted, only
    rounding is left. A column that does not vary at all loses nothing."""
    if not x.size:
        return
    varies, size = np.ptp(x, axis=0), np.max(np.abs(x), axis=0)
    lossy = (varies > 0.0) & (varies <= NEARLY * size)
    if lossy.any():
        column = int(np.argmax(lossy))
        row = int(np.argmax(x[:, column] != x[0, column]))
        raise InputError(
            f"column {features[column]!r}, record {row + 1} of {str(path)!r} is {x[row, column]:.17g}, and all others "
            f"are within {varies[column]:.2g} of it, too little for double precision: subtract a "
            "constant from the column, or leave it out"
        )


def short(error: BaseException) -> str:
    """The first line of a library's message."""
    return (str(error).splitlines() or [type(error).__name__])[0][:160].rstrip(".")


def is_number(value: Any) -> bool:
    """Whether a cell, perhaps a text, is a real number."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
