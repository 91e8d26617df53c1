"""The tests that a change concerns."""

from __future__ import annotations

from pathlib import Path

import pytest
from selection import concerned

import dpfl_theory
from dpfl_theory.checks.changed import Change

PACKAGE = Path(dpfl_theory.__file__).parent
TESTS = Path(__file__).parent
EVERY = sorted(TESTS.rglob("test_*.py"))


def names(*changed: str) -> list[str]:
    root = PACKAGE.parent
    return [f.name for f in concerned(EVERY, Change(PACKAGE, tuple(root / name for name in changed)))]


def test_a_change_concerns_who_imports_it() -> None:
    assert names("dpfl_theory/forecast.py")[0] == "test_forecast.py"
    assert "test_philox.py" in names("dpfl_theory/kernels/philox.py")
    assert "test_philox.py" not in names("dpfl_theory/report/prose.py")


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
