"""Shared by all tests: Hypothesis profiles, the device option, and the table of planted faults."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# The same examples on every run; HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("derandomised", derandomize=True, deadline=None, database=None, max_examples=30)
settings.register_profile("explore", deadline=None, max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "derandomised"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--device",
        choices=("auto", "cuda"),
        default="auto",
        help="cuda: a missing GPU is a failure, not a reason to skip",
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
