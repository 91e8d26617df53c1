"""`show`: one statement, or several, or one building block of theorems and configurations."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any

import typer

from dpfl_theory import inventory, statements
from dpfl_theory.cli import _complete, _listing
from dpfl_theory.cli._layout import laid_out, wrapped
from dpfl_theory.cli._options import Format, as_json
from dpfl_theory.core import Effect, Statement
from dpfl_theory.core.formula import prescription_of, sides_of
from dpfl_theory.core.prose import plain_data
from dpfl_theory.errors import InputError
from dpfl_theory.runtime.console import choice, emit
from dpfl_theory.statements.power import of_json
from dpfl_theory.statements.summary import in_markdown

app = typer.Typer()


@app.command(context_settings={"max_content_width": 110})
def show(
    ids: Annotated[
        list[str],
        typer.Argument(
            metavar="ID...",
            help="Statements, as `list` shows them; or a kind and a name.",
            autocompletion=_complete.complete_shown,
        ),
    ],
    format_: Format = "text",
) -> None:
    """Show statements: formula, symbols, hypotheses, prescription, checks and erratum; or one problem, algorithm,
    observable, hypothesis, method, paper or validation. JSON is one object for one id, and an array for several or for
    a pattern. For example:

    \b
      dpfl-theory show das2022.theorem4b
      dpfl-theory show 'das2022.theorem4*'
      dpfl-theory show problem huber
      dpfl-theory show algorithm dp-fedavg
    """
    choice("format", format_, ("text", "json"))
    kind = next((kind for kind in inventory.kinds().values() if ids[0] in (kind.one, kind.name)), None)
    if kind is not None:
        if len(ids) != 2:
            raise InputError(f"show {kind.one} needs one name: dpfl-theory list {kind.name} shows them")
        _listing.show_item(kind, kind.get(ids[1]), format_)
        return
    alone = len(ids) == 1 and not glob.has_magic(ids[0])
    chosen = [statements.get(ids[0])] if alone else statements.in_order(statements.select(tuple(ids)))
    described = [describe(statement) for statement in chosen]
    emit(
        as_json(described[0] if alone else described) if format_ == "json" else "\n\n\n".join(map(_as_text, described))
    )


def describe(statement: Statement) -> dict[str, Any]:
    """Everything about a statement as plain data, formulas as text."""
    from dpfl_theory.statements.units import format_unit

    sides = None if statement.sides is None else sides_of(statement)
    prescribed = {} if statement.prescription is None else prescription_of(statement)
    found = {
        **in_markdown(statement),
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
        "hypotheses": [a.text for a in statement.hypotheses],
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
    made: dict[str, Any] = plain_data(found)
    return made


def _siblings(statement: Statement) -> list[dict[str, Any]]:
    """The other readings of the same text, with their recorded verdicts."""
    from dpfl_theory.report.author_report import read_alike

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
    parts = [head, d["title"], where, *filter(None, [d["file"]]), "", wrapped(d["text"])]
    for label, text in (("Restored: ", source["restoration"]), ("", source["note"]), ("Read: ", d["reading"])):
        if text:
            parts += ["", wrapped(f"{label}{text}")]
    siblings = [(s["id"], s["expected"], s["reading"] or "") for s in d["siblings"]]
    parts += _block("Other readings", siblings)
    if d["lhs"] or d["rhs"]:
        parts += _block("Left side", d["lhs"].items())
        parts += _block(f"{d['relation']}  right side, the sum of", d["rhs"].items())
    symbols = [(s["name"], f"[{s['unit']}]", s["meaning"]) for s in (*d["symbols"], *d["expectations"])]
    parts += _block("Symbols", symbols)
    parts += _block("Hypotheses", [(a,) for a in d["hypotheses"]])
    parts += _block("Prescription", [(f"{name} = {formula}",) for name, formula in d["prescription"].items()])
    checks = [(c["method"], c["name"], _remarks(c)) for c in d["checks"]]
    parts += _block("Checks", checks)
    if d["power"]:
        measured = of_json(d["power"]).sentence(refuted=d["expected"] == "violated")
        parts += ["", "Power", wrapped(f"{measured}.", "  ")]
    if d["erratum"]:
        parts += _block("Erratum", _erratum_rows(d["erratum"]))
    if d["remark"]:
        parts += _block("Remark", [(k.replace("_", " "), v) for k, v in d["remark"].items() if v])
    parts += _block("Uses", [(u,) for u in d["uses"]])
    return "\n".join(parts)


def _remarks(check: Mapping[str, Any]) -> str:
    """The record of a check that does not compare the two sides, or does not hold."""
    part = f"a part: {check['part']}" if check["part"] else ""
    return "; ".join(filter(None, ("" if check["expected"] == "holds" else f"expected: {check['expected']}", part)))


def _erratum_rows(erratum: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, reported in erratum.items():
        if key == "true":  # the former name of the key "corrected"
            continue
        if key == "effect":
            yield key, Effect(**reported).statement
        elif key == "survives":
            yield from ((key, f"{id_}: {why}") for id_, why in reported.items())
        elif reported:
            yield key, ", ".join(reported) if isinstance(reported, list) else reported


def _block(title: str, rows: Iterable[tuple[str, ...]]) -> list[str]:
    """A heading with aligned rows below it; empty without rows."""
    found = list(rows)
    return ["", title, laid_out(found, "  ")] if found else []
