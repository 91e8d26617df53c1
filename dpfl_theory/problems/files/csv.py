"""CSV files with a line of names."""

from __future__ import annotations

import os
from pathlib import Path

from dpfl_theory.errors import InputError
from dpfl_theory.problems.files._records import Records, is_number, short
from dpfl_theory.problems.files._table import records

__all__ = ["ENDINGS", "read"]

ENDINGS = (".csv", ".tsv")


def read(path: Path, label: str | None, client: str | None) -> Records:
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
    return records(path, table, label, client)
