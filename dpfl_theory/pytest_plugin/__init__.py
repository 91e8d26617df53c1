"""A pytest plugin: theorems as tests, in your own repository.

Installed with the package (entry point ``pytest11``), it gives

* the mark ``theorem``: before the body of a test runs, the statements that it names are checked, and the test fails
  where a check differs from its record;
* the fixture ``check_theorem``, which does the same where the test calls it, and returns the evidence;
* the fixture ``conforms``, which compares your own round with a reference algorithm;
* options, ``--theorem-alpha`` and others, each also an entry of the ini file (``theorem_alpha``);
* for each statement, properties of the test in pytest's JUnit file.

A statement that is undecided within the budget neither holds nor fails. The body of a marked test still runs, and then
the test is skipped, with the reason; ``theorem_undecided = fail`` makes it fail.

Only pytest is imported until a test uses a theorem.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from dpfl_theory.pytest_plugin.options import add_options, settings_of
from dpfl_theory.pytest_plugin.session import CheckTheorem, Conforms

MARK = "theorem"
_HELP = (
    f"{MARK}(*ids, file=None, methods=(), verdict=None, seed=None, alpha=None, budget=None, device='auto'): check "
    "these statements, of the catalogue or of your own file, before the test's body runs; the test fails where a "
    "check differs from its record, or a statement has another verdict than the one given"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the plugin's options."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark, and refuse invalid options before anything runs."""
    config.addinivalue_line("markers", _HELP)
    settings_of(config)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Check the statements that a test is marked with, then run its body."""
    check = CheckTheorem(item)
    undecided = [reported for mark in item.iter_markers(MARK) if (reported := check.of_mark(mark))]
    result = yield
    if undecided:
        pytest.skip("\n".join(undecided))
    return result


@pytest.fixture
def check_theorem(request: pytest.FixtureRequest) -> CheckTheorem:
    """Check statements: call the fixture with ids or `Statement` objects.

    It fails the test where a check differs from its record, and returns the evidence. The signature is
    ``check_theorem(*ids, file=None, methods=(), verdict=None, seed=None, alpha=None, budget=None, device="auto")``.

    ``file`` is a file of your own statements, relative to the test's folder or to pytest's root; without ids all of
    them are checked. ``methods`` are the methods to use, by default all. ``verdict``, such as ``"holds"``, is the one
    that each statement must have and be recorded with. ``alpha`` is the false-alarm probability of this call.
    """
    return CheckTheorem(request.node)


@pytest.fixture
def conforms(request: pytest.FixtureRequest) -> Conforms:
    """Compare a function of one round with a reference algorithm: call the fixture with the function.

    It fails the test where they differ, and returns the report. ``conforms(function, as_="dp-fedavg", **options)`` is
    ``dpfl_theory.conform`` with the same arguments. The default of ``limit``, the seconds after which it is ended and
    undecided, is ``--theorem-budget`` (600 without it).
    """
    return Conforms(request.node)
