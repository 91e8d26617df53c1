"""Processes that are killed (kill -9) or interrupted (Ctrl-C) at random moments of one sweep."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.soak.outcome import Outcome, compared, ended, sweep

__all__ = ["coordinator", "interrupted", "workers"]

PROMPT = 10.0
"""Seconds within which a sweep that is interrupted has ended, its workers with it."""

_Signal = Callable[["subprocess.Popen[str]"], None]


def _disturbed(
    options: list[str], folder: Path, name: str, times: int, latest: float, draw: random.Random, send: _Signal
) -> list[tuple[int, str]]:
    """The exit codes and last messages of a sweep that is disturbed ``times`` times, each time at a random moment up to
    ``latest`` seconds. The same command continues from the cached results; a finished sweep starts again without
    them."""
    found = list[tuple[int, str]]()
    while len(found) < times:
        process = subprocess.Popen(
            sweep(options, folder, name, "--jobs", "2"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            process.wait(draw.uniform(0.3, latest))
        except subprocess.TimeoutExpired:
            send(process)
            _, reported = process.communicate(timeout=PROMPT)
            found.append((process.returncode, reported))
        process.communicate()
        if (table := folder / f"{name}.csv").exists():  # it was done, perhaps a moment before the signal
            assert table.read_bytes() == (folder / "whole.csv").read_bytes(), "a part of a table"
            table.unlink()
            (folder / f"{name}.sqlite").unlink()
        else:
            assert process.returncode, "a sweep that ended well without a table"
    return found


def coordinator(
    options: list[str], cells: int, folder: Path, times: int, latest: float, draw: random.Random
) -> Outcome:
    """kill -9 of the process that runs the sweep, again and again; its workers have to notice."""
    started = time.monotonic()
    _disturbed(options, folder, "killed", times, latest, draw, lambda process: process.kill())
    ended(sweep(options, folder, "killed", "--jobs", "1"))
    return compared(folder, "killed", "kill -9 of the coordinator", times, cells, time.monotonic() - started)


def interrupted(
    options: list[str], cells: int, folder: Path, times: int, latest: float, draw: random.Random
) -> Outcome:
    """Ctrl-C, as a terminal sends it to all processes: each run ends at once, reports the cached results, exit code
    130."""

    def send(process: subprocess.Popen[str]) -> None:
        os.killpg(process.pid, signal.SIGINT)

    started = time.monotonic()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored, in children too
    for code, reported in _disturbed(options, folder, "interrupted", times, latest, draw, send):
        assert code in (0, 130, -signal.SIGINT), f"exit code {code}: {reported[-2000:]}"  # -2: before Python was there
        assert "Traceback" not in reported, reported
    ended(sweep(options, folder, "interrupted", "--jobs", "2"))
    return compared(folder, "interrupted", "Ctrl-C", times, cells, time.monotonic() - started)


def workers(options: list[str], cells: int, folder: Path, every: float, draw: random.Random, whole: str) -> Outcome:
    """kill -9 of a Dask worker every few seconds, while the sweep runs on four; ``whole``: the undisturbed sweep."""
    from distributed import LocalCluster

    stop, killed = threading.Event(), list[int]()
    with LocalCluster(n_workers=4, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0") as cluster:

        def kill() -> None:
            while not stop.wait(every):
                pids = [nanny.pid for nanny in cluster.workers.values() if nanny.pid]
                if pids:
                    killed.append(draw.choice(pids))
                    os.kill(killed[-1], signal.SIGKILL)

        thread, started = threading.Thread(target=kill), time.monotonic()
        thread.start()
        try:
            ended(sweep(options, folder, "workers", "--scheduler", cluster.scheduler_address))
        finally:
            stop.set()
            thread.join()
        seconds = time.monotonic() - started
    fault = f"kill -9 of a Dask worker every {every:g} s"
    return compared(folder, "workers", fault, len(killed), cells, seconds, whole)
