"""`new ci`, `new paper` and `new examples`: the written files work, and no existing file is lost."""

from __future__ import annotations

import re
import shlex
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml

from dpfl_theory import __version__
from dpfl_theory.checks.runner import plan, run_plan
from dpfl_theory.cli import main
from dpfl_theory.statements.words import read
from dpfl_theory.templates.paper_folder import REFERENCE
from dpfl_theory.templates.paper_folder.theorem1 import THEOREM1

ROOT = Path(__file__).parents[1]
# An installation that is older than the plugin does not load it by itself.
INSTALLED = any(e.value == "dpfl_theory.pytest_plugin" for e in metadata.entry_points(group="pytest11"))


@pytest.fixture
def workflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "ci"]) == 0
    return dict(yaml.safe_load((tmp_path / ".github" / "workflows" / "theorems.yml").read_text()))


def test_the_workflow_may_do_little_and_names_its_versions(workflow: dict[str, Any]) -> None:
    assert workflow["permissions"] == {"contents": "read"}
    assert set(workflow[True]) == {"push", "pull_request"}  # YAML reads the key `on` as a truth value
    (job,) = workflow["jobs"].values()
    assert "permissions" not in job
    assert job["timeout-minutes"] <= 60
    assert job["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13"]
    used = [step["uses"] for step in job["steps"] if "uses" in step]
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", name) for name in used), used
    assert [name.split("@")[0].split("/")[1] for name in used] == ["checkout", "setup-python", "upload-artifact"]
    run = "\n".join(step.get("run", "") for step in job["steps"])
    assert f'"dpfl-theory=={__version__}"' in run
    assert "${{" not in run, "what others write would be run"
    assert "://" not in run
    assert "secrets" not in str(workflow)


def test_what_pip_is_to_install_is_told_and_may_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """This version is on no package index: the command and the workflow itself tell the user what to do."""
    monkeypatch.chdir(tmp_path)
    assert main(["new", "ci", "--output", "a.yml"]) == 0
    assert f"dpfl-theory=={__version__} is on no package index yet: commit its wheel" in capsys.readouterr().err
    text = Path("a.yml").read_text()
    assert f'pip install --find-links wheels "dpfl-theory=={__version__}" pytest' in text
    assert "# No package index has this version" in text
    named = "dpfl-theory @ git+https://example.org/mine.git@v1"
    assert main(["new", "ci", "--output", "b.yml", "--package", named]) == 0
    assert "index" not in capsys.readouterr().err
    (job,) = yaml.safe_load(Path("b.yml").read_text())["jobs"].values()
    (line,) = (step["run"].splitlines()[0] for step in job["steps"] if step.get("name") == "Install")
    assert shlex.split(line)[-3:] == [named, "pytest", "pytest-xdist"]
    for wrong in ("", '"; echo', "$(id)", "--index-url=x", "a\nb"):
        assert main(["new", "ci", "--output", "c.yml", "--package", wrong]) == 2
        assert "pip cannot install the package" in capsys.readouterr().err
        assert not Path("c.yml").exists()


def test_the_options_that_it_uses_exist(workflow: dict[str, Any], pytester: pytest.Pytester) -> None:
    (job,) = workflow["jobs"].values()
    (test,) = (step["run"] for step in job["steps"] if step.get("name") == "Test")
    words = test.split()
    assert words[:5] == ["python", "-m", "pytest", "-n", "auto"]
    loaded = [] if INSTALLED else ["-p", "dpfl_theory.pytest_plugin"]
    found = pytester.parseconfig(*loaded, *words[5:])
    assert found.getoption("theorem_output") == "theorems"
    assert found.getoption("theorem_budget") == "10m"
    assert found.getoption("xmlpath") == "theorems/junit.xml"


def test_the_examples_are_copied_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "examples"]) == 0
    there = {p.relative_to(ROOT / "examples") for p in (ROOT / "examples").rglob("*") if p.suffix in (".py", ".toml")}
    assert len(there) >= 7
    assert {p.relative_to("examples") for p in Path("examples").rglob("*") if p.is_file()} == there
    assert all((Path("examples") / p).read_bytes() == (ROOT / "examples" / p).read_bytes() for p in there)


@pytest.mark.parametrize(
    ("arguments", "there", "message"),
    [
        (["ci"], ".github/workflows/theorems.yml", "exists already: choose another name with --output"),
        (["ci", "--output", "mine.yml"], "mine.yml", "exists already: choose another name with --output"),
        (["ci", "--output", "mine.txt"], "", "its name must end in .yml"),
        (["ci", "--output", "mine/mine.yml"], "mine", "'mine' is a file, not a folder"),
        (["examples"], "examples/mine.py", "'examples' exists already: name a new folder with --output"),
        (["examples", "--output", "file"], "file", "it is a file, but a folder is needed"),
    ],
)
def test_nothing_is_overwritten(
    arguments: list[str],
    there: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    if there:
        Path(there).parent.mkdir(parents=True, exist_ok=True)
        Path(there).write_text("mine")
    before = sorted(p for p in Path().rglob("*"))
    assert main(["new", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert sorted(p for p in Path().rglob("*")) == before
    assert not there or Path(there).read_text() == "mine"


def test_a_paper_is_written_and_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The folder of the template is read by its own name here; what is written has the paper's."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "dpfl_theory" / "statements" / "ours2026"
    assert main(["new", "paper", "ours2026"]) == 2
    assert "there is no folder 'dpfl_theory/statements' here: run it in a checkout" in capsys.readouterr().err
    folder.parent.mkdir(parents=True)
    assert main(["new", "paper", "ours2026"]) == 0
    assert "ours2026: 5 files" in capsys.readouterr().err
    texts = {file.name: file.read_text() for file in folder.iterdir()}
    assert all("paper-name" not in text and "templates" not in text for text in texts.values())
    assert "from dpfl_theory.statements.ours2026 import _symbols as paper" in texts["theorem1.py"]
    assert list(read(texts["theorem1.md"])) == ["ours2026.theorem1"]
    assert (REFERENCE.id, THEOREM1.id) == ("paper-name", "paper-name.theorem1")
    assert {e.verdict for e in run_plan(plan([THEOREM1])).evidence} == {"holds", "not-applicable"}
    for name, message in (
        ("ours2026", "exists already: choose another name"),
        ("li2020", "the catalogue has the paper 'li2020' already: write li2020b"),
        ("Our paper", "'Our paper' is not the id of a paper: write its first author and the year, such as ours2026"),
    ):
        assert main(["new", "paper", name]) == 2
        assert message in capsys.readouterr().err
