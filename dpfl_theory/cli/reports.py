"""`validate`, `reproduce`, `report`, `errata`: redo figures and tables, show the results, write to the authors."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from dpfl_theory.cli import _complete
from dpfl_theory.cli._options import (
    Device,
    Folder,
    Fresh,
    Full,
    Jobs,
    Kept,
    Output,
    Paper,
    Scheduler,
    Schema,
    Seed,
    as_json,
    give_schema,
    opened,
    parse_count,
)
from dpfl_theory.core.prose import plain_data
from dpfl_theory.errors import InputError
from dpfl_theory.kernels import DEVICES
from dpfl_theory.runtime.atomic_files import writable
from dpfl_theory.runtime.console import choice, emit, parse_alpha, parse_seed, print_message
from dpfl_theory.runtime.executor import on

app = typer.Typer()


@app.command()
def validate(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Scripts, or patterns like 'das2022*' [default: all].",
            autocompletion=_complete.validations,
        ),
    ] = None,
    full: Full = False,
    paper: Paper = False,
    output: Output = "reports",
    seed: Seed = "0",
    device: Device = "auto",
    data: Annotated[str | None, typer.Option(metavar="FILE", help="Your data, for a script that takes a file.")] = None,
    folder: Folder = None,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    store: Kept = None,
    fresh: Fresh = False,
    schema: Schema = False,
) -> int:
    """Redo figures and tables of the papers: evidence as JSON, figures as PNG and SVG. For example:

    \b
      dpfl-theory validate das2022_figure2 --output out
      dpfl-theory validate 'noble2022_table*' --jobs 2
      dpfl-theory list validations
    """
    if schema:
        from dpfl_theory.validation import document

        return give_schema(document.schema)
    from dpfl_theory import validation

    processes, place = parse_count(jobs), validation.place_of(folder)
    with on(scheduler), opened(store) as kept:
        return validation.validate(
            names or [],
            full=full,
            paper=paper,
            output=output,
            seed=seed,
            device=device,
            data=data,
            place=place,
            jobs=processes,
            store=kept,
            fresh=fresh,
        )


@app.command()
def reproduce(
    full: Full = False,
    paper: Paper = False,
    output: Output = "reports",
    alpha: Annotated[str, typer.Option(metavar="A", help="False-alarm probability of all checks.")] = "1e-6",
    seed: Seed = "0",
    device: Device = "auto",
    folder: Folder = None,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    store: Kept = None,
    fresh: Fresh = False,
) -> int:
    """Check every statement of the catalogue and run every validation on all cores. The standard profile runs the
    checks that decide; --full runs all. A first report is written after a minute and updated as results arrive. You can
    interrupt: a second run computes only what is missing."""
    from dpfl_theory import statements, validation
    from dpfl_theory.checks.runner import plan
    from dpfl_theory.reproduce import reproduce as run
    from dpfl_theory.validation.batch import default_jobs
    from dpfl_theory.validation.run import RunOptions

    context = validation.Context(
        validation.profile_of(full, paper), parse_seed(seed), choice("device", device, DEVICES)
    )
    share, target = parse_alpha(alpha), writable(output, folder=True)
    processes = parse_count(jobs) or default_jobs(device)
    place = validation.place_of(folder)
    scripts = [validation.load(path, place) for path in validation.available(place).values()]
    pairs = plan(statements.all_statements())
    with on(scheduler) as workers, opened(store) as kept:
        return run(pairs, scripts, RunOptions(context, target, kept, fresh), alpha=share, jobs=workers or processes)


@app.command()
def report(
    file: Annotated[
        str | None, typer.Option(metavar="FILE.py", help="Check this file's statements first, and show them too.")
    ] = None,
    output: Output = "reports",
    folder: Folder = None,
    limit: Annotated[
        str | None, typer.Option(metavar="10m", help="Time limit of each check of --file; 10m by default.")
    ] = None,
    jobs: Jobs = None,
    alpha: Annotated[
        str | None, typer.Option(metavar="A", help="False-alarm probability of the checks of --file; 1e-6 by default.")
    ] = None,
    seed: Annotated[str | None, typer.Option(metavar="N", help="Seed of the checks of --file; 0 by default.")] = None,
    store: Kept = None,
    fresh: Fresh = False,
    schema: Schema = False,
) -> int:
    """Build figures and HTML pages from the JSON files in the subfolder evidence. With --file, check the statements of
    that file first; the exit codes are those of check. For example:

    \b
      dpfl-theory report --file my_statements.py --output out
      dpfl-theory report --output out
    """
    if schema:
        from dpfl_theory.report.documents import schema as of_reports

        return give_schema(of_reports)
    from dpfl_theory import validation
    from dpfl_theory.report.build import build

    target, scripts = writable(output, folder=True), validation.place_of(folder)
    options = {"limit": limit, "jobs": jobs, "alpha": alpha, "seed": seed}
    given = {name: value for name, value in options.items() if value is not None}
    if file is None and given:
        raise InputError(
            f"--{next(iter(given))} is for checks, which only --file runs here: add --file, or leave it out"
        )
    code = 0 if file is None else _checked(file, target, store=store, fresh=fresh, **given)
    with opened(store) as kept:
        page = build(target, print_message, scripts=scripts, store=kept, fresh=fresh)
    emit(str(page))
    return code


def _checked(file: str, target: Path, **options: Any) -> int:
    """Check the statements of a file, as `check` does, write the evidence where the report finds it, and return the
    exit code.

    A file has one document there, which another check of it replaces.
    """
    from dpfl_theory.cli.check import check
    from dpfl_theory.report.documents import FOLDER

    same = hashlib.sha256(str(Path(file).resolve()).encode(errors="surrogatepass")).hexdigest()[:8]
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(file).stem)[:60]
    document = target / FOLDER / f"check-{name}-{same}.json"
    return check(file=file, format_="json", output=str(document), **options)


@app.command()
def errata(
    paper: Annotated[
        str,
        typer.Argument(
            metavar="PAPER", help="The paper's id, as `list papers` shows it.", autocompletion=_complete.papers
        ),
    ],
    format_: Annotated[str, typer.Option("--format", metavar="text|md|json", help="What is written.")] = "text",
) -> None:
    """Write the report to a paper's authors: causes, errata, remarks, typos, as the catalogue records them. `md` is the
    whole report, `text` a short form; the command `report` shows it with the evidence."""
    from dpfl_theory import statements
    from dpfl_theory.report.author_report import author_report
    from dpfl_theory.report.author_report_text import as_markdown, as_text

    render = {"text": as_text, "md": as_markdown, "json": _as_json}[choice("format", format_, ("text", "md", "json"))]
    known = statements.papers()
    if paper not in known and paper.partition(".")[0] in known:
        raise InputError(f"{paper!r} is a statement, but errata are listed by paper: give {paper.partition('.')[0]}")
    emit(render(author_report(paper)).rstrip("\n"))


def _as_json(written: Mapping[str, Any]) -> str:
    return as_json(plain_data(written))
