"""Replicates that diverge: they affect no others, and are reported with the round."""

from __future__ import annotations

import importlib
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from oracles.compare import play, problem_of, starting_points
from short_forms import fedavg, two_sided
from test_simulate import ALGORITHM, every_algorithm

from dpfl_theory.problems import make
from dpfl_theory.simulation import DivergenceWarning, RecordGradient, Simulation, simulate
from dpfl_theory.simulation.divergence import FAR, NEVER

LOOP = importlib.import_module("dpfl_theory.simulation.simulate")  # whose name the function has taken
FINE = np.array([True, False, True, True])
"""The second replicate of four is lost."""
ROUNDS = 40
"""Enough for rounds that are recorded to be played."""


def both(monkeypatch: pytest.MonkeyPatch, algorithm: Any, problem: Any, bad: float) -> tuple[Any, Any]:
    """A run in which one replicate is lost from the start on, and the same with that replicate in order."""
    start = starting_points(problem, len(FINE))
    found = []
    for begin in (np.where(FINE[:, None], start, bad), start):
        monkeypatch.setattr(LOOP, "_starting_points", lambda *_, begin=begin: begin)
        found.append(simulate(algorithm, problem, ROUNDS, 4, 3, series=True, device="cpu", warn=False))
    return found[0], found[1]


@pytest.mark.exhaustive(keep=20)
@every_algorithm
@pytest.mark.parametrize("name", ["dense", "huber", "logistic", "softmax", "unequal"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_a_lost_replicate_touches_no_other(
    algorithm: Any, name: str, bad: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "dense" and isinstance(getattr(algorithm, "gradient", None), RecordGradient):
        pytest.skip("its gradients of records need a linear model")
    beside, alone = both(monkeypatch, algorithm, problem_of(name), bad)
    assert np.array_equal(beside.final[FINE], alone.final[FINE])
    series = (run["suboptimality"].every_round[:, FINE] for run in (beside, alone))
    assert np.array_equal(*series)
    assert (alone.diverged == NEVER).all()
    assert ((beside.diverged == NEVER) | ~FINE).all()


class Mixed(Simulation):
    """Adds nothing of the other replicates, in numbers that are finite."""

    def round(self, context: Any, state: Any, k: int) -> Any:
        after, what = super().round(context, state, k)
        return replace(after, w=after.w + 0.0 * state.w.sum(axis=0)), what


def test_replicates_that_are_mixed_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    beside, alone = both(monkeypatch, Mixed(fedavg(0.1).run), problem_of("dense"), np.nan)
    assert not np.isfinite(beside.final[FINE]).any()
    assert np.isfinite(alone.final).all()


@pytest.mark.parametrize("rounds", [30, 400])
def test_the_round_is_that_of_the_runs_themselves(rounds: int) -> None:
    """Against every server vector of the run; in short runs no replicate is lost yet."""
    problem, steps = problem_of("dense"), np.array([0.1, 7.0, 0.2, 30.0])
    algorithm = fedavg(steps, 1, sigma=0.1)
    start = starting_points(problem, 4)
    with np.errstate(all="ignore"):
        servers = np.abs(play(algorithm, problem, rounds, start, 3).servers).max(axis=2)
    far = ~(servers <= FAR * np.maximum(1.0, np.abs(start).max(axis=1)))
    expected = np.where(far.any(axis=0), far.argmax(axis=0), NEVER)
    run = simulate(algorithm, problem, rounds, 4, 3, start=start, device="cpu", warn=False)
    assert run.diverged.tolist() == expected.tolist()
    assert (expected != NEVER).sum() == (0 if rounds == 30 else 2)


def test_it_is_warned_of_once_and_by_its_own_class() -> None:
    problem = make("quadratic", clients=4, dimension=3, seed=1)
    algorithm = two_sided(50.0, 1.0, 1, 1e300)
    with pytest.warns(
        DivergenceWarning, match=r"dp-fedavg-two-sided on '.*quadratic.*' diverged in 2 of 2 replicates, the first"
    ) as w:
        run = simulate(algorithm, problem, 400, 2, start=np.ones(3), device="cpu")
    assert len(w) == 1
    assert (run.diverged > 0).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (simulate(algorithm, problem, 400, 2, start=np.ones(3), device="cpu", warn=False).diverged > 0).all()
        assert (simulate(ALGORITHM, problem, 40, 2, device="cpu").diverged == NEVER).all()
