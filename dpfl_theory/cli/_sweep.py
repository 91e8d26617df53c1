"""Output of the results of `simulate` and `sweep`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpfl_theory.cli._layout import laid_out, number, table
from dpfl_theory.errors import InputError
from dpfl_theory.numerals import number_of
from dpfl_theory.runtime.atomic_files import apart, writable
from dpfl_theory.runtime.console import print_message
from dpfl_theory.sweep.table import Table, checked, of_rounds

if TYPE_CHECKING:
    from dpfl_theory.sweep.design import Design

_ROUNDS = 12
"""Rounds of a run that are shown."""
_CELLS = 60
"""Cells of a sweep that are shown."""
_APART = (
    "cell", "status", "cause", "problem", "algorithm", "rounds", "replicates", "seed", "delta", "epsilon",
    "privacy",
)  # fmt: skip


def results_file(output: str | None, folder: str, config: str | None, design: Design) -> Path | None:
    """The file for results: the option's file, else the design's name within the folder. The files of the
    configuration and of its data are not overwritten."""
    from dpfl_theory.sweep.config import inside
    from dpfl_theory.sweep.problems import DATA

    reads = (config, *{cell.problem.get(DATA) for cell in design.cells})
    if output is None and design.output is None:
        return None
    target = checked(writable(inside(design.output or "", Path(folder)) if output is None else output, reads=reads))
    apart(of_rounds(target), reads)
    return target


def seconds_of(text: str | None) -> float | None:
    """The seconds of --limit."""
    found = None if text is None else number_of("--limit", text)
    if found is not None and not 0.0 < found < 1e9:
        raise InputError(f"--limit is {text!r}: give a positive number of seconds, like --limit 60")
    return found


def as_lines(found: Table) -> str:
    """Describe one run: its setting, its privacy cost, and its observables by round."""
    (row,) = found.rows
    parameters = ", ".join(f"{n} = {number(v)}" for n, v in row.items() if _is_symbol(n, row))
    rows = [
        ("problem", str(row["problem"])),
        ("algorithm", f"{row['algorithm']}: {parameters}"),
        ("runs", f"{row['replicates']} replicates of {row['rounds']} rounds, seed {row['seed']}"),
    ]
    certified = row.get("epsilon")
    rows.append(("privacy", f"{certified:.5g} is the certified {row['privacy']}" if certified else str(row["privacy"])))
    if row["status"] != "done":
        rows.append(("failed", row["cause"]))
    for name in [n.removesuffix(":bound") for n in row if n.endswith(":bound")]:
        message = (
            f"{number(row[f'{name}:measured'])} <= {number(row[f'{name}:bound'])}, ratio {number(row[f'{name}:ratio'])}"
        )
        rows.append((name, f"{message}; hypotheses: {row[f'{name}:hypotheses']}"))
    lines = found.by_round()
    names = [n for n in (lines[0] if lines else {}) if n not in ("cell", "round")]
    chosen = sorted({round(k * (len(lines) - 1) / (_ROUNDS - 1)) for k in range(_ROUNDS)}) if lines else []
    shown = [[str(lines[k]["round"]), *(number(lines[k].get(n)) for n in names)] for k in chosen]
    heading = ["round", *(n.replace("_error", " error") for n in names)]
    return "\n".join([laid_out(rows), "", table([heading, *shown], right=range(len(heading)))])


def _is_symbol(name: str, row: Mapping[str, Any]) -> bool:
    """Whether a column is a hyper-parameter: observables have a column of errors, statements a colon."""
    derived = f"{name}_error" in row or name.endswith(("_error", "_average")) or ":" in name or "." in name
    return name not in (*_APART, "series") and not derived and isinstance(row[name], (int, float))


def as_summary(found: Table, axes: list[str]) -> str:
    """The cells of a sweep as a table."""
    ended = [row for row in found.rows if row["status"] == "done"]
    observed = [
        n for n in found.columns if f"{n}_error" in found.columns and not n.endswith("_average") and ":" not in n
    ]
    keys = [key for key in axes if not key.endswith(".name") and key in found.columns]
    names = ["cell", *(n for n in ("problem", "algorithm") if len(set(found.column(n))) > 1), *keys]
    names += [column for n in observed for column in (n, f"{n}_error")]
    names += [n for n in found.columns if n == "epsilon" or n.endswith(":ratio")]
    rows = [[_cell(_inside(row, n)) for n in names] + [row["status"]] for row in found.rows[:_CELLS]]
    heading = [n.replace("_error", " error").replace(":ratio", " left/right") for n in names]
    lines = [table([[*heading, "status"], *rows], right=[i for i, n in enumerate(names) if n not in _APART[3:5]])]
    if len(found.rows) > _CELLS:
        lines.append(f"... and {len(found.rows) - _CELLS} more: write them to a file with --output")
    lines.append(f"{len(ended)} of {len(found.rows)} cells are done")
    return "\n".join(lines)


def _inside(row: Mapping[str, Any], name: str) -> Any:
    """A value; no ratio where a hypothesis is known to fail."""
    outside = name.endswith(":ratio") and row.get(name.replace(":ratio", ":met")) is False
    return None if outside else row.get(name)


def _cell(value: Any) -> str:
    return number(value) if isinstance(value, float) or value is None else str(value)


def tell_failures(found: Table) -> None:
    """Report the failed cells with their causes on stderr."""
    for row in found.failed[:20]:
        print_message(f"cell {row['cell']} ({row['algorithm']} on {row['problem']}) failed: {row['cause']}")
    if len(found.failed) > 20:
        print_message(f"... and {len(found.failed) - 20} more: the column cause has the reasons")
