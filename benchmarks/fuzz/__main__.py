"""Thousands of inputs for everything that reads, each one nearly right.

    python -m benchmarks.fuzz                     10 000 inputs for each reader; writes benchmarks/fuzz/FUZZ.md
    python -m benchmarks.fuzz --inputs 500 CSV    as many for the readers with these words in their names; prints only

An input that breaks a promise is made as small as it can be, printed, and counted; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from benchmarks.fuzz.readers import READERS, Reader

INPUTS = 10_000
SEED = 20261124
MOST = 3000
"""Characters of a fault that are printed."""
HEAD = (
    "| reader | inputs | done | refused | undecided | interrupted | faults | seconds |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
)


def fuzz(reader: Reader, inputs: int, begin: int = SEED) -> tuple[Counter[str], str]:
    """How so many inputs of a reader ended, and what is wrong with the smallest one that breaks a promise, if any."""
    ended = Counter[str]()
    folder = Path(tempfile.mkdtemp(prefix="dpfl-fuzz-"))

    @seed(begin)
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
        shutil.rmtree(folder)
        folder.mkdir()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ended[reader.read(given, folder)] += 1

    try:
        one()
    except AssertionError as error:
        notes = [*getattr(error, "__notes__", [])]
        return ended, "\n".join([str(error), *notes])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return ended, ""


def row(reader: Reader, ended: Counter[str], fault: str, seconds: float) -> str:
    """A line of the table under `HEAD`."""
    kinds = [ended[kind] for kind in ("done", "refused", "undecided", "interrupted")]
    return f"| {reader.name} | {' | '.join(map(str, [ended.total(), *kinds, int(bool(fault))]))} | {seconds:.0f} |"


def main(arguments: Sequence[str]) -> int:
    """Run the readers; returns 1 where an input broke a promise."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz")
    parser.add_argument("--inputs", type=int, default=INPUTS)
    parser.add_argument("--output", type=Path, help="where the table goes, if it is kept")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args(arguments)
    chosen = [r for r in READERS if not options.words or any(word.lower() in r.name.lower() for word in options.words)]
    print(HEAD, flush=True)
    rows, failed = list[str](), False
    for reader in chosen:
        begun = time.monotonic()
        ended, fault = fuzz(reader, options.inputs)
        rows.append(row(reader, ended, fault, time.monotonic() - begun))
        print(rows[-1], flush=True)
        if fault:
            failed = True
            print(fault if len(fault) < MOST else f"{fault[:MOST]} ...", file=sys.stderr, flush=True)
    if options.output is not None:
        told = (
            "# Inputs that are nearly right\n\n"
            f"`python -m benchmarks.fuzz --inputs {options.inputs}`, seed {SEED}. *Refused*: one sentence, exit code\n"
            "2 or 5, nothing changed on disk. *Interrupted*: still at work after 10 s (2 s\n"
            "for command lines), ended as by Ctrl-C. A fault is\n"
            "a traceback, another exit code, a refusal that is no sentence or has changed a file, a part of a file\n"
            "left behind, or no end.\n\n"
        )
        options.output.write_text(told + "\n".join([HEAD, *rows]) + "\n")
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
