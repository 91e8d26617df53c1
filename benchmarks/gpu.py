"""Everything that needs a GPU, in one call: ``python -m benchmarks.gpu --output benchmarks/GPU.md``.

It runs the tests of the CUDA engine, compares its server vectors with the CPU's on benchmarks (a) to (d), and times
both: a round against one on all cores of the same machine, and the rate of matrix products against the measured rate of
double-precision products on the device. It ends after ``--budget`` seconds with the available results.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import TOLERANCE, Case, cases, on
from benchmarks.machine import description
from dpfl_theory.errors import DpflError
from dpfl_theory.kernels import select
from dpfl_theory.kernels.engine import Engine
from dpfl_theory.runtime.threads import usable_cores

SYMBOLS = "abcd"
COLUMNS = ("case", "difference", "CPU, ms a round", "device, ms a round", "CPU / device", "GFLOP/s", "of its dgemm")


def dgemm(xp: Any, size: int, repetitions: int = 5) -> float:
    """GFLOP/s of double-precision products of square matrices with the arrays of this module."""
    rng = np.random.default_rng(0)
    a, b = xp.asarray(rng.random((size, size))), xp.asarray(rng.random((size, size)))
    float((a @ b)[0, 0])  # waits for the device
    seconds = []
    for _ in range(repetitions):
        started = time.perf_counter()
        float((a @ b)[0, 0])
        seconds.append(time.perf_counter() - started)
    return 2.0 * size**3 / statistics.median(seconds) / 1e9


def timed(case: Case, target: float) -> float:
    """Seconds of a round of the package's run, the median of three samples of some ``target`` seconds."""
    run = case.contestants[0].run
    run(2, True)
    started = time.perf_counter()
    run(4, True)
    rounds = max(4, min(case.rounds, round(4 * target / (time.perf_counter() - started))))
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        run(rounds, True)
        seconds.append((time.perf_counter() - started) / rounds)
    return statistics.median(seconds)


def difference(case: Case, cpu: Engine, device: Engine) -> float:
    """The largest difference of the server vectors of a private run on both engines, over the distance travelled: the
    noise is the same, so only rounding may differ."""
    rounds = case.checkpoints[-1]
    with on(cpu):
        expected = np.asarray(case.contestants[0].run(rounds, True))
    with on(device):
        found = np.asarray(case.contestants[0].run(rounds, True))
    return float(np.max(np.abs(found - expected)) / np.max(np.abs(expected - case.start)))


def rows(cpu: Engine, device: Engine, size: str, target: float, rate: float, ends: float) -> Sequence[str]:
    """The lines of the table; a device whose vectors differ gets no time."""
    lines = []
    for symbol in SYMBOLS:
        for case in cases(symbol, size, False):
            if time.monotonic() > ends:
                lines.append(f"| ({symbol}) {case.title} | not reached in the time | | | | | |")
                continue
            apart = difference(case, cpu, device)
            if not apart <= TOLERANCE:
                lines.append(f"| ({symbol}) {case.title} | {apart:.1e}: they disagree | | | | | |")
                continue
            with on(cpu):
                here = timed(case, target)
            with on(device):
                there = timed(case, target)
            flops = case.contestants[0].flops / there / 1e9
            share = f"{flops:.0f} | {flops / rate:.0%}" if flops else "| "
            lines.append(
                f"| ({symbol}) {case.title} | {apart:.1e} | {1e3 * here:.3g} | {1e3 * there:.3g} | "
                f"{here / there:.3g} | {share} |"
            )
    return lines


def tests(seconds: float) -> str:
    """The last line of the tests of the CUDA engine."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--device", "cuda"]
    try:
        done = subprocess.run(
            [*command, "tests/kernels/test_cuda.py"], capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return f"not finished after {seconds:.0f} s"
    return (done.stdout.strip().splitlines() or done.stderr.strip().splitlines() or ["no output"])[-1]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--output", type=Path, help="the Markdown file to write; standard output otherwise")
    parser.add_argument("--device", default="cuda", help="cuda; cpu tries the script itself")
    parser.add_argument("--size", default="full", choices=("full", "quick", "tiny"))
    parser.add_argument("--target", type=float, default=3.0, help="seconds of a sample")
    parser.add_argument("--budget", type=float, default=420.0, help="seconds after which no further case is started")
    given = parser.parse_args()
    started = time.monotonic()
    cpu = select("cpu")
    try:
        device = select(given.device)
    except DpflError as error:
        parser.error(str(error))
    tested = tests(0.5 * given.budget) if given.device == "cuda" else "not run: this is not a GPU"
    rate = dgemm(device.xp, 4096 if given.device == "cuda" else 512)
    profile = f"Size: {given.size}, samples of some {given.target:g} s"
    lines = [
        f"# The device compared with the CPU\n\n{description(profile)}",
        f"* Device: {device.description}; {rate:.0f} GFLOP/s in double-precision products",
        f"* CPU: {usable_cores()} threads",
        f"* Tests of the CUDA engine: {tested}",
        f"\n| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}",
        *rows(cpu, device, given.size, given.target, rate, started + given.budget),
        f"\nMade in {time.monotonic() - started:.0f} s.",
    ]
    text = "\n".join(lines) + "\n"
    if given.output is None:
        print(text)
    else:
        given.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
