"""`dpfl-theory errata`: what the catalogue records, as text and as JSON."""

from __future__ import annotations

import json

import pytest

from dpfl_theory import statements
from dpfl_theory.checks.runner import plan
from dpfl_theory.cli import main
from dpfl_theory.report.entries import Entry
from dpfl_theory.report.proof_map import proof_graph, resting_on


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
        assert squeezed.count(": " + " ".join(s["slip"].split())) == 1, "once, however many statements it is beside"
    commands = [line.split(maxsplit=1)[1] for line in text.splitlines() if line.startswith("  command ")]
    assert commands == [e["command"] for e in found["errata"]], "one line each, whole"
    told = [line for line in text.splitlines()[1:] if not line.startswith("  command ")]
    assert all(len(line) <= 110 or " " not in line.strip() for line in told)


@pytest.mark.parametrize("paper", statements.papers())
def test_what_rests_on_an_erratum_is_what_its_users_say(paper: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Through any number of steps, and whatever the erratum itself names."""
    graph = proof_graph([Entry(s.id, s) for s in statements.all_statements()])
    assert main(["errata", paper, "--format", "json"]) == 0
    for e in json.loads(capsys.readouterr().out)["errata"]:
        erratum = statements.get(e["id"]).erratum
        assert erratum is not None
        reached = {i for i in resting_on(graph, e["id"]) if not i.endswith((".repaired", ".sharpened"))}
        assert set(e["affects"]) == reached | set(erratum.affects)


@pytest.mark.parametrize("paper", statements.papers())
def test_each_command_runs_what_refutes_and_no_other_method(paper: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errata", paper, "--format", "json"]) == 0
    for e in json.loads(capsys.readouterr().out)["errata"]:
        start, *methods = e["command"].split(" --method ")
        assert start == f"dpfl-theory check {e['id']}"
        run = plan([statements.get(e["id"])], methods)
        refuting = {c.method for _, c in run if c.expected == "violated"}
        assert refuting == {c.method for _, c in run}
        everything = plan([statements.get(e["id"])])
        assert refuting == {c.method for _, c in everything if c.expected == "violated"}


def test_a_command_shows_its_erratum(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errata", "hou2023", "--format", "json"]) == 0
    (command,) = (e["command"] for e in json.loads(capsys.readouterr().out)["errata"] if "corollary1" in e["id"])
    assert command.endswith(" --method exact")
    assert main([*command.split()[1:], "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["summary"]["statements"]["hou2023.corollary1"]["verdict"] == "violated"


def test_an_unknown_paper_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errata", "das2023"]) == 2
    told = capsys.readouterr().err
    assert "das2023" in told
    assert "das2022" in told
    assert main(["errata", "das2022", "--format", "xml"]) == 2
