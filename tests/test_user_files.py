"""Statements of the user's own: what is wrong with a file is one sentence and exit code 2, never a green run."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpfl_theory.checks.runner import plan, run_plan
from dpfl_theory.errors import InputError
from dpfl_theory.statements import load_file

HEAD = """
from dpfl_theory.statements.claims import Outcome
from dpfl_theory.statements.model import Check, Source, Statement
def make(build, method="algebra"):
    return Statement("mine.one", "lemma", "t", Source("mine", "here"), "text", checks=(Check(method, "c", build),))
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("import sys; sys.exit(0)", "cannot be imported: SystemExit: 0"),
        ("STATEMENTS = 3", "defines no STATEMENTS: set it to a tuple of Statement objects"),
        ("STATEMENTS = (1,)", "defines no STATEMENTS"),
        ("x = 1/0", "cannot be imported: ZeroDivisionError"),
        (HEAD + "STATEMENTS = (make(lambda s, i: None, 'algbra'),)", "did you mean 'algebra'?"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        load_file(file)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_build_that_fails_names_statement_and_check(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(HEAD + "STATEMENTS = (make(lambda s, i: i['rounds']),)")
    with pytest.raises(
        InputError, match=r"check 'c' of mine\.one cannot be run: KeyError: 'rounds'; correct its build \(mine\.py, line 6\)"
    ):
        run_plan(plan(load_file(file)))


def test_a_good_file_runs(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(HEAD + "STATEMENTS = (make(lambda s, i: Outcome(True, 'yes')),)")
    assert run_plan(plan(load_file(file))).evidence[0].verdict == "holds"


@pytest.mark.parametrize("more", [{"seed": -1}, {"seed": 0.5}, {"device": "tpu"}, {"alpha": 0.0}, {"budget": 0.0}])
def test_settings_that_cannot_be_used_are_refused_for_every_method(more: dict[str, object]) -> None:
    with pytest.raises(InputError):
        run_plan([], **more)  # type: ignore[arg-type]
