"""The references agree with the package's own algorithms: the same cohorts, the same paths, and noise of the same
covariance."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from dpfl_theory.algorithms import get
from dpfl_theory.conform.probes import Path, Spread, probe_without_noise
from dpfl_theory.conform.references import references
from dpfl_theory.conform.settings import settings, world
from dpfl_theory.kernels import select
from dpfl_theory.kernels.engine import Replicates
from dpfl_theory.problems.linear_model import LinearModel, linear_data
from dpfl_theory.simulation import Cohort, Simulation
from dpfl_theory.simulation.base import Context

NAMES = [name for name, reference in references().items() if reference.unit != "record"]


def simulated(name: str, v: dict[str, Any], noise: float) -> Simulation:
    """The package's algorithm with these hyper-parameters, its noise times a factor."""
    cohort = Cohort() if v["scheme"] == "full" else Cohort(v["scheme"], v["r"])
    more = {"sigma": noise * (v.get("sigma") or 0.0), "z": noise * v.get("noise_multiplier", 0.0)}
    more |= {"sigma_b": 0.0} if noise == 0.0 else {}
    return Simulation(get(name).from_symbols({**v, **more}), cohort)


def cases(name: str) -> list[dict[str, Any]]:
    reference = references()[name]
    asked = {parameter.symbol for parameter in reference.parameters}
    whole = {"B": 0} if "B" in asked else {}  # batches are drawn in other ways
    return settings(reference, whole, asked, clients=6, cohort=None, scheme=None, relation=None)


def run(name: str, v: dict[str, Any], rounds: int, replicates: int, noise: float) -> tuple[Any, list[Any], Any]:
    """w after each round (rounds, replicates, d), the first replicate's cohorts, and the world."""
    on = world(references()[name], v, "on both sides of the threshold", 4)
    sizes = np.cumsum([0, *(len(own.y) for own in on.records)])
    members = [np.arange(a, b) for a, b in itertools.pairwise(sizes)]
    x, y = (np.concatenate([getattr(own, part) for own in on.records]) for part in ("x", "y"))
    problem = LinearModel(linear_data(x, y, members, "squared"))
    algorithm, engine = simulated(name, v, noise), select("cpu")
    start = np.tile(on.start, (replicates, 1))
    context = Context(
        engine, problem, problem.kernels(engine), Replicates(5, 0, replicates), slice(0, replicates), start
    )
    state, path, who = algorithm.initial_state(context), [], []
    for k in range(rounds):
        drawn = algorithm.cohort.sample(context, k)
        who.append(np.flatnonzero(np.asarray(drawn)[0]))
        state, _ = algorithm.round(context, state, k)
        path.append(np.array(algorithm.server(state)))
    return np.array(path), who, on


@pytest.mark.parametrize("name", NAMES)
def test_paths_are_those_of_the_packages_algorithms(name: str) -> None:
    for v in cases(name):
        path, who, on = run(name, v, 8, 1, noise=0.0)
        w = path[:, 0]
        before = np.vstack([on.start[None], w[:-1]])
        moved = [{"moved": bool(np.any(a != b))} for a, b in zip(before, w)]
        reference = references()[name]
        found = probe_without_noise(reference.round, on, {**v, "noise_multiplier": 0.0}, who, moved).w
        assert np.abs(found - w).max() <= 1e-10 * np.abs(w - on.start).max()


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("dp-")])
def test_noise_has_the_covariance_of_the_packages_algorithms(name: str) -> None:
    """20 000 replicates of one round. Each of some 24 numbers errs with probability 1e-8."""
    v = cases(name)[0]
    _, _, on = run(name, v, 1, 1, noise=0.0)
    one, who, _ = run(name, v, 1, 20_000, noise=0.02 if name == "dp-norm-ec" else 1.0)
    size = v if name != "dp-norm-ec" else {**v, "sigma": 0.02 * v["sigma"]}
    own = "sigma" in get(name).parameters  # the clients add the noise
    if v["scheme"] == "poisson" and own:  # a cohort for each replicate: noise alone is compared, at the mean size r
        return _compare_noise_of_all(name, size, one[0], on)
    w = one[0]
    if v["scheme"] != "full":  # every replicate has its own cohort, whose signal a run without noise has
        w = w - run(name, v, 1, len(w), noise=0.0)[0][0]
    _agree(np.cov(w.T), Spread(Path(size, on, (who[0],))).outcome(references()[name].round), len(w))


def _compare_noise_of_all(name: str, v: dict[str, Any], w: Any, on: Any) -> None:
    """Variances over random cohorts, whose signal a run without noise has."""
    still, _, _ = run(name, v, 1, len(w), noise=0.0)
    difference = w - still[0]
    expected = np.eye(w.shape[1]) * (v["beta"] * v["sigma"]) ** 2  # sigma^2 |S|/r, whose mean is sigma^2
    n, r = v["n"], v["r"]
    excess = 3.0 * (1.0 + r * (1 - r / n) / r**2) - 1.0  # the fourth moment of a Gaussian of random variance
    error = 6.0 * np.sqrt(excess / len(w))
    assert np.abs(np.cov(difference.T) / expected[0, 0] - np.eye(w.shape[1])).max() <= error
    whole = Spread(Path(v, on, (np.arange(n),))).outcome(references()[name].round)
    assert np.allclose(whole, expected * n / r, rtol=1e-3, atol=1e-9)


def _agree(found: Any, expected: Any, replicates: int) -> None:
    deviation = np.sqrt(np.diag(expected))
    error = np.abs(found - expected) / np.outer(deviation, deviation)
    assert error.max() <= 6.0 * np.sqrt(2.0 / replicates)
