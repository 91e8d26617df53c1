"""The table of what is measured about statements, checks and validations: ``statements/evidence.jsonl``.

A row is one line of JSON: an id, and its value in each section that has one. Rows are sorted by id, so that another
value changes one line. The command

    python -m dpfl_theory.checks.record build/check.json

writes all sections. Who reads a section says what its values mean:

* ``power``: by statement, the errors that its checks would detect (`dpfl_theory.statements.power`);
* ``standard``: by statement, the checks that the standard profile leaves out (`dpfl_theory.checks.profiles`);
* ``numbers``: by entry of the statements' words, the values of its expressions (`dpfl_theory.statements.numbers`);
* ``seconds``, ``mean_seconds``, ``validation_seconds``: expected durations (`dpfl_theory.runtime.durations`).

No id is taken from the table: the catalogue has the statements, and one without a row is measured by the next run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from dpfl_theory.runtime.atomic_files import write as write_file

FILE = Path(__file__).parents[1] / "statements" / "evidence.jsonl"


@cache
def _rows(file: Path) -> Mapping[str, Mapping[str, Any]]:
    """The rows of a table by id; none where there is no file."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return {row.pop("id"): row for row in map(json.loads, lines)}


@cache
def _section(file: Path, name: str) -> Mapping[str, Any]:
    return {id_: row[name] for id_, row in _rows(file).items() if name in row}


def section(name: str) -> Mapping[str, Any]:
    """The values of a section, by id.

    >>> section("power")["das2022.lemma8"]["idle"]
    False
    """
    return _section(FILE, name)


def write(name: str, values: Mapping[str, Any]) -> None:
    """Replace a section as a whole. The other sections stay; a row without any value is removed."""
    rows = {id_: {key: value for key, value in row.items() if key != name} for id_, row in _rows(FILE).items()}
    for id_, value in values.items():
        rows.setdefault(id_, {})[name] = value
    table = ({"id": id_, **dict(sorted(row.items()))} for id_, row in sorted(rows.items()) if row)
    write_file(FILE, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in table))
    _rows.cache_clear()
    _section.cache_clear()
