"""The repository of a new user, with its own theorem and tests, and the commands that a new user tries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

__all__ = ["COMMANDS", "OWN", "plant", "repository"]

TESTS = '''"""Our theorem, one that we rely on, and our own code."""

import pytest

from trainer import step_size


@pytest.mark.theorem(file="../theory/nesterov.py")
def test_our_theorem():
    pass


@pytest.mark.theorem("das2022.theorem4a", methods="algebra", verdict="holds")
def test_our_step_is_the_theorems():
    assert step_size(smoothness=4.0) == 0.25


def test_the_margin(check_theorem):
    evidence = check_theorem("outside.nesterov", file="../theory/nesterov.py", methods="exact")
    assert max(e.ratio for e in evidence if e.ratio is not None) < 0.5


def test_runs_decide_too(check_theorem):
    check_theorem("mine.noisy-gradient-descent", file="../theory/my_statements.py", methods="monte-carlo", budget="20m")
'''
PROJECT = """[project]
name = "trainer"
version = "1.0"

[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[tool.setuptools]
py-modules = ["trainer"]

[tool.pytest.ini_options]
addopts = "--strict-markers --strict-config"
filterwarnings = ["error"]
theorem_seed = 7
"""
RIGHT, WRONG = "2 * s.L * s.D**2", "s.L * s.D**2 / 5"
"""A part of the theorem's formula, and a mistake that replaces it."""

OWN = "sharper"
"""The name of the new user's theorem."""
COMMANDS: Mapping[str, tuple[str, int]] = {
    "--version": ("dpfl-theory", 0),
    "list": ("das2022.theorem4a", 0),
    "show das2022.theorem4b": ("B2 (normalisation)", 0),
    "check das2022.theorem4a --method algebra": ("1 as expected", 0),
    "check --smoke --budget 300s": ("as expected", 0),
    "validate das2022_theorem3 --output out": ("", 0),
    "check das2022.theorem4a --method algebra --format json --output out/evidence/check.json": ("", 0),
    "report --output out": ("index.html", 0),
    "errata das2022": ("das2022", 0),
    "new examples": ("", 0),
    "check --file examples/nesterov.py --method exact": ("holds", 0),
    "simulate examples/simulate.toml": ("suboptimality", 0),
    "conform examples/rounds/dp_fedavg.py:one_round --as dp-fedavg": ("conforms", 0),
    "conform examples/rounds/dp_fedavg_mistaken.py:one_round --as dp-fedavg": ("differs", 1),
    "plot das2022.theorem4a --over K --method monte-carlo --values 4,16 --output out/curve.svg": ("", 0),
    f"new theorem {OWN}": ("", 0),
    f"check --file {OWN}.py": ("holds", 0),
    "check das2022.theorm8": ("", 2),
    "doctor": ("numba", 0),
}
"""A command -> what stdout has, and the exit code."""


def repository(folder: Path, examples: Path) -> None:
    """Make the repository, with examples of the installed package as its theorems."""
    (folder / "tests").mkdir(parents=True)
    (folder / "theory").mkdir()
    for name in ("nesterov.py", "my_statements.py"):
        (folder / "theory" / name).write_bytes((examples / name).read_bytes())
    (folder / "tests" / "test_theory.py").write_text(TESTS)
    (folder / "trainer.py").write_text("def step_size(smoothness):\n    return 1 / smoothness\n")
    (folder / "pyproject.toml").write_text(PROJECT)


def plant(folder: Path) -> None:
    """Plant a mistake into the repository's theorem."""
    file = folder / "theory" / "nesterov.py"
    text = file.read_text()
    if text.count(RIGHT) != 1:
        raise ValueError(f"{file} has {RIGHT!r} {text.count(RIGHT)} times: {json.dumps(text[:200])}")
    file.write_text(text.replace(RIGHT, WRONG))
