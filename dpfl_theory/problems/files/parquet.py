"""Parquet files."""

from __future__ import annotations

import os
from pathlib import Path

from dpfl_theory.errors import InputError
from dpfl_theory.problems.files._records import Records, short
from dpfl_theory.problems.files._table import records

__all__ = ["ENDINGS", "read"]

ENDINGS = (".parquet", ".pq")


def read(path: Path, label: str | None, client: str | None) -> Records:
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
    return records(path, table, label, client)
