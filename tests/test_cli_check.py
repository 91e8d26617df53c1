"""`check` of a part of the catalogue: after a change, the smoke set, and in several processes."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

import dpfl_theory
from dpfl_theory import statements
from dpfl_theory.checks import change_detection, runner
from dpfl_theory.checks.change_detection import Change
from dpfl_theory.checks.profiles import smoke_set, standard
from dpfl_theory.checks.runner import plan
from dpfl_theory.cli import main

PACKAGE = Path(dpfl_theory.__file__).resolve().parent
EXAMPLE = PACKAGE.parent / "examples" / "my_statements.py"
LEMMA, OTHER = "das2022.lemma9", "hou2023.lemma1"

Output = pytest.CaptureFixture[str]


def refused(capsys: Output, *arguments: str) -> str:
    """The sentence with which a command is refused."""
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1, err
    return err


def found(capsys: Output) -> set[str]:
    return set(json.loads(capsys.readouterr().out)["summary"]["statements"])


@pytest.fixture
def change(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that differ from every revision."""
    files: list[Path] = []
    monkeypatch.setattr(change_detection, "change_since", lambda revision: Change(PACKAGE, tuple(files)))
    return files


@pytest.mark.parametrize(("format_", "chosen"), [("text", LEMMA), ("json", None), ("junit", LEMMA)])
def test_nothing_changed_is_an_empty_document(
    capsys: Output, change: list[Path], format_: str, chosen: str | None
) -> None:
    change.append(PACKAGE.parent / "README.md")
    ids = [] if chosen is None else [chosen]  # the dependencies of the whole catalogue are requested once
    assert main(["check", *ids, "--changed-since", "main", "--format", format_]) == 0
    out, err = capsys.readouterr()
    assert err == "nothing changed since main on which these checks depend\n"
    if format_ == "json":
        document = json.loads(out)
        assert document["evidence"] == []
        assert document["summary"]["statements"] == {}
        assert document["summary"]["counts"]["as_expected"] == 0
    elif format_ == "junit":
        assert ElementTree.fromstring(out)[0].attrib["tests"] == "0"
    else:
        assert "0 statements, 0 as expected" in out


def test_a_change_is_combined_with_every_other_choice(capsys: Output, change: list[Path]) -> None:
    change.append(PACKAGE / "statements" / "das2022" / "lemma9.py")
    since = ["check", "--changed-since", "main", "--format", "json"]
    assert main([*since, LEMMA, OTHER, "--method", "algebra"]) == 0
    assert found(capsys) == {LEMMA}
    assert main([*since, "--paper", "hou2023"]) == 0
    assert found(capsys) == set()
    assert main([*since, LEMMA, "--method", "privacy"]) == 0  # changed, but this method does not check it
    assert found(capsys) == set()
    assert "unknown method" in refused(capsys, *since, "--method", "privaci")
    change[:] = [EXAMPLE]
    assert main([*since, "--file", str(EXAMPLE), "--method", "algebra"]) == 3  # only its units were checked
    assert found(capsys) == {s.id for s in statements.load_file(EXAMPLE)}


def test_a_revision_that_is_none_is_told(capsys: Output) -> None:
    assert "starts with a dash" in refused(capsys, "check", "--changed-since=--output=x")
    assert (
        "'no-such-revision-anywhere' is " in refused(capsys, "check", "--changed-since", "no-such-revision-anywhere")
        or not (PACKAGE.parent / ".git").exists()
    )


def test_the_smoke_set_alone_is_run(capsys: Output) -> None:
    assert main(["check", "--smoke", "--method", "exact", "--format", "json"]) == 0
    evidence = json.loads(capsys.readouterr().out)["evidence"]
    expected = {(s.id, c.name) for s, c in smoke_set(plan(statements.all_statements(), ["exact"]))}
    assert {(e["statement"], e["check"]) for e in evidence} == expected


def test_the_standard_profile_alone_is_run(capsys: Output) -> None:
    arguments = ["check", "das2022.theorem4a", "das2022.eq12", "--method", "exact", "--format", "json"]
    assert main([*arguments, "--standard"]) == 0
    found = {(e["statement"], e["check"]) for e in json.loads(capsys.readouterr().out)["evidence"]}
    every = plan([statements.get(id_) for id_ in arguments[1:3]], ["exact"])
    assert found == {(s.id, c.name) for s, c in standard(every)}
    assert len(found) < len(every)
    assert "--smoke is part of --standard" in refused(capsys, "check", "--smoke", "--standard")


def test_the_smoke_set_is_the_catalogues(capsys: Output) -> None:
    for other in (["--file", str(EXAMPLE)], ["--changed-since", "HEAD"]):
        assert f"leave {other[0]} out" in refused(capsys, "check", "--smoke", *other)
    belonging = {s.id for s, _ in smoke_set(plan(statements.all_statements()))}
    outside = next(s.id for s in statements.all_statements() if s.id not in belonging)
    assert "belongs to the smoke set" in refused(capsys, "check", "--smoke", outside)


@pytest.mark.parametrize("jobs", ["0", "-1", "1.5", "x", "", "10000"])
def test_what_is_no_number_of_jobs_is_told(capsys: Output, jobs: str) -> None:
    assert f"the number of jobs {jobs!r}" in refused(capsys, "check", LEMMA, f"--jobs={jobs}")


def test_jobs_are_what_is_asked_for_or_what_the_work_is_worth(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    real = runner.run_plan

    def run_plan(pairs: object, **options: object) -> object:
        asked.append(options.pop("jobs"))  # type: ignore[arg-type]
        return real(pairs, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(runner, "run_plan", run_plan)
    assert main(["check", OTHER, "--method", "algebra"]) == 0
    assert main(["check", OTHER, "--method", "algebra", "--jobs", "3"]) == 0
    assert asked == [1, 3]


@pytest.mark.slow
def test_two_jobs_give_the_same_document(capsys: Output) -> None:
    documents = []
    for jobs in ("1", "2"):
        assert main(["check", "das2022.eq12", "--method", "exact", "--jobs", jobs, "--format", "json"]) == 0
        document = json.loads(capsys.readouterr().out)
        del document["summary"]["seconds"]
        for e in document["evidence"]:
            del e["seconds"]
        documents.append(document)
    assert {e["verdict"] for e in documents[0]["evidence"]} == {"holds", "violated", "not-applicable"}
    assert documents[0] == documents[1]


DIFFERING = """
from dpfl_theory.core import Check, Outcome, Source, Statement
def made(name, verdict, expected):
    outcome = {"holds": True, "violated": False, "inconclusive": None}[verdict]
    return Check("algebra", name, lambda *_: Outcome(outcome, "because"), expected=expected)
STATEMENTS = (Statement("mine.one", "lemma", "t", Source("mine", "here"), "text", expected="violated", checks=(
    made("refutes", "violated", "violated"), made("another", VERDICT, EXPECTED))),)
"""


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize(
    ("verdict", "expected", "code"),
    [
        ("holds", "violated", 1),
        ("violated", "holds", 1),
        ("holds", "not-applicable", 1),
        ("inconclusive", "holds", 3),
        ("holds", "holds", 0),
        ("violated", "violated", 0),
    ],
)
def test_a_check_off_its_record_is_told_alike_in_every_format(
    tmp_path: Path, capsys: Output, verdict: str, expected: str, code: int
) -> None:
    """This holds also where another check refutes the statement as recorded, so that its own verdict stays."""
    file = tmp_path / "mine.py"
    file.write_text(DIFFERING.replace("VERDICT", repr(verdict)).replace("EXPECTED", repr(expected)))
    run = ["check", "--file", str(file), "--format"]
    assert main([*run, "text"]) == code
    text = capsys.readouterr().out
    assert ("<- not as expected" in text) == (code == 1)
    assert ("checks not as expected: 1" in text) == (code == 1)
    assert ("<- undecided" in text) == (code == 3)
    assert main([*run, "json"]) == code
    summary = json.loads(capsys.readouterr().out)["summary"]
    assert summary["statements"]["mine.one"]["verdict"] == "violated"
    assert summary["counts"]["as_expected"] == 1
    counts = summary["counts"]["checks"]
    assert counts == {"as_expected": 1 + (code == 0), "differs": int(code == 1), "undecided": int(code == 3)}
    assert main([*run, "junit"]) == code
    suite = ElementTree.fromstring(capsys.readouterr().out)[0]
    assert suite.attrib["tests"] == "3", "two checks, and the statement's verdict"
    assert suite.attrib["failures"] == str(int(code == 1)) == str(len(suite.findall("testcase/failure")))
    assert suite.attrib["skipped"] == str(int(code == 3)) == str(len(suite.findall("testcase/skipped")))
