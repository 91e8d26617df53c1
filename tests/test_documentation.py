"""The documentation as pages: it is whole, its links lead somewhere, and what it shows is what comes out."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from pages import Page, broken_links, pages_of
from patience import HANGS

from docs import build as builder
from docs import reference, search, snippets
from docs.inserts import faults, gallery, named, readme
from docs.markdown import read
from dpfl_theory import statements
from dpfl_theory.conform.references import references
from dpfl_theory.errors import InputError
from dpfl_theory.methods import known
from dpfl_theory.sweep.algorithms import algorithms


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All pages but the reference, examples run; commands that check a file start processes: those are for CI."""
    output = tmp_path_factory.mktemp("documentation")
    run = snippets.commands

    def quick(text: str, code: int = 0, shows: str = "") -> list[snippets.Ran]:
        return [snippets.Ran(text, shows)] if "check --file" in text else run(text, code, shows)

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(snippets, "commands", quick)
        builder.build(output, reference=False)
    return output


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    return pages_of(site)


@pytest.mark.slow
def test_links_lead_somewhere(site: Path, pages: dict[str, Page]) -> None:
    assert [link for link in broken_links(site, pages) if not link[1].startswith("https://")] == []
    assert sum(len(page.all("a")) for page in pages.values()) >= 100
    reached = {"index.html"} | {
        (Path(name).parent / str(a["href"]).partition("#")[0]).as_posix()
        for name, page in pages.items()
        for a in page.all("a")
    }
    assert all(any((site / to).resolve() == (site / name).resolve() for to in reached) for name in pages)


@pytest.mark.slow
def test_pages_are_small_and_need_no_network(site: Path, pages: dict[str, Page]) -> None:
    for name, page in pages.items():
        assert (site / name).stat().st_size <= builder.LARGEST
        assert page.all("link") == []
        assert all(
            not str(e.get("src", "")).startswith(("http", "/")) for tag in ("img", "script") for e in page.all(tag)
        )
        assert len(page.ids) == len(set(page.ids)), name


@pytest.mark.slow
def test_the_search_has_every_page_heading_and_statement(site: Path, pages: dict[str, Page]) -> None:
    """And leads to each of them; that its links lead somewhere is another test."""
    page = pages[search.PAGE]
    to = {str(a["href"]) for a in page.all("a")}
    for name, other in pages.items():
        if name == search.PAGE:
            continue
        assert name in to
        for tag, attributes in other.elements:
            if tag in ("h2", "h3") and attributes.get("id"):
                assert f"{name}#{attributes['id']}" in to
    assert {f"gallery.html#{file.stem}" for file in (builder.ROOT / "examples").glob("*.py")} <= to
    told = page.told.split()
    assert all(s.id in told for s in statements.all_statements())
    (place,) = search.places("x.html", "<h1 id='a'>A</h1><p><code>clip now</code> das2022.eq4</p>")
    assert place == search.Place("A", "", "x.html", "clip das2022.eq4 now")


CHROMIUM = os.environ.get("DPFL_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="the search is not tried in a browser: there is no Chromium")
def test_the_search_works_as_a_file_in_a_browser(site: Path) -> None:
    def found(asked: str) -> tuple[str, list[str]]:
        """What the page tells, and the names of the rows that can be seen, in their order."""
        command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
        address = f"{(site / search.PAGE).as_uri()}{asked}"
        done = subprocess.run([*command, address], capture_output=True, text=True, timeout=HANGS, check=True)
        rows = re.findall(r"<li(?![^>]*\bhidden)[^>]*><(?:a|b)[^>]*>(.*?)</", done.stdout)
        return re.findall(r"<output[^>]*>(.*?)</output>", done.stdout)[0], rows

    told, names = found("?q=theorem4b")
    assert names[:3] == ["das2022.theorem4b", "das2022.theorem4b.fixed-size", "das2022.theorem4b.repaired"]
    assert int(told.partition(" of ")[0]) == len(names)
    assert "Monte-Carlo: runs with confidence limits" in found("?q=false-alarm")[1], "words of a text find its heading"
    assert found("?q=clipping+normalising")[1][0] == "Clipping and normalising", "whose name has the words comes first"
    assert found("?q=nothing-like-this")[1] == []
    assert found("")[1] == []


@pytest.mark.slow
def test_every_method_has_a_tutorial_with_a_fault_that_it_finds(pages: dict[str, Page]) -> None:
    tutorials = {name: page for name, page in pages.items() if name.startswith("tutorial/") and "index" not in name}
    assert {Path(name).stem for name in tutorials} == {*known(), "your-code"}
    for name, page in tutorials.items():
        assert ("differs: it is not" if "your-code" in name else "violated") in page.told
        assert [a for a in page.all("pre") if a["class"] == "console" or a["class"] == "printed"]


@pytest.mark.slow
def test_all_mistakes_are_listed_with_their_sentences(pages: dict[str, Page]) -> None:
    told = pages["pitfalls.html"].told
    mistakes = {(f.name, f.told) for kind in references().values() for f in kind.faults()}
    assert len(mistakes) > 50
    for name, sentence in mistakes:
        assert name in told
        assert " ".join(sentence.split())[1:] in told
    assert set(faults.known()) == set(faults.NAMES)


@pytest.mark.slow
def test_all_algorithms_are_listed(pages: dict[str, Page]) -> None:
    page = pages["algorithms.html"]
    for name, model in algorithms().items():
        assert f"algorithm-{name}" in page.ids
        assert set(model.model_fields) - {"name"} <= set(page.told.split())


@pytest.mark.slow
def test_the_gallery_has_every_example_with_formula_and_planted_faults(site: Path, pages: dict[str, Page]) -> None:
    page = pages["gallery.html"]
    files = sorted((builder.ROOT / "examples").glob("*.py"))
    assert {file.stem for file in files} <= set(page.ids)
    assert len(page.all("math")) >= 2 * len(files)  # two sides of each
    assert len(page.all("td")) >= 3 * sum(len(own) for own in gallery.planted().values())
    for right, _, _ in (fault for own in gallery.planted().values() for fault in own):
        assert " ".join(right.split()) in page.told
    assert "def sides(s: Symbols) -> Sides:\n" in "".join(page.text)
    assert files[0].read_text(encoding="utf-8") in "".join(page.text)  # empty lines included


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("```run exit=1\n$ dpfl-theory list problems\n```", "ended with exit code 0, and the text says 1"),
        ("```run shows=no-such-problem\n$ dpfl-theory list problems\n```", "promises 'no-such-problem'"),
        ("```run\n$ rm something\n```", "is no command"),
        ("```python run shows=2\nprint(1)\n```", "promises '2'"),
        ("```python run\nx = 1\n```", "nothing was printed"),
        ("```insert\n```", "insert what"),
        ("```insert nothing-like-this\n```", "nothing-like-this"),
        ('```insert readme "No such section"\n```', "has no section"),
    ],
)
def test_what_does_not_come_out_as_told_fails(text: str, cause: str) -> None:
    with pytest.raises(InputError, match=cause):
        read(text)


def test_links_to_nothing_and_large_pages_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = tmp_path / "text"
    texts.mkdir()
    monkeypatch.setattr(builder, "ROOT", tmp_path)
    monkeypatch.setattr(builder, "TEXTS", texts)
    (texts / "index.md").write_text("# Start\n\n[there](nowhere.md)\n")
    with pytest.raises(InputError, match=r"text/index.md: it links to 'nowhere.md'"):
        builder.build(tmp_path / "out", reference=False)
    (texts / "index.md").write_text("# Start\n\n[here](tests/some.py) and [again](index.md#start)\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "some.py").touch()
    builder.build(tmp_path / "out", reference=False)
    page = pages_of(tmp_path / "out")["index.html"]
    assert "here and again" in page.told
    assert [a["href"] for a in page.all("a")][-1] == "index.html#start"
    monkeypatch.setattr(builder, "LARGEST", 100)
    with pytest.raises(InputError, match="bytes, more than 100: split it"):
        builder.build(tmp_path / "out", reference=False)


def test_markup_in_texts_and_output_is_escaped() -> None:
    ran = snippets.python("print('<script>')")
    assert ran.printed == "<script>\n"
    html = read("# <b>\n\n```python run\nprint('<script>')\n```\n\n```text\n<i>\n```").html
    assert not [tag for tag in ("<b>", "<script>", "<i>") if tag in html]


def test_headings_that_are_alike_have_places_of_their_own() -> None:
    assert Page(read("# Same\n\n## Same\n\n## Same").html).ids == ["same", "same-2", "same-3"]


def test_a_section_of_the_readme_ends_where_the_next_begins() -> None:
    assert readme.insert("B", text="# T\n\n## A\n\na\n\n## B\n\nb\n\n## C\n\nc\n") == "b\n"
    assert named("readme") is readme.insert


def test_the_reference_is_of_what_is_public(tmp_path: Path) -> None:
    names = reference.modules()
    assert {
        "dpfl_theory",
        "dpfl_theory.algorithms",
        "dpfl_theory.statements.iteration",
        "dpfl_theory.semantics.oracle",
    } <= set(names)
    assert not [name for name in names if name.startswith(("dpfl_theory.cli", "dpfl_theory.kernels"))]
    pytest.importorskip("pdoc", reason="the reference is not tried: pdoc is missing")
    reference.build(tmp_path, ["dpfl_theory.privacy.sampling", "dpfl_theory.errors"])
    text = (tmp_path / "dpfl_theory" / "errors.html").read_text(encoding="utf-8")
    assert "cannot be used: exit code 2" in text
    assert "../../index.html" in text  # back to the other pages
