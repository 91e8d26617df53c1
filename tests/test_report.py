"""The pages: complete, self-contained, accessible, and built only from the JSON files."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pages import Page, broken_links, pages_of, section

from dpfl_theory import statements
from dpfl_theory.cli import main
from dpfl_theory.core.evidence import Evidence, Interval, document
from dpfl_theory.errors import InputError
from dpfl_theory.report import formulas
from dpfl_theory.report.build import build
from dpfl_theory.report.entries import Entry, entries_of, shared
from dpfl_theory.report.markdown import html as prose
from dpfl_theory.report.templates import abbreviate, anchor, significant
from dpfl_theory.report.templates import bar as bar_of

BYTES = 300_000
"""The maximum size of a page."""
HOLDS, REFUTED = "das2022.theorem4a", "das2022.theorem4b"


def sample() -> dict[str, Any]:
    """Evidence of every kind: exact, statistical, refuted as recorded, differing, vacuous, of user statements."""
    evidence = [
        Evidence(HOLDS, "algebra", "units", "holds", "holds", "all terms have unit F"),
        Evidence(
            HOLDS, "monte-carlo", "breast cancer", "holds", "holds", "the limit is below the bound",
            lhs=Interval(1.23456, 1.0, 1.5), rhs=4.0, terms={"A (initialisation)": 3.0, "B1 (heterogeneity)": 1.0},
            vacuous=True, asymptotic=True, detectable=1.07, seed=5, replicates=512, alpha=1e-7,
            instance={"rho": 0.1, "values": {"eta": 0.001}}, device="cpu, 2 cores", seconds=1.5,
        ),
        Evidence(
            REFUTED, "monte-carlo", "unequal clients", "violated", "violated", "the lower limit exceeds the bound",
            lhs=Interval(0.02, 0.018, 0.9), rhs=0.01, terms={"A (initialisation)": 0.01}, seed=5,
        ),
        Evidence("das2022.theorem6", "algebra", "units", "violated", "holds", "<script>alert(1)</script> & more"),
        Evidence("mine.lemma", "algebra", "units", "holds", "holds", "all terms have unit F"),
    ]  # fmt: skip
    expected = {e.statement: e.expected for e in evidence}
    return document(evidence, expected, 1e-6, 2.0)


VALIDATION = {
    "schema": "dpfl-theory/validation/1",
    "name": "das2022_figure0",
    "title": "Figure 0 <again>",
    "caption": "What is drawn.",
    "source": {"paper": "das2022", "where": "Figure 0"},
    "command": "dpfl-theory validate das2022_figure0 --seed 0",
    "profile": "standard",
    "seed": 0,
    "device": "cpu, 2 cores",
    "versions": {"python": "3.11.0"},
    "seconds": 3.0,
    "data": {
        "values": [1.0, 2.0, 4.0],
        "configuration": {"clients": 100, "steps": [0.001, 0.002]},
        "claims": [
            {"claim": "normalisation ends lower", "verdict": "reproduced", "paper": "lower", "measured": 0.123456},
            {
                "claim": "by 5 %",
                "verdict": "not-reproduced",
                "paper": "5 %",
                "measured": "2 %",
                "expected": "reproduced",
            },
            {
                "claim": "on images",
                "verdict": "does-not-carry-over",
                "paper": "on images",
                "measured": "on digits not",
                "differs": "digits for images",
            },
            {"claim": "at any step", "verdict": "no", "paper": "no word", "measured": "at one", "ours": True},
        ],
    },
}

OWN = {
    "title": "Mine",
    "kind": "lemma",
    "where": "here",
    "text": "It holds.",
    "relation": "<=",
    "terms": [],
    "letters": [],
    "hypotheses": [],
    "noticed": None,
}

SCRIPT = """
from dpfl_theory.validation import style
TITLE, CAPTION, SOURCE, BUDGET_SECONDS = "t", "c", {}, {}
def compute(context): return {}
def draw(data):
    figure, axes = style.figure()
    axes.plot(data["values"])
    axes.set(xticks=[], yticks=[])  # marks on the axes take most of the time
    return {"": figure}
"""


def laid_out(folder: Path) -> Path:
    """A folder with evidence of checks and of one validation, in a checkout that has its script."""
    place = folder / "reports"
    (place / "evidence").mkdir(parents=True)
    (place / "evidence" / "check-das2022.json").write_text(json.dumps(sample()))
    (place / "evidence" / "das2022_figure0.json").write_text(json.dumps(VALIDATION))
    (folder / "validations").mkdir()
    (folder / "validations" / "das2022_figure0.py").write_text(SCRIPT)
    return place


@pytest.fixture
def output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Such a folder, which a test may change."""
    monkeypatch.chdir(tmp_path)
    return laid_out(tmp_path)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Page]]:
    """Such a folder with its pages, which tests only read."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(folder)
        place = laid_out(folder)
        return place, site_of(place)


def site_of(output: Path) -> dict[str, Page]:
    build(output, scripts=output.parent / "validations")
    return pages_of(output)


def statement(pages: dict[str, Page], id_: str) -> Page:
    return pages[f"statements/{id_}.html"]


def test_the_pages_need_nothing_but_what_lies_beside_them(made: tuple[Path, dict[str, Page]]) -> None:
    for page in made[1].values():
        assert len(page.source.encode()) < BYTES
        assert not page.all("link")
        assert all("src" not in attributes for attributes in page.all("script"))
        assert all(re.match(r"(figures/)?[\w.-]+$", str(attributes["src"])) for attributes in page.all("img"))
        for part in ("@import", "url(", "fetch(", "XMLHttpRequest", "eval(", "innerHTML"):
            assert part not in page.source
        assert not re.search(r"https?:", page.source)
        for _, attributes in page.elements:
            assert not [name for name in attributes if name.startswith("on")]


def test_every_link_leads_somewhere(made: tuple[Path, dict[str, Page]]) -> None:
    output, pages = made
    assert {"index.html", "figures.html", "errata/das2022.html", "maps/das2022.html"} <= set(pages)
    assert broken_links(output, pages) == []
    for page in pages.values():
        assert len(page.ids) == len(set(page.ids))


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(
        '<a href="a.html">1</a><a href="#x">2</a><img src="b.png"><a href="?q=1">3</a>'
    )
    assert broken_links(tmp_path, pages_of(tmp_path)) == [
        ("index.html", "a.html"),
        ("index.html", "#x"),
        ("index.html", "b.png"),
    ]


def test_they_are_accessible(made: tuple[Path, dict[str, Page]]) -> None:
    for page in made[1].values():
        assert page.all("html")[0]["lang"] == "en"
        assert all("alt" in attributes for attributes in page.all("img"))
        assert len(page.all("caption")) == len(page.all("table"))
        assert len(page.all("h1")) == len(page.all("main")) == 1
        headings = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
        assert all(later <= earlier + 1 for earlier, later in pairwise(headings))
        for attributes in page.all("svg"):  # a map holds links, which an image would hide
            named = attributes.get("role") in ("img", "group") and attributes.get("aria-label")
            assert named or attributes.get("aria-hidden") == "true"
        assert all(attributes.get("scope") for attributes in page.all("th"))
        assert "prefers-color-scheme: dark" in page.source
        assert "@media print" in page.source
        assert len(re.findall(r"<(?:select|input) ", page.source)) == len(re.findall(r"<label", page.source))
    assert all(attributes["alt"] for attributes in made[1]["figures/das2022_figure0.html"].all("img"))


def test_summary_counts(made: tuple[Path, dict[str, Page]]) -> None:
    reported = made[1]["index.html"].told
    catalogued = sum(s.paper == "das2022" for s in statements.all_statements())
    assert f"4 statements checked of {catalogued + 1}" in reported
    for part in (
        "1 holds",
        "2 violated",
        "1 unchecked",
        "1 different from the recorded verdict",
        "5 checks run",
        "1 figure reproduced",
    ):
        assert part in reported
    assert "1 claim reproduced" in reported
    assert "1 claim not-reproduced" in reported
    assert "1 claim does not carry over here" in reported
    assert "1 question of our own: no" in reported


def test_the_first_page_tells_what_was_found(made: tuple[Path, dict[str, Page]]) -> None:
    page = made[1]["index.html"]
    theorems = [
        s
        for s in statements.all_statements()
        if s.paper == "das2022"
        and s.kind in ("theorem", "corollary")
        and s.provenance != "derived"
        and not s.reading_of
    ]
    assert f"1 of {len(theorems)} theorems and corollaries of 1 paper" in page.told
    assert f"1 of {len(theorems)} hold" in page.told
    found = page.source.split('<table class="found">')[1].split("</table>")[0]
    erratum = statements.get(REFUTED).erratum
    assert erratum is not None
    assert f'href="errata/das2022.html#cause-{anchor(erratum.cause.id)}"' in found
    assert "yours" in found


def test_a_row_has_what_filters_ask_for(made: tuple[Path, dict[str, Page]]) -> None:
    rows = {
        re.findall(r"<code>(.*?)</code>", row)[0]: row
        for row in re.findall(r"<tr[^>]* data-paper.*?</tr>", made[1]["index.html"].source, re.DOTALL)
    }
    assert len(rows) == sum(s.paper == "das2022" for s in statements.all_statements()) + 1
    for part in (
        'data-verdict="violated"',
        'data-grade="constant"',
        'data-method="monte-carlo"',
        'data-ratio="2.0"',
        'data-kind="theorem"',
    ):
        assert part in rows[REFUTED]
    assert 'data-paper="yours"' in rows["mine.lemma"]
    assert 'data-verdict="not-checked"' in rows["das2022.theorem7"]


def test_a_statement_has_formula_letters_hypotheses_and_evidence(made: tuple[Path, dict[str, Page]]) -> None:
    shown = statement(made[1], HOLDS)
    s = statements.get(HOLDS)
    assert shown.source.count("<math") >= 3 + len(s.symbols)
    for part in ("A (initialisation)", "B1 (heterogeneity)", "F X⁻²"):
        assert part in shown.source
    for text in ("smoothness constant of every $f_i$", *formulas.hypotheses(s), s.text, s.title):
        assert prose(text) in shown.source
    for part in ("1.235", "[1, 1.5]", "0.3086", "×1.07", "512", "1×10⁻⁷", "asymptotic", "vacuous", "seed 5", "Power."):
        assert part in shown.source, part
    assert f"dpfl-theory check {HOLDS} --seed 5" in shown.told
    assert 'href="../statements/das2022.theorem6.alpha.html"' in section(shown.source, "proofs")
    assert 'href="../evidence/check-das2022.json"' in shown.source
    assert "Erratum" not in shown.told


def test_an_erratum_is_shown_in_full(made: tuple[Path, dict[str, Page]]) -> None:
    shown = statement(made[1], REFUTED)
    erratum = statements.get(REFUTED).erratum
    assert erratum is not None
    for part in (erratum.printed, erratum.corrected, erratum.cause.title, erratum.why, erratum.counterexample):
        assert prose(part) in shown.source
    assert 'href="../statements/das2022.theorem4b.repaired.html"' in section(shown.source, "repair")
    assert shown.source.count('class="rhs"') > 3  # its own formula and the repaired one
    assert "counterexamples/sampling.py" in shown.told
    assert "recorded:" not in shown.told
    assert f'<a href="../statements/{REFUTED}.html"' in section(
        statement(made[1], f"{REFUTED}.repaired").source, "proofs"
    )


def test_a_verdict_that_differs_stands_out(made: tuple[Path, dict[str, Page]]) -> None:
    assert "recorded: holds" in statement(made[1], "das2022.theorem6").told
    assert made[1]["index.html"].source.count('<tr class="surprise"') == 1


def test_what_comes_from_files_is_escaped(made: tuple[Path, dict[str, Page]]) -> None:
    for page in made[1].values():
        assert "<script>alert" not in page.source
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in statement(made[1], "das2022.theorem6").source
    assert "Figure 0 &lt;again&gt;" in made[1]["figures/das2022_figure0.html"].source


EVIL = '"><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7 * 7 }}'


def test_nothing_of_a_hostile_file_gets_into_a_page_or_out_of_its_folder(tmp_path: Path) -> None:
    place = tmp_path / "in" / "out"
    (place / "evidence").mkdir(parents=True)
    ids = [f"../../{EVIL}", "..", "con/../x", "mine.A", "mine.a", "x" * 300, f"javascript:{EVIL}"]
    evidence = [
        Evidence(i, "algebra", EVIL, "violated", "holds", EVIL, instance={EVIL: EVIL}, notes={EVIL: [EVIL]}, part=EVIL)
        for i in ids
    ]
    reported = document(evidence, dict.fromkeys(ids, "holds"), 1e-6, 1.0)
    latex = [
        r"\text{<script>alert(1)</script>}",
        r"\href{javascript:alert(1)}{x}",
        r"\text{<![CDATA[><script>alert(1)]]>}",
        "\\frac{",
    ]
    terms = [{"side": "rhs", "name": EVIL, "sign": "+", "latex": x} for x in latex]
    reported["own"] = {
        ids[0]: {
            "title": EVIL,
            "kind": EVIL,
            "where": EVIL,
            "text": f"a <= b {EVIL}",
            "relation": EVIL,
            "terms": terms,
            "letters": [],
            "noticed": None,
            "hypotheses": [EVIL],
        }
    }
    (place / "evidence" / "check.json").write_text(json.dumps(reported))
    claim = {"claim": EVIL, "verdict": "reproduced", "paper": EVIL, "measured": [EVIL], "expected": EVIL}
    fields = dict.fromkeys(("title", "caption", "command", "device"), EVIL)
    data = {"claims": [claim], "configuration": {EVIL: EVIL}}
    shown = {**VALIDATION, **fields, "name": "..hostile", "source": {"paper": EVIL, "where": EVIL}, "data": data}
    (place / "evidence" / "v.json").write_text(json.dumps(shown))
    build(place, redraw=False)
    pages = pages_of(place)
    assert sorted(p.name for p in tmp_path.rglob("*.html")) == sorted(Path(name).name for name in pages)
    assert len([name for name in pages if name.startswith("statements/")]) == len(ids)
    assert broken_links(place, pages) == []
    for page in pages.values():
        assert "<script>alert" not in page.source
        assert "49" not in page.told.replace("2649", "")
        for tag, attributes in page.elements:
            assert not [name for name in attributes if name.startswith("on")]
            assert not str(attributes.get("href", "")).startswith("javascript")
            assert tag != "img"
    assert any("\\text{&lt;script&gt;alert(1)&lt;/script&gt;}" in page.source for page in pages.values())


def test_the_formula_of_a_statement_of_ones_own_is_shown(output: Path) -> None:
    reported = sample()
    terms = [
        {"side": "lhs", "name": "gap", "sign": "", "latex": r"\mathbb{E} f(w_K)"},
        {"side": "rhs", "name": "start", "sign": r"\leq", "latex": r"\frac{L}{2 K}"},
    ]
    reported["own"] = {"mine.lemma": {**OWN, "terms": terms}}
    (output / "evidence" / "check-das2022.json").write_text(json.dumps(reported))
    page = statement(site_of(output), "mine.lemma")
    assert "<mfrac><mi>L</mi>" in page.source
    assert "Mine" in page.told
    assert "start" in page.told


def test_a_statement_of_ones_own_and_one_without_evidence(made: tuple[Path, dict[str, Page]]) -> None:
    assert "a statement outside the catalogue" in statement(made[1], "mine.lemma").told
    assert "There is no evidence here" in statement(made[1], "das2022.theorem7").told


def test_a_validation_has_figure_claims_configuration_and_command(made: tuple[Path, dict[str, Page]]) -> None:
    output, pages = made
    shown = pages["figures/das2022_figure0.html"].source
    assert 'src="das2022_figure0.svg"' in shown
    assert 'href="das2022_figure0.svg"' in shown
    assert 'href="../evidence/das2022_figure0.json"' in shown
    assert "What is drawn." in shown
    for part in ("normalisation ends lower", "0.1235", "recorded: reproduced", "[0.001, 0.002]", VALIDATION["command"]):
        assert str(part) in shown
    words = pages["figures/das2022_figure0.html"].told
    claims, questions = words.index("The paper's claims, as predicates"), words.index("Questions of our own")
    differs = "from the paper's setting: digits for images"
    order = ("by 5 %", "on images", differs, "Questions of our own", "at any step")
    assert sorted(order, key=words.index) == list(order)
    assert claims < words.index("by 5 %") < questions
    assert 'href="figures/das2022_figure0.html"' in pages["figures.html"].source
    assert "1 does not carry over here" in pages["figures.html"].told
    assert "1 question of our own" in pages["figures.html"].told
    names = ["das2022_figure0.html", "das2022_figure0.png", "das2022_figure0.svg"]
    assert sorted(p.name for p in (output / "figures").iterdir()) == names


@pytest.mark.slow
def test_pages_that_are_as_they_were_are_not_written_again(output: Path) -> None:
    site_of(output)
    before = {p: p.stat().st_mtime_ns for p in output.rglob("*.html")}
    inodes = {p: p.stat().st_ino for p in output.rglob("*.html")}
    site_of(output)
    assert {p: p.stat().st_ino for p in output.rglob("*.html")} == inodes
    assert {p: p.stat().st_mtime_ns for p in output.rglob("*.html")} == before
    changed = sample()
    changed["evidence"][1]["reason"] = "another reason"
    (output / "evidence" / "check-das2022.json").write_text(json.dumps(changed))
    site_of(output)
    anew = {p.relative_to(output).as_posix() for p in output.rglob("*.html") if p.stat().st_ino != inodes[p]}
    assert f"statements/{HOLDS}.html" in anew
    assert "statements/das2022.theorem6.html" not in anew


def test_what_has_no_evidence_any_more_loses_its_page_and_other_files_stay(output: Path) -> None:
    site_of(output)
    mine = output / "statements" / "notes.html"
    mine.write_text("<p>my own notes</p>")
    changed = sample()
    changed["evidence"] = [e for e in changed["evidence"] if e["statement"] != "mine.lemma"]
    (output / "evidence" / "check-das2022.json").write_text(json.dumps(changed))
    build(output, redraw=False)
    assert mine.exists()
    assert not (output / "statements" / "mine.lemma.html").exists()
    assert (output / "statements" / f"{HOLDS}.html").exists()


def test_the_same_files_make_the_same_page(output: Path) -> None:
    first = build(output).read_bytes()
    assert build(output).read_bytes() == first


def test_figures_follow_the_data(output: Path) -> None:
    site_of(output)
    figure = output / "figures" / "das2022_figure0.svg"
    before = figure.read_bytes()
    changed = {**VALIDATION, "data": {**VALIDATION["data"], "values": [3.0, 2.0, 0.0]}}  # type: ignore[dict-item]
    (output / "evidence" / "das2022_figure0.json").write_text(json.dumps(changed))
    build(output, redraw=False)
    assert figure.read_bytes() == before, "taken as it lies there"
    site_of(output)
    assert figure.read_bytes() != before


def test_without_the_script_the_figures_at_hand_are_taken(output: Path, tmp_path: Path) -> None:
    scripts = tmp_path / "validations"
    build(output, scripts=scripts)
    (scripts / "das2022_figure0.py").unlink()
    lines: list[str] = []
    build(output, lines.append, scripts=scripts)
    page = output / "figures" / "das2022_figure0.html"
    assert 'src="das2022_figure0.svg"' in page.read_text()
    assert len(lines) == 1
    for file in (output / "figures").iterdir():
        file.unlink()
    build(output)
    assert "No figure is available" in page.read_text()


def test_a_validation_without_versions_is_shown(output: Path, tmp_path: Path) -> None:
    """They are an optional part of the schema."""
    (tmp_path / "evidence").mkdir()
    (found,) = (p for p in (output / "evidence").glob("*.json") if '"dpfl-theory/validation/1"' in p.read_text())
    document = json.loads(found.read_text())
    del document["versions"]
    (tmp_path / "evidence" / found.name).write_text(json.dumps(document))
    build(tmp_path, lambda _: None)
    assert document["title"] in Page((tmp_path / "figures" / f"{document['name']}.html").read_text()).told


def test_a_later_file_replaces_the_same_check(output: Path) -> None:
    better = sample()
    better["evidence"] = [{**e, "verdict": "holds"} for e in better["evidence"] if e["statement"] == "das2022.theorem6"]
    (output / "evidence" / "check-das2022-later.json").write_text(json.dumps(better))
    assert "recorded: holds" not in statement(site_of(output), "das2022.theorem6").told


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("check-broken.json", "{", "cannot be read"),
        ("check-other.json", '{"schema": "dpfl-theory/9"}', "the schema 'dpfl-theory/9'"),
        ("check-list.json", "[]", "the schema None"),
    ],
)
def test_files_that_are_no_evidence_are_named(output: Path, name: str, content: str, part: str) -> None:
    page = build(output)
    before = page.read_bytes()
    (output / "evidence" / name).write_text(content)
    with pytest.raises(InputError, match=re.escape(part)) as caught:
        build(output)
    assert name in str(caught.value)
    assert page.read_bytes() == before


def test_without_evidence_the_remedy_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="dpfl-theory validate"):
        build(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_command(output: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--output", str(output), "--folder", "validations"]) == 0
    assert (output / "figures" / "das2022_figure0.svg").is_file()
    assert capsys.readouterr().out == f"{output / 'index.html'}\n"


# parts


def entry_of(e: Evidence) -> tuple[dict[str, Any], Any]:
    data = e.to_json()
    return data, next(entry for entry in entries_of([data]) if entry.id == e.statement)


def test_the_bar_shows_shares_and_the_left_side() -> None:
    terms = {"A (initialisation)": 3.0, "B1 (heterogeneity)": 1.0}
    made = Evidence(HOLDS, "monte-carlo", "x", "holds", "holds", "", lhs=Interval(2.0, 1.0, 99.0), rhs=4.0, terms=terms)
    bar = bar_of(*entry_of(made))
    assert bar is not None
    first, second = bar["parts"]
    assert (first["share"], second["share"]) == (0.75, 0.25)
    assert first["width"] == pytest.approx(3 * second["width"])
    assert second["x"] == pytest.approx(first["width"])
    assert second["x"] + second["width"] == pytest.approx(100 / 1.05)
    assert bar["marker"]["estimate"] == pytest.approx(2 * bar["marker"]["low"])
    assert bar["marker"]["high"] == 100.0
    assert [part["index"] for part in bar["parts"]] == [0, 1]


@pytest.mark.parametrize(
    "change",
    [
        {"rhs": 0.0},
        {"rhs": None},
        {"lhs": None},
        {"terms": {}},
        {"terms": {"a": 5.0, "b": -1.0}},
        {"terms": {"a": 3.0}},
    ],
)
def test_no_bar_where_it_would_mislead(change: dict[str, Any]) -> None:
    fields: dict[str, Any] = {"lhs": Interval.exact(2.0), "rhs": 4.0, "terms": {"a": 4.0}, **change}
    assert bar_of(*entry_of(Evidence(HOLDS, "monte-carlo", "x", "holds", "holds", "", **fields))) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234.5678, "1235"),
        (0.00012345, "0.0001234"),
        (1.23456e-9, "1.235×10⁻⁹"),
        (-0.5, "−0.5"),
        (1e12, "1×10¹²"),
        (3, "3"),
        (True, "True"),
        (None, "–"),
        ("as it is", "as it is"),
    ],
)
def test_numbers(value: object, text: str) -> None:
    assert significant(value) == text


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("4 > 5/2 at c = 1, L = 606151/10125000", "4 > 5/2 at c = 1, L = 606151/10125000"),
        ("the worst with -31460534101119/256000000000000 < 1", "the worst with -0.1228927113 < 1"),
        (f"{10**400}/{3 * 10**400} > 0 in 3 of 4 cases", "0.3333333333 > 0 in 3 of 4 cases"),
        (f"{'7' + '0' * 5000}/{'1' + '0' * 5000}.", "7."),  # longer than Python's own whole numbers may be read
        (f"d = {10**24}, eta_l", "d = 1e+24, eta_l"),
        ("0.123456789012345678901234 stays", "0.123456789012345678901234 stays"),
        ("12345678901234567890123/0 stays", "12345678901234567890123/0 stays"),
        ("sha 12345678901234567890123abc stays", "sha 12345678901234567890123abc stays"),
    ],
)
def test_long_fractions_become_decimals(message: str, shown: str) -> None:
    assert abbreviate(message) == shown


@pytest.mark.parametrize("alpha", [1e-6, 2.5e-9, 0.05, 1 / 3, 0.7e-3])
@pytest.mark.parametrize("suite", [1, 3, 7, 49, 311])
@pytest.mark.parametrize("own", [1, 2, 3, 11])
def test_a_command_gives_each_check_its_share_and_is_short(alpha: float, suite: int, own: int) -> None:
    share = alpha / suite
    text = shared(share, own)
    assert float(text) / own == pytest.approx(share, rel=1e-15)
    assert len(text) <= len(repr(share * own))
    if suite == own:
        assert float(text) / own == share
        assert len(text) <= len(repr(alpha))


def test_the_command_of_an_entry() -> None:
    drawn = Evidence(HOLDS, "monte-carlo", "c", "holds", "holds", "", seed=5, alpha=1e-6 / 3).to_json()
    exact = Evidence(HOLDS, "algebra", "units", "holds", "holds", "").to_json()
    command = f"dpfl-theory check {HOLDS}"
    assert Entry(HOLDS, None, [exact]).command == command
    assert Entry(HOLDS, None, [exact, drawn, drawn, drawn]).command == f"{command} --seed 5 --alpha 1e-06"


def test_a_product_is_written_coefficient_first() -> None:
    lines = formulas.lines(statements.get(REFUTED))
    assert [line.sign for line in lines] == ["", r"\leq", "+", "+"]
    assert lines[0].latex.startswith(r"\left(2 - ")
    assert lines[2].latex == r"\frac{E G^{2} \rho}{2 L \alpha}"
    assert lines[3].latex.startswith(r"\frac{E^{2} \rho^{2}}{\alpha^{2}} \mathbb{E}")


def test_exponents_are_listed_with_the_claimed_ones(output: Path) -> None:
    fitted = {
        "letter": "T", "term": "sampling", "claimed": "-1/2", "slope": -0.5123, "low": -0.6, "high": -0.41,
        "slope_of_the_bound": -0.4987, "share_of_the_term": 0.95, "grid": [250.0, 500.0],
    }  # fmt: skip
    e = Evidence(HOLDS, "monte-carlo", "exponent of T", "holds", "holds", "below the bound", notes={"exponent": fitted})
    file = output / "evidence" / "rates.json"
    file.write_text(json.dumps(document([e], {HOLDS: "holds"}, 1e-6, 1.0)))
    shown = statement(site_of(output), HOLDS).source
    numbers = ("-1/2", "−0.4987", "−0.5123", "−0.6", "250, 500")
    for part in ("Exponents", "sampling", "at least 95 % of the bound", *numbers):
        assert part in shown, part
    assert "Exponents" not in statement(site_of(output), REFUTED).source
    del fitted["term"]
    file.write_text(json.dumps(document([e], {HOLDS: "holds"}, 1e-6, 1.0)))
    assert "Exponents" not in statement(site_of(output), HOLDS).source, "what is incomplete is among the notes only"
