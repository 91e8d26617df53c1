"""A small catalogue with everything that a report to the authors contains: shared causes, readings, survivors, remarks,
provenance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dpfl_theory import statements
from dpfl_theory.core import Cause, Check, Effect, Erratum, Remark, Source, Statement
from dpfl_theory.core.evidence import Evidence
from dpfl_theory.report import author_report as module
from dpfl_theory.report.entries import Entry

PAPER = "das2022"
SCRIPT = """# The step f(x) = x^2 takes.
left, right = 9, 1
print(left, "<=", right, "`fails`", "<b>&amp;</b>")
assert left > right
"""
LONG = Cause(
    f"{PAPER}.long-step",
    "A step that is longer than 2/L, <b>a * b</b> | x_i_j & [more]",
    "The proof takes the step for short, which it is not.",
    "f(x) = x^2, step 2, x_0 = 1: 9 > 1.",
    "One may read the step as small.",
    "The theorem prescribes 2.",
)
FALSE = Cause(
    f"{PAPER}.one-client", "One client is enough", "The sum is empty.", "n = 1: 2 > 0.", "A reply.", "An answer."
)
READINGS = ("K counts rounds.", "K counts local steps.")
SURVIVES = "Its proof takes the step 1/L, for which the lemma holds."


def statement(name: str, provenance: str = "read", **more: Any) -> Statement:
    """A statement of the planted paper; what fails has a check that shows it."""
    restoration = "From the proof of Lemma <9>." if provenance == "restored" else ""
    source = Source(PAPER, f"place of {name}", name[:1], "", provenance, restoration)
    failing = more.get("expected") == "violated"
    checks = (Check("exact", f"check of {name}", lambda *_: None, expected="violated" if failing else "holds"),)
    return Statement(f"{PAPER}.{name}", "lemma", f"about {name}", source, f"the text of {name}", checks=checks, **more)


def erratum(cause: Cause, grade: str, value: float, **more: Any) -> dict[str, Any]:
    """The fields of a statement that is refuted."""
    effect = Effect(value, f"The right side must grow by the share {value} at the paper's <settings>.")
    reported = Erratum(f"printed <{grade}>", "what is true", cause, "2 > 1", grade, effect, **more)
    return {"erratum": reported, "expected": "violated"}


CATALOGUE = {
    s.id: s
    for s in (
        statement(
            "a",
            reading=READINGS[0],
            **erratum(LONG, "constant", 0.25, why="Here L is L_max.", survives={f"{PAPER}.s": SURVIVES}),
        ),
        statement("a.steps", reading=READINGS[1], reading_of=f"{PAPER}.a"),
        statement("b", typos=("A dot is missing after <K>.",), **erratum(LONG, "unit", 3.0)),
        statement("c", **erratum(FALSE, "false", 1.0, repaired=f"{PAPER}.c.repaired")),
        statement("c.repaired", uses=(f"{PAPER}.a",)),
        statement(
            "r", "restored", reading="Some take part.", remark=Remark("If <all> do, it fails.", f"{PAPER}.r.all")
        ),
        statement("r.all", "restored", reading="All take part.", reading_of=f"{PAPER}.r", expected="violated"),
        statement("s", uses=(f"{PAPER}.a",)),
        statement("t", uses=(f"{PAPER}.s",)),
        statement("u", uses=(f"{PAPER}.a",)),
        statement("v", uses=(f"{PAPER}.u", f"{PAPER}.t"), typos=("A dot is missing after <K>.",)),
        statement("v.sharpened", uses=(f"{PAPER}.u",)),
        statement("x", "derived"),
    )
}


def evidence(*names: str, **verdicts: str) -> list[Evidence]:
    """What the checks of these statements give: the recorded verdicts, or others."""
    chosen = {**{name: CATALOGUE[f"{PAPER}.{name}"].expected for name in names}, **verdicts}
    return [
        Evidence(f"{PAPER}.{n}", "exact", f"check of {n}", v, CATALOGUE[f"{PAPER}.{n}"].expected, f"reason of {n}")
        for n, v in chosen.items()
    ]


def entries(*shown: Evidence) -> list[Entry]:
    """The planted statements with their evidence."""
    return [Entry(i, s, [e.to_json() for e in shown if e.statement == i]) for i, s in CATALOGUE.items()]


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The planted statements are the catalogue; the script of one of their causes lies in the folder."""
    place = tmp_path / "statements" / PAPER / "counterexamples"
    place.mkdir(parents=True)
    (place / "long_step.py").write_text(SCRIPT)
    monkeypatch.setattr(module, "PLACE", tmp_path / "statements")
    monkeypatch.setattr(statements, "_catalogue", lambda: CATALOGUE)
    return tmp_path
