"""`simulate`: one run of an algorithm; `sweep`: many, over a grid, list or Sobol design, with figures of results."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from dpfl_theory.cli._options import Fresh, Jobs, Kept, Scheduler, give_schema, opened, parse_count
from dpfl_theory.errors import InputError
from dpfl_theory.runtime.atomic_files import writable, write
from dpfl_theory.runtime.console import Progress, emit, print_message, time_left
from dpfl_theory.runtime.executor import on

app = typer.Typer()

_SET = "Set a key, like {}; goes before the file."


@app.command()
def simulate(
    config: Annotated[str | None, typer.Argument(metavar="CONFIG.toml", help="The configuration.")] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help=_SET.format("algorithm.eta=0.1"))
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of a configuration.")] = False,
    limit: Annotated[str | None, typer.Option(metavar="SECONDS", help="Time limit.")] = None,
    output: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write every round to this CSV or Parquet file.")
    ] = None,
) -> int:
    """Run one configuration: problem or data, algorithm, hyper-parameters, rounds, replicates, seed.

    Prints the suboptimality by round with its standard error, the certified epsilon where noise is added, and whether
    the run diverged (exit code 1).
    """
    from dpfl_theory.cli import _sweep
    from dpfl_theory.cli._output import busy

    if schema:
        from dpfl_theory.sweep.config import schema as of_configurations

        return give_schema(lambda: of_configurations(False))
    from dpfl_theory.sweep.config import read, with_assignments
    from dpfl_theory.sweep.run import planned, single

    seconds = _sweep.seconds_of(limit)
    settings = with_assignments(read(config), assignments or [])
    design = planned(settings, config or "the configuration", sweep=False)
    target = _sweep.results_file(output, ".", config, design)
    doing = f"{design.cells[0].common.rounds} rounds"
    if seconds is not None:
        with busy("simulate", doing):
            found = single(design, seconds)
    else:
        started = time.monotonic()
        with Progress("simulate") as progress:

            def tell(share: float) -> None:
                progress(share, ", ".join(filter(None, (doing, time_left(share, time.monotonic() - started)))))

            found = single(design, progress=tell)
    emit(_sweep.as_lines(found))
    if target is not None:
        print_message(f"written: {', '.join(map(str, found.write(target)))}")
    _sweep.tell_failures(found)
    return 1 if found.failed else 0


@app.command(context_settings={"max_content_width": 110})
def sweep(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[CONFIG.toml | plot RESULTS x=COLUMN y=COLUMN ...]")
    ] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help=_SET.format("grid.eta=[0.1,0.2]"))
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of a configuration.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the cost and exit.")] = False,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    pack: Annotated[
        str | None, typer.Option(metavar="CELLS", help="Cells in one call of the kernels; does not affect the numbers.")
    ] = None,
    limit: Annotated[str | None, typer.Option(metavar="SECONDS", help="Time limit of a cell.")] = None,
    store: Kept = None,
    fresh: Fresh = False,
    output: Annotated[
        str | None, typer.Option(metavar="FILE", help="The file for results (.csv, .parquet) or a figure (.svg, .png).")
    ] = None,
    folder: Annotated[
        str, typer.Option(metavar="DIR", help="The folder for a file that the configuration names as its output.")
    ] = ".",
) -> int:
    """Run a design over problems or your data, algorithms, hyper-parameters and seeds; or plot its results.

    Every combination is a cell, and a row of the results. A failed cell is a row with the cause; the others are
    complete, and the exit code is 1. For example:

    \b
      dpfl-theory sweep examples/sweep.toml --output steps.parquet
      dpfl-theory sweep --set problem.name=quadratic --set algorithm.name=dp-fedavg --set 'grid.eta=[0.1,0.2]'
      dpfl-theory sweep plot steps.parquet x=eta y=suboptimality hue=algorithm logx --output steps.svg
    """
    from dpfl_theory.cli import _sweep

    if schema:
        from dpfl_theory.sweep.config import schema as of_configurations

        return give_schema(lambda: of_configurations(True))
    given = list(words or [])
    if given[:1] == ["plot"]:
        return _plot(given[1:], output)
    if len(given) > 1:
        raise InputError(f"{given[1]!r} is not expected: give one CONFIG.toml, or plot RESULTS x=... y=...")
    from dpfl_theory.runtime.threads import usable_cores
    from dpfl_theory.sweep.config import read, with_assignments
    from dpfl_theory.sweep.pack import packed
    from dpfl_theory.sweep.run import needs_processes, planned, run, usual_pack

    config = given[0] if given else None
    seconds, each, many = _sweep.seconds_of(limit), parse_count(jobs), _cells(pack)
    design = planned(with_assignments(read(config), assignments or []), config or "the configuration")
    target = _sweep.results_file(output, folder, config, design)
    processes = min(each or (usable_cores() if needs_processes(design.cells) else 1), len(design.cells))
    if dry_run:
        from dpfl_theory.cli._layout import laid_out
        from dpfl_theory.sweep.estimate import as_rows, estimate

        found = packed(design.cells, many or usual_pack(design.cells, processes))
        emit(laid_out(as_rows(estimate(found, processes))))
        return 0
    with on(scheduler) as workers, opened(store) as kept, Progress("sweep") as progress:
        table = run(
            design, jobs=workers or processes, pack=many, limit=seconds, store=kept, resume=not fresh, progress=progress
        )
    emit(_sweep.as_summary(table, design.axes))
    if target is not None:
        print_message(f"written: {', '.join(map(str, table.write(target)))}")
    _sweep.tell_failures(table)
    return 1 if table.failed else 0


def _cells(text: str | None) -> int | None:
    if text is not None and (not text.isdecimal() or not 1 <= int(text) <= 10**6):
        raise InputError(f"--pack is {text!r}: give a whole number of cells from 1 to 1000000")
    return None if text is None else int(text)


def _plot(words: list[str], output: str | None) -> int:
    from dpfl_theory.sweep.plot import assigned, draw
    from dpfl_theory.sweep.table import load
    from dpfl_theory.validation.style import render

    if not words:
        raise InputError("plot needs results: write dpfl-theory sweep plot RESULTS x=eta y=suboptimality")
    target = writable(Path(output or "sweep.svg"), reads=(words[0],))
    kind = target.suffix.removeprefix(".")
    if kind not in ("svg", "png"):
        raise InputError(f"a figure needs a file name that ends in .svg or .png, not {target.name!r}: rename it")
    said = assigned(words[1:])
    figure = draw(load(Path(words[0])), said["x"], said["y"], said.get("hue"), [w for w in said if len(w) == 4])
    write(target, render(figure)[kind])
    print_message(f"written: {target}")
    return 0
