"""A full disk during a sweep, and cells that fail in different ways among others."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from benchmarks.soak.outcome import Outcome, compared, ended, rows, seeds, sweep, words

__all__ = ["FAILING", "failing", "full_disk"]

FAILING: dict[str, dict[str, float]] = {
    "raises": {"problem.rank": 9},
    "never ends": {"rounds": 10**9, "every": 10**6},
    "is not a number": {"eta": 1e200},
    "asks for 10^12 replicates": {"replicates": 10**12},
}
_NUMBERS = ("seed", "suboptimality", "suboptimality_error", "suboptimality_average")


def full_disk(folder: Path, cells: int) -> Outcome | None:
    """A disk of 160 KiB under the store and the table: the sweep reports it, leaves no part of a file and loses no
    earlier file; with space, the same command completes. None without the permission to make such a disk."""
    small = folder / "small"
    small.mkdir()
    made = ["mount", "-t", "tmpfs", "-o", "size=160k", "tmpfs", str(small)]
    if subprocess.run(made, capture_output=True, check=False).returncode:
        return None
    try:
        options = words(cells, 200)
        ended(sweep(options, folder, "roomy"))
        started = time.monotonic()
        (small / "full.csv").write_text("what was there before\n")
        (small / "filler").write_bytes(bytes(60 * 1024))
        reported = ended(sweep(options, small, "full"), (0, 2))
        assert "space" in reported or "full" in reported, reported
        if (small / "full.csv").read_text() != "what was there before\n":
            assert (small / "full.csv").read_bytes() == (folder / "roomy.csv").read_bytes()
        left = {path.name for path in small.iterdir()} - {"full.csv", "filler"}
        left -= {f"full.sqlite{end}" for end in ("", "-wal", "-shm")}
        assert not left, f"left behind: {left}"
        (small / "filler").unlink()
        subprocess.run(["mount", "-o", "remount,size=32m", str(small)], check=True)
        ended(sweep(options, small, "full"))
        return compared(small, "full", "full disk", 1, cells, time.monotonic() - started, whole="../roomy")
    finally:
        subprocess.run(["umount", str(small)], check=True)


def failing(folder: Path, times: int) -> Outcome:
    """Cells that raise, never end, diverge, or need more memory than available, among others. Those are listed with
    their cause, and the others have the same numbers as without them."""
    good: list[dict[str, float]] = [{"seed": k} for k in range(6 * times)]
    kinds = list(FAILING.values()) * times
    bad: list[dict[str, float]] = [{**one, "seed": len(good) + k} for k, one in enumerate(kinds)]  # no two are the same
    mixed = list[dict[str, float]]()
    for k in range(times):
        mixed += [*good[6 * k : 6 * k + 3], *bad[4 * k : 4 * k + 4], *good[6 * k + 3 : 6 * k + 6]]
    base = words(1, 200)[:-2]
    started = time.monotonic()
    for name, listed, code in (("good", good, 0), ("mixed", mixed, 1)):
        tables = [", ".join(f"{key} = {value}" for key, value in row.items()) for row in listed]
        options = [*base, "--set", f"list=[{', '.join(f'{{{table}}}' for table in tables)}]", "--limit", "8"]
        ended(sweep(options, folder, name, "--jobs", "2"), [code])
    found = rows(folder, "mixed")
    done = [row for row in found if row["status"] == "done"]
    failed = [row for row in found if row["status"] != "done"]
    assert len(failed) == len(bad), f"{len(failed)} cells are listed as failed, not {len(bad)}"
    assert all(row["cause"] for row in failed)
    lost, doubled = seeds([row["seed"] for row in done], len(good))
    alone = [[row[name] for name in _NUMBERS] for row in rows(folder, "good")]
    equal = [[row[name] for name in _NUMBERS] for row in done] == alone
    message = f"cells that fail ({', '.join(FAILING)})"
    return Outcome(message, len(bad), len(good), lost, doubled, equal, time.monotonic() - started)
