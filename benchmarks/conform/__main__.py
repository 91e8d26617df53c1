"""Test that every planted fault is named, and that correct rounds conform in many runs with different seeds.

    python -m benchmarks.conform                    200 runs of each correct round; writes benchmarks/conform/CONFORM.md
    python -m benchmarks.conform --runs 20 scaffold fewer runs, of rounds with this word in their names: prints the
                                                    tables, and writes them only to --output

The exit code is 1 where a fault is not named, a wrong name is added, or a correct round is accused.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.conform.planted import BUILT_IN, CONSEQUENCES, CORRECT, PLANTED, Plant, function_of
from dpfl_theory.conform.result import Conformance
from dpfl_theory.conform.run import conform
from dpfl_theory.runtime.threads import usable_cores

RUNS = 200
ALPHA = 1e-6
FILE = Path(__file__).parent / "CONFORM.md"


class Took(NamedTuple):
    """Seconds of the clock, and of the processor."""

    wall: float
    cpu: float


def tested(name: str, plant: Plant | None, seed: int) -> tuple[Conformance, Took]:
    """The result of the conformance test for a round, and its seconds."""
    started, cpu = time.perf_counter(), time.process_time()
    given: dict[str, Any] = dict(BUILT_IN.get(name, {}))
    found = conform(function_of(name, plant), CORRECT[name], seed=seed, alpha=ALPHA, **given)
    return found, Took(time.perf_counter() - started, time.process_time() - cpu)


def correct(work: tuple[str, int]) -> tuple[str, str, Took]:
    """A correct round's verdict with this seed, the reason for an accusation, if any, and the seconds."""
    name, seed = work
    found, seconds = tested(name, None, seed)
    return found.verdict, "" if found.conforms else str(found), seconds


def planted(index: int) -> tuple[list[str], Took, str]:
    """The names that a planted fault gets, the seconds, and the code in which it was reported before."""
    plant = PLANTED[index]
    found, seconds = tested(plant.of, plant, 0)
    return [f.name for f in found.faults], seconds, next((f.seen for f in found.faults if f.name == plant.named), "")


def row_of_correct(name: str, found: Sequence[tuple[str, str, Took]]) -> str:
    """A line of the first table."""
    conforming = sum(verdict == "conforms" for verdict, _, _ in found)
    accused = sum(bool(text) for _, text, _ in found)
    wall, cpu = (statistics.median(getattr(took, of) for _, _, took in found) for of in Took._fields)
    return f"| {name} | {CORRECT[name]} | {len(found)} | {conforming} | {accused} | {cpu:.2f} | {wall:.2f} |"


def row_of_planted(plant: Plant, said: Sequence[str], took: Took, seen: str) -> tuple[str, bool]:
    """A line of the second table, and whether it is as expected."""
    others = [name for name in said if name != plant.named]
    wrong = [name for name in others if name not in (*plant.beside, *CONSEQUENCES)]
    named = "NO" if plant.named not in said else "yes, with a wrong name" if wrong else "yes"
    cells = (plant.named, plant.of, named, "; ".join(others), f"{took.cpu:.1f}", f"{took.wall:.1f}", seen)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |", named == "yes"


def totals(correct_rows: Sequence[str], planted_rows: Sequence[str]) -> str:
    """The sums of both tables, in a sentence each."""
    numbers = [[int(cell) for cell in row.split("|")[3:6]] for row in correct_rows]
    runs, conforming, accused = (sum(column) for column in zip(*numbers, strict=True))
    named = sum(row.replace(chr(92) + "|", "").split("|")[3].strip() == "yes" for row in planted_rows)
    return (
        f"{len(correct_rows)} correct rounds ran {runs} times: {conforming} runs conform, {accused} are accused. "
        f"{named} of {len(planted_rows)} planted faults are named, without a wrong name."
    )


def document(command: str, jobs: int, rounds: Sequence[str], faults: Sequence[str]) -> str:
    """The file with both tables."""
    lines = [
        "# Implementations with planted faults, and correct ones",
        "",
        f"`{command}` writes this file. Error probability {ALPHA:g} a run; {jobs} {'runs' if jobs > 1 else 'run'} at a "
        "time. CPU seconds are those of the testing process; next to other processes the clock shows more.",
        "",
        totals(rounds, faults),
        "",
        "| correct round | algorithm | runs | conforms | accused | CPU seconds (median) | clock (median) |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
        *rounds,
        "",
        "| fault | in | named | also said | CPU seconds | clock | reported before in |",
        "| --- | --- | --- | --- | ---: | ---: | --- |",
        *faults,
    ]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Run all tests; returns 1 where some result is not as expected."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.conform")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--seconds", type=float, help="fewer runs of a correct round where they take longer than this")
    parser.add_argument("--jobs", type=int, default=usable_cores())
    parser.add_argument("--output", type=Path, help="file for the tables; CONFORM.md if everything is run in full")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args(arguments)
    names = [n for n in CORRECT if not options.words or any(word in n for word in options.words)]
    plants = [i for i, plant in enumerate(PLANTED) if plant.of in names]
    whole = not options.words and options.runs >= RUNS
    output = options.output or (FILE if whole else None)
    failed = False
    given = [
        f"--{name} {getattr(options, name):g}"
        for name, usual in (("runs", RUNS), ("seconds", None))
        if getattr(options, name) != usual
    ]
    command = " ".join(["python -m benchmarks.conform", *given])
    rounds, faults = list[str](), list[str]()
    with ProcessPoolExecutor(options.jobs) as pool:
        for name in names:
            found, started = list[tuple[str, str, Took]](), time.perf_counter()
            while len(found) < options.runs and (
                options.seconds is None or time.perf_counter() - started < options.seconds
            ):
                seeds = range(len(found), min(options.runs, len(found) + 5 * options.jobs))
                found += pool.map(correct, [(name, seed) for seed in seeds])
            wrong = [text for _, text, _ in found if text]
            rounds.append(row_of_correct(name, found))
            print(rounds[-1], *wrong[:1], sep="\n", flush=True)
            failed |= bool(wrong)
        for i, (said, took, seen) in zip(plants, pool.map(planted, plants)):
            row, good = row_of_planted(PLANTED[i], said, took, seen)
            faults.append(row)
            print(row, flush=True)
            failed |= not good
    if output is not None:
        output.write_text(document(" ".join([command, *options.words]), options.jobs, rounds, faults))
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
