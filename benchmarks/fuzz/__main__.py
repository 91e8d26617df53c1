"""Fuzz every parser with thousands of almost valid inputs.

    python -m benchmarks.fuzz                     10 000 inputs for each reader; writes benchmarks/fuzz/FUZZ.md python
    -m benchmarks.fuzz --inputs 500 CSV    this number for the readers with these words in their names; prints only

An input that breaks a promise is minimised, printed, and counted; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path

from benchmarks.fuzz.contract import PATIENCE
from benchmarks.fuzz.guided import GUIDED
from benchmarks.fuzz.readers import READERS
from benchmarks.fuzz.run import MOST, SEED, tried
from dpfl_theory.runtime.threads import usable_cores

INPUTS = 10_000
HEAD = (
    "| reader | inputs | done | refused | undecided | interrupted | faults | seconds |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
)


def row(name: str, ended: Counter[str], fault: str, seconds: float) -> str:
    """A line of the table under `HEAD`."""
    kinds = [ended[kind] for kind in ("done", "refused", "undecided", "interrupted")]
    return f"| {name} | {' | '.join(map(str, [ended.total(), *kinds, int(bool(fault))]))} | {seconds:.0f} |"


def main(arguments: Sequence[str]) -> int:
    """Run the readers; returns 1 where an input broke a promise."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz")
    parser.add_argument("--inputs", type=int, default=INPUTS)
    parser.add_argument("--jobs", type=int, default=usable_cores(), help="readers at a time")
    parser.add_argument(
        "--patience", default="10", help="seconds that an interrupted command has; more on a busy machine"
    )
    parser.add_argument("--output", type=Path, help="file for the table; by default it is only printed")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args(arguments)
    os.environ[PATIENCE] = options.patience  # for the readers' processes
    names = [r.name for r in READERS]
    named = [n for n in names if not options.words or any(word.lower() in n.lower() for word in options.words)]
    chosen = [(name, False) for name in named]
    if importlib.util.find_spec("atheris") is None:
        print("guided fuzzing is left out: atheris is not installed here", file=sys.stderr)
    else:
        chosen += [(name, True) for name in named if name in GUIDED]
    print(HEAD, flush=True)
    rows, failed = list[str](), False
    with ThreadPoolExecutor(options.jobs) as pool:
        for (name, by_coverage), (ended, fault, seconds) in zip(
            chosen, pool.map(tried, chosen, repeat(options.inputs))
        ):
            rows.append(row(f"{name}, guided" if by_coverage else name, ended, fault, seconds))
            print(rows[-1], flush=True)
            if fault:
                failed = True
                print(fault if len(fault) < MOST else f"{fault[:MOST]} ...", file=sys.stderr, flush=True)
    if options.output is not None:
        message = (
            "# Almost valid inputs\n\n"
            f"`python -m benchmarks.fuzz --inputs {options.inputs}`, seed {SEED}. *Refused*: one sentence, exit code\n"
            "2 or 5, nothing changed on disk. *Interrupted*: still at work after 10 s (2 s\n"
            "for command lines), ended as by Ctrl-C. A fault is\n"
            "a traceback, another exit code, a refusal that is not a sentence or has changed a file, a part of a file\n"
            "left behind, or no end. *Guided*: the inputs are chosen by the lines of the package that they reach.\n\n"
        )
        options.output.write_text(message + "\n".join([HEAD, *rows]) + "\n")
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
