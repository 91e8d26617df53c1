"""`list` and `show`: what the catalogue holds."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any

import typer

from dpfl_theory import statements
from dpfl_theory.cli._options import Format, table
from dpfl_theory.console import choice, emit
from dpfl_theory.statements.errata import Effect
from dpfl_theory.statements.formula import prescription_of, sides_of
from dpfl_theory.statements.model import KINDS, PROVENANCES, Statement
from dpfl_theory.statements.power import of_json, recorded

app = typer.Typer()

EXPECTED = ("holds", "violated", "inconclusive")


@app.command("list")
def list_(
    paper: Annotated[str | None, typer.Option(metavar="P", help="Only the statements of this paper.")] = None,
    kind: Annotated[str | None, typer.Option(metavar="K", help=f"Only this kind: {', '.join(KINDS)}.")] = None,
    expected: Annotated[
        str | None, typer.Option(metavar="V", help=f"Only this recorded verdict: {', '.join(EXPECTED)}.")
    ] = None,
    provenance: Annotated[
        str | None, typer.Option(metavar="P", help=f"Only statements that are {', '.join(PROVENANCES)}.")
    ] = None,
    format_: Format = "text",
) -> None:
    """List the statements; the note tells what is restored, derived, another reading, or has a remark."""
    choice("format", format_, ("text", "json"))
    wanted = {
        "kind": kind and choice("kind", kind, KINDS),
        "expected": expected and choice("expected verdict", expected, EXPECTED),
        "provenance": provenance and choice("provenance", provenance, PROVENANCES),
    }
    chosen = [s for s in statements.select((), paper) if all(v in (None, getattr(s, n)) for n, v in wanted.items())]
    if format_ == "json":
        emit(json.dumps([s.summary() for s in chosen], indent=1, ensure_ascii=False))
    else:
        rows = [
            (s.id, s.kind, s.expected, _power(s), ",".join(s.methods), ",".join(_marks(s)), s.title) for s in chosen
        ]
        emit(table([("id", "kind", "expected", "power", "methods", "note", "title"), *rows], right=(3,)))


def _power(s: Statement) -> str:
    """The largest left/right that its checks saw, in short."""
    power = recorded(s.id)
    return "-" if power is None or power.ratio is None else f"{power.ratio:.3g}"


def _marks(s: Statement) -> list[str]:
    """What sets a statement apart from one that was read in the paper, in a word each."""
    told = {"reading": bool(s.reading_of) and s.provenance != "derived", "remark": s.remark is not None}
    return [*([s.provenance] if s.provenance != "read" else []), *(mark for mark, set_ in told.items() if set_)]


@app.command()
def show(
    id_: Annotated[str, typer.Argument(metavar="ID", help="The statement's id, as `list` shows it.")],
    format_: Format = "text",
) -> None:
    """Show one statement: its formula, letters, hypotheses, prescription, checks and erratum."""
    choice("format", format_, ("text", "json"))
    described = describe(statements.get(id_))
    emit(json.dumps(described, indent=1, ensure_ascii=False) if format_ == "json" else _as_text(described))


def describe(statement: Statement) -> dict[str, Any]:
    """Everything about a statement as plain data, formulas as text."""
    from dpfl_theory.statements.units import format_unit

    sides = None if statement.sides is None else sides_of(statement)
    prescribed = {} if statement.prescription is None else prescription_of(statement)
    return {
        **statement.summary(),
        "source": {
            "paper": statement.source.paper,
            "where": statement.source.where,
            "equation": statement.source.equation or None,
            "note": statement.source.note or None,
            "restoration": statement.source.restoration or None,
        },
        "file": statements.file_of(statement.id),
        "siblings": _siblings(statement),
        "text": statement.text,
        "relation": statement.relation,
        "lhs": {} if sides is None else _formulas(sides.lhs),
        "rhs": {} if sides is None else _formulas(sides.rhs),
        "symbols": [
            {"name": s.name, "meaning": s.meaning, "unit": format_unit(s.unit), "domain": s.domain}
            for s in statement.symbols
        ],
        "expectations": [
            {"name": e.name, "meaning": e.meaning, "unit": format_unit(e.unit)} for e in statement.expectations
        ],
        "assumptions": [a.text for a in statement.assumptions],
        "prescription": _formulas(prescribed),
        "checks": [
            {
                "method": c.method,
                "name": c.name,
                "expected": c.expected,
                "part": c.part or None,
                "instance": dict(c.instance),
            }
            for c in statement.checks
        ],
        "uses": list(statement.uses),
    }


def _siblings(statement: Statement) -> list[dict[str, Any]]:
    """The other readings of the same words, with their recorded verdicts."""
    from dpfl_theory.report.letter import read_alike

    family = read_alike(statement, statements.all_statements())
    return [{"id": s.id, "reading": s.reading or None, "expected": s.expected} for s in family if s.id != statement.id]


def _formulas(terms: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(expression) for name, expression in terms.items()}


def _as_text(d: Mapping[str, Any]) -> str:
    source = d["source"]
    where = ", ".join(
        filter(None, (source["paper"], source["where"], source["equation"] and f"eq. {source['equation']}"))
    )
    provenance = "read in the paper" if d["provenance"] == "read" else d["provenance"]
    head = f"{d['id']}  ({d['kind']}, {provenance}, expected: {d['expected']})"
    parts = [head, d["title"], where, *filter(None, [d["file"]]), "", _wrap(d["text"])]
    if source["restoration"]:
        parts += ["", _wrap(f"Restored: {source['restoration']}")]
    if source["note"]:
        parts += ["", _wrap(source["note"])]
    if d["reading"]:
        parts += ["", _wrap(f"Read: {d['reading']}")]
    siblings = [(s["id"], s["expected"], s["reading"] or "") for s in d["siblings"]]
    parts += _block("Other readings", siblings)
    if d["lhs"] or d["rhs"]:
        parts += _block("Left side", d["lhs"].items())
        parts += _block(f"{d['relation']}  right side, the sum of", d["rhs"].items())
    letters = [(s["name"], f"[{s['unit']}]", s["meaning"]) for s in (*d["symbols"], *d["expectations"])]
    parts += _block("Letters", letters)
    parts += _block("Assumptions", [(a,) for a in d["assumptions"]])
    parts += _block("Prescription", [(f"{name} = {formula}",) for name, formula in d["prescription"].items()])
    checks = [(c["method"], c["name"], _remarks(c)) for c in d["checks"]]
    parts += _block("Checks", checks)
    if d["power"]:
        measured = of_json(d["power"]).sentence(refuted=d["expected"] == "violated")
        parts += ["", "Power", _wrap(f"{measured}.", "  ")]
    if d["erratum"]:
        parts += _block("Erratum", _erratum_rows(d["erratum"]))
    if d["remark"]:
        parts += _block("Remark", [(k.replace("_", " "), v) for k, v in d["remark"].items() if v])
    parts += _block("Uses", [(u,) for u in d["uses"]])
    return "\n".join(parts)


def _remarks(check: Mapping[str, Any]) -> str:
    """What is recorded of a check that does not compare the two sides, or does not hold."""
    part = f"a part: {check['part']}" if check["part"] else ""
    return "; ".join(filter(None, ("" if check["expected"] == "holds" else f"expected: {check['expected']}", part)))


def _erratum_rows(erratum: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, told in erratum.items():
        if key == "effect":
            yield key, Effect(**told).said
        elif key == "survives":
            yield from ((key, f"{id_}: {why}") for id_, why in told.items())
        elif told:
            yield key, ", ".join(told) if isinstance(told, list) else told


def _block(title: str, rows: Iterable[tuple[str, ...]]) -> list[str]:
    """A heading with aligned rows below it; nothing when there are no rows."""
    found = list(rows)
    if not found:
        return []
    heads = [max(len(row[i]) for row in found) for i in range(len(found[0]) - 1)]
    lines = []
    for row in found:
        start = "".join(f"{cell.ljust(width)}  " for cell, width in zip(row, heads))
        lines.append(_wrap(row[-1], f"  {start}"))
    return ["", title, *lines]


def _wrap(text: str, start: str = "") -> str:
    if not text:
        return start.rstrip()
    return textwrap.fill(
        text,
        110,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )
