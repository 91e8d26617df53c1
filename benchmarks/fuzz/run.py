"""One reader with thousands of inputs."""

from __future__ import annotations

import faulthandler
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import HypothesisWarning

from benchmarks.fuzz.readers import READERS, Reader

__all__ = ["MOST", "SEED", "test_of", "tried"]

SEED = 20261124
MOST = 3000
"""Number of characters of a fault that are printed."""


def test_of(reader: Reader, inputs: int, ended: Counter[str]) -> Any:
    """A Hypothesis test that gives a reader this number of inputs, and counts their outcomes."""

    @seed(SEED)
    @settings(
        max_examples=inputs,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(reader.inputs())
    def one(given: Any) -> None:
        with tempfile.TemporaryDirectory(prefix="dpfl-fuzz-") as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ended[reader.read(given, Path(folder))] += 1

    return one


def tried(work: tuple[str, bool], inputs: int) -> tuple[Counter[str], str, float]:
    """The outcomes of this number of inputs of a reader (its name, and whether coverage guides them), the error of the
    smallest input that breaks a promise, if any, and the seconds. It runs in its own process; the death of the process
    is also a fault."""
    name, by_coverage = work
    started = time.monotonic()
    module = "benchmarks.fuzz.guided" if by_coverage else "benchmarks.fuzz.run"
    with tempfile.TemporaryDirectory(prefix="dpfl-fuzz-") as folder:
        done = subprocess.run(
            [sys.executable, "-m", module, name, str(inputs)],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "TMPDIR": folder},
        )
    lines = [text for text in (done.stdout, done.stderr[-MOST:]) if text.strip()]
    fault = "" if done.returncode == 0 else f"exit code {done.returncode}: {' '.join(lines)}"
    ended = Counter[str]() if fault else Counter[str](json.loads(done.stdout.splitlines()[-1]))
    return ended, fault, time.monotonic() - started


def main(arguments: Sequence[str]) -> int:
    """Run one reader; how its inputs ended is printed as JSON, or the fault of the smallest one that has one."""
    faulthandler.enable()  # a crash of compiled code is reported with the place of its call
    reader, ended = next(reader for reader in READERS if reader.name == arguments[0]), Counter[str]()
    warnings.simplefilter("ignore", HypothesisWarning)
    try:
        test_of(reader, int(arguments[1]), ended)()
    except Exception as error:  # with one that comes and goes, Hypothesis raises a group
        for one in (error, *getattr(error, "exceptions", ())):
            print(*[str(one)[:MOST], *getattr(one, "__notes__", [])], sep="\n")
        return 1
    print(json.dumps(ended))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
