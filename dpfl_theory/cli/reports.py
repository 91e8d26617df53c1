"""`validate`, `report` and `errata`: redo figures and tables, show what was found, and write to the authors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from dpfl_theory.cli._options import Device, Output, Seed
from dpfl_theory.console import choice, emit, say, writable

app = typer.Typer()


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
    format_: Annotated[str, typer.Option("--format", metavar="text|md|json", help="What is written.")] = "text",
) -> None:
    """Write the letter to a paper's authors, as the catalogue records it: causes, errata, remarks, slips. `md` is the
    whole letter, `text` a short form; `report` shows it with the evidence."""
    from dpfl_theory.report.letter import letter
    from dpfl_theory.report.letter_text import as_markdown, as_text

    render = {"text": as_text, "md": as_markdown, "json": _as_json}[choice("format", format_, ("text", "md", "json"))]
    emit(render(letter(paper)).rstrip("\n"))


def _as_json(written: Mapping[str, Any]) -> str:
    return json.dumps(written, indent=1, ensure_ascii=False, allow_nan=False)
