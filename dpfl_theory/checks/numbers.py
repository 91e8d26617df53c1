"""Finds what the decimals of errata were read from, and writes `dpfl_theory/statements/numbers.json`.

    python -m dpfl_theory.checks.numbers reports/evidence/check.json [--verify]

reads the evidence of a check of the whole catalogue. A decimal's source is looked for in the evidence of its own
statement first, then in that of its siblings; in evidence that violates before other evidence; in results, which it
may round, before parameters, which it must equal. What is on record and still there is kept.
With ``--verify`` nothing is written: every source on record is compared with the evidence, and what moved is told.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import runpy
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from dpfl_theory import statements as catalogue
from dpfl_theory.output import write
from dpfl_theory.statements.model import Statement
from dpfl_theory.statements.numbers import FILE, Decimal, Key, Source, computed, decimals, given, prose, recorded

__all__ = ["moved", "open_decimals", "search", "values_of"]

RESULTS = ("ratio", "lhs", "rhs", "notes", "terms")
PARAMETERS = ("check", "instance")
"""The fields of evidence in which a decimal is looked for."""
INCIDENTAL = ("worst_function", "lane_seconds", "problem")
"""Notes whose numbers nobody would quote."""
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?:/\d+)?(?![\w])")

Found = Mapping[str, list[Mapping[str, Any]]]
"""Evidence as plain data, by statement."""


def _leaves(name: str, value: Any) -> Iterator[tuple[str, float]]:
    """The numbers within plain data, each with its place."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _leaves(f"{name}.{key}", part)
    elif isinstance(value, (list, tuple)):
        for i, part in enumerate(value):
            yield from _leaves(f"{name}[{i}]", part)
    elif isinstance(value, str):
        for i, match in enumerate(_NUMBER.finditer(value)):
            top, _, bottom = match.group(0).partition("/")
            with contextlib.suppress(OverflowError, ZeroDivisionError, ValueError):
                yield f"{name}#{i}", int(top) / int(bottom) if bottom else float(top)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield name, float(value)


def values_of(evidence: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The numbers of a piece of evidence, each with its field, results first."""
    for field in (*RESULTS, *PARAMETERS):
        value = evidence.get(field)
        if isinstance(value, Mapping):
            value = {name: part for name, part in value.items() if name not in INCIDENTAL}
        yield from _leaves(field, value)


def _family(statement: Statement) -> list[str]:
    """The statements in whose evidence the numbers of one are looked for: its own, what repairs it, its siblings."""
    ids = [statement.id]
    if statement.erratum is not None:
        ids.append(statement.erratum.repaired)
    if statement.remark is not None:
        ids += [statement.remark.shown_by, statement.remark.repaired]
    ids += [s.id for s in catalogue.all_statements() if s.id.startswith(f"{statement.id}.")]
    return list(dict.fromkeys(filter(None, ids)))


@cache
def _printed_by(paper: str, script: str) -> str:
    """What a counterexample's script prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        runpy.run_path(str(FILE.parent / paper / "counterexamples" / script), run_name="__main__")
    return out.getvalue()


def _is_result(field: str) -> bool:
    return re.split(r"[.\[#]", field)[0] in RESULTS


def search(statement: Statement, decimal: Decimal, evidence: Found) -> Source | None:
    """The first number of the evidence, or of the counterexample's script, that is what a decimal prints: an equal one,
    or else a result that is rounded to it."""
    pieces = [
        (id_, piece)
        for id_ in _family(statement)
        for piece in sorted(evidence.get(id_, ()), key=lambda piece: piece.get("verdict") != "violated")
        if piece["check"] != "units"
    ]
    for equal in (True, False):
        for id_, piece in pieces:
            for field, value in values_of(piece):
                same = abs(value) == abs(float(decimal.printed))
                if same if equal else decimal.agrees(value) and _is_result(field):
                    return Source(id_, f"{piece['method']}: {piece['check']}", field, value)
    if (e := statement.erratum) is not None:
        for field, value in _leaves("printed", _printed_by(e.cause.paper, e.cause.script)):
            if decimal.agrees(value):
                return Source(statement.id, e.cause.script, field, value)
    return None


def open_decimals() -> Iterator[tuple[Statement, Decimal]]:
    """The decimals of the catalogue's prose for which a source must be on record: neither computed nor given."""
    for statement in catalogue.all_statements():
        known = {*computed(statement.paper), *given(statement.paper)}
        for decimal in dict.fromkeys(d for _, text in prose(statement) for d in decimals(text)):
            if (statement.id, decimal.printed) not in known:
                yield statement, decimal


def _value(source: Source, evidence: Found) -> float | None:
    """What a source's place holds in some evidence; None where it is not there."""
    for found in evidence.get(source.statement, ()):
        if f"{found['method']}: {found['check']}" == source.check:
            return dict(values_of(found)).get(source.field)
    return None


def moved(evidence: Found) -> list[str]:
    """A sentence for each source on record that the evidence has, with a value that its decimal no longer prints."""
    limits = {(s.id, d.printed): d for s, d in open_decimals()}
    told = []
    for key, source in recorded().items():
        value = _value(source, evidence)
        if value is not None and key in limits and not limits[key].agrees(value):
            told.append(
                f"{key[0]} prints {key[1]}, and {source.check} ({source.field}) of {source.statement} gives {value:.6g}"
            )
    return told


def _renewed(evidence: Found) -> tuple[dict[Key, Source], list[Key]]:
    """A source for every open decimal: the one on record where it still stands, else one that is searched for."""
    kept, missing = {}, []
    for statement, decimal in open_decimals():
        key = statement.id, decimal.printed
        old = recorded().get(key)
        value = None if old is None else _value(old, evidence)
        if old is not None and value is not None and decimal.agrees(value):
            kept[key] = Source(old.statement, old.check, old.field, value)
        elif (new := search(statement, decimal, evidence)) is not None:
            kept[key] = new
        else:
            missing.append(key)
    return kept, missing


def _read(path: Path) -> Found:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for piece in json.loads(path.read_text(encoding="utf-8"))["evidence"]:
        found.setdefault(piece["statement"], []).append(piece)
    return found


def main(arguments: Iterable[str]) -> int:
    """Writes the file, or verifies it; 1 where a decimal has no source or moved."""
    path, *options = arguments
    evidence = _read(Path(path))
    if "--verify" in options:
        told = moved(evidence)
    else:
        kept, missing = _renewed(evidence)
        plain: dict[str, dict[str, Any]] = {}
        for (id_, printed), source in sorted(kept.items()):
            plain.setdefault(id_, {})[printed] = vars(source)
        write(FILE, json.dumps(plain, indent=1) + "\n")
        recorded.cache_clear()
        told = [f"{id_} prints {printed}, which no evidence has: compute it in _numbers.py" for id_, printed in missing]
    print("\n".join([*told, f"{len(recorded())} decimals have a source on record, {len(told)} are told of"]))
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
