"""The mutation score of the core.

    python -m benchmarks.mutation                 all modules; continues where an interrupted run ended
    python -m benchmarks.mutation decision pld    modules with these words in their names
    python -m benchmarks.mutation --fresh         runs mutants again that were killed before
    python -m benchmarks.mutation --alive WORD    lists the surviving mutants, without running anything

Writes ``benchmarks/mutation/MUTATION.md`` and ``results.json``. The exit code is 1 where a mutant survives.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence

from benchmarks.mutation.report import alive, write
from benchmarks.mutation.targets import TARGETS


def main(arguments: Sequence[str]) -> int:
    """Run the chosen modules, each in a process of its own."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutation")
    parser.add_argument("--fresh", action="store_true", help="run mutants again that were killed before")
    parser.add_argument("--alive", action="store_true", help="list the surviving mutants, and run nothing")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("words", nargs="*")
    options = parser.parse_args(arguments)
    if options.one:
        from benchmarks.mutation.run import run

        run(options.one, options.fresh)
        return 0
    chosen = [m for m in TARGETS if not options.words or any(m.endswith(w) for w in options.words)]
    failed = False
    if not options.alive:
        for module in chosen:
            command = [sys.executable, "-m", "benchmarks.mutation", "--one", module]
            failed |= bool(subprocess.run([*command, *(["--fresh"] * options.fresh)]).returncode)
    surviving = 0
    for module in chosen:
        for entry in alive(module):
            surviving += 1
            print(f"{module}  {entry[0]}\n  - {entry[1]}\n  + {entry[2]}")
    if not options.alive:
        write()
    return int(failed or surviving > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
