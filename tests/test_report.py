"""The page: complete, self-contained, accessible, and made from the JSON files alone."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dpfl_theory import statements
from dpfl_theory.checks.evidence import Evidence, Interval, document
from dpfl_theory.cli import main
from dpfl_theory.errors import InputError
from dpfl_theory.report import formulas
from dpfl_theory.report.build import build
from dpfl_theory.report.entries import Entry, entries_of, shared
from dpfl_theory.report.templates import bar as bar_of
from dpfl_theory.report.templates import brief, significant

HOLDS, REFUTED = "das2022.theorem4a", "das2022.theorem4b"
VOID = {"meta", "img", "br", "link", "input", "hr"}


class Page(HTMLParser):
    """Elements with their attributes, and text; fails on tags that are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.text.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def sample() -> dict[str, Any]:
    """Evidence of every kind: exact, statistical, refuted as recorded, differing, vacuous, of one's own."""
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
    "profile": "quick",
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
        ],
    },
}

SCRIPT = """
from dpfl_theory.report import style
TITLE, CAPTION, SOURCE, BUDGET_SECONDS = "t", "c", {}, {}
def compute(context): return {}
def draw(data):
    figure, axes = style.figure()
    axes.plot(data["values"])
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
    """Such a folder to change."""
    monkeypatch.chdir(tmp_path)
    return laid_out(tmp_path)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, Page]:
    """Such a folder as it is, with its page, to read."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(folder)
        place = laid_out(folder)
        return place, *page_of(place)


def page_of(output: Path) -> tuple[str, Page]:
    text = build(output, scripts=output.parent / "validations").read_text(encoding="utf-8")
    return text, Page(text)


def section(text: str, id_: str) -> str:
    anchor = re.sub(r"[._]", "-", id_)
    found = re.search(rf'<article id="{anchor}">.*?</article>', text, re.DOTALL)
    assert found, id_
    return found[0]


def test_the_page_needs_nothing_but_what_lies_beside_it(made: tuple[Path, str, Page]) -> None:
    _, text, page = made
    assert len(text.encode()) < 10_000_000
    assert not page.all("link")
    assert all("src" not in attributes for attributes in page.all("script"))
    assert all(re.match(r"figures/[\w.-]+$", str(attributes["src"])) for attributes in page.all("img"))
    assert "@import" not in text
    assert "url(" not in text
    for attributes in page.all("a"):
        assert re.match(r"#|figures/|evidence/|errata/", str(attributes["href"]))
    leftover = text.replace("http://www.w3.org/1998/Math/MathML", "")
    assert not re.search(r"https?://", leftover)


def test_every_link_leads_somewhere(made: tuple[Path, str, Page]) -> None:
    output, _, page = made
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for attributes in page.all("a"):
        target = str(attributes["href"])
        if target.startswith("#"):
            assert target[1:] in ids, target
        else:
            file, _, place = target.partition("#")
            assert (output / file).is_file(), target
            assert not place or f'id="{place}"' in (output / file).read_text(encoding="utf-8"), target


def test_it_is_accessible(made: tuple[Path, str, Page]) -> None:
    _, text, page = made
    assert page.all("html")[0]["lang"] == "en"
    assert all(attributes["alt"] for attributes in page.all("img"))
    assert len(page.all("caption")) == len(page.all("table"))
    assert len(page.all("h1")) == 1
    headings = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert all(later <= earlier + 1 for earlier, later in pairwise(headings))
    for attributes in page.all("svg"):  # a map holds links, which an image would hide
        named = attributes.get("role") in ("img", "group") and attributes.get("aria-label")
        assert named or attributes.get("aria-hidden") == "true"
    assert all(attributes.get("scope") for attributes in page.all("th"))
    assert "prefers-color-scheme: dark" in text


def test_summary_counts(made: tuple[Path, str, Page]) -> None:
    _, _, page = made
    told = " ".join(" ".join(page.text).split())
    catalogued = sum(s.paper == "das2022" for s in statements.all_statements())
    assert f"4 statements checked of {catalogued + 1}" in told
    for part in (
        "1 holds",
        "2 violated",
        "1 unchecked",
        "1 differing from what is recorded",
        "5 checks run",
        "1 figure redone",
    ):
        assert part in told
    assert "1 claim reproduced" in told
    assert "1 claim not-reproduced" in told


def test_a_statement_has_formula_letters_hypotheses_and_evidence(made: tuple[Path, str, Page]) -> None:
    _, text, _ = made
    shown = section(text, HOLDS)
    statement = statements.get(HOLDS)
    assert shown.count("<math") >= 3 + len(statement.symbols)
    for part in ("A (initialisation)", "B1 (heterogeneity)", "smoothness constant of every f_i", "F X⁻²"):
        assert part in shown
    assert all(a.text.replace("<", "&lt;").replace(">", "&gt;") in shown for a in statement.assumptions)
    for part in ("1.235", "[1, 1.5]", "0.3086", "×1.07", "512", "1×10⁻⁷", "asymptotic", "vacuous", "seed 5"):
        assert part in shown, part
    assert f"dpfl-theory check {HOLDS} --seed 5" in shown
    assert 'href="#das2022-theorem6-alpha"' in shown
    assert "Erratum" not in shown


def test_an_erratum_is_shown_in_full(made: tuple[Path, str, Page]) -> None:
    _, text, _ = made
    shown = section(text, REFUTED)
    erratum = statements.get(REFUTED).erratum
    assert erratum is not None
    for part in (erratum.printed, erratum.true, erratum.cause.title, erratum.why, erratum.counterexample):
        assert part.replace("'", "&#39;").replace("<", "&lt;").replace(">", "&gt;") in shown
    assert 'href="#das2022-theorem4b-repaired"' in shown
    assert "recorded:" not in shown


def test_a_verdict_that_differs_stands_out(made: tuple[Path, str, Page]) -> None:
    _, text, _ = made
    assert "recorded: holds" in section(text, "das2022.theorem6")
    assert text.count('<tr class="surprise">') == 1


def test_what_comes_from_files_is_escaped(made: tuple[Path, str, Page]) -> None:
    _, text, _ = made
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in text
    assert "Figure 0 &lt;again&gt;" in text


def test_a_statement_of_ones_own_and_one_without_evidence(made: tuple[Path, str, Page]) -> None:
    _, text, _ = made
    assert "a statement outside the catalogue" in section(text, "mine.lemma")
    assert "No evidence is on record here" in section(text, "das2022.theorem7")


def test_a_validation_has_figure_claims_configuration_and_command(made: tuple[Path, str, Page]) -> None:
    output, text, _ = made
    shown = section(text, "das2022_figure0")
    assert 'src="figures/das2022_figure0.svg"' in shown
    assert "What is drawn." in shown
    for part in ("normalisation ends lower", "0.1235", "recorded: reproduced", "[0.001, 0.002]", VALIDATION["command"]):
        assert str(part) in shown
    assert sorted(p.name for p in (output / "figures").iterdir()) == ["das2022_figure0.png", "das2022_figure0.svg"]


def test_the_same_files_make_the_same_page(output: Path) -> None:
    first = build(output).read_bytes()
    assert build(output).read_bytes() == first


def test_figures_follow_the_data(output: Path) -> None:
    page_of(output)
    figure = output / "figures" / "das2022_figure0.svg"
    before = figure.read_bytes()
    changed = {**VALIDATION, "data": {**VALIDATION["data"], "values": [3.0, 2.0, 0.0]}}  # type: ignore[dict-item]
    (output / "evidence" / "das2022_figure0.json").write_text(json.dumps(changed))
    build(output, redraw=False)
    assert figure.read_bytes() == before, "taken as it lies there"
    page_of(output)
    assert figure.read_bytes() != before


def test_without_the_script_the_figures_at_hand_are_taken(output: Path, tmp_path: Path) -> None:
    scripts = tmp_path / "validations"
    build(output, scripts=scripts)
    (scripts / "das2022_figure0.py").unlink()
    told: list[str] = []
    text = build(output, told.append, scripts=scripts).read_text()
    assert 'src="figures/das2022_figure0.svg"' in section(text, "das2022_figure0")
    assert len(told) == 1
    for file in (output / "figures").iterdir():
        file.unlink()
    assert "No figure is at hand" in section(build(output).read_text(), "das2022_figure0")


def test_a_validation_without_versions_is_shown(output: Path, tmp_path: Path) -> None:
    """They are no part of the schema that must be there."""
    (tmp_path / "evidence").mkdir()
    (found,) = (p for p in (output / "evidence").glob("*.json") if '"dpfl-theory/validation/1"' in p.read_text())
    document = json.loads(found.read_text())
    del document["versions"]
    (tmp_path / "evidence" / found.name).write_text(json.dumps(document))
    assert section(build(tmp_path, lambda _: None).read_text(), document["name"])


def test_a_later_file_replaces_the_same_check(output: Path) -> None:
    better = sample()
    better["evidence"] = [{**e, "verdict": "holds"} for e in better["evidence"] if e["statement"] == "das2022.theorem6"]
    (output / "evidence" / "check-das2022-later.json").write_text(json.dumps(better))
    text, _ = page_of(output)
    assert "recorded: holds" not in section(text, "das2022.theorem6")


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
    assert [p.name for p in sorted((output / "figures").iterdir())] == ["das2022_figure0.png", "das2022_figure0.svg"]
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
    ("told", "shown"),
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
def test_long_fractions_become_decimals(told: str, shown: str) -> None:
    assert brief(told) == shown


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
    shown = section(page_of(output)[0], HOLDS)
    numbers = ("-1/2", "−0.4987", "−0.5123", "−0.6", "250, 500")
    for part in ("Exponents", "sampling", "at least 95 % of the bound", *numbers):
        assert part in shown, part
    assert "Exponents" not in section(page_of(output)[0], REFUTED)
    del fitted["term"]
    file.write_text(json.dumps(document([e], {HOLDS: "holds"}, 1e-6, 1.0)))
    assert "Exponents" not in section(page_of(output)[0], HOLDS), "what is incomplete is among the notes only"
