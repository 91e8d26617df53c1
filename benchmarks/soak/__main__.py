"""Real faults during one sweep, only on this machine.

    python -m benchmarks.soak             the full counts; writes benchmarks/soak/SOAK.md
    python -m benchmarks.soak --short     a few of each; prints only

Each disturbed sweep must end with the table of an undisturbed one, byte for byte, and every cell in the store once.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.soak.kills import coordinator, interrupted, workers
from benchmarks.soak.outcome import HEAD, Outcome, ended, sweep, words
from benchmarks.soak.troubles import failing, full_disk

CELLS = 200
ROUNDS = 6_000
LONG = 30_000
"""Rounds of each cell where workers are killed every few seconds, so that many are."""
SEED = 20261123
_HERE = Path(__file__).parent


def main(arguments: Sequence[str]) -> int:
    """Run the faults; returns 1 if a cell was lost, doubled or different."""
    short, draw = "--short" in arguments, random.Random(SEED)
    times = 3 if short else 50
    options, long = ([*words(CELLS, rounds), "--pack", "4"] for rounds in (ROUNDS, LONG))
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        started = time.monotonic()
        ended(sweep(options, folder, "whole", "--jobs", "2"))
        whole = time.monotonic() - started
        print(f"an undisturbed sweep: {whole:.1f} s", flush=True)
        ended(sweep(long, folder, "long", "--jobs", "2"))
        print(HEAD, flush=True)
        found = list[Outcome]()
        faults: list[Callable[[], Outcome | None]] = [
            lambda: coordinator(options, CELLS, folder, times, whole, draw),
            lambda: interrupted(options, CELLS, folder, times, whole, draw),
            lambda: workers(long, CELLS, folder, 2.0, draw, "long"),
            lambda: full_disk(folder, 60),
            lambda: failing(folder, 1 if short else 5),
        ]
        for fault in faults:
            outcome = fault()
            if outcome is None:
                print("| full disk: left out, since this user may not mount one | | | | | | |", flush=True)
            else:
                print(outcome.row(), flush=True)
                found.append(outcome)
    if not short:
        message = (
            "# Faults against one sweep\n\n"
            f"`python -m benchmarks.soak`: {CELLS} cells in packs of 4, {whole:.0f} s undisturbed (where workers are\n"
            f"killed, with {LONG // ROUNDS} times the rounds); moments drawn with seed {SEED} over the time of a\n"
            "whole run, all on loopback. *Lost* and *doubled* cells are counted in\n"
            "the table and in the evidence store. *Numbers equal*: the table is that of an undisturbed run, byte\n"
            "for byte; among cells that fail, the numbers of the others are those that they have without them.\n\n"
        )
        table = "\n".join([HEAD, *(one.row() for one in found)])
        (_HERE / "SOAK.md").write_text(message + table + "\n")
    return int(not all(one.good for one in found))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
