"""Results of a sweep: one row for each cell, as Parquet or CSV, with the configuration and versions."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpfl_theory.errors import InputError
from dpfl_theory.notebook import Tabular
from dpfl_theory.runtime.atomic_files import write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = (".csv", ".parquet")
META = "dpfl_theory"
Row = Mapping[str, Any]
_FIRST = ("cell", "status", "cause", "problem", "algorithm")


@dataclass(frozen=True)
class Table(Tabular):
    """The rows of a sweep, their provenance (configuration, versions, seed), and the exit of the command."""

    rows: list[dict[str, Any]]
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def failed(self) -> list[dict[str, Any]]:
        """The rows of cells that failed."""
        return [row for row in self.rows if row["status"] != "done"]

    @property
    def columns(self) -> list[str]:
        """The names of the columns; series have a separate table."""
        names = list(dict.fromkeys(name for row in self.rows for name in row if name != "series"))
        return [n for n in _FIRST if n in names] + [n for n in names if n not in _FIRST]

    def records(self) -> list[dict[str, Any]]:
        """A row for each cell, without series."""
        return [{name: row.get(name) for name in self.columns} for row in self.rows]

    def plot(self, x: str = "", y: str = "suboptimality", hue: str | None = None) -> Figure:
        """Plot means over the cells at each x (`dpfl_theory.sweep.plot.draw`). x: a column; by default the first
        hyper-parameter that varies. Raises InputError for a column that does not exist."""
        from dpfl_theory.sweep.plot import draw

        varied = [name for name in self.columns if name not in _FIRST and len(set(map(str, self.column(name)))) > 1]
        return draw(self, x or next(iter(varied), "cell"), y, hue)

    def column(self, name: str) -> list[Any]:
        """A column's values, None where a row has none."""
        return [row.get(name) for row in self.rows]

    def by_round(self) -> list[dict[str, Any]]:
        """One row for each cell and observed round, where series were requested."""
        found: list[dict[str, Any]] = []
        every = int(self.metadata.get("every", 1))
        for row in self.rows:
            series = row.get("series") or {}
            length = max((len(s["mean"]) for s in series.values()), default=0)
            for k in range(length):
                line: dict[str, Any] = {"cell": row["cell"], "round": min(k * every, row["rounds"])}
                for name, s in series.items():
                    if k < len(s["mean"]):
                        line |= {name: s["mean"][k], f"{name}_error": s["error"][k]}
                found.append(line)
        return found

    def write(self, path: Path) -> list[Path]:
        """Write the rows and, where available, the rounds (``NAME-rounds``), in the format of the file's suffix."""
        written = [_written(path, self.rows, self.columns, self.metadata)]
        if lines := self.by_round():
            names = list(dict.fromkeys(name for line in lines for name in line))
            written.append(_written(of_rounds(path), lines, names, self.metadata))
        return written


_MOST = 2**64
"""Whole numbers below this one are seeds or counts; larger ones are read as floats."""


def of_rounds(path: Path) -> Path:
    """The path of the rounds that belong to a file of results.

    >>> of_rounds(Path("found.csv")).name
    'found-rounds.csv'
    """
    return path.with_stem(f"{path.stem}-rounds")


def checked(path: Path) -> Path:
    """The path, if its suffix is a known format of results."""
    if path.suffix not in ENDINGS:
        raise InputError(f"results go to a file that ends in {' or '.join(ENDINGS)}, not {path.name!r}: rename it")
    return path


def _written(path: Path, rows: Sequence[Row], names: Sequence[str], metadata: Mapping[str, Any]) -> Path:
    reported = json.dumps(metadata, sort_keys=True, ensure_ascii=False)
    if checked(path).suffix == ".csv":
        text = io.StringIO()
        text.write(f"# {META} {reported}\n")
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow(names)
        lines.writerows([[_shown(row.get(name)) for name in names] for row in rows])
        return write(path, text.getvalue())
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {name: _typed([row.get(name) for row in rows]) for name in names}
    table = pa.table(columns).replace_schema_metadata({META: reported})
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return write(path, buffer.getvalue())


def _typed(values: list[Any]) -> list[Any]:
    """Convert values to one type: integers and floats become floats, other mixed types become text."""
    kinds = {type(v) for v in values if v is not None}
    if kinds == {int, float}:
        return [None if v is None else float(v) for v in values]
    return values if len(kinds) <= 1 and list not in kinds else [None if v is None else _shown(v) for v in values]


def _shown(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value) if isinstance(value, (list, dict)) else value


def load(path: Path) -> Table:
    """Read a file that `Table.write` wrote. InputError for any other file."""
    try:
        if checked(path).suffix == ".csv":
            found = _of_csv(path)
        else:
            import pyarrow as pa
            import pyarrow.parquet as pq

            table = pq.read_table(pa.OSFile(os.fsencode(path)))
            known = (table.schema.metadata or {}).get(META.encode(), b"{}")
            found = Table(table.to_pylist(), json.loads(known))
        if not isinstance(found.metadata, dict):
            raise ValueError("its description of the sweep is not a table")
        return found
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror or error}; check the path") from None
    except (ValueError, csv.Error) as error:
        raise InputError(f"{str(path)!r} has no results of a sweep: {error}") from None


def _of_csv(path: Path) -> Table:
    text = path.read_text(encoding="utf-8")
    first, _, rest = text.partition("\n")
    if not first.startswith(f"# {META} "):
        raise ValueError("its first line does not describe a sweep")
    lines = list(csv.reader(io.StringIO(rest)))
    names = lines[0] if lines else []
    return Table([dict(_read(names, line)) for line in lines[1:]], json.loads(first.removeprefix(f"# {META} ")))


def _read(names: Sequence[str], line: Sequence[str]) -> Iterator[tuple[str, Any]]:
    if len(names) != len(line):
        raise ValueError(f"a row has {len(line)} values for {len(names)} columns")
    for name, text in zip(names, line):
        value: Any = text
        if text == "" and name not in ("cause",):
            value = None
        elif text in ("true", "false"):
            value = text == "true"
        else:
            for kind in (int, float):
                try:
                    value = kind(text)
                except ValueError:
                    continue
                if kind is float or abs(value) < _MOST:
                    break
        yield name, value
