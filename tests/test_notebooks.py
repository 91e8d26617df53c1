"""The notebooks of the gallery run, and what their texts promise is asserted in their own cells."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from docs.notebooks import FOLDER, cells, notebooks
from dpfl_theory.cli import TASKS

QUICK = ("published-theorem",)
PAGES = notebooks()
CELLS, WIDTH = 12, 88
"""The most cells of a notebook, and the most characters of a line of code: wider ones do not fit a page."""


def prose(text: str) -> str:
    """Without the head of the file, code and links."""
    return re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", " ", text.split("---\n", 2)[2], flags=re.DOTALL)


def test_each_task_has_a_notebook() -> None:
    titles = {re.findall(r"^# (.+)$", prose(page.read_text()), re.MULTILINE)[0]: name for name, page in PAGES.items()}
    assert {task.capitalize() for task, _ in TASKS} == set(titles)
    index = (FOLDER / "index.md").read_text()
    listed = re.findall(r"^\| \[\]\(([a-z-]+)\.md\) \|", index, re.MULTILINE)
    assert listed == [titles[task.capitalize()] for task, _ in TASKS]


@pytest.mark.parametrize("name", PAGES)
def test_a_notebook_is_short_and_asserts_what_it_says(name: str) -> None:
    """Every number in the text is in a cell: as a setting, or in an assertion."""
    text = PAGES[name].read_text(encoding="utf-8")
    code = cells(text)
    assert len(code) == text.count("```{code-cell}") <= CELLS
    assert any("\nassert " in f"\n{cell}" for cell in code)
    assert [line for cell in code for line in cell.splitlines() if len(line) > WIDTH] == []
    numbers = re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w]|\.\d)", prose(text))
    known = set(re.findall(r"\d+(?:\.\d+)?", "".join(code)))
    assert [number for number in numbers if number not in known] == []


def executed(code: list[str], folder: Path) -> None:
    """Run cells one after the other, as files, since `conform` reads the lines of a function."""
    names = {"__name__": "notebook"}
    with pd.option_context("display.max_colwidth", 50):  # which notebooks change
        for number, cell in enumerate(code):
            file = folder / f"cell_{number}.py"
            file.write_text(cell, encoding="utf-8")
            exec(compile(cell, str(file), "exec"), names)


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in PAGES])
def test_a_notebook_runs(name: str, tmp_path: Path) -> None:
    """Without a kernel; a warning is an error here."""
    code = cells(PAGES[name].read_text(encoding="utf-8"))
    if any("IPython" in cell for cell in code):
        pytest.importorskip("IPython", reason="IPython is not installed: make docs installs it")
    executed(code, tmp_path)


def test_a_sentence_that_is_no_longer_true_fails(tmp_path: Path) -> None:
    """The exact checks of a repaired theorem do not violate it: the assertions of the first notebook notice that."""
    code = cells(PAGES["published-theorem"].read_text(encoding="utf-8"))
    until = next(k for k, cell in enumerate(code) if cell.startswith("verdicts ="))
    wrong = [cell.replace("zhang2021.theorem3.1", "zhang2021.theorem3.1.repaired") for cell in code[: until + 1]]
    assert wrong != code[: until + 1]
    with pytest.raises(AssertionError):
        executed(wrong, tmp_path)
