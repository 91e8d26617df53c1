"""Shared by all tests: Hypothesis profiles, the device option, the table of planted faults, and kernels that are
compiled once for all workers."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples on every run; HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("derandomised", derandomize=True, deadline=None, database=None, max_examples=30)
settings.register_profile("explore", deadline=None, max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "derandomised"))

pytest_plugins = ["pytester"]  # for the tests of the plugin

# Tests compute; those of the store name one of their own.
os.environ["DPFL_THEORY_STORE"] = "off"
# One core for each of the workers: threads of a linear algebra that wait for each other take the others'.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Some look at what stands on stderr, and kernels may be compiled while they do.
os.environ["DPFL_THEORY_HINTS"] = "off"


SHARE = 8
"""Of the cases of an exhaustive test, how many there are to one that every run has; ``--exhaustive`` runs all."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--device",
        choices=("auto", "cuda"),
        default="auto",
        help="cuda: a missing GPU is a failure, not a reason to skip",
    )
    parser.addoption(
        "--exhaustive",
        action="store_true",
        help=f"slow tests too, and all cases of those that are marked exhaustive, not one in {SHARE}",
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print which check killed which planted fault (recorded by tests as the property ``kill``)."""
    rows = [
        value
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", [])
        if name == "kill" and getattr(report, "when", "") == "call"
    ]
    if rows:
        terminalreporter.write_sep("-", "planted faults and what noticed them")
        width = max(len(fault) for fault, _ in rows)
        for fault, killers in rows:
            terminalreporter.write_line(f"{fault:<{width}}  {killers}")


# Numba's kernels take some 40 s to compile. In a fresh checkout each worker of pytest-xdist would compile them all; one
# process beside the workers does it instead. Meanwhile one worker has tests without kernels, and one waits.
HERE = Path(__file__).parent
LOCK = "DPFL_KERNELS_LOCK"
"""The environment variable with the file that is locked until the kernels are compiled."""
WITHOUT_KERNELS = ("privacy/test_accounting", "privacy/test_pld", "privacy/test_constants", "report/")
COMPILING = pytest.StashKey[subprocess.Popen[bytes]]()


def _compiled() -> bool:
    """Whether the kernel that takes longest is in the cache, and newer than the sources."""
    kernels = HERE.parent / "dpfl_theory" / "kernels"
    cached = [file.stat().st_mtime for file in (kernels / "__pycache__").glob("player.play-*.nbi")]
    return bool(cached) and max(cached) > max(file.stat().st_mtime for file in kernels.glob("*.py"))


def pytest_configure(config: pytest.Config) -> None:
    if os.name != "posix" or not config.getoption("numprocesses", None) or _compiled():
        return
    import fcntl

    descriptor, os.environ[LOCK] = tempfile.mkstemp(prefix="kernels-")
    fcntl.flock(descriptor, fcntl.LOCK_EX)  # the process that inherits the file holds the lock until it ends
    command = [sys.executable, "-c", "from dpfl_theory.warm import compile_kernels; compile_kernels('cpu')"]
    config.stash[COMPILING] = subprocess.Popen(command, pass_fds=[descriptor])
    os.close(descriptor)


def pytest_unconfigure(config: pytest.Config) -> None:
    if COMPILING in config.stash:
        config.stash[COMPILING].kill()
        config.stash[COMPILING].wait()
        Path(os.environ.pop(LOCK)).unlink()


def _needs_no_kernel(item: pytest.Item) -> bool:
    return item.path.is_relative_to(HERE) and item.path.relative_to(HERE).as_posix().startswith(WITHOUT_KERNELS)


def _keep_a_part(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that are marked ``slow`` are left out; of one that is marked ``exhaustive``, one case in ``SHARE`` is kept,
    and always one, the same in every run."""
    if config.getoption("--exhaustive") or config.getoption("keyword") or any("::" in word for word in config.args):
        return
    cases: dict[str, list[pytest.Item]] = {}
    left = set[pytest.Item]()
    for item in items:
        if item.get_closest_marker("slow"):
            left.add(item)
        elif item.get_closest_marker("exhaustive"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for several in cases.values():
        ordered = sorted(several, key=lambda item: zlib.crc32(item.nodeid.encode()))
        left |= set(ordered[max(1, len(ordered) // SHARE) :])
    if left:
        config.hook.pytest_deselected(items=list(left))
        items[:] = [item for item in items if item not in left]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _keep_a_part(config, items)
    if LOCK in os.environ:
        items.sort(key=lambda item: not _needs_no_kernel(item))


def pytest_runtest_setup(item: pytest.Item) -> None:
    if LOCK in os.environ and not _needs_no_kernel(item):
        import fcntl

        with contextlib.suppress(FileNotFoundError), Path(os.environ.pop(LOCK)).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)
