"""A new algorithm is one file outside the package: every part of the package takes it from there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpfl_theory
from dpfl_theory import algorithms
from dpfl_theory.algorithms import user_files
from dpfl_theory.algorithms.user_files import resolved
from dpfl_theory.checks.runner import run_one
from dpfl_theory.checks.settings import Settings
from dpfl_theory.cli import main
from dpfl_theory.core import Expected, Experiment, Hypothesis, Sides, Source, Statement, Symbol, checks
from dpfl_theory.errors import InputError
from dpfl_theory.privacy import get
from dpfl_theory.problems import make
from dpfl_theory.recommend.tuned import Budget, tuned
from dpfl_theory.simulation import Cohort, Simulation, simulate

FILE = Path(__file__).parents[1] / "examples" / "algorithms" / "fedprox.py"
NAMED = f"{FILE}:dp-fedprox"
PROBLEM = make("quadratic", clients=4, dimension=3, seed=1)


@pytest.fixture(autouse=True)
def only_here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Registered algorithms are forgotten after each test."""
    monkeypatch.setattr(user_files, "_FILES", {})
    yield
    algorithms.REGISTERED.clear()


def fedprox() -> Any:
    return user_files.from_handle(NAMED)


def oracle(eta: float, mu: float, E: int, beta: float, C: float, rounds: int) -> Any:
    """The rounds without noise, in plain NumPy."""
    w = np.ones(PROBLEM.d)
    for _ in range(rounds):
        total = np.zeros_like(w)
        for i in range(PROBLEM.n):
            y = w
            for _ in range(E):
                y = y - eta * (PROBLEM.client_gradient(i, y) + mu * (y - w))
            total += (y - w) * min(1.0, C / np.linalg.norm(y - w))
        w = w + beta * total / PROBLEM.n
    return w


def test_the_file_is_short() -> None:
    assert len(FILE.read_text().splitlines()) <= 150


def test_simulate() -> None:
    """Simulation rounds are those of the oracle, and a sampled, noisy run has the same numbers for any block."""
    values = {"eta": 0.2, "mu": 0.3, "E": 3, "beta": 0.7, "C": 0.2}
    run = fedprox()(**values, sigma=0.0)
    found = simulate(run, PROBLEM, 60, start=np.ones(PROBLEM.d), replicates=2, device="cpu").final
    assert found == pytest.approx(np.array([oracle(**values, rounds=60)] * 2), rel=1e-10)
    noisy = simulate(
        fedprox()(**values, sigma=0.1), PROBLEM, 5, cohort=Cohort("poisson", 2), replicates=64, device="cpu"
    )
    assert np.std(noisy.final) > 0.0


def test_sweep_in_two_processes(capsys: pytest.CaptureFixture[str]) -> None:
    config = {
        "problem": {"name": "quadratic", "clients": 4},
        "algorithm": {"name": NAMED, "cohort": 2, "sampling": "fixed"},
        "privacy": {"epsilon": 3.0},
        "grid": {"mu": [0.0, 0.5], "seed": [0, 1]},
        "rounds": 4,
    }
    rows = dpfl_theory.sweep(config, jobs=2, pack=1).rows
    assert [row["status"] for row in rows] == ["done"] * 4
    assert {row["algorithm"] for row in rows} == {"dp-fedprox"}
    assert all(2.9 < row["epsilon"] <= 3.001 for row in rows)
    assert rows == dpfl_theory.sweep(config).rows
    words = ["--set=problem.name=quadratic", f"--set=algorithm.name='{NAMED}'", "--set=rounds=2"]
    assert main(["simulate", *words]) == 0
    assert "dp-fedprox" in capsys.readouterr().out


def play(proximal: bool = True) -> Any:
    def written(
        w: Any,
        state: Any,
        clients: Any,
        cohort: Any,
        rng: Any,
        *,
        lr: float,
        mu: float,
        epochs: int,
        beta: float,
        clip: float,
        r: float,
        sigma: float,
    ) -> Any:
        total = np.zeros_like(w)
        for i in cohort:
            y = w
            for _ in range(epochs):
                y = y - lr * (clients[i].gradient(y) + (mu * (y - w) if proximal else 0.0))
            total += (y - w) * min(1.0, clip / max(np.linalg.norm(y - w), 1e-300)) + rng.normal(0.0, sigma, w.shape)
        return w + beta * total / r, state

    return written


def test_conform() -> None:
    assert dpfl_theory.conform(play(), NAMED, runs=0).verdict == "conforms"
    found = dpfl_theory.conform(play(proximal=False), "dp-fedprox", runs=0)
    assert [fault.name for fault in found.faults] == ["no proximal term"]


def test_privacy(capsys: pytest.CaptureFixture[str]) -> None:
    """The accounting is that of DP-FedAvg with the same messages, and the search space knows the certified noise."""
    setting: Any = {"clients": 40, "cohort": 8, "sampling": "fixed", "noise_multiplier": 5.0, "rounds": 12}
    assert get(resolved(NAMED))(**setting).event() == get("dp-fedavg")(**setting).event()
    words = [f"--{name.replace('_', '-')}={value}" for name, value in setting.items()]
    assert main(["privacy", "account", "--algorithm", NAMED, *words, "--delta", "1e-5", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["mechanism"]["algorithm"] == "dp-fedprox"
    one = tuned()["dp-fedprox"](PROBLEM, Budget(3.0, 1e-5, rounds=8))
    values = one.values([0.5] * len(one.axes))
    assert one.placed(one.certified(values)) == pytest.approx(values)
    assert one.spent(values, one.multiplier(values)).high <= 3.0 * (1 + 1e-9)


def test_check() -> None:
    """A statement on its runs: for C = oo, mu = 0 and small steps the mean gap is at most L D^2/2."""

    def experiment(_: Statement, instance: Any) -> Experiment:
        run, start = fedprox()(eta=0.1, mu=0.0, E=2, beta=1.0, C=1e6, sigma=0.0), np.ones(PROBLEM.d)
        distance = float(np.linalg.norm(start - PROBLEM.constants.w_star))
        values = {"L": float(instance["of L"]) * PROBLEM.constants.L_f, "D": distance}

        return Experiment(PROBLEM, Simulation(run), 20, start, values, replicates=1, random=False)

    gap = Expected("E_gap", (("suboptimality", 1),), (1, 0), "E", "mean suboptimality")
    statement = Statement(
        id="mine.fedprox",
        kind="theorem",
        title="FedProx does not rise",
        source=Source("mine", "here"),
        text="The mean gap is at most L D^2/2.",
        symbols=(Symbol("L", "smoothness", (1, -2)), Symbol("D", "distance", (0, 1))),
        expectations=(gap,),
        hypotheses=(Hypothesis(lambda s, c: c.L_f <= s.L, "f is L-smooth"),),
        sides=lambda s: Sides(lhs={"gap": s.E_gap}, rhs={"start": s.L * s.D**2 / 2}),
        checks=checks("monte-carlo", experiment, {"as it is": {"of L": 1.0}, "too small": {"of L": 1e-3}}),
    )
    verdicts = [run_one(statement, check, Settings(device="cpu")).verdict for check in statement.checks]
    assert verdicts == ["holds", "not-applicable"]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nowhere.py:mine", "does not exist"),
        (f"{FILE}:fedprox", "has no algorithm 'fedprox': it registers dp-fedprox"),
        ("dp-fedprox", "unknown algorithm 'dp-fedprox'"),
    ],
)
def test_a_wrong_name_is_one_sentence(name: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        dpfl_theory.conform(play(), name, runs=0)
