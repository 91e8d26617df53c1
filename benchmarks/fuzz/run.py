"""One reader with thousands of inputs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import HypothesisWarning

from benchmarks.fuzz.readers import READERS, Reader

__all__ = ["MOST", "SEED", "test_of", "tried"]

SEED = 20261124
MOST = 3000
"""Characters of a fault that are told."""


def test_of(reader: Reader, inputs: int, ended: Counter[str]) -> Any:
    """A test by Hypothesis that gives a reader so many inputs, and counts how they ended."""

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


def fuzz(reader: Reader, inputs: int) -> tuple[Counter[str], str, float]:
    """How so many inputs of a reader ended; what is wrong with the smallest one that breaks a promise, if any; and how
    long that took."""
    ended, begun, fault = Counter[str](), time.monotonic(), ""
    warnings.simplefilter("ignore", HypothesisWarning)
    try:
        test_of(reader, inputs, ended)()
    except AssertionError as error:
        fault = "\n".join([str(error), *getattr(error, "__notes__", [])])
    return ended, fault, time.monotonic() - begun


def guided(name: str, inputs: int) -> tuple[Counter[str], str, float]:
    """The same with inputs that are guided by coverage, in a process of its own."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dpfl-fuzz-") as folder:
        command = [sys.executable, "-m", "benchmarks.fuzz.guided", name, str(inputs)]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, "TMPDIR": folder}
        )
    fault = "" if done.returncode == 0 else done.stdout[-MOST:] or done.stderr[-MOST:]
    ended = Counter[str]() if fault else Counter[str](json.loads(done.stdout.splitlines()[-1]))
    return ended, fault, time.monotonic() - begun


def tried(work: tuple[str, bool], inputs: int) -> tuple[Counter[str], str, float]:
    """How so many inputs of a reader (its name, and whether coverage guides them) ended, the fault, the seconds."""
    name, by_coverage = work
    return guided(name, inputs) if by_coverage else fuzz(next(r for r in READERS if r.name == name), inputs)
