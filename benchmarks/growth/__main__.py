"""Scaling of the distributed work: measured for 1, 2 and 4 workers, computed for 10 to 1000.

    python -m benchmarks.growth reports .dpfl-theory/evidence.sqlite --output benchmarks/growth/GROWTH.md

needs the evidence and the store of a whole `make validate`; it takes some minutes, best on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.growth import measured, work
from benchmarks.growth.model import Job, makespan
from benchmarks.growth.stored import by_replicates, kinds
from benchmarks.machine import description
from dpfl_theory.runtime.cache import Store

COMPUTED = (1, 10, 30, 100, 300, 1000)
REPLICATES = 10_000
POINT_BYTES = 51 * 5 * 4 * 20
"""A point of noble2022 in the full profile: observed rounds, replicates, series, digits of a number."""


def main(arguments: Sequence[str]) -> int:
    """Measure, compute, and write the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth")
    parser.add_argument("reports", type=Path, help="the folder of a whole reproduce")
    parser.add_argument("store", type=Path, help="its store")
    parser.add_argument("--output", type=Path, help="file for the tables; by default they are only printed")
    given = parser.parse_args(arguments)
    evidence = json.loads((given.reports / "evidence" / "check.json").read_text())["evidence"]
    lines = ["# Growth", "", "`python -m benchmarks.growth reports .dpfl-theory/evidence.sqlite`", ""]
    lines += [description("growth"), ""]

    lines += ["## Measured: the overhead of a piece of work", ""]
    lines += [
        "Pieces that do nothing with 1 kB, and the checks of units with their evidence, which the coordinator puts"
    ]
    lines += [
        "into the store. Seconds of the clock, and of the processor of coordinator and scheduler; bytes that cross"
    ]
    lines += ["loopback in all, heartbeats included. All parts share this machine's cores.", ""]
    lines += [
        "| workers | pieces | clock | coordinator | scheduler | traffic |",
        "| ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    coordinator = 0.0
    for workers in measured.WORKERS:
        for name, use in measured.overhead(workers).items():
            items = (f"{1e3 * x:.1f} ms" for x in (use.wall, use.coordinator, use.scheduler))
            lines.append(f"| {workers} | {name} | {' | '.join(items)} | {use.traffic / 1e3:.1f} kB |")
            print(lines[-1], flush=True)
            coordinator = max(use.coordinator, use.scheduler)
    sent = ", ".join(f"{name} {size / 1e3:.1f} kB" for name, size in measured.sizes().items())
    lines += ["", f"Sizes as they are sent: {sent}.", ""]

    cells = len(measured.CONFIG["grid"]["seed"])
    lines += ["## Measured: one sweep", ""]
    lines += [
        f"{cells} cells in packs of {measured.PACK}, kept in a store; seconds, and how many times faster than one.",
        "",
    ]
    lines += ["| workers | processes here | | Dask | |", "| ---: | ---: | ---: | ---: | ---: |"]
    first: dict[bool, float] = {}
    for workers in measured.WORKERS:
        taken = {there: measured.scaling(workers, there) for there in (False, True)}
        first = first or taken
        items = (f"{taken[k]:.1f} s | {first[k] / taken[k]:.2f}x" for k in (False, True))
        lines.append(f"| {workers} | {' | '.join(items)} |")
        print(lines[-1], flush=True)
    lines += [""]

    _, points = work.validations("full")
    every: dict[str, Callable[[], list[Job]]] = {
        "all checks": lambda: work.checks(evidence),
        f"all checks, {REPLICATES} replicates at least": lambda: work.checks(evidence, REPLICATES),
        "`validate`, quick": lambda: work.validations("quick")[0],
        "`validate --full`, only scripts": lambda: work.validations("full", points=False)[0],
        "`validate --full`, with points": lambda: work.validations("full")[0],
        "sweep, 10^5 cells of 1 s, packs of 8": lambda: work.sweep(100_000, 1.0, 8),
        "sweep, 10^6 cells of 0.01 s, packs of 64": lambda: work.sweep(1_000_000, 0.01, 64),
    }
    lines += ["## Computed: seconds on larger clusters", ""]
    lines += [
        f"List scheduling of all pieces with what they wait for; {1e3 * coordinator:.1f} ms of the coordinator or the",
        "scheduler for each piece, as measured above. Checks take the seconds of the run in `reports`,",
        "validations what their scripts say (`BUDGET_SECONDS`), spread over their points by operations. In brackets:",
        "how much of the workers' time is work.",
        "",
        f"| work | pieces | longest | {' | '.join(f'{w} workers' for w in COMPUTED)} |",
        f"| --- | ---: | ---: | {' | '.join(['---:'] * len(COMPUTED))} |",
    ]
    for name, jobs in every.items():
        made = jobs()
        total = sum(job.seconds for job in made)
        row = [name, str(len(made)), f"{max(job.seconds for job in made):.1f} s"]
        for workers in COMPUTED:
            seconds = makespan(jobs(), workers, coordinator)
            row.append(f"{_time(seconds)} ({total / seconds / workers:.0%})")
        lines.append(f"| {' | '.join(row)} |")
        print(lines[-1], flush=True)

    with Store(given.store, given=True) as store:
        entries = list(store.entries())
    found, size = kinds(entries), given.store.stat().st_size
    lines += ["", "## The store", ""]
    lines += [f"After that whole run the file has {size / 1e6:.1f} MB:", ""]
    lines += ["| kind | entries | bytes | largest |", "| --- | ---: | ---: | ---: |"]
    for kind, own in found.items():
        lines.append(f"| {kind} | {own.entries} | {own.bytes / 1e6:.2f} MB | {own.largest / 1e3:.1f} kB |")
    replicates = by_replicates(evidence, {entry.about: len(entry.text) for entry in entries if entry.kind == "check"})
    said = "; ".join(
        f"{name} replicates {count} entries, median {bytes_:.0f} bytes" for name, (count, bytes_) in replicates.items()
    )
    lines += ["", f"Evidence keeps no replicates: {said}.", ""]
    full = size + points * POINT_BYTES
    lines += [
        f"`validate --full` has {points} points, at most {POINT_BYTES / 1e3:.0f} kB each: with all checks at "
        f"{REPLICATES}",
        f"replicates the file has at most {full / 1e6:.0f} MB.",
    ]
    text = "\n".join(lines) + "\n"
    if given.output is not None:
        rest = ""
        if given.output.exists() and "## What limits it" in (before := given.output.read_text()):
            rest = "\n" + before[before.index("## What limits it") :]
        given.output.write_text(text + rest)
    else:
        print(text)
    return 0


def _time(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 600
        else f"{seconds / 60:.0f} min"
        if seconds < 36_000
        else f"{seconds / 3600:.0f} h"
    )


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
