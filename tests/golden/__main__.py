"""Recorded results of the whole package, compared with what the code computes now.

    python -m tests.golden compare [PART ...]  lists each difference with its relative size; exit code 1 if there is one
    python -m tests.golden freeze PART ...     records what the code computes now

The parts: ``checks`` (verdict, sides, limits and ratio of every check), ``validations`` (claims of every validation in
its full profile), ``conform`` (names that planted faults and correct rounds get), and ``answers`` (of the commands in
``commands.txt``). A change that must not move results runs this before and after it. ``--checks FILE`` and
``--evidence FOLDER`` read results of ``check --format json`` and ``reproduce --full`` in place of computing them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .parts import PARTS, Sources, alpha, compute, differences, read, write


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden")
    parser.add_argument("command", choices=["compare", "freeze"])
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--checks", type=Path, help=f"a document of `check --alpha {alpha()} --format json`")
    parser.add_argument("--evidence", type=Path, help="the folder `evidence` of `reproduce --full`")
    parser.add_argument(
        "--tolerance", type=float, default=0.0, help="relative difference of numbers that is passed over"
    )
    given = parser.parse_args(arguments)
    if unknown := sorted({*given.parts} - {*PARTS}):
        parser.error(f"unknown part {unknown[0]!r}; there are {', '.join(PARTS)}")
    if given.command == "freeze" and not given.parts:
        parser.error("name the parts to record")
    differing = 0
    for part in given.parts or PARTS:
        computed = compute(part, Sources(given.checks, given.evidence))
        if given.command == "freeze":
            write(part, computed)
            print(f"{part}: {len(computed)} recorded")
            continue
        found = list(differences(read(part), computed, given.tolerance))
        differing += len(found)
        print(f"{part}: {len(computed)} compared, {len(found)} differences")
        for line in found:
            print(f"  {line}")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
