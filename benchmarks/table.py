"""The results as Markdown: a table for each case and number of threads, and the scaling of runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["rows_of", "scaling_of", "section"]

UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


def rows_of(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown: the first column is text, the others are numbers."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def section(symbol: str, found: Mapping[str, Any], mode: str) -> str:
    """One case with one number of threads."""
    fastest = min((row["median"] for row in found["rows"] if row["agrees"]), default=math.nan)
    unit, scale = next(((u, s) for u, s in UNITS if fastest >= s), UNITS[-1])
    threads = f"{found['threads']} thread{'s' if found['threads'] > 1 else ''}"
    notes = [f"{found['what']}.", f"Medians of {found['repetitions']} repetitions.", f"Copy: {found['copy']:.1f} GB/s."]
    if found["gemm"]:
        shape = "({0} x {1}) ({1} x {2})".format(*found["gemm"])
        notes.append(f"Matrix product {shape}: {found['dgemm']:.1f} GFLOP/s on one core. Flops: {found['formula']}.")
    header = ["", f"{unit}/{found['unit']}", "least", "most", "over ours", "by CPU time", "cores", "rounds timed"]
    header += ["GFLOP/s", "of the product's rate"] if found["gemm"] else []
    return "\n".join(
        [
            f"### ({symbol}) {found['title']}, {threads}, {mode}",
            "",
            " ".join(notes),
            "",
            rows_of(header, [_row(row, scale, len(header)) for row in found["rows"]]),
            "",
        ]
    )


def _row(row: Mapping[str, Any], scale: float, width: int) -> list[str]:
    if not row["agrees"]:
        message = f"no time: differs by {row['error']:.1e} of the distance travelled"
        return [row["name"], message, *[""] * (width - 2)]
    times = [row["median"], min(row["seconds"]), max(row["seconds"])]
    cells = [row["name"], *(f"{t / scale:.4g}" for t in times), f"{row['ratio']:.3g}", f"{row['cpu_ratio']:.3g}"]
    cells += [f"{row['cores']:.2f}", str(row["rounds"])]
    return cells + ([f"{row['gflops']:.1f}", f"{100 * row['share']:.0f}%"] if width > len(cells) else [])


def scaling_of(symbol: str, title: str, measured: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """The scaling of one benchmark's run."""
    parts = []
    for name, runs in measured.items():
        rows = [
            [str(run[name]), f"{run['microseconds']:.1f}", f"{run['before']:.0f}", f"{run['peak']:.0f}"] for run in runs
        ]
        fixed = ", ".join(f"{key} = {runs[0][key]}" for key in ("replicates", "clients", "rounds") if key != name)
        header = [name, "µs of a replicate's round", "MB after one round", "MB at the peak"]
        parts += [f"### ({symbol}) {title}, by {name}", "", f"One thread, {fixed}.", "", rows_of(header, rows), ""]
    return "\n".join(parts)
