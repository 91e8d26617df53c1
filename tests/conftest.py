"""Shared by all tests: Hypothesis profiles, the device option, and the table of planted faults."""

from __future__ import annotations

import gc
import os
import signal
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from selection import concerned

from dpfl_theory.runtime import console

# The same examples in every run; HYPOTHESIS_PROFILE=explore searches for new ones. No example fails because of time:
# the time to generate examples depends more on the machine than on the test.
UNTIMED = [HealthCheck.too_slow]
settings.register_profile(
    "derandomised", derandomize=True, deadline=None, database=None, max_examples=30, suppress_health_check=UNTIMED
)
settings.register_profile("explore", deadline=None, max_examples=500, suppress_health_check=UNTIMED)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "derandomised"))

pytest_plugins = ["pytester"]  # for the tests of the plugin
collect_ignore = ["simulation/own_algorithms.py"]  # registers a user's algorithms, where a test runs it

# Tests compute everything; the tests of the store name their own store.
os.environ["DPFL_THEORY_STORE"] = "off"
# One core for each worker: threads of a BLAS that wait for each other would occupy the cores of other workers.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Some tests read stderr, and kernels may be compiled meanwhile.
os.environ["DPFL_THEORY_HINTS"] = "off"
# The same holds for the progress of work that takes two seconds: on a busy machine that is any work.
USUAL_QUIET, console.QUIET_SECONDS = console.QUIET_SECONDS, 1e9

# A shell without job control makes its background jobs ignore Ctrl-C, and processes that tests interrupt inherit it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

PACKAGE = Path(console.__file__).parent
SHARE = 8
"""Every run has one in this many cases of an exhaustive test; ``--exhaustive`` runs all."""
BEGUN = pytest.StashKey[float]()
CONCERNED = pytest.StashKey[dict[Path, int] | None]()
"""The test files that a change concerns, in the order of the run; None where no change is given."""
FAULTS = "build/planted-faults.txt"
"""The table of planted faults and of the checks that detected them."""


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
    parser.addoption(
        "--left-out-since",
        metavar="REV",
        help="of what is left out without --exhaustive the tests that a change since this revision concerns, no others",
    )
    parser.addoption(
        "--seconds",
        type=float,
        default=float("inf"),
        help="start no test after this many seconds: it is skipped",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[BEGUN] = time.monotonic()
    config.stash[CONCERNED] = None
    if revision := config.getoption("left_out_since"):
        from dpfl_theory.checks.change_detection import change_since
        from dpfl_theory.errors import InputError

        try:
            files = concerned(Path(__file__).parent.rglob("test_*.py"), change_since(revision))
        except InputError as error:
            raise pytest.UsageError(str(error)) from error
        config.stash[CONCERNED] = {file: number for number, file in enumerate(files)}


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Exclude the collected tests from garbage collection, now and while tests run."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    chosen = config.stash[CONCERNED]
    if chosen is not None and not collection_path.is_dir() and collection_path not in chosen:
        return True
    # Of a module of the package, only the examples in its text are run: without any, it need not be imported.
    own = PACKAGE in collection_path.parents and collection_path.suffix == ".py"
    return True if own and b">>>" not in collection_path.read_bytes() else None


def pytest_runtest_setup(item: pytest.Item) -> None:
    if time.monotonic() - item.config.stash[BEGUN] > item.config.getoption("seconds"):
        pytest.skip("no time is left: make test-full runs it")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write which check killed which planted fault (recorded by tests as the property ``kill``)."""
    rows = sorted(
        value
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", [])
        if name == "kill" and getattr(report, "when", "") == "call"
    )
    if rows:
        file = config.rootpath / FAULTS
        file.parent.mkdir(exist_ok=True)
        width = max(len(fault) for fault, _ in rows)
        file.write_text("".join(f"{fault:<{width}}  {killers}\n" for fault, killers in rows), encoding="utf-8")
        terminalreporter.write_line(f"{len(rows)} planted faults and what noticed them: {FAULTS}")


@pytest.fixture
def usual_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress is shown after two seconds, as outside of tests."""
    monkeypatch.setattr(console, "QUIET_SECONDS", USUAL_QUIET)


def _keep_a_part(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests that are marked ``slow``, and most cases of tests that are marked ``exhaustive``.

    Of the latter, one case in ``SHARE`` is kept, or the number in the mark (``keep=2``), and always at least one. The
    choice is the same in every run.
    """
    if config.getoption("--exhaustive") or config.getoption("keyword") or any("::" in word for word in config.args):
        return
    cases: dict[str, list[pytest.Item]] = {}
    keep: dict[str, int] = {}
    left = set[pytest.Item]()
    for item in items:
        if item.get_closest_marker("slow"):
            left.add(item)
        elif marks := list(item.iter_markers("exhaustive")):
            test = item.nodeid.partition("[")[0]
            cases.setdefault(test, []).append(item)
            keep[test] = max(mark.kwargs.get("keep", 0) for mark in marks)
    for test, several in cases.items():
        ordered = sorted(several, key=lambda item: zlib.crc32(item.nodeid.encode()))
        left |= set(ordered[keep[test] or max(1, len(ordered) // SHARE) :])
    chosen = [item for item in items if item not in left]
    if (order := config.stash[CONCERNED]) is not None:
        chosen = sorted(left, key=lambda item: (order[item.path], item.nodeid))
    if len(chosen) < len(items):
        kept = set(chosen)
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = chosen


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _keep_a_part(config, items)
