"""The README and the pages that are not executed are correct: code runs, numbers are as printed."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from docs.screens import SCREENS, picture
from docs.snippets import python
from dpfl_theory import __version__, statements
from dpfl_theory.checks import worst_case
from dpfl_theory.checks.runner import plan, run_plan
from dpfl_theory.checks.settings import Settings
from dpfl_theory.cli import main
from dpfl_theory.core import Check
from dpfl_theory.report.entries import showing
from dpfl_theory.report.overview import THEOREMS
from dpfl_theory.simulation.observables import catalogue
from dpfl_theory.templates import theorem
from dpfl_theory.validation import available

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


STATEMENTS = page("development/statements")
BY_HAND = [page(f"guides/{name}") for name in ("cache", "cluster", "conform", "privacy", "recommend", "sweeps")]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_readme_and_contributing_are_short() -> None:
    assert len(README.splitlines()) <= 250
    assert len(CONTRIBUTING.splitlines()) <= 100


def test_the_table_of_papers_is_the_catalogue() -> None:
    row = r"^\| `(\w+)` .*?\| (\d+) of (\d+) \| (\d+) of (\d+) \| (\d+) \| (\d+) \|$"
    found: dict[str, Counter[str]] = {}
    shown_by = showing(statements.all_statements())
    for s in statements.all_statements():
        counts = found.setdefault(s.paper, Counter())
        if s.provenance == "derived":
            assert s.expected == "holds", "the README says that all our forms hold"
            counts["ours"] += 1
        elif s.id in shown_by or s.reading_of:
            assert s.erratum is None, "the README says that readings accuse nothing"
            counts["readings"] += 1
        else:
            kind = "theorems" if s.kind in THEOREMS else "others"
            counts.update([kind, f"{kind} {s.expected}"])
            assert (s.erratum is None) == (s.expected == "holds"), "the README says that the others are refuted"
    names = ("theorems holds", "theorems", "others holds", "others", "ours", "readings")
    assert {paper: tuple(map(int, numbers)) for paper, *numbers in re.findall(row, README, re.MULTILINE)} == {
        paper: tuple(counts[name] for name in names) for paper, counts in found.items()
    }
    numbers = re.search(r"(\d+) statements with over (\d+)00 checks", README)
    assert numbers is not None
    assert tuple(map(int, numbers.groups())) == (
        len(statements.all_statements()),
        len(plan(statements.all_statements())) // 100,
    )


def test_the_check_is_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """The output is the shown one, except for the seconds at the end of a line."""
    (shown,) = (b for b in blocks(README, "console") if "theorem3 --method privacy" in b)
    command, expected = shown.split("\n", 1)
    assert main(command.removeprefix("$ dpfl-theory ").split()) == 0
    shown, printed = (re.sub(r" *[0-9.]+( s)?$", "", t, flags=re.M) for t in (expected, capsys.readouterr().out))
    assert printed == shown


def test_the_tour_in_python_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (tour,) = (b for b in blocks(README, "python") if "pytest" not in b)  # test_pytest_plugin covers the other one
    exec(compile(tour, "README.md", "exec"), {})
    out = capsys.readouterr().out
    assert "units holds" in out
    assert len(out.splitlines()) >= 3


def test_the_private_run_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (private,) = blocks(page("guides/sweeps"), "python")
    exec(compile(private, "sweeps.md", "exec"), {})
    assert capsys.readouterr().out.count(".") >= 8  # two observables of four replicates


def test_the_moments_of_the_tutorial_are_what_it_says() -> None:
    (block,) = blocks(page("tutorials/own-constants"), r"\{run-python\}")
    options, text = block.split("\n", 1)
    assert options.startswith(":shows: 11 14 ")  # T, and at the start 1/4 (3 - 1)^2 + 3/4 (3 + 1)^2 + 1
    python(text, options.removeprefix(":shows: "))


def test_the_worst_case_page_gives_what_it_says() -> None:
    worst = blocks(STATEMENTS, "python")[0]
    made: dict[str, Any] = {}
    exec(compile(worst, "statements.md", "exec"), made)
    (example,) = statements.load_file(ROOT / "examples" / "worst_case.py")
    statement = replace(example, sides=made["sides"])
    for steps in (1, 2, 5):
        check = Check("worst-case", "c", made["gradient_descent"], {"K": steps})
        found = worst_case.run(statement, check, Settings())
        assert found.verdict == "holds"
        assert found.notes["proved_exactly"] or steps == 5
        assert found.ratio == pytest.approx(1.0, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCREENS)
def test_a_picture_shows_what_the_commands_print(name: str) -> None:
    """Only digits may differ, which another machine may round otherwise."""
    drawn, kept = picture(SCREENS[name]), (ROOT / "docs" / name).read_text()
    assert re.sub(r"[0-9.]+", "#", drawn) == re.sub(r"[0-9.]+", "#", kept)
    assert "https://" not in kept


def test_the_recommendation_is_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    (shown,) = (b for b in blocks(page("guides/recommend"), "console") if "recommend --algorithm" in b)
    command, expected = shown.replace("\\\n", "").split(" | head -n 12\n")
    assert main(command.removeprefix("$ dpfl-theory ").split()) == 0
    assert capsys.readouterr().out.splitlines()[:12] == expected.splitlines()


def test_the_commands_name_what_exists() -> None:
    commands = [
        command
        for text in (README, *BY_HAND)
        for command in re.findall(r"^\$ dpfl-theory (.*?)(?: +#.*)?$", text, re.MULTILINE)
    ]
    assert len(commands) >= 35  # a broken regular expression would find fewer
    used = {word for command in commands for word in command.split()}
    named = {"list", "show", "check", "falsify", "plot", "validate", "reproduce", "conform", "privacy", "recommend"}
    assert named | {"simulate", "sweep", "store"} <= used
    assert {word for word in used if word.startswith("das2022.")} <= {s.id for s in statements.all_statements()}
    assert {word for word in used if word.startswith("das2022_")} <= set(available(ROOT / "validations"))
    for word in used:
        if word.endswith((".py", ".toml")):
            assert (ROOT / word).is_file() or word == "sharper_rate.py"  # which `new` writes


def test_the_privacy_commands_give_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """The commands of the README are among those of the guide."""
    shown, short = (
        next(b for b in blocks(text, "console") if "privacy account" in b) for text in (page("guides/privacy"), README)
    )
    assert [part for part in short.split("$ ") if part not in shown] == []
    found = re.findall(
        r"^\$ dpfl-theory (.*?) \| head -n (\d+)\n((?:[^$].*\n)*)", shown.replace("\\\n", ""), re.MULTILINE
    )
    assert len(found) == 5
    for command, lines, output in found:
        assert main(command.split()) == 0
        assert capsys.readouterr().out.splitlines()[: int(lines)] == output.splitlines()


def test_folders_and_links_exist() -> None:
    """The build of the documentation checks the links of its own pages."""
    for text in (README, CONTRIBUTING):
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
            assert target.startswith("https://") or (ROOT / target).exists(), target
    for folder in re.findall(r"^\| `([a-z_/]+)` \|", page("development/architecture"), re.MULTILINE):
        assert folder == "reports" or (ROOT / folder).is_dir(), folder


def test_the_worked_example_gives_the_numbers_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    example = ROOT / "examples" / "my_statements.py"
    (shown,) = (b for b in blocks(STATEMENTS, "console") if "my_statements" in b)
    printed = {
        name: float(ratio) for ratio, name in re.findall(r"^holds +([\d.]+) .*monte-carlo +(.*?) {2,}", shown, re.M)
    }
    assert len(printed) == 2
    mutated = tmp_path / "mutated.py"
    mutated.write_text(example.read_text().replace(" * s.d ", " "))
    wrong = re.search(r"`violated` with ratio ([\d.]+)", STATEMENTS)
    assert wrong is not None
    for file, code, expected in ((example, 0, printed), (mutated, 1, {"the noise dominates": float(wrong[1])})):
        arguments = ["check", "--file", str(file), "--method", "monte-carlo", "--device", "cpu", "--format", "json"]
        assert main(arguments) == code
        found = {e["check"]: e["ratio"] for e in json.loads(capsys.readouterr().out)["evidence"]}
        for name, ratio in expected.items():
            assert found[name] == pytest.approx(ratio, rel=1e-3), name


def test_the_theorem_that_new_writes_gives_the_numbers_shown(tmp_path: Path) -> None:
    """The numbers are the shown ones, and a right side of a quarter is refuted."""
    (shown,) = (b for b in blocks(README, "console") if "sharper_rate" in b)
    printed = re.findall(r"^holds +([\d.]+) +mine.sharper-rate +(exact|worst-case) +(.*?) {2,}", shown, re.M)
    assert len(printed) == 5
    file, text = theorem("sharper-rate")
    (tmp_path / file).write_text(text)
    (statement,) = statements.load_file(tmp_path / file)
    found = {(e.method, e.check): e.ratio for e in run_plan(plan([statement], ("exact", "worst-case"))).evidence}
    assert len(found) == 6
    for ratio, method, name in printed:
        assert found[method, name] == pytest.approx(float(ratio), rel=1e-3)
    step, sides = blocks(README, "text")
    assert step in text
    assert sides in text
    quarter = text.replace("s.D**2 / (s.eta * s.K)", "s.D**2 / (4 * s.eta * s.K)").replace(
        "s.eta * s.d * s.sigma**2}", "s.eta * s.d * s.sigma**2 / 4}"
    )
    (tmp_path / file).write_text(quarter)
    (refuted,) = statements.load_file(tmp_path / file)
    verdicts = {e.check: e.verdict for e in run_plan(plan([refuted], ("exact",))).evidence}
    assert {verdicts[name] for _, method, name in printed if method == "exact" and "inside" not in name} == {"violated"}


def test_the_table_of_examples_is_whole() -> None:
    table = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `(\w+\.py)` \|", table, re.M))
    assert named == {file.name for file in (ROOT / "examples").glob("*.py")}


def test_the_worst_case_example_gives_the_verdicts_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    example = ROOT / "examples" / "worst_case.py"
    (shown,) = (b for b in blocks(STATEMENTS, "console") if "worst_case" in b)
    printed = re.findall(r"^(holds) +1 .*worst-case +(K = \d)", shown, re.M)
    wrong = re.search(r"\(worst ratios ([\d.]+), ([\d.]+) and\s+([\d.]+)\)", STATEMENTS)
    assert wrong is not None
    assert len(printed) == 3
    mutated = tmp_path / "mutated.py"
    mutated.write_text(example.read_text().replace("4 * s.K + 2", "4 * s.K + 4"))
    for file, code, ratios in ((example, 0, [1.0] * 3), (mutated, 1, [float(r) for r in wrong.groups()])):
        assert main(["check", "--file", str(file), "--method", "worst-case", "--format", "json"]) == code
        evidence = json.loads(capsys.readouterr().out)["evidence"]
        assert [e["check"] for e in evidence] == [name for _, name in printed]
        assert [e["ratio"] for e in evidence] == pytest.approx(ratios, rel=1e-3)


def test_observables_that_are_named_exist() -> None:
    (line,) = re.findall(r"`dpfl_theory.simulation.observables` lists: (.*?), \.\.\.", STATEMENTS)
    assert set(re.findall(r"`([a-z-]+)`", line)) <= set(catalogue())


def test_the_citation_has_the_version() -> None:
    assert f"version: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_license_is_whole() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text
