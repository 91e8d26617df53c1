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

from dpfl_theory import console

# The same examples on every run; HYPOTHESIS_PROFILE=explore looks for new ones. No example fails for want of time: that
# examples are made slowly says more of the machine than of the test.
UNTIMED = [HealthCheck.too_slow]
settings.register_profile(
    "derandomised", derandomize=True, deadline=None, database=None, max_examples=30, suppress_health_check=UNTIMED
)
settings.register_profile("explore", deadline=None, max_examples=500, suppress_health_check=UNTIMED)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "derandomised"))

pytest_plugins = ["pytester"]  # for the tests of the plugin

# Tests compute; those of the store name one of their own.
os.environ["DPFL_THEORY_STORE"] = "off"
# One core for each of the workers: threads of a linear algebra that wait for each other take the others'.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Some look at what stands on stderr, and kernels may be compiled while they do.
os.environ["DPFL_THEORY_HINTS"] = "off"
# So, too, is the progress of work that takes two seconds: on a busy machine that is any work.
USUAL_QUIET, console.QUIET_SECONDS = console.QUIET_SECONDS, 1e9

# A shell without job control has what it starts in the background ignore Ctrl-C, and so would all that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

PACKAGE = Path(console.__file__).parent
SHARE = 8
"""Of the cases of an exhaustive test, how many there are to one that every run has; ``--exhaustive`` runs all."""
BEGUN = pytest.StashKey[float]()
CONCERNED = pytest.StashKey[dict[Path, int] | None]()
"""The test files that a change concerns, in the order in which they are run; None where no change is asked about."""
FAULTS = "build/planted-faults.txt"
"""The table of planted faults and what noticed them."""


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
        help="begin no test after so many seconds: it is skipped",
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
    """What is collected stays: no search for garbage looks through it, now or while tests run."""
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
    # Of a module of the package, only examples in its text are run: where there is none, it need not be imported.
    own = PACKAGE in collection_path.parents and collection_path.suffix == ".py"
    return True if own and b">>>" not in collection_path.read_bytes() else None


def pytest_runtest_setup(item: pytest.Item) -> None:
    if time.monotonic() - item.config.stash[BEGUN] > item.config.getoption("seconds"):
        pytest.skip("no time is left: make test-full runs it")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write down which check killed which planted fault (recorded by tests as the property ``kill``)."""
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
    """Progress is told after two seconds, as where no tests run."""
    monkeypatch.setattr(console, "QUIET_SECONDS", USUAL_QUIET)


def _keep_a_part(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that are marked ``slow`` are left out; of one that is marked ``exhaustive``, one case in ``SHARE`` is kept,
    or as many as its mark says (``keep=2``), and always one, the same in every run."""
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
