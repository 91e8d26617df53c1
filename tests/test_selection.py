"""The tests that a change concerns."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
import selection
from selection import concerned

import dpfl_theory
from dpfl_theory.checks.change_detection import Change
from dpfl_theory.runtime.imports import Imports

PACKAGE = Path(dpfl_theory.__file__).parent
TESTS = Path(__file__).parent
EVERY = sorted(TESTS.rglob("test_*.py"))
READ = functools.cache(Imports)
"""The graph of imports, which is read once for all tests: neither tests nor package change while they run."""


@pytest.fixture(autouse=True)
def _read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "Imports", READ)


def names(*changed: str) -> list[str]:
    root = PACKAGE.parent
    return [f.name for f in concerned(EVERY, Change(PACKAGE, tuple(root / name for name in changed)))]


def test_a_change_concerns_who_imports_it() -> None:
    assert names("dpfl_theory/runtime/forecast.py")[0] == "test_forecast.py"
    assert "test_philox.py" in names("dpfl_theory/kernels/philox.py")
    assert "test_philox.py" not in names("dpfl_theory/report/markdown.py")


def test_a_module_of_tests_and_a_test_itself_count() -> None:
    assert names("tests/oracles/scaffnew.py")
    assert names("tests/test_forecast.py") == ["test_forecast.py"]


def test_what_no_test_imports_concerns_none() -> None:
    assert names("README.md") == []


def test_other_versions_of_libraries_concern_everything_that_uses_the_package() -> None:
    assert len(names("constraints.txt")) > 0.9 * len([f for f in EVERY if "dpfl_theory" in f.read_text()])


@pytest.mark.parametrize("name", ["dpfl_theory/privacy/pld.py", "dpfl_theory/conform/case.py"])
def test_the_most_specific_files_come_first(name: str) -> None:
    found = concerned(EVERY, Change(PACKAGE, (PACKAGE.parent / name,)))
    folder = Path(name).parts[1]
    assert found[0].parent.name == folder, [f.name for f in found[:5]]


CONFTEST = (TESTS / "conftest.py").read_text()
MARKED = """
import time
import pytest

@pytest.mark.slow
def test_slow():
    {body}

def test_quick():
    pass
"""


def options(pytester: pytest.Pytester, revision: str, *arguments: str, body: str = "pass") -> dict[str, int]:
    """The number of tests by outcome, of a file outside of the repository with this repository's conftest."""
    pytester.makeconftest(CONFTEST.replace('pytest_plugins = ["pytester"]', ""))
    pytester.makeini("[pytest]\nmarkers =\n    slow: slow\n    exhaustive: exhaustive\n")
    pytester.makepyfile(test_marked=MARKED.format(body=body), selection=(TESTS / "selection.py").read_text())
    found = pytester.runpytest(
        "-p", "no:cacheprovider", *([f"--left-out-since={revision}"] * bool(revision)), *arguments
    )
    return dict(found.parseoutcomes())


def test_what_is_left_out_is_run_where_the_change_concerns_it(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpfl_theory.checks import change_detection

    assert options(pytester, "") == {"passed": 1, "deselected": 1}
    assert options(pytester, "", "--exhaustive") == {"passed": 2}

    own = pytester.path / "test_marked.py"
    monkeypatch.setattr(change_detection, "change_since", lambda revision: Change(PACKAGE, (own,)))
    assert options(pytester, "HEAD") == {"passed": 1, "deselected": 1}
    assert options(pytester, "HEAD", "--seconds=-1") == {"skipped": 1, "deselected": 1}
    assert options(pytester, "HEAD", body="assert False") == {"failed": 1, "deselected": 1}

    monkeypatch.setattr(
        change_detection, "change_since", lambda revision: Change(PACKAGE, (PACKAGE / "report" / "prose.py",))
    )
    assert options(pytester, "HEAD") == {}


def test_a_revision_that_is_none_is_said(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST.replace('pytest_plugins = ["pytester"]', ""))
    pytester.makeini("[pytest]\nmarkers =\n    slow: slow\n    exhaustive: exhaustive\n")
    pytester.makepyfile(test_marked=MARKED.format(body="pass"), selection=(TESTS / "selection.py").read_text())
    found = pytester.runpytest("--left-out-since=no-such-revision")
    found.stderr.fnmatch_lines(["*'no-such-revision' is not a revision*"])
