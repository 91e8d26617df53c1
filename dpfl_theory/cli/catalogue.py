"""`list` and `show`: what the catalogue holds."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import typer

from dpfl_theory import statements
from dpfl_theory.cli._options import Format, table
from dpfl_theory.console import choice, emit
from dpfl_theory.statements.model import Statement

app = typer.Typer()


@app.command("list")
def list_(
    paper: Annotated[str | None, typer.Option(metavar="P", help="Only the statements of this paper.")] = None,
    format_: Format = "text",
) -> None:
    """List the statements."""
    choice("format", format_, ("text", "json"))
    chosen = statements.select((), paper)
    if format_ == "json":
        emit(json.dumps([s.summary() for s in chosen], indent=1, ensure_ascii=False))
    else:
        rows = [(s.id, s.kind, s.expected, ",".join(s.methods), s.title) for s in chosen]
        emit(table([("id", "kind", "expected", "methods", "title"), *rows]))


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

    sides = None if statement.sides is None else statement.sides()
    prescribed = {} if statement.prescription is None else statement.prescription()
    return {
        **statement.summary(),
        "source": {
            "paper": statement.source.paper,
            "where": statement.source.where,
            "equation": statement.source.equation or None,
            "note": statement.source.note or None,
        },
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
            {"method": c.method, "name": c.name, "expected": c.expected, "instance": dict(c.instance)}
            for c in statement.checks
        ],
        "uses": list(statement.uses),
    }


def _formulas(terms: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(expression) for name, expression in terms.items()}


def _as_text(d: Mapping[str, Any]) -> str:
    source = d["source"]
    where = ", ".join(
        filter(None, (source["paper"], source["where"], source["equation"] and f"eq. {source['equation']}"))
    )
    parts = [f"{d['id']}  ({d['kind']}, expected: {d['expected']})", d["title"], where, "", _wrap(d["text"])]
    if source["note"]:
        parts += ["", _wrap(source["note"])]
    if d["lhs"] or d["rhs"]:
        parts += _block("Left side", d["lhs"].items())
        parts += _block(f"{d['relation']}  right side, the sum of", d["rhs"].items())
    letters = [(s["name"], f"[{s['unit']}]", s["meaning"]) for s in (*d["symbols"], *d["expectations"])]
    parts += _block("Letters", letters)
    parts += _block("Assumptions", [(a,) for a in d["assumptions"]])
    parts += _block("Prescription", [(f"{name} = {formula}",) for name, formula in d["prescription"].items()])
    checks = [
        (c["method"], c["name"], "" if c["expected"] == "holds" else f"expected: {c['expected']}") for c in d["checks"]
    ]
    parts += _block("Checks", checks)
    if d["erratum"]:
        erratum = {k: ", ".join(v) if isinstance(v, list) else v for k, v in d["erratum"].items() if v}
        parts += _block("Erratum", erratum.items())
    parts += _block("Uses", [(u,) for u in d["uses"]])
    return "\n".join(parts)


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
