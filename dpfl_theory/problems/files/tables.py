"""CSV and Parquet files: tables with named columns, one of labels, possibly one of clients, all others features."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from dpfl_theory.errors import InputError, unknown_name
from dpfl_theory.problems.files._records import Records, is_number, numbers, short

_LABELS = ("label", "y")


def _records(path: Path, table: Any, label: str | None, client: str | None) -> Records:
    """The records of an Arrow table.

    Raises InputError for a column that is missing or occurs twice, is not numeric, or has an empty cell.
    """
    names = list(table.column_names)
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise InputError(f"column {twice[0]!r} occurs {names.count(twice[0])} times in {str(path)!r}: rename one")
    if not table.num_rows:
        raise InputError(f"data file {str(path)!r} has no records: give at least one row below the names")
    for given in (label, client):
        if given is not None and given not in names:
            raise unknown_name(f"column in {str(path)!r}:", given, names)
    client = "client" if client is None and "client" in names and label != "client" else client
    left = [n for n in names if n != client]
    label = label or next((n for n in _LABELS if n in left), left[-1] if left else None)
    features = tuple(n for n in left if n != label)
    if label is None or label == client or not features:
        raise InputError(
            f"data file {str(path)!r} has the columns {', '.join(names)}: add at least one feature to "
            "the labels and clients"
        )
    x = np.column_stack([_feature(path, table, name) for name in features])
    clients = None if client is None else _whole(path, table, client)
    return Records(path.name.split(".")[0], numbers(path, x, features), _whole(path, table, label), clients, features)


def _whole(path: Path, table: Any, name: str) -> Any:
    """A column of labels or clients, numbers or text, without empty cells."""
    import pyarrow as pa

    column = table.column(name)
    _full(path, column, name)
    if pa.types.is_binary(column.type) or pa.types.is_nested(column.type):
        shown = column[0].as_py()
        raise InputError(
            f"column {name!r}, record 1 of {str(path)!r} is {str(shown)[:40]!r}, in a column of {column.type}: give "
            "numbers, or text in UTF-8"
        )
    found = np.asarray(column.to_numpy())
    return found.astype(str) if found.dtype.kind == "O" else found


def _feature(path: Path, table: Any, name: str) -> Any:
    import pyarrow as pa

    column = table.column(name)
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        cells = [(i, v) for i, v in enumerate(column.to_pylist()) if v is not None]
        row, shown = next((cell for cell in cells if not is_number(cell[1])), (cells or [(0, None)])[0])
        raise InputError(
            f"column {name!r}, record {row + 1} of {str(path)!r} is {shown!r}, in a column of {kind}: give real "
            "numbers (one column of 0 and 1 for each category), or leave the column out"
        )
    _full(path, column, name)
    found = np.asarray(column.to_numpy())
    if found.dtype.kind in "iu":
        numbers(path, found.reshape(-1, 1), [name])
    return found.astype(np.float64)


def _full(path: Path, column: Any, name: str) -> None:
    if column.null_count:
        row = next(i for i, missing in enumerate(column.is_null().to_pylist()) if missing)
        raise InputError(f"column {name!r}, record {row + 1} of {str(path)!r} is empty: fill it in or leave it out")


def read_csv(path: Path, label: str | None, client: str | None) -> Records:
    """The records of a CSV file (commas; tabs in ``.tsv``), plain or compressed by gzip."""
    import pyarrow as pa
    import pyarrow.csv as csv

    tabs = path.name.lower().removesuffix(".gz").endswith(".tsv")
    try:
        source = pa.OSFile(os.fsencode(path))  # a name that is not UTF-8 is a name too
        source = pa.CompressedInputStream(source, "gzip") if path.name.lower().endswith(".gz") else source
        table = csv.read_csv(source, parse_options=csv.ParseOptions(delimiter="\t" if tabs else ","))
        table.validate(full=True)
        names = table.column_names  # decoded here
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"data file {str(path)!r} cannot be read as CSV ({short(error)}): write the columns' names in the first "
            "line and one record in each line below"
        ) from None
    if all(is_number(name) for name in names):
        raise InputError(f"data file {str(path)!r} starts with numbers: write the columns' names in the first line")
    return _records(path, table, label, client)


def read_parquet(path: Path, label: str | None, client: str | None) -> Records:
    """The records of a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        table = parquet.ParquetFile(pa.OSFile(os.fsencode(path))).read()
        table.validate(full=True)  # texts are decoded here, and the names below
        len(table.column_names)
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        message = f"data file {str(path)!r} cannot be read as Parquet ({short(error)}): write it again"
        raise InputError(message) from None
    return _records(path, table, label, client)
