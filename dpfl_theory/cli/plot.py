"""`plot`: a statement over one of its symbols."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpfl_theory.cli._options import Device, Seed, UserFile, one_statement, parse_limit
from dpfl_theory.errors import InputError
from dpfl_theory.kernels import DEVICES
from dpfl_theory.numerals import number_of
from dpfl_theory.runtime.atomic_files import writable, write
from dpfl_theory.runtime.console import Progress, choice, emit, parse_alpha, parse_seed, print_message

if TYPE_CHECKING:
    from dpfl_theory.checks.curve import Curve
    from dpfl_theory.core import Check

app = typer.Typer()

KINDS = (".svg", ".png")


@app.command()
def plot(
    id_: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The statement; not needed for a file with one statement.")
    ] = None,
    over: Annotated[str, typer.Option(metavar="SYMBOL", help="The symbol that is varied.")] = "",
    file: UserFile = None,
    check: Annotated[str | None, typer.Option(metavar="NAME", help="The check whose instance is varied.")] = None,
    method: Annotated[str | None, typer.Option(metavar="M", help="monte-carlo or exact, if both are possible.")] = None,
    values: Annotated[
        str | None,
        typer.Option(metavar="a:b:n|a,b,...", help="Values of the symbol [default: around the recorded one]."),
    ] = None,
    data: Annotated[
        str | None, typer.Option(metavar="FILE", help="Run on these records: CSV, Parquet, NPZ, LIBSVM, IDX.")
    ] = None,
    clients: Annotated[
        str | None,
        typer.Option(metavar="N", help="Number of clients among which records without a client id are divided."),
    ] = None,
    ridge: Annotated[str, typer.Option(metavar="R", help="Ridge of the regression on these records.")] = "0",
    limit: Annotated[str | None, typer.Option(metavar="10m", help="Time limit [default: 10m for --file].")] = None,
    alpha: Annotated[str, typer.Option(metavar="A", help="False-alarm probability of all points.")] = "1e-6",
    seed: Seed = "0",
    device: Device = "auto",
    output: Annotated[
        str | None, typer.Option(metavar="FILE.svg|png", help="The figure; CSV and JSON go next to it.")
    ] = None,
) -> int:
    """Plot a bound, its terms and the measured left side over a symbol; also write CSV and JSON."""
    from dpfl_theory.checks.curve import check_of, curve
    from dpfl_theory.checks.settings import Settings
    from dpfl_theory.report.curve import as_csv, as_json, draw
    from dpfl_theory.validation.style import render

    if not over:
        raise InputError("no symbol is named: add --over, as --over eta")
    choice("device", device, DEVICES)
    share, number = parse_alpha(alpha), parse_seed(seed)
    most = parse_limit(limit, file)
    statement = one_statement(id_, file, most)
    target = Path(output) if output is not None else Path(f"{statement.id}-over-{over}.svg")
    if target.suffix not in KINDS:
        raise InputError(f"the figure {str(target)!r} must end in {' or '.join(KINDS)}: call it FILE.svg")
    for suffix in (target.suffix, ".csv", ".json"):
        writable(target.with_suffix(suffix), reads=(file, data))
    chosen = check_of(statement, check, method)
    if data is not None:
        chosen = _on(chosen, data, clients, ridge)
    with Progress("plot") as progress:
        found = curve(statement, chosen, over, values, Settings(number, share, device, limit=most), progress)
    if not any(p.drawn for p in found.points):
        raise InputError(f"no value of {over} gives two numbers to draw: {found.points[0].evidence.reason}")
    write(target, render(draw(found))[target.suffix[1:]])
    write(target.with_suffix(".csv"), as_csv(found))
    write(target.with_suffix(".json"), as_json(found))
    emit(_curve_text(found))
    print_message(f"{target}, {target.with_suffix('.csv').name}, {target.with_suffix('.json').name}")
    return 0


def _on(check: Check, data: str, clients: str | None, ridge: str) -> Check:
    """The check on the user's own records, where its build takes a problem."""
    from dataclasses import replace

    from dpfl_theory.recommend.data import DataSource

    on = getattr(check.build, "on", None)
    if on is None or check.method != "monte-carlo":
        message = "it constructs its own problem; describe its round with an Iteration, and plot a check by monte-carlo"
        raise InputError(f"the check {check.name!r} cannot be run on other data: {message}")
    if clients is not None and (not clients.isdigit() or int(clients) < 1):
        raise InputError(f"--clients is {clients!r}: give a whole number of at least 1")
    weight = number_of("--ridge", ridge)
    if math.isnan(weight):
        raise InputError(f"--ridge is {ridge!r}: give a number of at least 0")
    problem = DataSource(data, ridge=weight).problem(None if clients is None else int(clients))
    return replace(check, build=on(problem))


def _curve_text(found: Curve) -> str:
    from dpfl_theory.cli._layout import number, table

    rows = [(found.symbol, "verdict", "left side", "low", "high", "bound", "ratio")]
    for p in found.points:
        e = p.evidence
        limits = ("-",) * 3 if e.lhs is None else (number(e.lhs.estimate), number(e.lhs.low), number(e.lhs.high))
        rows.append((number(p.symbol_value), e.verdict, *limits, number(e.rhs), number(e.ratio)))
    out = [p for p in found.points if p.outside]
    parts = [table(rows, right=(0, 2, 3, 4, 5, 6))]
    if out:
        edges = [f"{found.symbol} = {number(found.edges[i])}" for i in sorted(found.edges)]
        at = f"; the edge is at {' and '.join(edges)}" if edges else ""
        parts.append(f"{len(out)} of {len(found.points)} values are outside: {out[0].evidence.reason}{at}")
    return "\n\n".join(parts)
