"""Methods are described once: a new description is a new method, everywhere."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from dpfl_theory import statements
from dpfl_theory.checks.runner import plan, report_of, run_plan, settings_of
from dpfl_theory.checks.settings import Settings
from dpfl_theory.cli import main
from dpfl_theory.core import Check, Statement, methods
from dpfl_theory.core.evidence import Evidence, statement_verdict
from dpfl_theory.errors import InputError
from dpfl_theory.report.author_report import introduction
from dpfl_theory.report.build import build

BASE = statements.get("das2022.lemma8")


def run(statement: Statement, check: Check, settings: Settings) -> Evidence:
    """The runner of one more method."""
    return Evidence(statement.id, check.method, check.name, check.make(statement), check.expected, "it was looked at")


@pytest.fixture
def another(monkeypatch: pytest.MonkeyPatch) -> str:
    """One more method, after algebra, with the module that runs its checks."""
    module = ModuleType("dpfl_theory.checks.by_eye")
    monkeypatch.setattr(module, "run", run, raising=False)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    first, *others = methods.METHODS
    made = methods.Method("by-eye", "a look at the formula", threads=False)
    monkeypatch.setattr(methods, "METHODS", (first, made, *others))
    return made.name


def test_a_description_more_is_a_method_more(another: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert list(methods.known()) == ["algebra", another, "exact", "privacy", "worst-case", "monte-carlo"]
    checks = (Check(another, "a look", lambda statement, _: "holds"), *BASE.checks)
    seen = replace(BASE, checks=checks)
    assert seen.methods[:2] == ("algebra", another)
    pairs = plan([seen], [another])
    assert [check.name for _, check in pairs] == ["a look"]
    (evidence,) = run_plan(pairs).evidence
    assert (evidence.method, evidence.verdict, evidence.reason) == (another, "holds", "it was looked at")
    document = report_of(pairs, [evidence], 1e-6, 0.1).to_json()
    assert document["summary"]["statements"][BASE.id]["methods"] == [another]
    (tmp_path / "evidence").mkdir()
    (tmp_path / "evidence" / "check.json").write_text(json.dumps(document))
    assert another in build(tmp_path).read_text()
    assert any("a look at the formula" in line for line in introduction("das2022", [BASE]))
    assert main(["check", BASE.id, "--method", another]) == 2  # known, and used by none of the catalogue's statements
    assert "no check of these statements uses the method by-eye" in capsys.readouterr().err


def test_without_its_description_it_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="unknown method 'by-eye'"):
        plan([BASE], ["by-eye"])
    assert main(["check", BASE.id, "--method", "by-eye"]) == 2
    assert "unknown method 'by-eye'" in capsys.readouterr().err


def test_only_what_is_decisive_decides_beside_others() -> None:
    weak = [name for name, method in methods.known().items() if not method.decisive]
    assert weak == ["algebra"]
    assert statement_verdict([("algebra", "holds"), ("exact", "inconclusive")]) == "inconclusive"
    assert statement_verdict([("algebra", "inconclusive"), ("exact", "holds")]) == "holds"


def test_the_false_alarm_probability_is_shared_by_what_simulates() -> None:
    pairs = plan([statements.get("das2022.theorem4b")])
    drawn = [c for _, c in pairs if methods.get(c.method).simulates]
    assert 1 < len(drawn) < len(pairs)
    assert settings_of(pairs, 1e-3, 0, "cpu").alpha == pytest.approx(1e-3 / len(drawn))


def test_every_runner_is_there_and_names_of_methods_import_nothing_heavy() -> None:
    program = (
        "import sys; from dpfl_theory.core import methods; methods.known(); "
        "heavy = {'numpy', 'scipy', 'sympy', 'numba', 'cvxpy', 'PEPit'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    for method in methods.known().values():
        assert importlib.util.find_spec(method.runner) is not None


def test_the_help_names_every_method(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--help"]) == 0
    shown = "".join(capsys.readouterr().out.split())  # names are broken at hyphens
    assert all(name in shown for name in methods.known())
