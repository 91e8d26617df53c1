"""`simulate`: one run of an algorithm on a problem, from a configuration."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from dpfl_theory.cli._options import give_schema
from dpfl_theory.runtime.console import Progress, emit, print_message, time_left

app = typer.Typer()

_SET = "Set a key, like algorithm.eta=0.1; goes before the file."


@app.command()
def simulate(
    config: Annotated[str | None, typer.Argument(metavar="CONFIG.toml", help="The configuration.")] = None,
    assignments: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help=_SET)] = None,
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
