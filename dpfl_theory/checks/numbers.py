"""Finds the source of each decimal in the errata, and writes `dpfl_theory/statements/numbers.json`.

    python -m dpfl_theory.checks.numbers reports/evidence/check.json [--verify]

reads the evidence of a check of the whole catalogue. Many numbers agree by chance, so a decimal's source must be of its
kind. It must be in the evidence of its own statement or of one that its erratum, its remark or its text names:

* A decimal printed as a symbol's value (``s = 0.5``) may be that symbol's value in an instance or in the settings that
  a check reports: it is equal, or a value that the check computed and the text rounds.
* Any other decimal may be a rounded result: a side, a term, the ratio or a note.
* A decimal that many numbers print like, of one digit or a half or quarter of one, is not a result. Its source may be
  its symbol's value, a line of the counterexample's script, a computation or a place in the paper.

Evidence that violates comes before other evidence. A source on record that is of its kind is kept.
With ``--verify`` nothing is written: every source on record is compared with the evidence, and changes are reported.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import runpy
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dpfl_theory import statements as catalogue
from dpfl_theory.core import Statement
from dpfl_theory.runtime.atomic_files import write
from dpfl_theory.statements.numbers import (
    FILE,
    Decimal,
    DecimalSource,
    Key,
    computed,
    known_decimals,
    occurrences,
    prose,
    recorded,
    symbol_of,
)

__all__ = ["Number", "cited_statements", "explains", "moved", "open_decimals", "same_symbol", "search", "values_of"]

RESULTS = ("ratio", "lhs", "rhs", "notes", "terms")
PARAMETERS = ("check", "instance")
"""The fields of evidence in which a decimal is searched."""
INCIDENTAL = ("worst_function", "replicate_seconds", "problem")
"""Notes whose numbers no text would quote."""
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?:/\d+)?(?![\w])")

WRITTEN_OUT = {"|w_0 - w*|": "distance", "c": "thresholds"}
"""Symbols of the text for which instances use words."""

Found = Mapping[str, list[Mapping[str, Any]]]
"""Evidence as plain data, by statement."""


@dataclass(frozen=True)
class Number:
    """A number within plain data: its place, the symbol that it is a value of, and the value.

    The symbol is the last key on the way to it, or what precedes it in a text.
    """

    field: str
    symbol: str
    value: float


def _leaves(name: str, value: Any, symbol: str = "") -> Iterator[Number]:
    """The numbers within plain data.

    >>> [(n.field, n.symbol, n.value) for n in _leaves("instance", {"s": ["1/4"], "at": "E = 2, rho = 0.1"})]
    [('instance.s[0]#0', 's', 0.25), ('instance.at#0', 'E', 2.0), ('instance.at#1', 'rho', 0.1)]
    """
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _leaves(f"{name}.{key}", part, str(key))
    elif isinstance(value, (list, tuple)):
        for i, part in enumerate(value):
            yield from _leaves(f"{name}[{i}]", part, symbol)
    elif isinstance(value, str):
        for i, match in enumerate(_NUMBER.finditer(value)):
            top, _, bottom = match.group(0).partition("/")
            with contextlib.suppress(OverflowError, ZeroDivisionError, ValueError):
                number = int(top) / int(bottom) if bottom else float(top)
                yield Number(f"{name}#{i}", symbol_of(value[: match.start()]) or symbol, number)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield Number(name, symbol, float(value))


def values_of(evidence: Mapping[str, Any]) -> Iterator[Number]:
    """The numbers of a piece of evidence, results first."""
    for field in (*RESULTS, *PARAMETERS):
        value = evidence.get(field)
        if field == "notes":
            value = {name: part for name, part in (value or {}).items() if name not in INCIDENTAL}
        yield from _leaves(field, value)


def cited_statements(statement: Statement) -> list[str]:
    """The statements in whose evidence the numbers of one are searched: its own, and those that its erratum, its
    remark or its text names."""
    ids = [statement.id]
    if statement.erratum is not None:
        ids.append(statement.erratum.repaired)
    if statement.remark is not None:
        ids += [statement.remark.shown_by, statement.remark.repaired]
    words = {word for _, text in prose(statement) for word in re.findall(r"[a-z]+20\d\d\.[\w.-]*\w", text)}
    ids += [s.id for s in catalogue.all_statements() if s.id in words]
    return list(dict.fromkeys(filter(None, ids)))


@cache
def _printed_by(paper: str, script: str) -> str:
    """The output of a counterexample's script."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        runpy.run_path(str(FILE.parent / paper / "counterexamples" / script), run_name="__main__")
    return out.getvalue()


def _is_result(number: Number, settings: Collection[str]) -> bool:
    """Whether a number is a check's result, and not a symbol's value that it reports with it."""
    root = re.split(r"[.\[#]", number.field)[0]
    return root in RESULTS and not (root == "notes" and number.symbol in settings)


def _settings(id_: str, piece: Mapping[str, Any]) -> set[str]:
    """The symbols and the keys of an instance, whose values a check reports with its result."""
    keys = {n.symbol for n in _leaves("instance", piece.get("instance") or {})}
    return keys | set(catalogue.get(id_).units) | {"candidates"}


def same_symbol(printed: str, reported: str) -> bool:
    """Whether two names belong to one symbol: instances may list its values, and give it in units of something.

    >>> same_symbol("epsilon", "epsilons"), same_symbol("C", "C/||u||"), same_symbol("s", "sigma_g")
    (True, True, False)
    """
    names = (printed, f"{printed}s", WRITTEN_OUT.get(printed, printed))
    return bool(printed) and (reported in names or reported.startswith(f"{printed}/"))


def explains(decimals: Sequence[Decimal], number: Number, settings: Collection[str]) -> bool:
    """Whether a decimal prints this number of some evidence wherever it occurs, and the number is of its kind."""
    first = decimals[0]
    equal = abs(number.value) == abs(float(first.printed))
    if not (equal or all(d.agrees(number.value) for d in decimals)):
        return False
    if any(same_symbol(d.symbol, number.symbol) for d in decimals):
        return equal or not first.common
    return not first.common and _is_result(number, settings)


def _checked(statement: Statement, evidence: Found) -> Iterator[tuple[str, Mapping[str, Any], set[str]]]:
    """The pieces of evidence in which a statement's numbers are searched, and the parts of them that are not
    results."""
    for id_ in cited_statements(statement):
        for piece in sorted(evidence.get(id_, ()), key=lambda piece: piece.get("verdict") != "violated"):
            if piece["check"] != "units":
                yield id_, piece, _settings(id_, piece)


def search(statement: Statement, decimals: Sequence[Decimal], evidence: Found) -> DecimalSource | None:
    """The first number that explains a decimal: an equal one of the evidence, else a line of the counterexample's
    script, else a rounded one of the evidence."""
    pieces = list(_checked(statement, evidence))
    rounded = None
    for id_, piece, settings in pieces:
        for number in values_of(piece):
            if explains(decimals, number, settings):
                source = DecimalSource(id_, f"{piece['method']}: {piece['check']}", number.field, number.value)
                if abs(number.value) == abs(float(decimals[0].printed)):
                    return source
                rounded = rounded or source
    if (e := statement.erratum) is not None and (rounded is None or rounded.statement != statement.id):
        for number in _leaves("printed", _printed_by(e.cause.paper, e.cause.script)):
            equal = abs(number.value) == abs(float(decimals[0].printed))
            if equal or (not decimals[0].common and all(d.agrees(number.value) for d in decimals)):
                return DecimalSource(statement.id, e.cause.script, number.field, number.value)
    return rounded


def open_decimals() -> Iterator[tuple[Statement, tuple[Decimal, ...]]]:
    """The decimals of the catalogue's text for which a source must be on record: neither computed nor given."""
    for statement in catalogue.all_statements():
        known = {*computed(statement.paper), *known_decimals(statement.paper)}
        for printed, ways in occurrences(statement).items():
            if (statement.id, printed) not in known:
                yield statement, ways


def _number(source: DecimalSource, evidence: Found) -> tuple[Number, set[str]] | None:
    """The content of a source's place in some evidence, and the parts that are not results; None where it is
    missing."""
    for found in evidence.get(source.statement, ()):
        if f"{found['method']}: {found['check']}" == source.check:
            for number in values_of(found):
                if number.field == source.field:
                    return number, _settings(source.statement, found)
    return None


def moved(evidence: Found) -> list[str]:
    """A sentence for each source on record that the evidence has, with a value that its decimal no longer prints."""
    printed = {(s.id, ways[0].printed): ways for s, ways in open_decimals()}
    lines = []
    for key, source in recorded().items():
        found = _number(source, evidence)
        if found is not None and key in printed and not all(d.agrees(found[0].value) for d in printed[key]):
            lines.append(
                f"{key[0]} prints {key[1]}, and {source.check} ({source.field}) of {source.statement} gives "
                f"{found[0].value:.6g}"
            )
    return lines


def _renewed(evidence: Found) -> tuple[dict[Key, DecimalSource], list[Key]]:
    """A source for every open decimal: the one on record where it still applies, else the result of a search."""
    kept, missing = {}, []
    for statement, ways in open_decimals():
        key = statement.id, ways[0].printed
        old = recorded().get(key)
        found = None if old is None else _number(old, evidence)
        if old is not None and found and old.statement in cited_statements(statement) and explains(ways, *found):
            kept[key] = DecimalSource(old.statement, old.check, old.field, found[0].value)
        elif (new := search(statement, ways, evidence)) is not None:
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
    """Writes the file, or verifies it; 1 where a decimal has no source or changed."""
    path, *options = arguments
    evidence = _read(Path(path))
    if "--verify" in options:
        lines = moved(evidence)
    else:
        kept, missing = _renewed(evidence)
        plain: dict[str, dict[str, Any]] = {}
        for (id_, printed), source in sorted(kept.items()):
            plain.setdefault(id_, {})[printed] = vars(source)
        write(FILE, json.dumps(plain, indent=1) + "\n")
        recorded.cache_clear()
        lines = [
            f"{id_} prints {printed}, which no evidence has: compute it in _numbers.py" for id_, printed in missing
        ]
    print("\n".join([*lines, f"{len(recorded())} decimals have a source on record, {len(lines)} are reported"]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
