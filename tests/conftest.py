"""Shared by all tests: Hypothesis profiles, the device option, and the table of planted faults."""

from __future__ import annotations

import os
import zlib

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
