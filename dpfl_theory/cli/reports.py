"""`validate`, `report` and `errata`: redo figures and tables, show what was found, and what is wrong as printed."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from dpfl_theory import statements
from dpfl_theory.cli._options import Device, Format, Output, Seed
from dpfl_theory.console import choice, emit, say, writable

app = typer.Typer()

ROWS = {
    "printed": "printed",
    "true": "true",
    "cause": "cause",
    "counterexample": "counterexample",
    "repaired": "repaired",
    "affects": "rest on it",
}
"""What the text says of an erratum, and under which title."""


@app.command()
def validate(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Scripts; all when none is named.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="The full profile instead of the quick one.")] = False,
    output: Output = "reports",
    seed: Seed = "0",
    device: Device = "auto",
    data: Annotated[str | None, typer.Option(metavar="FILE", help="Your data, for a script that takes a file.")] = None,
) -> int:
    """Redo figures and tables of the papers: evidence as JSON, figures as PNG and SVG."""
    from dpfl_theory import validation

    return validation.validate(names or [], full=full, output=output, seed=seed, device=device, data=data)


@app.command()
def report(output: Output = "reports") -> None:
    """Rebuild figures and the HTML pages (index.html, errata/PAPER.html) from the JSON files in the subfolder evidence,
    and from them alone."""
    from dpfl_theory.report.build import build

    page = build(writable(Path(output), folder=True), say)
    emit(str(page))


@app.command()
def errata(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="The paper's id, as `list` shows it.")],
    format_: Format = "text",
) -> None:
    """Show a paper's errata and slips as the catalogue records them; `report` shows them with their evidence."""
    choice("format", format_, ("text", "json"))
    recorded = _recorded(paper)
    emit(json.dumps(recorded, indent=1, ensure_ascii=False) if format_ == "json" else _as_text(recorded))


def _recorded(paper: str) -> dict[str, Any]:
    """What the catalogue records of a paper, as plain data; of each erratum also what shows it and what rests on it."""
    from dpfl_theory.report.entries import Entry, printed_id, reference
    from dpfl_theory.report.errata import affected, showing_command
    from dpfl_theory.report.proof_map import proof_graph

    own = statements.select((), paper)
    graph = proof_graph([Entry(s.id, s) for s in statements.all_statements()])
    printed = [s for s in own if printed_id(s.id) == s.id]
    places = {s.id: {"id": s.id, "where": s.source.where, "equation": s.source.equation or None} for s in own}
    return {
        "paper": paper,
        "reference": reference(paper),
        "statements": len(printed),
        "errata": [
            {
                **places[s.id],
                **s.summary()["erratum"],
                "affects": list(affected(s, graph)),
                "command": showing_command(s),
            }
            for s in printed
            if s.erratum is not None
        ],
        "sharpened": [s.id for s in own if s.id.endswith(".sharpened")],
        "slips": [{**places[s.id], "slip": slip} for s in printed for slip in s.slips],
    }


def _as_text(recorded: Mapping[str, Any]) -> str:
    counts = f"{recorded['statements']} printed statements, {len(recorded['errata'])} errata"
    parts = [recorded["reference"], f"{counts}, {len({s['slip'] for s in recorded['slips']})} slips and remarks"]
    for erratum in recorded["errata"]:
        parts += ["", f"{erratum['id']}  ({_place(erratum)})"]
        for key, title in ROWS.items():
            told = erratum[key] if isinstance(erratum[key], str) else ", ".join(erratum[key] or ())
            parts += [_hanging(f"  {title:<16}", told)] if told else []
        parts.append(f"  {'command':<16}{erratum['command']}")  # in one line, to be copied
    if recorded["sharpened"]:
        parts += ["", "Could be sharpened", *(f"  {id_}" for id_ in recorded["sharpened"])]
    if recorded["slips"]:
        beside: dict[str, list[str]] = {}
        for s in recorded["slips"]:
            beside.setdefault(s["slip"], []).append(f"{s['id']} ({_place(s)})")
        told = (_hanging("  ", f"{'; '.join(places)}: {slip}") for slip, places in beside.items())
        parts += ["", "Slips and remarks", *told]
    if recorded["errata"]:
        parts += ["", "dpfl-theory show ID prints a statement's formula, its letters and how it was read."]
    return "\n".join(parts)


def _place(place: Mapping[str, Any]) -> str:
    return ", ".join(filter(None, (place["where"], place["equation"] and f"eq. {place['equation']}")))


def _hanging(start: str, text: str) -> str:
    indent = " " * max(4, len(start))
    return textwrap.fill(text, 110, initial_indent=start, subsequent_indent=indent, break_on_hyphens=False)
