"""What README and CONTRIBUTING show is true: their code runs, their numbers are those that come out."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from laws.test_algorithm_laws import algorithms

from docs.screens import SCREENS, picture
from dpfl_theory import statements
from dpfl_theory.algorithms.observables import catalogue
from dpfl_theory.checks import worst_case
from dpfl_theory.checks.runner import plan, run_plan
from dpfl_theory.checks.settings import Settings
from dpfl_theory.cli import main
from dpfl_theory.statements.model import Check
from dpfl_theory.templates import theorem
from dpfl_theory.validation import available

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_tour_in_python_runs(capsys: pytest.CaptureFixture[str]) -> None:
    tour, private, worst = (b for b in blocks(README, "python") if "pytest" not in b)  # test_pytest_plugin
    exec(compile(tour, "README.md", "exec"), {})
    out = capsys.readouterr().out
    assert "units holds" in out
    assert len(out.splitlines()) >= 3
    exec(compile(private, "README.md", "exec"), {})
    assert capsys.readouterr().out.count(".") >= 8  # two observables of four lanes
    made: dict[str, Any] = {}
    exec(compile(worst, "README.md", "exec"), made)
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
    """But for digits, which another machine may round otherwise."""
    drawn, kept = picture(SCREENS[name]), (ROOT / "docs" / name).read_text()
    assert re.sub(r"[0-9.]+", "#", drawn) == re.sub(r"[0-9.]+", "#", kept)
    assert "https://" not in kept


def test_the_table_of_algorithms_is_whole() -> None:
    table = README.split("## Algorithms")[1].split("## ")[0]
    first_column = "".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))
    named = set(re.findall(r"`(\w+)`", first_column)) - {"clip21", "alpha_norm_ec"}
    assert named == {cls.__name__ for cls in algorithms()}


def test_the_recommendation_is_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    (shown,) = (b for b in blocks(README, "console") if "recommend --algorithm" in b)
    command, expected = shown.replace("\\\n", "").split(" | head -n 12\n")
    assert main(command.removeprefix("$ dpfl-theory ").split()) == 0
    assert capsys.readouterr().out.splitlines()[:12] == expected.splitlines()


def test_the_tour_on_the_command_line_names_what_exists() -> None:
    commands = re.findall(r"^\$ dpfl-theory (.*?)(?: +#.*)?$", README, re.MULTILINE)
    assert len(commands) >= 39  # a regular expression that finds them no more would find fewer
    used = {word for command in commands for word in command.split()}
    assert {
        "list",
        "show",
        "check",
        "falsify",
        "validate",
        "reproduce",
        "report",
        "doctor",
        "privacy",
        "recommend",
        "simulate",
        "sweep",
        "store",
    } <= used
    assert {word for word in used if word.startswith("das2022.")} <= {s.id for s in statements.all_statements()}
    assert {word for word in used if word.startswith("das2022_")} <= set(available(ROOT / "validations"))
    for word in used:
        if word.endswith((".py", ".toml")):
            assert (ROOT / word).is_file() or word in ("sharper_rate.py", "my_file.py:round")  # which `new` writes


def test_the_list_is_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    (shown,) = (b for b in blocks(README, "console") if "--with remark" in b)
    assert shown.startswith("$ dpfl-theory list 'das2022.lemma*' --with remark\n")
    assert main(["list", "das2022.lemma*", "--with", "remark"]) == 0
    assert capsys.readouterr().out == shown.partition("\n")[2]


def test_the_privacy_commands_give_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    (shown,) = (b for b in blocks(README, "console") if "privacy account" in b)
    found = re.findall(
        r"^\$ dpfl-theory (.*?) \| head -n (\d+)\n((?:[^$].*\n)*)", shown.replace("\\\n", ""), re.MULTILINE
    )
    assert len(found) == 5
    for command, lines, output in found:
        assert main(command.split()) == 0
        assert capsys.readouterr().out.splitlines()[: int(lines)] == output.splitlines()


def test_folders_and_links_exist() -> None:
    for text in (README, CONTRIBUTING):
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            assert target.startswith("https://") or (ROOT / target).exists(), target
    where = README[README.index("## Where things are") :]
    for folder in re.findall(r"^\| `([a-z_/]+)` \|", where, re.MULTILINE):
        assert folder == "reports" or (ROOT / folder).is_dir(), folder


def test_the_worked_example_gives_the_numbers_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    example = ROOT / "examples" / "my_statements.py"
    (shown,) = (b for b in blocks(CONTRIBUTING, "console") if "my_statements" in b)
    printed = {
        name: float(ratio) for ratio, name in re.findall(r"^holds +([\d.]+) .*monte-carlo +(.*?) {2,}", shown, re.M)
    }
    assert len(printed) == 2
    mutated = tmp_path / "mutated.py"
    mutated.write_text(example.read_text().replace(" * s.d ", " "))
    wrong = re.search(r"`violated` with ratio ([\d.]+)", CONTRIBUTING)
    assert wrong is not None
    for file, code, expected in ((example, 0, printed), (mutated, 1, {"the noise dominates": float(wrong[1])})):
        arguments = ["check", "--file", str(file), "--method", "monte-carlo", "--device", "cpu", "--format", "json"]
        assert main(arguments) == code
        found = {e["check"]: e["ratio"] for e in json.loads(capsys.readouterr().out)["evidence"]}
        for name, ratio in expected.items():
            assert found[name] == pytest.approx(ratio, rel=1e-3), name


def test_the_theorem_that_new_writes_gives_the_numbers_shown(tmp_path: Path) -> None:
    (shown,) = (b for b in blocks(README, "console") if "new theorem" in b)
    printed = re.findall(r"^holds +([\d.]+) +mine.sharper-rate +(exact|worst-case) +(.*?) {2,}", shown, re.M)
    assert len(printed) == 3
    file, text = theorem("sharper-rate")
    (tmp_path / file).write_text(text)
    (statement,) = statements.load_file(tmp_path / file)
    found = {(e.method, e.check): e.ratio for e in run_plan(plan([statement], ("exact", "worst-case"))).evidence}
    assert len(found) == 3
    for ratio, method, name in printed:
        assert found[method, name] == pytest.approx(float(ratio), rel=1e-3)
    (step,) = blocks(README, "text")
    assert step in text


def test_the_gallery_is_whole() -> None:
    gallery = README.split("## Your own theorem")[1].split("## ")[0]
    named = set(re.findall(r"^\| `(\w+\.py)` \|", gallery, re.M))
    assert named == {file.name for file in (ROOT / "examples").glob("*.py")}


def test_the_worst_case_example_gives_the_verdicts_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    example = ROOT / "examples" / "worst_case.py"
    (shown,) = (b for b in blocks(CONTRIBUTING, "console") if "worst_case" in b)
    printed = re.findall(r"^(holds) +1 .*worst-case +(K = \d)", shown, re.M)
    wrong = re.search(r"\(worst ratios ([\d.]+), ([\d.]+) and\s+([\d.]+)\)", CONTRIBUTING)
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
    (line,) = re.findall(r"`dpfl_theory.algorithms.observables` lists: (.*?), \.\.\.", CONTRIBUTING)
    assert set(re.findall(r"`([a-z-]+)`", line)) <= set(catalogue())


def test_the_license_is_whole() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text
