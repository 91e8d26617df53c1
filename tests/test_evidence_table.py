"""The table of what was measured: one row for each id, sections that change alone, ids of the catalogue."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpfl_theory import statements
from dpfl_theory.core import methods
from dpfl_theory.runtime import evidence_table
from dpfl_theory.runtime.evidence_table import FILE, section, write
from dpfl_theory.validation import available


@pytest.fixture
def lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty table's file."""
    monkeypatch.setattr(evidence_table, "FILE", tmp_path / "table.jsonl")
    return tmp_path / "table.jsonl"


def test_sections_of_one_row(lines: Path) -> None:
    assert section("power") == {}
    write("power", {"b": 2, "a": {"é": 1}})
    write("standard", {"b": ["x"]})
    assert lines.read_text(encoding="utf-8").splitlines() == [
        '{"id": "a", "power": {"é": 1}}', '{"id": "b", "power": 2, "standard": ["x"]}',
    ]  # fmt: skip
    assert section("power") == {"a": {"é": 1}, "b": 2}


def test_another_value_changes_one_line(lines: Path) -> None:
    write("power", dict.fromkeys("abc", 1))
    before = lines.read_text().splitlines()
    write("power", {**section("power"), "b": 2})
    changed = [line for line, old in zip(lines.read_text().splitlines(), before, strict=True) if line != old]
    assert changed == ['{"id": "b", "power": 2}']


def test_a_row_without_a_value_is_removed(lines: Path) -> None:
    write("power", {"a": 1, "b": 2})
    write("standard", {"b": 3})
    write("power", {})
    assert lines.read_text() == '{"id": "b", "standard": 3}\n'


def test_the_file_is_as_it_is_written(lines: Path) -> None:
    """Sections that are written again change no byte."""
    text = FILE.read_text(encoding="utf-8")
    lines.write_text(text, encoding="utf-8")
    for name in {key for line in text.splitlines() for key in json.loads(line)} - {"id"}:
        write(name, section(name))
    assert lines.read_text(encoding="utf-8") == text


def test_rows_are_of_what_exists() -> None:
    ids = {json.loads(line)["id"] for line in FILE.read_text(encoding="utf-8").splitlines()}
    known = {s.id for s in statements.all_statements()}
    assert ids - known <= {*methods.known(), *available()}
