"""The documentation site: examples print their outputs, link targets exist, and the reference is complete."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from laws.test_algorithm_laws import written
from patience import HANGS

from docs import inserts, notebooks, snippets
from docs.inserts import algorithms as of_algorithms
from docs.inserts import commands, faults, gallery
from docs.inserts import statements as of_statements
from dpfl_theory import statements
from dpfl_theory.cli import application
from dpfl_theory.conform.references import references
from dpfl_theory.core.methods import known
from dpfl_theory.errors import InputError
from dpfl_theory.sweep.algorithms import algorithms

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
INNER = re.compile(r"dpfl_theory\.(cli|kernels|templates|report|statements\.[a-z]+\d{4})\b")
"""Modules outside the public interface: commands, kernels, templates, the report's pages and papers' statements."""


def sphinx(source: Path, output: Path) -> subprocess.CompletedProcess[str]:
    """Build pages as ``make docs`` does."""
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-E",
        "-W",
        "--keep-going",
        "-b",
        "html",
        "-d",
        str(output / ".doctrees"),
    ]
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": paths}
    return subprocess.run(
        [*command, str(source), str(output)], capture_output=True, text=True, timeout=HANGS, env=environment
    )


def imported(text: str) -> set[str]:
    """The package's modules that Python code imports."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
        found |= {name for name in names if name.split(".")[0] == "dpfl_theory"}
    return found


@pytest.mark.parametrize(
    ("command", "code", "shows", "cause"),
    [
        ("$ dpfl-theory list problems", 1, "", "ended with exit code 0, and the text says 1"),
        ("$ dpfl-theory list problems", 0, "no-such-problem", "promises 'no-such-problem'"),
        ("$ rm something", 0, "", "is not a command"),
    ],
)
def test_a_command_that_prints_something_else_fails(command: str, code: int, shows: str, cause: str) -> None:
    with pytest.raises(InputError, match=cause):
        snippets.commands(command, code, shows)


@pytest.mark.parametrize(
    ("text", "shows", "cause"), [("print(1)", "2", "promises '2'"), ("x = 1", "", "nothing was printed")]
)
def test_python_that_prints_something_else_fails(text: str, shows: str, cause: str) -> None:
    with pytest.raises(InputError, match=cause):
        snippets.python(text, shows)


def test_commands_run_in_a_folder_of_their_own(tmp_path: Path) -> None:
    before = Path.cwd(), dict(os.environ)
    written = "$ dpfl-theory check das2022.lemma10 --method algebra --output x.txt\n$ dpfl-theory list problems"
    assert "quadratic" in snippets.commands(written, folder=tmp_path)[1].printed
    assert "das2022.lemma10" in (tmp_path / "x.txt").read_text()
    place = tmp_path / "place"
    place.mkdir()
    snippets.commands("$ dpfl-theory new theorem a-b\n$ dpfl-theory list problems", place=place)
    assert [file.name for file in place.iterdir()] == ["a_b.py"]
    assert (Path.cwd(), dict(os.environ)) == before


def test_an_unknown_insert_fails() -> None:
    with pytest.raises(InputError, match="nothing-like-this"):
        inserts.named("nothing-like-this")


def test_all_mistakes_are_listed_with_their_sentences() -> None:
    text = faults.insert()
    mistakes = {(f.name, f.description) for one in references().values() for f in one.faults()}
    assert len(mistakes) > 50
    for name, sentence in mistakes:
        assert inserts.plain(name) in text
        assert inserts.plain(sentence)[1:] in text
    assert set(faults.known()) == set(faults.NAMES)


def test_all_algorithms_are_listed_with_their_hyper_parameters() -> None:
    text = of_algorithms.insert()
    for name, model in algorithms().items():
        section = text.partition(f"\n### {name}\n")[2].partition("\n### ")[0]
        assert set(model.model_fields) - {"name"} == set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)), name


def test_all_statements_and_commands_are_listed() -> None:
    text = of_statements.insert()
    assert re.findall(r"^````\{statement\} (.+)$", text, re.MULTILINE) == [
        s.id for paper in statements.papers() for s in statements.select(paper=paper)
    ]
    headings = re.findall(r"^## dpfl-theory ?(.*)$", commands.insert(), re.MULTILINE)
    assert {"check", "conform", "privacy account", "new theorem", "store verify"} <= set(headings)
    assert {h.split()[0] for h in headings if h} == set(application().commands)


def test_the_gallery_has_every_example_with_formula_and_planted_faults() -> None:
    text = gallery.insert()
    for file in sorted((ROOT / "examples").glob("*.py")):
        section = text.partition(f"({file.stem})=\n")[2].partition("\n(")[0]
        assert section.count("<math") >= 2  # both sides
        assert file.read_text(encoding="utf-8") in text
    for right, _, methods in (fault for planted in gallery.planted().values() for fault in planted):
        assert " ".join(right.split()).replace("|", "\\|") in text
        assert methods <= set(known())


def test_every_method_has_a_tutorial_with_a_fault_that_it_finds() -> None:
    for name in known():
        promised = re.findall(r"^:shows: (.+)$", (DOCS / "tutorials" / f"{name}.md").read_text(), re.MULTILINE)
        assert [text for text in promised if "violated" in text], name


def test_the_reference_has_what_examples_and_texts_import() -> None:
    """It also has the packages that declare their public names with ``__all__``."""
    pages = "".join(page.read_text() for page in (DOCS / "reference" / "python").glob("*.md"))
    shown = set(re.findall(r"automodule:: (\S+)", pages))
    package = ROOT / "dpfl_theory"
    public = {
        ".".join(file.parent.relative_to(ROOT).parts)
        for file in package.rglob("__init__.py")
        if "__all__ = [" in file.read_text(encoding="utf-8") and "_" not in {part[0] for part in file.parent.parts[-2:]}
    }
    for file in [*(ROOT / "examples").glob("*.py"), package / "templates" / "statement.py"]:
        public |= imported(file.read_text(encoding="utf-8"))
    blocks = re.compile(
        r"^```(?:python|\{run-python\}|\{code-cell\})[^\n]*\n((?::[^\n]*\n)*)(.*?)^```", re.DOTALL | re.MULTILINE
    )
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")]:
        for _, block in blocks.findall(page.read_text(encoding="utf-8")):
            public |= imported(block)
    assert "dpfl_theory.recommend.search" in public  # of a notebook
    assert {"dpfl_theory.core", "dpfl_theory.simulation"} <= public
    assert {name for name in public if not INNER.match(name)} <= shown


def test_the_table_of_algorithm_classes_is_complete() -> None:
    page = (DOCS / "reference" / "python" / "simulation.md").read_text()
    first_column = "".join(line.split("|")[1] for line in page.splitlines() if line.startswith("| `"))
    named = set(re.findall(r"`(\w+)`", first_column))
    assert named == {"Simulation", *(cls.__name__ for cls in written())}


def test_folders_of_the_architecture_exist() -> None:
    page = (DOCS / "development" / "architecture.md").read_text()
    folders = re.findall(r"^\| `([a-z_/]+)` \|", page, re.MULTILINE)
    assert len(folders) > 20
    for folder in folders:
        assert folder == "reports" or (ROOT / folder).is_dir(), folder
    packages = {f"dpfl_theory/{path.parent.name}" for path in (ROOT / "dpfl_theory").glob("*/__init__.py")}
    assert packages == {folder for folder in folders if folder.startswith("dpfl_theory/")}


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("```{run}\n:shows: no-such-problem\n$ dpfl-theory list problems\n```", "promises 'no-such-problem'"),
        ("```{run-python}\n1/0\n```", "ZeroDivisionError"),
        ("```{insert} nothing-like-this\n```", "nothing-like-this"),
        ("[there](nowhere.md)", "nowhere.md"),
        ("[there](#nowhere)", "nowhere"),
        ("", ""),
    ],
    ids=["command", "python", "insert", "page", "place", "none"],
)
def test_a_false_page_fails_the_build(tmp_path: Path, text: str, cause: str) -> None:
    pytest.importorskip("myst_parser", reason="Sphinx is not installed: make docs installs it")
    (tmp_path / "conf.py").write_text("extensions = ['myst_parser', 'docs.extension']\nmyst_heading_anchors = 3\n")
    good = "```{run-python}\n:shows: <b>\nprint('<b>')\n```"
    (tmp_path / "index.md").write_text(f"# Start\n\n{good}\n\n[all](conf.py)\n\n{text}\n")
    done = sphinx(tmp_path, tmp_path / "out")
    assert (done.returncode != 0) == bool(cause), done.stderr
    assert cause in done.stderr
    page = (tmp_path / "out" / "index.html").read_text()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All pages, as ``make docs`` builds them."""
    pytest.importorskip("furo", reason="Sphinx is not installed: make docs installs it")
    output = tmp_path_factory.mktemp("documentation")
    done = sphinx(DOCS, output)
    assert done.returncode == 0, done.stderr
    return output


@pytest.mark.slow
def test_pages_need_no_network(site: Path) -> None:
    pages = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert len(pages) > 40
    for page in pages:
        loaded = re.findall(
            r"<(?:script|img|link|iframe)\b[^>]*?(?:src|href)=\"((?:https?:)?//[^\"]*)\"", page.read_text()
        )
        loaded += re.findall(r"(?:@import|url\()\s*[\"']?((?:https?:)?//[^\"')]*)", page.read_text())
        assert loaded == [], page


@pytest.mark.slow
@pytest.mark.parametrize("name", notebooks.notebooks())
def test_a_notebook_can_be_downloaded_with_its_outputs(site: Path, name: str) -> None:
    page = site / "gallery" / f"{name}.html"
    (link,) = re.findall(r'<a class="reference download[^>]*href="([^"]+)"', page.read_text(encoding="utf-8"))
    document = json.loads((page.parent / link).read_text(encoding="utf-8"))
    code = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    shown = [kind for cell in code for output in cell["outputs"] for kind in output.get("data", ())]
    assert {"text/html", "image/png"} <= set(shown)
    assert "<Figure size" not in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_search_index_has_every_statement_and_command(site: Path) -> None:
    index = json.loads((site / "searchindex.js").read_text().removeprefix("Search.setIndex(").removesuffix(")"))
    names = {f"{prefix}.{entry[-1]}" for prefix, entries in index["objects"].items() for entry in entries}
    assert {s.id for s in statements.all_statements()} <= names
    assert {"dpfl-theory-check.--budget", "dpfl_theory.algorithms.fedavg.FedAvg.faults"} <= names


CHROMIUM = os.environ.get("DPFL_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="the search is not tried in a browser: there is no Chromium")
def test_the_search_works_as_a_file_in_a_browser(site: Path) -> None:
    def found(query: str) -> list[str]:
        """The results, in their order."""
        command = [
            str(CHROMIUM),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--virtual-time-budget=8000",
            "--dump-dom",
        ]
        address = f"{(site / 'search.html').as_uri()}?q={query}"
        done = subprocess.run([*command, address], capture_output=True, text=True, timeout=HANGS, check=True)
        results = done.stdout.partition('id="search-results"')[2].partition("</ul>")[0]
        return [re.sub(r"<[^>]+>", "", row) for row in re.findall(r"<a\b[^>]*>(.*?)</a>", results, re.DOTALL)]

    names = found("theorem4b")
    assert names[0] == "das2022.theorem4b"
    assert {"das2022.theorem4b.fixed-size", "das2022.theorem4b.repaired"} <= set(names)
    assert "dpfl_theory.conform" in found("conform")[:3]
    assert found("nothinglikethis") == []
