"""`validate` and `report`: redo figures and tables, and put what was found on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpfl_theory.cli._options import Device, Output, Seed
from dpfl_theory.console import emit, say, writable

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
    """Rebuild figures and the HTML page from the JSON files in the subfolder evidence, and from them alone."""
    from dpfl_theory.report.build import build

    page = build(writable(Path(output), folder=True), say)
    emit(str(page))
