"""Warnings during a run are in its record, with a count in the summary, and not on the terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from dpfl_theory.runtime.recorded_warnings import counted, in_words, recorded, total

DIVERGES = """
import numpy as np
from dpfl_theory.simulation import simulate
from dpfl_theory.algorithms.two_step_sizes import DPTwoSidedFedAvg
from dpfl_theory.problems import make
TITLE, CAPTION, SOURCE = "A run that diverges", "A run.", {"paper": "mine", "where": "here"}
BUDGET_SECONDS = {"full": 1.0, "paper": 1.0}
def diverge():
    problem = make("quadratic", clients=4, dimension=3, seed=1)
    algorithm = DPTwoSidedFedAvg(eta_l=50.0, eta_g=1.0, Q=1, c=1e300, sigma=0.0)
    run = simulate(algorithm, problem, 400, 2, start=np.ones(3), device="cpu")
    return float(run.final.size)
"""
SCRIPT = (
    DIVERGES
    + """
import functools
def compute(context):
    found = context.each([functools.partial(diverge)], ["one"])
    return {"x": found, "claims": []}
def draw(data):
    return {}
"""
)
STATEMENTS = (
    DIVERGES
    + """
from dpfl_theory.core import Check, Outcome, Source, Statement
def build(statement, instance):
    return Outcome(diverge() > 0.0, "it has numbers")
STATEMENTS = (Statement("mine.far", "lemma", "t", Source("mine", "1"), "t", checks=(Check("algebra", "c", build),)),)
"""
)


AT_IMPORT = """
import warnings
warnings.warn("mine is old", RuntimeWarning)
"""
ROUND = """
def round(w, state, clients, cohort, rng, *, eta):
    return w - eta * sum(clients[i].gradient(w) for i in cohort) / len(cohort), state
"""
OVERFLOWS = """
import numpy as np
from dpfl_theory.algorithms.fedavg import FedAvg
from dpfl_theory.problems import make
from dpfl_theory.core import Check, Expected, Experiment, Sides, Source, Statement, Symbol
def build(statement, instance):
    far = [np.exp(x) for x in (np.float64(1e3), np.float64(1e4))] + [np.log(np.float64(-1.0))]
    problem = make("quadratic", clients=4, dimension=3, seed=1)
    return Experiment(problem, FedAvg(eta=0.1), 2, np.zeros(3), {"B": 1e9 + float(np.exp(-far[0]))}, random=False)
STATEMENTS = (
    Statement(
        "mine.far", "lemma", "t", Source("mine", "1"), "t", (Symbol("B", "a bound", (1, 0)),),
        (Expected("E_gap", (("suboptimality", 1),), (1, 0), "E", "gap"),),
        sides=lambda s: Sides(lhs={"gap": s.E_gap}, rhs={"B": s.B}), checks=(Check("monte-carlo", "c", build),),
    ),
)
"""


def run(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONWARNINGS"}
    command = [sys.executable, "-m", "dpfl_theory", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_warnings_of_checks_are_in_their_evidence(jobs: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(STATEMENTS)
    done = run(["check", "--file", "mine.py", "--format", "json", "--jobs", jobs], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "DivergenceWarning" not in done.stderr
    described = json.loads(done.stdout)
    (warned,) = described["evidence"][0]["warnings"]
    assert warned["kind"] == "DivergenceWarning"
    assert "diverged in 2 of 2 replicates" in warned["text"]
    assert described["summary"]["counts"]["warnings"] == 1


@pytest.mark.slow
def test_the_summary_counts_warnings(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(STATEMENTS)
    assert "1 warning recorded" in run(["check", "--file", "mine.py", "--jobs", "1"], tmp_path).stdout


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_warnings_of_builds_of_runs_are_in_their_evidence(jobs: str, tmp_path: Path) -> None:
    """Overflow is not a fault of a diverging run; in the preparation of the run it may be one."""
    (tmp_path / "mine.py").write_text(OVERFLOWS)
    done = run(["check", "--file", "mine.py", "--method", "monte-carlo", "--format", "json", "--jobs", jobs], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "RuntimeWarning" not in done.stderr
    (evidence,) = json.loads(done.stdout)["evidence"]
    assert [(one["text"], one["count"]) for one in evidence["warnings"]] == [
        ("overflow encountered in exp", 1),
        ("invalid value encountered in log", 1),
    ]


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("words", [["--jobs", "1"], ["--jobs", "2"], ["--jobs", "2", "--store", "kept"]])
def test_warnings_of_validations_are_in_their_documents(words: list[str], tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / "scripts").mkdir(exist_ok=True)
        (tmp_path / "scripts" / f"{name}.py").write_text(SCRIPT)
    done = run(["validate", "--folder", "scripts", "--output", "out", *words], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "DivergenceWarning" not in done.stderr
    assert "1 warning recorded" in done.stderr
    for name in ("first", "second"):
        (warned,) = json.loads((tmp_path / "out" / "evidence" / f"{name}.json").read_text())["warnings"]
        assert "diverged in 2 of 2 replicates" in warned["text"]


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_warnings_of_the_import_of_statements_are_in_the_first_evidence(jobs: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(AT_IMPORT + STATEMENTS)
    done = run(["check", "--file", "mine.py", "--format", "json", "--jobs", jobs], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "mine is old" not in done.stderr
    described = json.loads(done.stdout)
    assert described["evidence"][0]["warnings"][0] == {"kind": "RuntimeWarning", "text": "mine is old", "count": 1}
    assert described["summary"]["counts"]["warnings"] == 2


@pytest.mark.slow
def test_warnings_of_the_import_of_a_search_are_in_its_evidence(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(AT_IMPORT + OVERFLOWS)
    done = run(["falsify", "--file", "mine.py", "--instances", "1", "--format", "json"], tmp_path)
    assert "mine is old" not in done.stderr
    assert json.loads(done.stdout)["evidence"]["warnings"][0]["text"] == "mine is old"


@pytest.mark.slow
def test_warnings_of_the_import_of_a_round_are_in_its_report(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(AT_IMPORT + ROUND)
    words = ["conform", "mine:round", "--as", "fedavg"]
    done = run([*words, "--format", "json"], tmp_path)
    assert "mine is old" not in done.stderr
    assert json.loads(done.stdout)["warnings"] == [{"kind": "RuntimeWarning", "text": "mine is old", "count": 1}]
    assert "1 warning recorded" in run(words, tmp_path).stdout


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("words", [["check", "--file", "mine.py"], ["conform", "mine:round", "--as", "fedavg"]])
def test_an_import_that_fails_shows_its_warnings_once(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(f"{AT_IMPORT}1 / 0")
    done = run(words, tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("RuntimeWarning: mine is old") == 1


def test_what_fails_shows_its_warnings() -> None:
    def failing() -> None:
        with recorded():
            warnings.warn("first", UserWarning, stacklevel=1)
            raise ValueError("then")

    with pytest.warns(UserWarning, match="first"), pytest.raises(ValueError, match="then"):
        failing()


def test_filters_stay_as_they_are_and_repetitions_count() -> None:
    def raising() -> None:
        with recorded():
            warnings.warn("an error here", UserWarning, stacklevel=1)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="an error here"):
            raising()
        warnings.simplefilter("always")
        with recorded() as found:
            for text in ("a", "b", "a"):
                warnings.warn(text, UserWarning, stacklevel=1)
    assert [(one["text"], one["count"]) for one in counted(found)] == [("a", 2), ("b", 1)]
    assert in_words(total(counted(found))) == "3 warnings recorded"
