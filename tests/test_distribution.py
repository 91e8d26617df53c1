"""Wheel and source distribution have all files of git, and build each other. (`make dist-check` installs them.)"""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from patience import HANGS

from benchmarks.distribution import stranger
from benchmarks.distribution.workflow import steps

ROOT = Path(__file__).parents[1]
CARRIED = ("validations", "examples")
"""Folders next to the package that the wheel contains inside it."""
BUILD = "import sys; from setuptools import build_meta as b; print(getattr(b, sys.argv[1])(sys.argv[2]))"


def build(source: Path, kind: str, target: Path) -> Path:
    """Build a distribution from a folder of sources, without other files of this environment's source tree."""
    target.mkdir(exist_ok=True)
    command = [sys.executable, "-c", BUILD, f"build_{kind}", str(target)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=HANGS, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return target / done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def tracked() -> list[str]:
    """The files that git has, or would have with the next commit."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANGS, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no git checkout: what the distributions must hold is not known")
    return [name for name in done.stdout.splitlines() if (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def built(tracked: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """The wheel, the source distribution, and the wheel built from the latter."""
    place = tmp_path_factory.mktemp("distribution")
    for name in tracked:
        (place / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, place / "tree" / name)
    source = build(place / "tree", "sdist", place)
    with tarfile.open(source) as packed:
        packed.extractall(place / "unpacked", filter="data")
    (unpacked,) = (place / "unpacked").iterdir()
    return build(place / "tree", "wheel", place / "first"), source, build(unpacked, "wheel", place / "second")


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as file:
        return {name: file.read(name) for name in file.namelist()}


@pytest.mark.slow
def test_the_wheel_holds_the_package_the_validations_and_the_examples(
    built: tuple[Path, Path, Path], tracked: list[str]
) -> None:
    package = {name for name in tracked if name.startswith("dpfl_theory/")}
    beside = {f"dpfl_theory/{name}" for name in tracked if name.startswith(tuple(f"{f}/" for f in CARRIED))}
    assert len(package) > 300
    assert len(beside) > 50
    found = {name for name in contents(built[0]) if ".dist-info/" not in name}
    assert found == package | beside


@pytest.mark.slow
def test_the_source_distribution_holds_what_git_holds(built: tuple[Path, Path, Path], tracked: list[str]) -> None:
    with tarfile.open(built[1]) as packed:
        found = {member.name.split("/", 1)[1] for member in packed if member.isfile()}
    made = {name for name in found if name.startswith("dpfl_theory.egg-info/")} | {"PKG-INFO", "setup.cfg"}
    assert found - made == set(tracked)


@pytest.mark.slow
def test_the_source_distribution_makes_the_same_wheel(built: tuple[Path, Path, Path]) -> None:
    assert contents(built[0]) == contents(built[2])


@pytest.mark.slow
def test_the_metadata(built: tuple[Path, Path, Path]) -> None:
    files = contents(built[0])
    (text,) = (data.decode() for name, data in files.items() if name.endswith(".dist-info/METADATA"))
    reported = email.message_from_string(text)
    citation = (ROOT / "CITATION.cff").read_text()
    author = re.search(r'^authors:\n +- name: "(.+)"', citation, re.MULTILINE)
    assert author is not None
    assert reported["Author"] == author[1]
    version = re.search(r"^version: (.+)$", citation, re.MULTILINE)
    assert version is not None
    assert reported["Version"] == version[1]
    listed = re.search(r"^keywords:\n((?:  - .+\n)+)", citation, re.MULTILINE)
    assert listed is not None
    assert set(re.findall(r"- (.+)", listed[1])) <= set(reported["Keywords"].split(","))
    assert reported["License-Expression"] == "Apache-2.0"
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in files)
    assert reported["Requires-Python"] == ">=3.11"
    assert reported["Description-Content-Type"] == "text/markdown"
    assert "# dpfl_theory" in str(reported.get_payload())
    (points,) = (data.decode() for name, data in files.items() if name.endswith("entry_points.txt"))
    assert "dpfl-theory = dpfl_theory.cli:main" in points
    assert "[pytest11]\ndpfl_theory = dpfl_theory.pytest_plugin" in points


def test_no_dependency_or_version_is_pinned_to_this_machine() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [*project["dependencies"], *(d for extra in project["optional-dependencies"].values() for d in extra)]
    assert all(re.fullmatch(r"[A-Za-z0-9-]+(\[\w+\])?(>=[\d.]+)?", name) for name in named), named
    versions = {c.rsplit(" ", 1)[1] for c in project["classifiers"] if re.search(r":: 3\.\d+$", c)}
    assert versions == {"3.11", "3.12", "3.13"}


WORKFLOW: dict[str, Any] = {
    "jobs": {
        "only": {
            "strategy": {"matrix": {"python": ["3.12"]}},
            "steps": [
                {"uses": "actions/checkout@v4"},
                {"name": "a", "run": "echo $WHERE > here\nfalse\ntouch never"},
                {"name": "b", "run": "touch never"},
                {"name": "c", "if": "${{ !cancelled() }}", "run": "mkdir kept && mv here kept"},
                {"uses": "actions/upload-artifact@v4", "if": "${{ !cancelled() }}", "with": {"path": "kept"}},
            ],
        }
    }
}


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_steps_are_run_as_a_workflow_runs_them(tmp_path: Path) -> None:
    environment, job = {"PATH": os.environ["PATH"], "WHERE": "in theirs"}, WORKFLOW["jobs"]["only"]
    found = {step.name: step.code for step in steps(WORKFLOW, tmp_path, "3.12", environment)}
    assert found == {"a": 1, "c": 0}
    assert (tmp_path / "kept" / "here").read_text() == "in theirs\n"
    assert not (tmp_path / "never").exists()
    with pytest.raises(ValueError, match=r"has no Python 3\.9"):
        list(steps(WORKFLOW, tmp_path, "3.9", environment))
    (tmp_path / "kept" / "here").unlink()
    with pytest.raises(ValueError, match="would upload nothing"):
        list(steps({"jobs": {"only": {**job, "steps": job["steps"][-1:]}}}, tmp_path, "3.12", environment))


def test_the_strangers_repository_has_a_theorem_and_a_mistake_to_plant(tmp_path: Path) -> None:
    stranger.repository(tmp_path / "theirs", ROOT / "examples")
    theorem = tmp_path / "theirs" / "theory" / "nesterov.py"
    before = theorem.read_text()
    stranger.plant(tmp_path / "theirs")
    assert theorem.read_text() != before
