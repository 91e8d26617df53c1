"""Records from the user's own files, by the name's ending: CSV, Parquet, NPZ, IDX, and LIBSVM text for all others.

The client of each record is part of the file: a column ``client`` of a table, the array ``client`` of an NPZ file,
``qid`` in LIBSVM text.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

from dpfl_theory.errors import InputError
from dpfl_theory.problems.files._records import Records

__all__ = ["Records", "endings", "read"]

Reader = Callable[[Path, str | None, str | None], Records]


@cache
def _readers() -> dict[str, Reader]:
    """Each format's reader by the endings of its files' names."""
    from dpfl_theory.problems.files import arrays, libsvm, tables

    return {
        **dict.fromkeys((".csv", ".tsv"), tables.read_csv),
        **dict.fromkeys((".parquet", ".pq"), tables.read_parquet),
        **dict.fromkeys((".libsvm", ".svm", ".svmlight"), libsvm.read),
        **dict.fromkeys(("-ubyte", ".idx"), arrays.read_idx),
        ".npz": arrays.read_npz,
    }


def endings() -> tuple[str, ...]:
    """The endings that determine a file's format.

    >>> ".csv" in endings()
    True
    """
    return tuple(sorted(_readers()))


def read(path: str | Path, label: str | None = None, client: str | None = None) -> Records:
    """The records of a file, unchanged.

    label, client: the names of these columns in a CSV or Parquet file, or of these arrays in an NPZ file. Without them
    ``label``, ``y`` or the last column holds the labels, and ``client``, if it exists, the clients.

    Raises InputError, with column and row, for a file or a column that is missing, and for a malformed file. It is also
    raised for a value that is not a finite number or loses digits as a double."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"data file {str(path)!r} is a directory: give the path of a file in it")
    if not path.is_file():
        raise InputError(f"data file {str(path)!r} does not exist: check the path")
    name = path.name.lower().removesuffix(".gz")
    known = _readers()
    reader = next((known[ending] for ending in known if name.endswith(ending)), known[".libsvm"])
    return reader(path, label, client)
