"""`dpfl-theory errata`: what the catalogue records of each paper, as text and as JSON."""

from __future__ import annotations

import json

import pytest

from dpfl_theory import statements
from dpfl_theory.checks.runner import plan
from dpfl_theory.cli import main
from dpfl_theory.core.prose import plain
from dpfl_theory.report.entries import Entry, natural
from dpfl_theory.report.proof_map import proof_graph, undermined


@pytest.mark.parametrize("paper", statements.papers())
def test_everything_on_record_is_there(paper: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errata", paper, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    own = statements.select((), paper)
    assert [e["id"] for e in found["errata"]] == sorted((s.id for s in own if s.erratum is not None), key=natural)
    causes = {s.erratum.cause.id: s.erratum.cause for s in own if s.erratum is not None}
    assert {c["id"]: (c["title"], c["text"], c["example"], c["objection"], c["response"]) for c in found["causes"]} == {
        i: tuple(map(plain, (c.title, c.text, c.example, c.objection, c.response))) for i, c in causes.items()
    }
    for e in found["errata"]:
        erratum = statements.get(e["id"]).erratum
        assert erratum is not None
        corrected, printed, why = map(plain, (erratum.corrected, erratum.printed, erratum.why))
        assert (e["printed"], e["corrected"], e["cause"]) == (printed, corrected, erratum.cause.id)
        assert (e["grade"], e["effect"]["text"], e["why"] or "") == (erratum.grade, plain(erratum.effect.text), why)
        assert (e["counterexample"], e["repaired"] or "") == (plain(erratum.counterexample), erratum.repaired)
        assert e["where"] == statements.get(e["id"]).source.where
    assert found["statements"]["read"] == sum(s.printed for s in own)
    typos = [(s.id, plain(typo)) for s in sorted(own, key=lambda s: natural(s.id)) for typo in s.typos]
    assert [(s["id"], s["typo"]) for s in found["typos"]] == typos
    assert [r["id"] for r in found["remarks"]] == sorted((s.id for s in own if s.remark is not None), key=natural)
    assert main(["errata", paper]) == 0
    text = capsys.readouterr().out
    squeezed = " ".join(text.split())
    for e in found["errata"]:
        keys = ("id", "grade", "printed", "corrected", "counterexample")
        assert all(" ".join(e[key].split()) in squeezed for key in keys)
        assert f"Cause: {' '.join(plain(causes[e['cause']].title).split())}." in squeezed
    for s in found["typos"]:
        assert squeezed.count(": " + " ".join(s["typo"].split())) == 1, "once, however many statements it belongs to"
    commands = [e["command"] for e in (*found["errata"], *found["remarks"])]
    assert all(any(f"{command}." in line for line in text.splitlines()) for command in commands), "one line each, whole"
    assert all(len(line) <= 110 or "dpfl-theory check" in line for line in text.splitlines()[1:])


@pytest.mark.parametrize("paper", statements.papers())
def test_what_rests_on_an_erratum_is_what_its_users_say(paper: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Through any number of steps, and whatever the erratum itself names; what survives does not."""
    graph = proof_graph([Entry(s.id, s) for s in statements.all_statements()])
    assert main(["errata", paper, "--format", "json"]) == 0
    for e in json.loads(capsys.readouterr().out)["errata"]:
        erratum = statements.get(e["id"]).erratum
        assert erratum is not None
        known = {s.id: s for s in statements.all_statements()}
        reached = {*undermined(graph, e["id"]), *erratum.affects}
        beside = {i for i, s in known.items() if s.provenance == "derived" or s.reading_of}
        assert set(e["affects"]) == reached - beside
        assert not reached & set(erratum.survives)


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
    assert main(["errata", "zhang2021", "--format", "json"]) == 0
    (command,) = (
        e["command"] for e in json.loads(capsys.readouterr().out)["errata"] if e["id"] == "zhang2021.theorem3.2"
    )
    assert command.endswith(" --method privacy")
    assert main([*command.split()[1:], "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["summary"]["statements"]["zhang2021.theorem3.2"]["verdict"] == "violated"


def test_an_unknown_paper_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errata", "das2023"]) == 2
    message = capsys.readouterr().err
    assert "das2023" in message
    assert "das2022" in message
    assert main(["errata", "das2022", "--format", "xml"]) == 2


@pytest.mark.parametrize("words", ["errata hou2023", "errata hou2023 --format md", "show hou2023.corollary1"])
def test_an_effect_that_the_paper_does_not_tell(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    erratum = statements.get("hou2023.corollary1").erratum
    assert erratum is not None
    assert erratum.effect.value is None
    assert main(words.split()) == 0
    assert "not known from the paper: The experiments give neither" in " ".join(capsys.readouterr().out.split())
