"""`dpfl-theory errata`: what the catalogue records, as text and as JSON."""

from __future__ import annotations

import json

import pytest

from dpfl_theory import statements
from dpfl_theory.cli import main


@pytest.mark.parametrize("paper", statements.papers())
def test_everything_on_record_is_there(paper: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errata", paper, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    own = statements.select((), paper)
    assert [e["id"] for e in found["errata"]] == [s.id for s in own if s.erratum is not None]
    for e in found["errata"]:
        erratum = statements.get(e["id"]).erratum
        assert erratum is not None
        assert (e["printed"], e["true"], e["cause"]) == (erratum.printed, erratum.true, erratum.cause)
        assert (e["counterexample"], e["repaired"] or "") == (erratum.counterexample, erratum.repaired)
        assert e["where"] == statements.get(e["id"]).source.where
    printed = [s for s in own if not s.id.endswith((".repaired", ".sharpened"))]
    assert found["statements"] == len(printed)
    assert [(s["id"], s["slip"]) for s in found["slips"]] == [(s.id, slip) for s in printed for slip in s.slips]
    assert main(["errata", paper]) == 0
    text = capsys.readouterr().out
    squeezed = " ".join(text.split())
    for e in found["errata"]:
        assert all(" ".join(e[key].split()) in squeezed for key in ("id", "printed", "true", "cause", "counterexample"))
    for s in found["slips"]:
        assert " ".join(s["slip"].split()) in squeezed
    assert all(len(line) <= 110 or " " not in line.strip() for line in text.splitlines()[1:])


def test_an_unknown_paper_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errata", "das2023"]) == 2
    told = capsys.readouterr().err
    assert "das2023" in told
    assert "das2022" in told
    assert main(["errata", "das2022", "--format", "xml"]) == 2
