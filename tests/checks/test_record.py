"""What `make power` writes: rows of the statements with evidence; the others stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dpfl_theory.checks import record
from dpfl_theory.checks.runner import checks_of, plan, run_plan
from dpfl_theory.core import Statement
from dpfl_theory.errors import InputError
from dpfl_theory.runtime import evidence_table
from dpfl_theory.runtime.evidence_table import FILE, section, write
from dpfl_theory.statements import get
from dpfl_theory.statements.power import recorded

FACT = "das2022.fact2"


@pytest.fixture(autouse=True)
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the table."""
    path = tmp_path / "table.jsonl"
    path.write_text(FILE.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(evidence_table, "FILE", path)
    return path


def document(statement: Statement, leave: int = 0) -> dict[str, Any]:
    pairs = plan([statement])
    return run_plan(pairs[: len(pairs) - leave]).to_json()


def test_a_statement_without_a_row_gets_it_from_its_own_check(table: Path, tmp_path: Path) -> None:
    """No other row changes."""
    before = table.read_text(encoding="utf-8").splitlines()
    for name in ("power", "standard", "seconds"):
        write(name, {id_: value for id_, value in section(name).items() if id_ != FACT})
    assert recorded(FACT) is None
    file = tmp_path / "check.json"
    file.write_text(json.dumps(document(get(FACT))), encoding="utf-8")
    record.main(str(file))
    assert recorded(FACT) is not None
    after = table.read_text(encoding="utf-8").splitlines()
    assert len(after) == len(before)
    assert {json.loads(line)["id"] for line, old in zip(after, before) if line != old} <= {FACT}


def test_a_part_of_the_checks_changes_no_power(capsys: pytest.CaptureFixture[str]) -> None:
    before = dict(section("power"))
    assert len(checks_of(get(FACT))) > 1
    record.record([document(get(FACT), leave=1)])
    assert section("power") == before
    assert f"{FACT} keeps its row" in capsys.readouterr().err


def test_ids_that_are_gone_are_removed() -> None:
    write("power", {**section("power"), "das2022.gone": section("power")[FACT]})
    record.record([document(get(FACT))])
    assert "das2022.gone" not in section("power")


def test_durations_of_validations_are_read_from_a_folder(tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text(json.dumps({"name": "das2022_figure1", "profile": "full", "seconds": 99.0}))
    record.main(str(tmp_path))
    assert section("validation_seconds")["das2022_figure1"]["full"] == 99.0


def test_a_document_without_evidence_is_refused() -> None:
    with pytest.raises(InputError, match="no document has evidence"):
        record.record([{"version": 1}])
