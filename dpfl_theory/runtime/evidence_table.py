"""The table of what is measured about statements, checks and validations: ``statements/evidence.jsonl``.

A row is one line of JSON: an id, and its value in each section that has one. Rows are sorted by id, so that another
value changes one line. The command

    python -m dpfl_theory.checks.record build/check.json

writes all sections. Who reads a section says what its values mean:

* ``power``: by statement, the errors that its checks would detect (`dpfl_theory.statements.power`);
* ``standard``: by statement, the checks that the standard profile leaves out (`dpfl_theory.checks.profiles`);
* ``numbers``: by entry of the statements' words, the values of its expressions (`dpfl_theory.statements.numbers`);
* ``seconds``: of each statement's long checks, by method and name, the expected duration on one core [s];
* ``mean_seconds``: of each method's other checks, their mean;
* ``validation_seconds``: of each validation, by profile. Shared work is in the number of the first script.

Only the order of work and forecasts depend on durations, so those of one machine serve all.

No id is taken from the table: the catalogue has the statements, and one without a row is measured by the next run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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


LONG_SECONDS = 0.75
"""A check that takes at least this long is recorded by name."""


def check_seconds(statement: str, method: str, name: str) -> float:
    """The expected duration of a check [s].

    >>> check_seconds("mine.own", "algebra", "units") < check_seconds("mine.own", "monte-carlo", "a run")
    True
    """
    named = section("seconds").get(statement, {}).get(method, {})
    return float(named.get(name, section("mean_seconds").get(method, LONG_SECONDS)))


def validation_seconds(names: Sequence[str], profile: str = "standard") -> float | None:
    """The expected duration of these scripts, one after the other in one process [s]; None where one is unknown.

    >>> validation_seconds(["nothing of the kind"]) is None
    True
    """
    known = [section("validation_seconds").get(name, {}).get(profile) for name in names]
    return None if None in known else float(sum(known))
