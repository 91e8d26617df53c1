"""The report to the authors in its forms: causes once, survivors and remarks apart, nothing restored called printed."""

from __future__ import annotations

import html
import json
import re
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from pages import Page, broken_links, pages_of
from planted_author_report import CATALOGUE, FALSE, LONG, PAPER, READINGS, SCRIPT, SURVIVES, entries, evidence, planted

from dpfl_theory.core.errata import GRADES
from dpfl_theory.core.evidence import document
from dpfl_theory.report import errata
from dpfl_theory.report.author_report import (
    affected,
    author_report,
    causes_of,
    counted,
    provenances,
    script_path,
    script_text,
)
from dpfl_theory.report.build import build
from dpfl_theory.report.entries import Entry, copy_read, printed_id, readings_of, siblings
from dpfl_theory.report.proof_map import proof_graph, proof_map
from dpfl_theory.report.site import Site, file_names

__all__ = ["planted"]  # the fixture

HERE = script_path(LONG)
RUN = ("a", "a.steps", "b", "r", "r.all", "s", "u", "v")


def words(text: str) -> str:
    """What a reader of the page sees, with single spaces."""
    return " ".join(" ".join(Page(text).text).split())


def page(*names: str, **verdicts: str) -> str:
    shown = entries(*evidence(*names, **verdicts))
    graph = proof_graph(shown)
    place = Path(tempfile.mkdtemp())
    site = Site(place, file_names(e.id for e in shown), {}, frozenset([PAPER]))
    errata.write_author_report(site, errata.collect(PAPER, shown, graph), proof_map(PAPER, graph, site.href("../")), [])
    text = (place / "errata" / f"{PAPER}.html").read_text(encoding="utf-8")
    shutil.rmtree(place)
    return text


def part(text: str, id_: str) -> str:
    """A section or article of the page."""
    found = re.search(rf'<(section|article) id="{id_}".*?</\1>', text, re.DOTALL)
    assert found, id_
    return found[0]


# the record


@pytest.mark.usefixtures("planted")
def test_a_shared_cause_is_told_once_and_counted_once() -> None:
    causes = causes_of(CATALOGUE.values())
    assert [(cause, [s.id for s in errata]) for cause, errata in causes] == [
        (LONG, [f"{PAPER}.a", f"{PAPER}.b"]),  # what explains most comes first
        (FALSE, [f"{PAPER}.c"]),
    ]
    assert [script_text(cause) for cause, _ in causes] == [SCRIPT.strip("\n"), ""]
    written = author_report(PAPER)
    assert {c["id"]: c["errata"] for c in written["causes"]} == {c.id: [s.id for s in errata] for c, errata in causes}
    assert "3 statements do not hold as read, for 2 causes." in " ".join(written["opening"])
    assert {grade: g["errata"] for grade, g in written["grades"].items()} == {
        **dict.fromkeys(GRADES, 0),
        **{"false": 1, "constant": 1, "unit": 1},
    }


def test_causes_that_explain_as_much_are_told_by_their_grade() -> None:
    """Whatever the order of the statements; and one that explains more comes before a graver one."""
    one, other, false = (CATALOGUE[f"{PAPER}.{i}"] for i in "abc")
    assert [cause for cause, _ in causes_of([one, false])] == [FALSE, LONG]
    assert false.erratum is not None
    milder = replace(false, erratum=replace(false.erratum, grade="inference"))
    assert [cause for cause, _ in causes_of([milder, one])] == [LONG, FALSE]
    assert [cause for cause, _ in causes_of([false, other, one])] == [LONG, FALSE]


def test_only_what_was_read_by_the_literal_reading_is_printed() -> None:
    assert provenances(CATALOGUE.values()) == {"read": 7, "restored": 1, "derived": 3, "readings": 2}
    assert sum(s.printed for s in CATALOGUE.values()) == 7
    message = "7 statements read in the paper, 1 restored, 3 derived (these are ours) and 2 second readings"
    assert counted(CATALOGUE.values()) == message
    assert counted([CATALOGUE[f"{PAPER}.b"]]) == "1 statement read in the paper"
    restored = replace(CATALOGUE[f"{PAPER}.r.all"], id=f"{PAPER}.q", reading_of="")
    assert Entry(restored.id, restored).formula_of == "restored formula"
    assert {i: Entry(i, s).formula_of for i, s in CATALOGUE.items() if not s.printed} == {
        f"{PAPER}.a.steps": "formula so read",
        f"{PAPER}.c.repaired": "derived formula",
        f"{PAPER}.r": "restored formula",
        f"{PAPER}.r.all": "restored formula",
        f"{PAPER}.v.sharpened": "derived formula",
        f"{PAPER}.x": "derived formula",
    }


def test_a_second_reading_stands_beside_what_it_reads() -> None:
    readings = readings_of(CATALOGUE.values())
    assert readings == {f"{PAPER}.a.steps": f"{PAPER}.a", f"{PAPER}.r.all": f"{PAPER}.r"}
    assert siblings(CATALOGUE, readings) == readings | {
        f"{PAPER}.c.repaired": f"{PAPER}.c",
        f"{PAPER}.v.sharpened": f"{PAPER}.v",
    }
    assert printed_id(f"{PAPER}.a.steps.repaired", readings) == f"{PAPER}.a"
    assert siblings([f"{PAPER}.a.steps"], readings) == {}


def test_survivors_and_what_is_beside_a_statement_do_not_rest_on_it() -> None:
    graph = proof_graph(entries())
    assert affected(CATALOGUE[f"{PAPER}.a"], graph) == (f"{PAPER}.u", f"{PAPER}.v")
    plain = CATALOGUE[f"{PAPER}.a"]
    assert plain.erratum is not None
    without = replace(plain, erratum=replace(plain.erratum, survives={}))
    graph = proof_graph([Entry(e.id, without if e.id == plain.id else e.statement) for e in entries()])
    assert affected(without, graph) == tuple(f"{PAPER}.{i}" for i in "stuv")
    named = replace(without, erratum=replace(without.erratum or plain.erratum, affects=(f"{PAPER}.b", "p.other")))
    assert set(affected(named, graph)) == {f"{PAPER}.{i}" for i in "bstuv"} | {"p.other"}


# as HTML


@pytest.mark.usefixtures("planted")
def test_the_parts_come_in_the_order_of_a_letter() -> None:
    text = page(*RUN)
    order = ["causes", "errata", "remarks", "sharpened", "typos", "others", "rests"]
    assert re.findall(r'<section id="(\w+)"', text) == order
    reported = words(text)
    assert reported.index("We may be mistaken") < reported.index(LONG.title)
    assert copy_read(PAPER) in reported
    errata_ = part(text, "errata")
    assert errata_.index("The grades of an erratum") < errata_.index("All errata of the paper")
    assert errata_.index("All errata of the paper") < errata_.index("<article")
    shown = part(text, "das2022-a")
    parts = [
        "Printed",
        "Corrected",
        "Cause",
        "Smallest counterexample",
        "Effect at",
        "What survives",
        "Statements that depend on it",
    ]
    places = [shown.index(f"<h4>{title}") for title in [*parts, "Evidence", "Repair"]]
    assert places == sorted(places)


@pytest.mark.usefixtures("planted")
def test_a_cause_shared_by_two_errata_is_printed_once() -> None:
    text = page(*RUN)
    assert text.count(f'id="cause-{PAPER}-long-step"') == 1
    reported = words(part(text, f"cause-{PAPER}-long-step"))
    for piece in (LONG.title, LONG.text, LONG.example, LONG.objection, LONG.response, HERE):
        assert piece in reported
        assert words(text).count(piece) == (5 if piece == LONG.title else 1)  # the table and articles of two errata
    assert reported.endswith(f"Shared by {PAPER}.a , {PAPER}.b .")
    (shown,) = re.findall(r"<pre.*?><code>(.*?)</code></pre>", text, re.DOTALL)
    assert html.unescape(shown) == SCRIPT.strip("\n")
    assert "<b>" not in shown
    assert "&lt;b&gt;a * b&lt;/b&gt;" in text
    assert "<b>a*b*c" not in text
    assert f"{PAPER}.c (on record, not checked here)" in words(part(text, f"cause-{PAPER}-one-client"))


@pytest.mark.usefixtures("planted")
def test_the_tables_count_the_grades_and_list_every_erratum() -> None:
    text = page(*RUN)
    grades, all_ = re.findall(r"<table.*?</table>", part(text, "errata"), re.DOTALL)[:2]
    for grade, meaning in GRADES.items():
        assert f"{grade} {meaning} {1 if grade in ('false', 'constant', 'unit') else 0}" in words(grades)
    rows = [words(row) for row in re.findall(r"<tr>.*?</tr>", all_, re.DOTALL)[1:]]
    assert rows[0].startswith(f"{PAPER}.a place of a, eq. (a) {READINGS[0]} constant {LONG.title} 0.25 The right side")
    assert rows[1].startswith(f"{PAPER}.b place of b, eq. (b) – unit {LONG.title} 3 The right side")
    assert rows[2].startswith(f"{PAPER}.c on record, not checked here place of c, eq. (c) – false {FALSE.title} 1 The")
    assert all(row.endswith("at the paper's <settings>.") for row in rows)
    assert len(rows) == 3


@pytest.mark.usefixtures("planted")
def test_an_erratum_names_its_readings_and_what_survives() -> None:
    shown = words(part(page(*RUN), f"{PAPER}-a"))
    assert f"Read: {READINGS[0]}" in shown
    assert f"Another reading , {PAPER}.a.steps holds {READINGS[1]}" in shown
    assert f"What survives {PAPER}.s : {SURVIVES}" in shown
    assert f"Statements that depend on it {PAPER}.u (holds), {PAPER}.v (holds)." in shown
    assert "Here L is L_max." in shown
    assert f"dpfl-theory check {PAPER}.a" in shown
    unchecked = words(part(page("b"), f"{PAPER}-a"))
    assert f"{PAPER}.a.steps not checked {READINGS[1]}" in unchecked


@pytest.mark.usefixtures("planted")
def test_a_remark_is_no_erratum() -> None:
    text = page(*RUN)
    assert f'id="{PAPER}-r-all"' not in text, "the sibling that shows a remark is no finding"
    shown = words(part(text, f"remark-{PAPER}-r"))
    assert "If <all> do, it fails." in shown
    assert "How it was restored: From the proof of Lemma <9>." in shown
    assert f"{PAPER}.r.all violated All take part." in shown
    assert "reason of r.all" in shown
    assert f"Repeat it with dpfl-theory check {PAPER}.r.all" in shown
    assert "not checked" not in shown
    assert "printed" not in shown.lower()
    reported = words(text)
    assert "2 errata shown by evidence" in reported
    assert "1 remark " in reported
    assert f"{PAPER}.r" not in part(text, "others")
    missing = words(part(page("a", "r"), f"remark-{PAPER}-r"))
    assert "This remark is on record, but was not checked here" in missing
    assert "Known to refute it too, and not run here: check of r.all (exact)" in missing
    other = words(part(page("r", **{"r.all": "holds"}), f"remark-{PAPER}-r"))
    assert "the available evidence does not show it: the sibling's verdict here is “holds”" in other


@pytest.mark.usefixtures("planted")
def test_a_restored_statement_that_fails_itself_is_not_called_printed() -> None:
    text = page("a", r="violated")
    shown = words(part(text, f"{PAPER}-r"))
    assert "no erratum is on record for it yet" in shown
    assert "Restored the text of r" in shown
    assert "printed" not in shown.lower()
    ids = re.findall(r'id="([^"]+)"', text)
    assert len(ids) == len(set(ids))


@pytest.mark.usefixtures("planted")
def test_counts_are_by_provenance() -> None:
    reported = words(page(*RUN))
    assert "5 of 7 statements read in the paper checked" in reported
    for tile in ("1 restored", "3 derived", "2 second readings"):
        assert tile in reported
    assert "5 statements read in the paper were checked (5 by exact): 3 holds, 2 violated." in reported
    assert "derived" in words(part(page(*RUN), "others"))


def test_a_report_of_the_planted_catalogue_is_whole(planted: Path) -> None:
    (planted / "evidence").mkdir()
    ran = evidence(*RUN)
    check = document(ran, {e.statement: e.expected for e in ran}, 1e-6, 1.0)
    (planted / "evidence" / "check.json").write_text(json.dumps(check))
    index = build(planted).read_text(encoding="utf-8")
    pages = pages_of(planted)
    assert broken_links(planted, pages) == []
    for read in pages.values():
        assert len(read.ids) == len(set(read.ids))
        assert len(read.all("caption")) == len(read.all("table"))

    def told_of(id_: str) -> str:
        return words(pages[f"statements/{PAPER}.{id_}.html"].source)

    reported = words(index)
    for tile in ("7 read in the papers", "1 restored", "3 derived", "2 second readings", "1 showing a remark"):
        assert tile in reported
    assert "2 violated" in reported, "what shows a remark is not counted with them"
    shown = told_of("a")
    for piece in (f"Read: {READINGS[0]}", f"{PAPER}.a.steps holds", "Grade constant:", "Here L is L_max.", SURVIVES):
        assert piece in shown
    assert f"Depend on it {PAPER}.u , {PAPER}.v" in shown
    remarked = told_of("r")
    for piece in ("restored", "remark", "If <all> do, it fails.", "It is not an erratum.", "Restored:"):
        assert piece in remarked
    assert "It is in the catalogue to show the remark" in told_of("r.all")
    assert "Erratum" not in told_of("r.all")
