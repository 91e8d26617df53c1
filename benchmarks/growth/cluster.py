"""A Dask cluster on loopback with a separate process for each part, so that each one's time and traffic is known."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

__all__ = ["Cluster", "Use", "cluster"]

_START_SECONDS = 60.0


@dataclass(frozen=True)
class Use:
    """Seconds of the clock, of the coordinator's and of the scheduler's processor, and bytes over loopback."""

    wall: float
    coordinator: float
    scheduler: float
    traffic: float

    def of(self, pieces: int) -> Use:
        """The same for each of ``pieces`` pieces."""
        return Use(*(value / pieces for value in vars(self).values()))


class Cluster:
    """A scheduler and its workers, by their address and processes."""

    def __init__(self, address: str, scheduler: int) -> None:
        self.address = address
        self._scheduler = psutil.Process(scheduler)

    def _now(self) -> tuple[float, float, float, float]:
        used = self._scheduler.cpu_times()
        sent = psutil.net_io_counters(pernic=True)["lo"].bytes_sent
        return time.perf_counter(), time.process_time(), used.user + used.system, float(sent)

    def used(self, work: Any) -> Use:
        """The time and traffic that a call takes of each part."""
        before = self._now()
        work()
        return Use(*(after - b for after, b in zip(self._now(), before)))


@contextmanager
def cluster(workers: int) -> Iterator[Cluster]:
    """A scheduler and this number of workers with one thread each."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scheduler.json"
        base = [sys.executable, "-m", "dask"]
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        hosts = ["--host", "127.0.0.1"]
        boards = ["--no-dashboard"]
        first = [*base, "scheduler", *hosts, "--port", "0", *boards, "--scheduler-file", str(file)]
        others = [*base, "worker", "--scheduler-file", str(file), "--nworkers", str(workers), "--nthreads", "1"]
        others += ["--no-dashboard", *hosts, "--local-directory", folder]
        scheduler = subprocess.Popen(first, **quiet)
        ends = time.monotonic() + _START_SECONDS
        while not file.exists() and time.monotonic() < ends:
            time.sleep(0.05)
        running = [scheduler, subprocess.Popen(others, **quiet)]
        try:
            from distributed import Client

            with Client(scheduler_file=str(file), set_as_default=False) as client:
                client.wait_for_workers(workers, timeout=_START_SECONDS)
                address = client.scheduler.address
            yield Cluster(address, scheduler.pid)
        finally:
            for process in reversed(running):
                process.terminate()
                process.wait()
