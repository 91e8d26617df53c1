"""Every planted fault is named, and correct rounds conform in many runs with different seeds.

    python -m benchmarks.conform                    200 runs of each correct round; writes benchmarks/conform/CONFORM.md
    python -m benchmarks.conform --runs 20 scaffold fewer, of rounds with this word in their names; prints only

The exit code is 1 where a fault is not named, or a correct round is accused.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.conform.planted import BUILT_IN, CORRECT, PLANTED, Plant, function_of
from dpfl_theory.conform.result import Conformance
from dpfl_theory.conform.run import conform
from dpfl_theory.kernels.threads import usable_cores

RUNS = 200
ALPHA = 1e-6


def tested(name: str, plant: Plant | None, seed: int) -> tuple[Conformance, float]:
    """What the kit says of a round, and the seconds that it took."""
    begun = time.perf_counter()
    given: dict[str, Any] = dict(BUILT_IN.get(name, {}))
    found = conform(function_of(name, plant), CORRECT[name], seed=seed, alpha=ALPHA, **given)
    return found, time.perf_counter() - begun


def correct(work: tuple[str, int]) -> tuple[str, str, float]:
    """A correct round's verdict with this seed, why it is accused if it is, and the seconds."""
    name, seed = work
    found, seconds = tested(name, None, seed)
    return found.verdict, "" if found.conforms else str(found), seconds


def planted(index: int) -> tuple[list[str], float, str]:
    """The names that a planted fault gets, the seconds, and where it was reported before."""
    plant = PLANTED[index]
    found, seconds = tested(plant.of, plant, 0)
    return [f.name for f in found.faults], seconds, next((f.seen for f in found.faults if f.name == plant.named), "")


def main(arguments: Sequence[str]) -> int:
    """Run all; returns 1 where something is not as it should be."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.conform")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--jobs", type=int, default=usable_cores())
    parser.add_argument("--output", type=Path, help="where the tables go, if they are kept")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args(arguments)
    names = [n for n in CORRECT if not options.words or any(word in n for word in options.words)]
    plants = [i for i, plant in enumerate(PLANTED) if plant.of in names]
    failed = False
    lines = [
        "# Implementations with planted faults, and correct ones",
        "",
        f"`python -m benchmarks.conform --runs {options.runs}`, error probability {ALPHA:g} a run.",
        "",
        "| correct round | algorithm | runs | conforms | accused | seconds (median) |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    with ProcessPoolExecutor(options.jobs) as pool:
        for name in names:
            found = list(pool.map(correct, [(name, seed) for seed in range(options.runs)]))
            wrong = [text for _, text, _ in found if text]
            seconds = statistics.median(s for _, _, s in found)
            conforming = sum(verdict == "conforms" for verdict, _, _ in found)
            row = f"| {name} | {CORRECT[name]} | {len(found)} | {conforming} | {len(wrong)} | {seconds:.2f} |"
            print(row, *wrong[:1], sep="\n", flush=True)
            lines.append(row)
            failed |= bool(wrong)
        head = [
            "",
            "| fault | in | named | also said | seconds | reported before in |",
            "| --- | --- | --- | --- | ---: | --- |",
        ]
        lines += head
        for i, (said, seconds, seen) in zip(plants, pool.map(planted, plants)):
            plant = PLANTED[i]
            good = plant.named in said
            others = "; ".join(other for other in said if other != plant.named)
            row = f"| {plant.named} | {plant.of} | {'yes' if good else 'NO'} | {others} | {seconds:.1f} | {seen} |"
            print(row, flush=True)
            lines.append(row)
            failed |= not good
    if options.output is not None:
        options.output.write_text("\n".join(lines) + "\n")
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
