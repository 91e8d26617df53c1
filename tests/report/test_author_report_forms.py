"""The report to the authors as Markdown, JSON and text, and what list, show and check say of provenance, readings and
remarks."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from markdown_it import MarkdownIt
from pages import Page
from planted_author_report import FALSE, LONG, PAPER, READINGS, SCRIPT, SURVIVES, planted

from dpfl_theory import statements
from dpfl_theory.cli import main
from dpfl_theory.core import Typo
from dpfl_theory.core.errata import GRADES
from dpfl_theory.core.prose import replace_formulas
from dpfl_theory.report.author_report import author_report, script_path, script_text
from dpfl_theory.report.author_report_text import as_markdown
from dpfl_theory.report.markdown import escaped, one_line

__all__ = ["planted"]  # the fixture

HERE = script_path(LONG)
Output = pytest.CaptureFixture[str]


def words(text: str) -> str:
    """What a reader of the page sees, with single spaces."""
    return " ".join(" ".join(Page(text).text).split())


def rendered(markdown: str) -> str:
    """The Markdown as HTML, its formulas as code."""
    coded = replace_formulas(markdown, lambda latex: f"`{latex}`")
    return str(MarkdownIt("commonmark").enable("table").render(coded))


# as Markdown, as JSON, as text


@pytest.mark.parametrize(
    "text",
    [
        "||x_0 - x*|| <= 2*L_i*3 and *a* or _b_ or __c__, a_b_c, ~~no~~, `code`, 5 $ x, 5 * 3",
        "<b>bold</b> <https://a.b> a < b > c &lt; &amp; & [link](x) [ref]: y [^1] [a][b] \\* \\",
        "1. first",
        "- item",
        "# heading",
        "> said",
        "+ 3 = x",
        "=====",
        "* star",
    ],
)
def test_markdown_shows_a_text_as_it_is(text: str) -> None:
    shown = rendered(escaped(text))
    assert re.findall(r"<(\w+)", shown) == ["p"]
    assert words(shown) == text
    table = rendered(f"| a |\n| --- |\n| {escaped(text).replace('|', chr(92) + '|')} |")
    assert words(table) == f"a {text}"


@pytest.mark.usefixtures("planted")
def test_the_markdown_is_the_whole_letter() -> None:
    written = author_report(PAPER)
    text = as_markdown(written)
    shown = rendered(text)
    assert re.findall(r"<h2>(.*?)</h2>", shown) == [
        "Causes",
        "Grades",
        "All errata",
        "Each erratum",
        "Remarks",
        "Sharper forms",
        "Typos",
    ]
    reported = words(shown)
    assert "<b>" not in shown
    for piece in (*written["opening"], LONG.text, LONG.example, LONG.objection, LONG.response, SURVIVES, *READINGS):
        assert reported.count(piece) == (2 if piece == READINGS[0] else 1), (
            piece
        )  # the table names an erratum's reading
    (script,) = re.findall(r"<code class=.language-python.>(.*?)</code>", shown, re.DOTALL)
    assert html.unescape(script) == SCRIPT
    assert f"The script {HERE} reproduces it." in reported
    assert shown.count("<table>") == 2
    assert shown.count("<tr>") == 1 + len(GRADES) + 1 + 3
    rows = [[words(cell) for cell in re.findall("<td.*?</td>", row)] for row in shown.split("<tr>")[-3:]]
    assert [row[:5] for row in rows] == [
        [f"{PAPER}.a", "place of a, eq. (a)", READINGS[0], "constant", LONG.title],
        [f"{PAPER}.b", "place of b, eq. (b)", "–", "unit", LONG.title],
        [f"{PAPER}.c", "place of c, eq. (c)", "–", "false", FALSE.title],
    ]
    assert [row[5].split(":")[0] for row in rows] == ["0.25", "3", "1"]
    assert f"Statements that depend on it. {PAPER}.u , {PAPER}.v ." in reported
    remarks = reported.split(" Remarks ")[1]
    assert "If <all> do, it fails." in remarks
    assert "Restored: From the proof of Lemma <9>. " in remarks
    assert "printed" not in remarks.split("Sharper forms")[0].lower()
    assert reported.count("A dot is missing after <K>.") == 1
    assert text.endswith("\n")


@pytest.mark.usefixtures("planted")
def test_the_opening_counts_errata_that_depend_on_a_reading() -> None:
    message = " ".join(author_report(PAPER)["opening"])
    assert "1 of 3 depends on how the paper's words are read: under another reading" in message
    assert "misprint" not in message


def test_the_opening_of_das2022_counts_readings_and_misprints() -> None:
    message = " ".join(author_report("das2022")["opening"])
    assert (
        "11 statements do not hold as read, for 5 causes. 6 of 11 depend on how the paper's words are read" in message
    )
    assert "2 of 11 come from 1 misprint of what the paper has right elsewhere." in message


@pytest.mark.usefixtures("planted")
def test_a_proof_is_told_step_by_step() -> None:
    written = author_report(PAPER)
    assert written["causes"][0]["proof"] == []
    assert "step by step" not in as_markdown(written)
    written["causes"][0]["proof"] = ["It survives.", "First a <= b.", "Then b <= c."]
    shown = rendered(as_markdown(written)).split("step by step")[1]
    steps = [words(step) for step in re.findall("<li>.*?</li>", shown, re.DOTALL)[:2]]
    assert steps == ["First a <= b.", "Then b <= c."]


@pytest.mark.usefixtures("planted")
def test_a_script_with_fences_stays_in_its_block(monkeypatch: pytest.MonkeyPatch) -> None:
    written = author_report(PAPER)
    written["causes"][0]["script"]["text"] = 'print("""\n```\n# no heading\n""")'
    shown = rendered(as_markdown(written))
    assert "no heading</h1>" not in shown
    assert "# no heading" in shown


@pytest.mark.usefixtures("planted")
def test_the_json_can_be_read_back(capsys: Output) -> None:
    assert main(["errata", PAPER, "--format", "json"]) == 0
    written = json.loads(capsys.readouterr().out)
    assert written == author_report(PAPER)
    cause, _ = written["causes"]
    assert set(cause) == {"id", "title", "text", "example", "script", "objection", "response", "proof", "errata"}
    assert cause["script"] == {"path": HERE, "text": SCRIPT.strip("\n")}
    first = written["errata"][0]
    assert (first["id"], first["grade"], first["cause"]) == (f"{PAPER}.a", "constant", LONG.id)
    assert first["survives"] == {f"{PAPER}.s": SURVIVES}
    assert first["affects"] == [f"{PAPER}.u", f"{PAPER}.v"]
    assert first["readings"] == [{"id": f"{PAPER}.a.steps", "reading": READINGS[1], "verdict": "holds"}]
    (remark,) = written["remarks"]
    assert (remark["id"], remark["shown_by"], remark["shown_verdict"]) == (f"{PAPER}.r", f"{PAPER}.r.all", "violated")
    assert remark["restoration"] == "From the proof of Lemma <9>."


@pytest.mark.usefixtures("planted")
def test_the_text_is_short_and_begins_with_the_causes(capsys: Output) -> None:
    assert main(["errata", PAPER]) == 0
    out = capsys.readouterr().out
    heads = [line for line in out.splitlines()[2:] if line and not line.startswith((" ", "dpfl-theory"))]
    assert heads == ["Causes", "Each erratum", "Remarks", "Sharper forms", "Typos"]
    assert out.count(LONG.text) == 1
    assert LONG.objection not in out
    counts = (
        "statements: 7 read in the paper, 1 restored, 3 derived, 2 second readings; errata: 3 (1 false, 1 constant,"
    )
    assert counts in out
    squeezed = " ".join(out.split())
    assert "causes: 2, remarks: 1, typos: 1" in squeezed
    assert f"Statements that depend on it. {PAPER}.u, {PAPER}.v. Evidence." in squeezed
    assert f"What survives. - {PAPER}.s: {SURVIVES}" in squeezed
    assert f"Another reading, {PAPER}.a.steps, which holds. {READINGS[1]}" in squeezed
    assert "printed" not in squeezed.split("Remarks ")[1]


# list, show, check


@pytest.mark.usefixtures("planted")
def test_list_tells_at_a_glance_and_filters(capsys: Output) -> None:
    def listed(*options: str) -> dict[str, list[str]]:
        assert main(["list", *options]) == 0
        head, *rows = capsys.readouterr().out.splitlines() or [""]
        if not rows:
            return {}
        at, end = head.index("note"), head.index("title")
        shown = [row for row in rows if row.strip().startswith(f"{PAPER}.")]
        return {row.split()[0].removeprefix(f"{PAPER}."): row[at:end].split() for row in shown}

    every = listed()
    assert {i: note for i, note in every.items() if note} == {
        "a.steps": ["reading"],
        "c.repaired": ["derived"],
        "r": ["restored,remark"],
        "r.all": ["restored,reading"],
        "v.sharpened": ["derived"],
        "x": ["derived"],
    }
    assert set(listed("--expected", "violated")) == {"a", "b", "c", "r.all"}
    assert set(listed("--provenance", "restored")) == {"r", "r.all"}
    assert set(listed("--provenance", "restored", "--expected", "holds", "--kind", "lemma")) == {"r"}
    assert listed("--kind", "theorem") == {}
    assert main(["list", "--paper", PAPER, "--provenance", "derived"]) == 0
    assert main(["list", "--kind", "lema"]) == 2
    assert "did you mean 'lemma'?" in capsys.readouterr().err
    assert main(["list", "--provenance", "derived", "--format", "json"]) == 0
    assert {s["id"] for s in json.loads(capsys.readouterr().out)} == {
        f"{PAPER}.{i}" for i in ("c.repaired", "v.sharpened", "x")
    }


@pytest.mark.usefixtures("planted")
def test_show_tells_provenance_readings_erratum_and_remark(capsys: Output) -> None:
    assert main(["show", f"{PAPER}.a"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for piece in (
        "(lemma, read in the paper, expected: violated)",
        f"Read: {READINGS[0]}",
        f"Other readings {PAPER}.a.steps holds {READINGS[1]}",
        "grade constant",
        f"cause {LONG.id}",
        "effect 0.25: The right side",
        f"survives {PAPER}.s: {SURVIVES}",
    ):
        assert piece in shown, piece
    assert main(["show", f"{PAPER}.r"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for piece in (
        "(lemma, restored, expected: holds)",
        "Restored: From the proof of Lemma <9>.",
        f"Other readings {PAPER}.r.all violated All take part.",
        "Remark text If <all> do, it fails.",
        f"shown by {PAPER}.r.all",
    ):
        assert piece in shown, piece
    assert "Erratum" not in shown
    assert main(["show", f"{PAPER}.r.all", "--format", "json"]) == 0
    described: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert described["siblings"] == [{"id": f"{PAPER}.r", "reading": "Some take part.", "expected": "holds"}]
    assert described["source"]["restoration"] == "From the proof of Lemma <9>."


def test_check_names_the_reading_beside_the_verdict(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the statements that have one, in the text and in the summary."""
    with_one, other = "das2022.lemma9", "hou2023.lemma1"
    known = {s.id: s for s in statements.all_statements()}
    known[with_one] = replace(known[with_one], reading="The step is at most 1/L.")
    monkeypatch.setattr(statements, "_catalogue", lambda: known)
    command = ["check", with_one, other, "--method", "algebra", "--jobs", "1"]
    assert main(command) in (0, 1, 3)  # which one, other tests say
    lines = capsys.readouterr().out.splitlines()
    verdict = next(i for i, line in enumerate(lines) if line.startswith(f"{with_one} "))
    assert lines[verdict + 1] == "    read: The step is at most 1/L."
    assert "\n".join(lines).count("read: ") == 1
    assert main([*command, "--format", "json"]) in (0, 1, 3)
    reported = json.loads(capsys.readouterr().out)["summary"]["statements"]
    assert reported[with_one]["reading"] == "The step is at most 1/L."
    assert "reading" not in reported[other]


# the catalogue


@pytest.mark.parametrize("paper", statements.papers())
def test_every_letter_can_be_written(paper: str) -> None:
    own = statements.select((), paper)
    written = author_report(paper)
    assert written["copy"], "the package's docstring says which copy was read"
    assert [e["id"] for c in written["causes"] for e in written["errata"] if e["cause"] == c["id"]] == [
        id_ for c in written["causes"] for id_ in c["errata"]
    ]
    assert sum(g["errata"] for g in written["grades"].values()) == len(written["errata"])
    heading = as_markdown(written).splitlines()[0]
    assert heading.startswith("# To the authors of ")
    assert heading.endswith(")"), "the year in parentheses, and no full stop"
    assert sum(written["statements"].values()) == len(own)
    assert json.loads(json.dumps(written, allow_nan=False)) == written
    shown = rendered(as_markdown(written))

    def seen(text: str) -> str:
        """The words and formulas without spaces."""
        return "".join(words(text).split())

    whole = seen(shown)
    for e in written["errata"]:
        assert all(seen(rendered(one_line(e[key]))) in whole for key in ("printed", "corrected", "counterexample"))
        assert not set(e["affects"]) & set(e["survives"])
    for e in written["remarks"]:
        assert seen(rendered(one_line(e["text"]))) in whole
    assert "$" not in whole


def test_a_letter_on_restored_formulas_alone_says_so() -> None:
    """It claims to have read none, and finds none wrong as it was read."""
    message = " ".join(author_report("shulgin2025")["opening"])
    assert "no statements read in the paper, " in message
    assert "We restored the formulas from the words around them" in message
    assert "no statement was found to fail as it was restored." in message
    assert "as it was read" not in message
    assert "put your own formulas" not in " ".join(author_report("das2022")["opening"])


def test_only_what_stands_in_a_paper_is_a_slip() -> None:
    """An observation on a form that is ours is in its note; the formulas of shulgin2025 were restored, so that a typo
    there is one of words or numbers that can be read: it says where they stand."""
    for s in statements.all_statements():
        if s.provenance == "derived":
            assert not s.typos, s.id
        elif s.paper == "shulgin2025":
            for typo in s.typos:
                assert isinstance(typo, Typo)
                assert re.match(r"Abstract|(Section|Appendix) [0-9A-Z.]+", typo.where)
                assert re.search(r"'.*'|[0-9]", typo), "words or numbers of the paper"


def test_an_id_means_one_cause_and_each_has_its_script() -> None:
    causes = [s.erratum.cause for s in statements.all_statements() if s.erratum is not None]
    assert len({c.id for c in causes}) == len(set(causes)), "two causes with one id would be reported as one"
    for cause in set(causes):
        assert script_text(cause), f"{script_path(cause)} is missing"
