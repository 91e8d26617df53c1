"""The page of errata of each paper: complete, calm, and never more than the evidence shows."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pages import Page, broken_links, pages_of
from test_report import HOLDS, REFUTED, sample

from dpfl_theory import statements
from dpfl_theory.core import Cause, Check, Effect, Erratum, Source, Statement
from dpfl_theory.core.evidence import Evidence, Interval, document
from dpfl_theory.report.build import build
from dpfl_theory.report.entries import Entry
from dpfl_theory.report.errata import PaperErrata, collect, write_author_report
from dpfl_theory.report.markdown import html as prose
from dpfl_theory.report.proof_map import proof_graph, proof_map
from dpfl_theory.report.site import Site, file_names
from dpfl_theory.report.templates import anchor


def evidence_of(*evidence: Evidence) -> dict[str, Any]:
    return document(evidence, {e.statement: e.expected for e in evidence}, 1e-6, 1.0)


@pytest.fixture
def output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the evidence of checks of das2022."""
    (tmp_path / "evidence").mkdir()
    (tmp_path / "evidence" / "check.json").write_text(json.dumps(sample()))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def page_of(output: Path, paper: str = "das2022") -> tuple[str, Page]:
    build(output)
    text = (output / "errata" / f"{paper}.html").read_text(encoding="utf-8")
    return text, Page(text)


def finding(text: str, id_: str) -> str:
    found = re.search(rf'<article id="{anchor(id_)}".*?</article>', text, re.DOTALL)
    assert found, id_
    return found[0]


def letter_of(place: Path, found: PaperErrata, entries: list[Entry]) -> str:
    """Only the report to the authors, as it is written."""
    site = Site(place, file_names(e.id for e in entries), {}, frozenset([found.paper]))
    write_author_report(site, found, proof_map(found.paper, proof_graph(entries), site.href("../")), [1e-6])
    return (place / "errata" / f"{found.paper}.html").read_text(encoding="utf-8")


def words(page: Page) -> str:
    return " ".join(" ".join(page.text).split())


def test_the_page_needs_nothing_but_itself(output: Path) -> None:
    text, page = page_of(output)
    assert not page.all("link")
    assert not page.all("img")
    assert all("src" not in attributes for attributes in page.all("script"))
    assert "@import" not in text
    assert "url(" not in text
    assert not re.search(r"https?://", text.replace("http://www.w3.org/1998/Math/MathML", ""))


def test_the_letter_and_the_map_lead_to_each_other_and_to_statements(output: Path) -> None:
    build(output)
    pages = pages_of(output)
    assert broken_links(output, pages) == []
    author_report = {str(a["href"]) for a in pages["errata/das2022.html"].all("a")}
    assert {"../maps/das2022.html", "../index.html?paper=das2022#statements"} <= author_report
    assert "../errata/das2022.html" in {str(a["href"]) for a in pages["maps/das2022.html"].all("a")}


def test_each_node_of_a_map_is_a_link(output: Path) -> None:
    build(output)
    text = (output / "maps" / "das2022.html").read_text(encoding="utf-8")
    drawn = re.findall(r'<a href="../statements/([^"]+).html"><g class="node[^"]*"><title>([^:]+): ', text)
    own = {s.id for s in statements.select((), "das2022")}
    assert own == {id_ for _, id_ in drawn}
    assert len(drawn) == len(own)
    assert all(page == id_ for page, id_ in drawn)
    assert re.search(r'das2022.theorem4a.html"><g class="node holds', text)


def test_it_is_accessible(output: Path) -> None:
    _, page = page_of(output)
    assert page.all("html")[0]["lang"] == "en"
    assert len(page.all("caption")) == len(page.all("table"))
    assert len(page.all("h1")) == 1
    headings = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert all(later <= earlier + 1 for earlier, later in pairwise(headings))
    assert all(attributes.get("scope") for attributes in page.all("th"))


def test_an_erratum_with_evidence_is_shown_in_full(output: Path) -> None:
    text, _ = page_of(output)
    shown = finding(text, REFUTED)
    statement = statements.get(REFUTED)
    assert statement.erratum is not None
    for part in ("printed", "corrected", "why", "counterexample", "grade"):
        assert prose(getattr(statement.erratum, part)) in shown
    assert f'href="#cause-{anchor(statement.erratum.cause.id)}"' in shown
    for part in ("unequal clients", "monte-carlo", "0.02", "[0.018, 0.9]", "the lower limit exceeds the bound"):
        assert part in shown
    assert html.escape(statement.source.where) in shown
    assert f"dpfl-theory check {REFUTED}" in shown
    assert 'href="../statements/das2022.theorem4b.repaired.html"' in shown
    assert shown.count('class="rhs"') > 3  # the printed formula and the repaired one
    assert 'href="../statements/das2022.eq5.html"' in shown or 'href="#das2022-eq5"' in shown
    assert "caution" not in shown


def test_an_erratum_without_evidence_claims_nothing(output: Path) -> None:
    text, page = page_of(output)
    shown = finding(text, "das2022.eq12")
    assert "was not checked here" in shown
    assert "not a result of this evidence" in shown
    assert "badge violated" not in shown
    assert "Known to refute it too, and not run here" in shown
    assert "None in this report" in shown
    refuted = len(re.findall(r'class="finding"', text))
    recorded = sum(s.erratum is not None for s in statements.select((), "das2022"))
    assert refuted == recorded + 1  # theorem 6 is refuted by the sample, and no erratum is on record
    assert "2 errata are shown by this evidence" in words(page)
    assert f"{recorded - 1} more are on record and not shown by it" in words(page)


def test_a_refuted_statement_without_an_erratum_is_not_hidden(output: Path) -> None:
    shown = finding(page_of(output)[0], "das2022.theorem6")
    assert "no erratum is on record for it yet" in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in shown
    assert "<script>alert" not in shown


def test_a_recorded_erratum_that_the_checks_do_not_show(output: Path) -> None:
    refuting = next(c for c in statements.get(REFUTED).checks if c.expected == "violated")
    undecided = Evidence(REFUTED, refuting.method, refuting.name, "inconclusive", "violated", "the budget was spent")
    (output / "evidence" / "check.json").write_text(json.dumps(evidence_of(undecided)))
    text, page = page_of(output)
    shown = finding(text, REFUTED)
    assert "the available evidence does not show it" in shown
    assert "“inconclusive”" in shown
    assert "the budget was spent" in shown
    assert "0 errata are shown by this evidence" in words(page)


def test_the_summary_counts_and_names_the_methods(output: Path) -> None:
    reported = words(page_of(output)[1])
    counted = "3 statements read in the paper were checked (2 by algebra, 2 by monte-carlo): 1 holds, 2 violated."
    assert counted in reported
    printed = [s for s in statements.select((), "das2022") if s.printed]
    assert f"3 of {len(printed)} statements read in the paper checked" in reported


def test_slips_and_sharpened_forms_have_their_places(tmp_path: Path) -> None:
    base = statements.get(HOLDS)
    slipped = replace(base, typos=("a dot is missing after <K>",))
    sharper = replace(slipped, id=f"{HOLDS}.sharpened", title="sharper", text="half the constant is enough")
    entries = [Entry(s.id, s) for s in (slipped, sharper)]
    found = collect("das2022", entries, proof_graph(entries))
    assert [(at["id"], at["typo"]) for at in found.report["typos"]] == [(HOLDS, "a dot is missing after <K>")]
    assert [(p.id, s.id) for p, s in found.sharpened] == [(HOLDS, f"{HOLDS}.sharpened")]
    assert found.findings == ()
    text = letter_of(tmp_path, found, entries)
    Page(text)
    assert prose("a dot is missing after <K>") in text
    assert "half the constant is enough" in text.split('id="sharpened"')[1]


def test_a_slip_of_several_statements_is_told_once(tmp_path: Path) -> None:
    typo = "The output is over x^1, ..., x^T."
    family = [replace(statements.get(i), typos=(typo, f"only of {i}.")) for i in (HOLDS, "das2022.lemma8")]
    entries = [Entry(s.id, s) for s in family]
    found = collect("das2022", entries, proof_graph(entries))
    assert {text: [at["id"] for at in places] for text, places in found.typos.items()} == {
        typo: [s.id for s in family],
        **{f"only of {s.id}.": [s.id] for s in family},
    }
    shown = letter_of(tmp_path, found, entries).split('id="typos"')[1].split("</section>")[0]
    assert shown.count(prose(typo)) == 1
    assert shown.count("<li>") == 3


def test_a_paper_without_errata_says_so_and_what_was_checked(tmp_path: Path) -> None:
    statement = statements.get("das2022.lemma8")
    done = Evidence(statement.id, "worst-case", "whole class", "holds", "holds", "the dual value is below").to_json()
    entries = [Entry(statement.id, statement, [done])]
    text = letter_of(tmp_path, collect("das2022", entries, proof_graph(entries)), entries)
    reported = words(Page(text))
    assert "No erratum is on record for this paper" in reported
    assert "refutes none of its statements that were checked (1 of 1)" in reported
    others = text.split('id="others"')[1]
    assert "das2022.lemma8" in others
    assert "worst-case" in others
    assert 'class="finding"' not in text


def test_what_rests_on_a_finding_comes_from_the_record_and_the_graph() -> None:
    def made(name: str, **more: Any) -> Statement:
        return Statement(f"das2022.{name}", "lemma", name, Source("das2022", name), "a sentence", **more)

    check = Check("exact", "c", lambda *_: None, expected="violated")
    cause, effect = Cause("das2022.c", "t", "x", "e", "r", "a"), Effect(1.0, "All of it.")
    erratum = Erratum("p", "t", cause, "x", "false", effect, affects=("das2022.told", "das2022.b"))
    family = [
        made("a", erratum=erratum, checks=(check,), expected="violated"),
        made("b", uses=("das2022.a",)),
        made("c", uses=("das2022.b",)),
        made("c.repaired", uses=("das2022.b",)),
    ]
    entries = [Entry(s.id, s) for s in family]
    (found,) = collect("das2022", entries, proof_graph(entries)).findings
    assert dict(found.affected) == {
        "das2022.b": "not checked",
        "das2022.c": "not checked",
        "das2022.told": "not entered",
    }
    assert found.missing == (("exact", "c"),)
    assert found.status == "not checked"


def test_pages_of_papers_without_evidence_are_removed_and_other_files_kept(output: Path) -> None:
    build(output)
    mine = output / "errata" / "notes.html"
    mine.write_text("<p>my own notes</p>")
    other = Evidence(
        "hou2023.theorem1", "algebra", "units", "holds", "holds", "units", lhs=Interval.exact(1.0), rhs=2.0
    )
    (output / "evidence" / "check.json").write_text(json.dumps(evidence_of(other)))
    build(output)
    assert sorted(p.name for p in (output / "errata").iterdir()) == ["hou2023.html", "notes.html"]
    own = Evidence("mine.lemma", "algebra", "units", "holds", "holds", "units")
    (output / "evidence" / "check.json").write_text(json.dumps(evidence_of(own)))
    text = build(output).read_text()
    assert [p.name for p in (output / "errata").iterdir()] == ["notes.html"]
    assert list((output / "maps").iterdir()) == []
    assert "errata/" not in text


def test_the_same_files_make_the_same_page(output: Path) -> None:
    assert page_of(output)[0] == page_of(output)[0]


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("paper", statements.papers())
def test_every_paper_has_a_page(paper: str, tmp_path: Path) -> None:
    entries = [Entry(s.id, s) for s in statements.select((), paper)]
    text = letter_of(tmp_path, collect(paper, entries, proof_graph(entries)), entries)
    page = Page(text)
    reported = words(page)
    recorded = [e for e in entries if e.statement is not None and e.statement.erratum is not None]
    for e in recorded:
        assert "was not checked here" in finding(text, e.id)
        assert e.statement is not None
        assert e.statement.erratum is not None
        unknown = e.statement.erratum.effect.value is None
        assert unknown == ("not known from the paper" in finding(text, e.id))
    assert "0 errata are shown by this evidence" in reported
    for e in entries:
        for typo in () if e.statement is None else e.statement.typos:
            assert prose(typo) in text
