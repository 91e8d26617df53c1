"""One contract of exit codes, the same in text, JSON and JUnit: 1 where a check or a statement differs from its record,
else 3 where one is undecided or unchecked, else 0."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import junitparser
import pytest

from dpfl_theory import statements
from dpfl_theory.checks.document import read
from dpfl_theory.checks.runner import plan, run_plan
from dpfl_theory.cli import main
from dpfl_theory.cli._check_output import DIFFERS, UNDECIDED, UNITS_ALONE, UNITS_CHOSEN
from dpfl_theory.cli.check import FORMATS
from dpfl_theory.core import Check, Hypothesis, Outcome, Sides, Source, Statement, Symbol, Values
from dpfl_theory.core.evidence import exit_code

Output = pytest.CaptureFixture[str]

SYMBOLS = (Symbol("x", "a number"), Symbol("y", "another one"))
SMALL = Hypothesis.custom("x < 5", lambda _, values: None if values["x"] < 5 else f"x is {values['x']}")
FOUND = {"holds": (1, 2), "violated": (2, 1), "not-applicable": (5, 6)}


def check(verdict: str, expected: str, name: str = "c", smoke: bool = False) -> Check:
    """A check that gives this verdict."""

    def values(*_: object) -> Values:
        return Values(dict(zip("xy", FOUND[verdict])))

    def open_(*_: object) -> Outcome:
        return Outcome(None, "no proof was found")

    if verdict == "inconclusive":
        return Check("algebra", name, open_, expected=expected, smoke=smoke)
    return Check("exact", name, values, expected=expected, smoke=smoke)


def statement(id_: str, *checks: Check, expected: str = "holds") -> Statement:
    return Statement(
        id=id_,
        kind="lemma",
        title="t",
        source=Source(id_.split(".")[0], "here"),
        text="text",
        symbols=SYMBOLS,
        hypotheses=(SMALL,),
        sides=lambda s: Sides(lhs={"x": s.x}, rhs={"y": s.y}),
        checks=checks,
        expected=expected,
    )


class Case(NamedTuple):
    """The verdicts of a statement's checks, and the resulting agreement with its record."""

    made: Callable[[str], Statement]
    code: int
    checks: tuple[int, int]
    """How many of its checks, that of units aside, are off their record: decided ones, undecided ones."""
    verdict: str


def one(verdict: str, recorded: str, expected: str, code: int) -> Case:
    """A statement with a check that holds next to the one of interest."""
    off = {0: (0, 0), 1: (1, 0), 3: (0, 1)}[code if verdict != recorded else 0]
    formed = "violated" if verdict == "violated" else "holds"
    if verdict == "inconclusive" and recorded == "violated":
        formed = "inconclusive"
    good = check("holds", "holds", "good")
    return Case(lambda id_: statement(id_, good, check(verdict, recorded), expected=expected), code, off, formed)


CASES = {
    "as recorded, holds": one("holds", "holds", "holds", 0),
    "as recorded, violated": one("violated", "violated", "violated", 0),
    "as recorded, outside the hypotheses": one("not-applicable", "not-applicable", "holds", 0),
    "as recorded, undecided": one("inconclusive", "inconclusive", "holds", 0),
    "refuted": one("violated", "holds", "holds", 1),
    "a counterexample that stopped working": one("holds", "violated", "violated", 1),
    "a check differs, the statement stays": one("not-applicable", "holds", "holds", 1),
    "a hypothesis is met now": one("holds", "not-applicable", "holds", 1),
    "undecided next to one that holds": one("inconclusive", "holds", "holds", 3),
    "a refutation is undecided": one("inconclusive", "violated", "violated", 3),
    "the statement alone differs": Case(
        lambda id_: statement(id_, check("holds", "holds"), expected="violated"), 1, (0, 0), "holds"
    ),
    "all undecided": Case(lambda id_: statement(id_, check("inconclusive", "holds")), 3, (0, 1), "inconclusive"),
    "nothing but units": Case(statement, 3, (0, 0), "unchecked"),
}


def told(text: str, document: dict[str, Any], junit: str) -> dict[str, int]:
    """The exit code that each format reports."""
    suite = next(iter(junitparser.JUnitXml.fromstring(junit.encode())))
    agreements = {e["agreement"] for e in document["evidence"]}
    agreements |= {s["agreement"] for s in document["summary"]["statements"].values()}
    assert agreements <= {"as expected", "differs", "undecided", "unchecked"}
    unchecked = UNITS_ALONE in text or UNITS_CHOSEN in text
    return {
        "text": 1 if DIFFERS in text else 3 if UNDECIDED in text or unchecked else 0,
        "json": 1 if "differs" in agreements else 3 if agreements - {"as expected"} else 0,
        "junit": 1 if suite.failures else 3 if suite.skipped else 0,
    }


@pytest.mark.parametrize("names", [*((n,) for n in CASES), *itertools.combinations(CASES, 2)], ids=" + ".join)
def test_every_format_tells_the_same_code(names: tuple[str, ...]) -> None:
    """Of one statement and of every two."""
    made = {f"mine.s{i}": CASES[name] for i, name in enumerate(names)}
    report = run_plan(plan([case.made(id_) for id_, case in made.items()]))
    document = report.to_json()
    codes = {case.code for case in made.values()}
    code = 1 if 1 in codes else max(codes)
    text, junit = FORMATS["text"](report, document), FORMATS["junit"](report, document)
    assert exit_code(document["summary"]) == code
    assert told(text, read(document, "it"), junit) == {"text": code, "json": code, "junit": code}
    found = document["summary"]["statements"]
    assert {id_: s["verdict"] for id_, s in found.items()} == {id_: case.verdict for id_, case in made.items()}
    checks = document["summary"]["counts"]["checks"]
    assert [checks["differs"], checks["undecided"]] == [sum(c.checks[i] for c in made.values()) for i in (0, 1)]
    suite = next(iter(junitparser.JUnitXml.fromstring(junit.encode())))
    agreements = [e["agreement"] for e in document["evidence"]] + [s["agreement"] for s in found.values()]
    assert (suite.tests, suite.errors) == (len(agreements), 0)
    assert suite.failures == agreements.count("differs")
    assert suite.skipped == agreements.count("undecided") + agreements.count("unchecked")


@pytest.fixture(params=["catalogue", "file"])
def command(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a command that checks a statement that has this case: as one of the catalogue, or of a user's file."""

    def made(name: str) -> list[str]:
        of = CASES[name].made("mine.one")
        if request.param == "catalogue":
            monkeypatch.setattr(statements, "_catalogue", lambda: {of.id: of})
            return ["check", of.id, "--store", "off"]
        file = tmp_path / "mine.py"
        file.write_text(
            f"from tests.checks.test_contract import CASES\nSTATEMENTS = (CASES[{name!r}].made('mine.one'),)\n"
        )
        return ["check", "--file", str(file), "--store", "off"]

    return made


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize(
    ("name", "options", "code"),
    [
        ("as recorded, violated", [], 0),
        ("refuted", [], 1),
        ("the statement alone differs", [], 1),
        ("all undecided", [], 3),
        ("nothing but units", [], 3),
        ("as recorded, holds", ["--method", "exact"], 0),
        ("as recorded, holds", ["--method", "algebra"], 3),  # its units alone are looked at
        ("nothing but units", ["--method", "algebra"], 3),
        ("as recorded, holds", ["--budget", "0.000001"], 3),
        ("refuted", ["--method", "algebra"], 3),
        ("refuted", ["--method", "exact"], 1),
    ],
)
def test_the_command_ends_with_it(command: Any, capsys: Output, name: str, options: list[str], code: int) -> None:
    if name == "the statement alone differs" and "--file" in command(name):  # a user's file is refused
        assert main(command(name)) == 2
        assert "and none of its checks expects that" in capsys.readouterr().err
        return
    outputs = {}
    for format_ in FORMATS:
        assert main([*command(name), *options, "--format", format_]) == code
        outputs[format_] = capsys.readouterr().out
    assert set(told(outputs["text"], json.loads(outputs["json"]), outputs["junit"]).values()) == {code}


@pytest.mark.parametrize(("verdict", "code"), [("holds", 0), ("violated", 1), ("inconclusive", 3)])
def test_the_smoke_set_ends_with_it(monkeypatch: pytest.MonkeyPatch, capsys: Output, verdict: str, code: int) -> None:
    """What does not belong to it does not count."""
    of = statement("mine.one", check(verdict, "holds", smoke=True), check("violated", "holds", "no part of it"))
    monkeypatch.setattr(statements, "_catalogue", lambda: {of.id: of})
    assert main(["check", "--smoke", "--store", "off", "--format", "junit"]) == code
    suite = next(iter(junitparser.JUnitXml.fromstring(capsys.readouterr().out.encode())))
    assert (suite.tests, suite.failures > 0, suite.skipped > 0) == (2, code == 1, code == 3)


def test_units_in_the_smoke_set_alone_are_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    of = replace(statement("mine.one", check("holds", "holds")), smoke=("units",))
    monkeypatch.setattr(statements, "_catalogue", lambda: {of.id: of})
    assert main(["check", "--smoke", "--store", "off"]) == 3


def test_what_xml_cannot_hold_is_replaced() -> None:
    of = statement("mine.one", Check("algebra", "c", lambda *_: Outcome(None, "an \x1b[1mescape\x00 & <tag> ]]>")))
    report = run_plan(plan([of]))
    parsed = junitparser.JUnitXml.fromstring(FORMATS["junit"](report, report.to_json()).encode())
    (skipped, _) = [case.result[0] for suite in parsed for case in suite if case.result]
    assert skipped.message.endswith("an \N{REPLACEMENT CHARACTER}[1mescape\N{REPLACEMENT CHARACTER} & <tag> ]]>")
