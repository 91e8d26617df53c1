"""The report of user theorems: the command that builds it, its content, and the commands that reproduce them."""

from __future__ import annotations

import html
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from dpfl_theory.cli import main

EXAMPLE = Path(__file__).parents[1] / "examples" / "private_gradient_descent.py"
EXACT = """PRIVATE("few", without={"worst-case": "slow", "monte-carlo": "slow"})"""
ID = "outside.private-gradient-descent"
Output = pytest.CaptureFixture[str]


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of one theorem that is checked exactly, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    text = EXAMPLE.read_text()
    checks = 'PRIVATE("few many")'
    assert text.count(checks) == 1
    file = Path("my theorem.py")
    file.write_text(text.replace(checks, EXACT))
    return file


def told(page: Path) -> str:
    """The text of a page."""
    return html.unescape(re.sub(r"<[^>]*>", "", page.read_text()))


def documents() -> dict[str, dict[str, Any]]:
    return {path.name: json.loads(path.read_text()) for path in Path("rep/evidence").iterdir()}


def test_one_command_checks_and_reports_and_the_page_tells_how_to_repeat_it(mine: Path, capsys: Output) -> None:
    """The first page also has its power and its tightness, next to its ratio."""
    mine.write_text(mine.read_text().replace(EXACT, EXACT.replace("monte-carlo", "K = 2")))
    assert main(["report", "--file", str(mine), "--output", "rep", "--alpha", "1e-5", "--seed", "3"]) == 0
    out, err = capsys.readouterr()
    assert out == "rep/index.html\n"
    assert "1 statement (1 holds)" in err
    assert ": rep/evidence/check-my-theorem-" in err
    (document,) = documents().values()
    own = document["own"][ID]
    assert own["file"] == "my theorem.py"
    assert document["summary"]["alpha"] == 1e-5
    assert {e["seed"] for e in document["evidence"] if e["method"] == "monte-carlo"} == {3}

    (command,) = re.findall(r"Repeat it with (dpfl-theory .*?) ·", told(Path("rep/statements") / f"{ID}.html"))
    assert command == f"dpfl-theory check {ID} --file 'my theorem.py' --seed 3 --alpha 1e-05"
    again = ["--format", "json", "--output", "again.json", "--store", "off"]
    assert main([*shlex.split(command)[1:], *again]) == 0
    repeated = json.loads(Path("again.json").read_text())
    assert [(e["check"], e["lhs"]) for e in repeated["evidence"]] == [
        (e["check"], e["lhs"]) for e in document["evidence"]
    ]

    first = Path("rep/index.html").read_text()
    (row,) = re.findall(r"<tr[^>]* data-paper=\"yours\".*?</tr>", first, re.DOTALL)
    assert own["noticed"]["share"] is not None
    assert re.findall(r'data-label="Power">(.*?)</td>', row) == [f"{100 * own['noticed']['share']:.4g} %"]
    assert f'data-power="{own["noticed"]["share"]}"' in row
    (found,) = re.findall(r"<b class=\"id\">yours</b>.*?</tr>", first, re.DOTALL)
    assert "No inequality with a ratio" not in found
    assert "1 of 1 are within a factor 2" in found
    assert f"{ID}: 1<" in found, "the bound is attained"


def test_a_second_report_of_a_file_replaces_the_first_and_takes_what_is_stored(
    mine: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.setenv("DPFL_THEORY_STORE", "kept.sqlite")
    assert main(["report", "--file", str(mine), "--output", "rep"]) == 0
    capsys.readouterr()
    assert main(["report", "--file", str(mine), "--output", "rep"]) == 0
    assert "6 of 6 checks come from the store" in capsys.readouterr().err
    assert len(documents()) == 1


def test_a_refuted_theorem_has_a_report_and_the_exit_code_of_its_check(mine: Path, capsys: Output) -> None:
    mine.write_text(mine.read_text().replace("s.d * s.sigma**2", "s.sigma**2"))
    assert main(["report", "--file", str(mine), "--output", "rep"]) == 1
    assert "violated" in told(Path("rep/statements") / f"{ID}.html")
    assert "1 violated" in capsys.readouterr().err


def test_what_an_empty_folder_is_told_works_as_it_is_typed(mine: Path, capsys: Output) -> None:
    assert main(["report", "--output", "rep"]) == 2
    advice = capsys.readouterr().err
    assert list(Path().iterdir()) == [mine]
    commands = re.findall(r"'(dpfl-theory .*?)'", advice)
    assert [c.split()[1] for c in commands] == ["report", "check", "validate"]
    assert main(shlex.split(commands[0].replace("FILE.py", shlex.quote(str(mine))))[1:]) == 0
    Path("rep").rename("other")
    assert main([*shlex.split(commands[1])[1:], "--method", "exact"]) == 0
    assert main(["report", "--output", "rep"]) == 0
    assert "das2022.eq12" in told(Path("rep/index.html"))


def test_options_of_checks_need_a_file(mine: Path, capsys: Output) -> None:
    assert main(["report", "--output", "rep", "--seed", "3"]) == 2
    assert "--seed is for checks, which only --file runs here: add --file, or leave it out" in capsys.readouterr().err
    assert main(["report", "--output", "rep", "--file", "none.py"]) == 2
    assert "'none.py' does not exist" in capsys.readouterr().err
    assert list(Path().iterdir()) == [mine]
