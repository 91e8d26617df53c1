"""Rounds that are played from a tape are the rounds that are written: bit for bit, or they are not played."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from mutants.planting import mutated
from short_forms import clip, fedavg, model_clipped, normalise, scaffold, two_sided

from dpfl_theory.algorithms.error_feedback import DPNormSGD, InformedClip21, NormEC
from dpfl_theory.algorithms.scaffnew import DPScaffNew
from dpfl_theory.errors import InputError
from dpfl_theory.kernels.cpu import CpuEngine
from dpfl_theory.kernels.engine import COIN, NOISE, Replicates
from dpfl_theory.kernels.tape import program, replay
from dpfl_theory.problems import make
from dpfl_theory.simulation import (
    Cohort,
    NoisyGradient,
    Run,
    Schedule,
    Simulation,
    WeightedAverage,
    simulate,
)
from dpfl_theory.simulation.base import Algorithm, Context, Round
from dpfl_theory.simulation.observables import Observable, catalogue

LOOP = sys.modules[simulate.__module__]
PROBLEMS = {
    "one dimension, Huber": ("huber-scalar", {}),
    "one dimension, quadratic": ("quadratic", {"clients": 3, "dimension": 1}),
    "planes": ("huber-planes", {}),
    "quadratic": ("quadratic", {"clients": 9, "dimension": 6, "rank": 4}),
    "Huber": ("huber", {"clients": 10, "dimension": 5, "records": 4}),
    "least squares": ("least-squares", {"clients": 3, "dimension": 2, "records": 3}),
    "logistic": ("logistic-synthetic", {"clients": 3, "dimension": 2, "records": 5, "ridge": 0.1}),
    "softmax": ("softmax-synthetic", {"clients": 3, "dimension": 2, "records": 5, "classes": 3, "ridge": 0.1}),
}
ALGORITHMS: dict[str, Algorithm] = {
    "clip, Poisson": fedavg(0.1, 4, bound=clip(1.0), sigma=0.3, cohort=Cohort("poisson", 2)),
    "normalise, fixed": fedavg(
        0.1, 2, 0.2, bound=normalise(1.0), sigma=0.3, cohort=Cohort("fixed", 1), noise="average"
    ),
    "unbounded": fedavg(0.1, 4),
    "with replacement": fedavg(0.1, 4, cohort=Cohort("with-replacement", 2), sigma=0.1),
    "one for each replicate": fedavg([0.1, 0.2, 0.3, 0.1, 0.1], 3, bound=clip([1.0, 2.0, 0.1, 0.5, 3.0])),
    "two-sided": two_sided(0.1, 1.5, 3, threshold=0.5, sigma=0.1),
    "two-sided, noisy": two_sided(
        0.1, 1.5, 3, threshold=0.5, sigma=0.1, cohort=Cohort("poisson", 2), gradient=NoisyGradient(0.1)
    ),
    "model clipping": model_clipped(0.1, threshold=1.0, sigma=0.1),
    "DP-SGD": Simulation(DPNormSGD(gamma=0.1, alpha=1.0, sigma=0.1)),
    "alpha-NormEC": Simulation(NormEC(gamma=0.1, alpha=0.5, beta=0.2, sigma=0.1)),
    "Clip21": Simulation(InformedClip21(gamma=0.1, tau=1.0, sigma=0.0, memory=0.5)),
    "ScaffNew": Simulation(DPScaffNew(eta=0.5, p=0.3, C=1.0, sigma=0.1)),
    "SCAFFOLD": scaffold(0.1, local_steps=3, warm_start=1),
    "momentum": fedavg(0.1, 2, momentum=0.8),
    "average": WeightedAverage(fedavg(0.1, 2, bound=clip(1.0), sigma=0.3), 0.99),
}
REPLICATES, ROUNDS = 5, 60
PLAYED: list[int] = []


@pytest.fixture(autouse=True)
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """How many rounds were played is counted."""
    original = replay.Player.play

    def play(self: replay.Player, state: Any, kept: Any, first: int, end: int) -> Any:
        found = original(self, state, kept, first, end)
        PLAYED.append(found[1] - first)
        return found

    monkeypatch.setattr(replay.Player, "play", play)
    yield
    PLAYED.clear()


def both(algorithm: Algorithm, problem: Any, observe: Any, **options: Any) -> tuple[Run, Run, int]:
    """The run, the run without a tape, and how many rounds the former has played."""
    arguments = {"rounds": ROUNDS, "replicates": REPLICATES, "seed": 3, "series": True, "device": "cpu", **options}
    PLAYED.clear()
    run = simulate(algorithm, problem, observe=observe, **arguments)
    played = sum(PLAYED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LOOP, "worthwhile", lambda *_: False)
        return run, simulate(algorithm, problem, observe=observe, **arguments), played


def same(a: Run, b: Run) -> bool:
    parts = ("mean", "last", "smallest", "every_round")
    pairs = [(a.final, b.final)] + [(getattr(a[o], p), getattr(b[o], p)) for o in a.streams for p in parts]
    return all(np.array_equal(x, y, equal_nan=True) for x, y in pairs)


def problem_of(name: str) -> Any:
    family, parameters = PROBLEMS[name]
    return make(family, **parameters, **({} if family in ("huber-scalar", "huber-planes") else {"seed": 1}))


@pytest.mark.exhaustive(keep=20)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_algorithm_is_played_as_it_is_written(problem: str, algorithm: str) -> None:
    run, written, played = both(ALGORITHMS[algorithm], problem_of(problem), ["suboptimality", "distance-squared"])
    assert same(run, written)
    assert played == ROUNDS - 3


NOT_PLAYED = {"gradient-log-dissimilarity"}  # NumPy's logarithm has its own last digits


@pytest.mark.exhaustive
@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("algorithm", ["clip, Poisson", "normalise, fixed", "two-sided", "alpha-NormEC", "ScaffNew"])
@pytest.mark.parametrize("problem", ["one dimension, Huber", "quadratic", "Huber"])
def test_every_observable_is_played_as_it_is_written(problem: str, algorithm: str, every: int) -> None:
    made = problem_of(problem)
    found = []
    for name in catalogue():
        try:
            run, written, played = both(ALGORITHMS[algorithm], made, [name], every=every, start=np.ones(made.d))
        except InputError:  # the algorithm does not have it
            continue
        found.append(name)
        assert same(run, written), name
        assert (played > 0) == (name not in NOT_PLAYED), name
    assert len(found) >= 9


def test_any_number_of_blocks_and_threads_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LOOP, "_MOST_REPLICATES", 2)
    run, written, played = both(
        ALGORITHMS["clip, Poisson"], problem_of("Huber"), ["suboptimality", "snr"], first_replicate=7
    )
    assert same(run, written)
    assert played == 2 * (ROUNDS - 3)


@dataclass(frozen=True)
class Descent(Algorithm):
    """Gradient descent, with something else in its rounds."""

    what: Any

    def initial_state(self, context: Context) -> Any:
        return context.start

    def server(self, state: Any) -> Any:
        return state

    def round(self, context: Context, state: Any, k: int) -> tuple[Any, Round]:
        gradient = context.kernels.gradient(state)
        return self.what(context, state, gradient, k), Round(context, k, state)

    def describe(self) -> dict[str, Any]:
        return {"algorithm": "Descent"}


def halved_below(context: Context, w: Any, gradient: Any, k: int) -> Any:
    """A decision that some round takes otherwise than the first ones."""
    return w - (0.1 if bool((w < 0.5).any()) else 0.2) * gradient


def test_a_decision_that_turns_is_taken_as_it_is_written() -> None:
    run, written, played = both(
        Descent(halved_below), problem_of("one dimension, quadratic"), ["suboptimality"], start=np.full(1, 3.0)
    )
    assert same(run, written)
    assert 0 < played < ROUNDS - 3
    assert len(set(np.diff(np.log(written["suboptimality"].every_round[:, 0])).round(6))) > 1


@dataclass(frozen=True)
class LocalModels(Algorithm):
    """Every client has a model: it takes a gradient step, and in replicates where a coin says so the clients get the
    mean of their clipped and noisy models. All arrays have the clients as their first axis."""

    threshold: float = 1.0

    def initial_state(self, context: Context) -> Any:
        shape = (context.problem.n, *context.start.shape)
        return context.engine.xp.array(context.engine.xp.broadcast_to(context.start, shape))

    def server(self, state: Any) -> Any:
        return state.mean(axis=0)

    def round(self, context: Context, state: Any, k: int) -> tuple[Any, Round]:
        xp, engine, (n, _, d) = context.engine.xp, context.engine, state.shape
        coin = engine.uniform(context.replicates, k, 1, COIN, 3) < 0.4
        models = state - 0.1 * context.kernels.client_gradients(state)
        length = xp.sqrt((models * models).sum(axis=2, keepdims=True))
        threshold = context.per_replicate(self.threshold)[:, None]
        clipped = models * xp.minimum(1.0, threshold / xp.where(length > 0.0, length, 1.0))
        noisy = clipped + 0.1 * engine.normal(context.replicates, k, n, d, NOISE, 1)
        return xp.where(coin, noisy.mean(axis=0), models), Round(context, k, self.server(state))

    def describe(self) -> dict[str, Any]:
        return {"algorithm": "LocalModels"}


@pytest.mark.parametrize("every", [1, 4])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_rounds_over_a_client_axis_are_played_as_they_are_written(problem: str, every: int) -> None:
    made = problem_of(problem)
    blocks = [Replicates.concatenate([Replicates(3, 0, 2), Replicates(8, 5, 3)])]
    for replicates in (REPLICATES, blocks):
        run, written, played = both(
            LocalModels(),
            made,
            ["suboptimality", "distance-squared"],
            every=every,
            replicates=replicates,
            start=np.ones(made.d),
        )
        assert same(run, written)
        assert played == ROUNDS - max(2, every) - 1
        assert len(np.unique(run.final)) == run.final.size


RNG = np.random.default_rng(0)
NOT_RECORDED = {
    "the round's number": lambda c, w, g, k: w - 0.1 / (k + 1) * g,
    "another noise": lambda c, w, g, k: w - 0.1 * g * RNG.uniform(0.9, 1.1),
    "an unknown function": lambda c, w, g, k: w - 0.1 * np.cumsum(g, axis=1),
    "numbers read": lambda c, w, g, k: w - 0.1 * np.array([[float(x) for x in row] for row in g]),
    "entries by their numbers": lambda c, w, g, k: w - 0.1 * g[np.arange(len(g))],
}


@pytest.mark.parametrize("name", NOT_RECORDED)
def test_what_a_tape_cannot_hold_is_run_as_it_is_written(name: str) -> None:
    global RNG
    RNG = np.random.default_rng(0)
    PLAYED.clear()
    run = simulate(Descent(NOT_RECORDED[name]), problem_of("Huber"), ROUNDS, REPLICATES, device="cpu")
    assert np.isfinite(run.final).all()
    assert sum(PLAYED) == 0


def test_step_sizes_that_change_are_not_played() -> None:
    run, written, played = both(fedavg(Schedule(0.1, 0.9), 2), problem_of("quadratic"), ["suboptimality"])
    assert same(run, written)
    assert played == 0


def test_an_operation_that_was_replaced_is_not_played(monkeypatch: pytest.MonkeyPatch) -> None:
    original = CpuEngine.normal
    monkeypatch.setattr(CpuEngine, "normal", lambda self, replicates, k, *x: original(self, replicates, k - k % 2, *x))
    _, _, played = both(ALGORITHMS["clip, Poisson"], problem_of("Huber"), ["suboptimality"])
    assert played == 0


def test_an_observable_that_is_no_function_of_its_round_is_not_played() -> None:
    seen: list[int] = []

    def count(h: Round) -> Any:
        seen.append(1)
        return np.full(REPLICATES, float(len(seen)))

    run = simulate(
        ALGORITHMS["unbounded"],
        problem_of("Huber"),
        ROUNDS,
        REPLICATES,
        observe=[Observable("count", (0, 0), "c", "calls", count)],
        device="cpu",
    )
    assert run["count"].last[0] >= ROUNDS


def test_a_player_that_stops_often_does_not_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often it stops after one round, the number of rounds that it may play stays finite."""
    play = replay.Player.play
    monkeypatch.setattr(replay.Player, "play", lambda self, s, a, k, end: play(self, s, a, k, min(end, k + 1)))
    run = simulate(ALGORITHMS["unbounded"], problem_of("quadratic"), 1200, REPLICATES, device="cpu")
    assert np.isfinite(run["suboptimality"].last).all()


FAULTS = {
    "the recorded round's noise again": ("virtual_machine", ", k)", ", 2)"),
    "only the first rounds observed": ("virtual_machine", "observing = k % every", "observing = k < 9 and k % every"),
    "guards passed": ("virtual_machine", "return k\n", "continue\n"),
    "the smallest value is the first": (
        "virtual_machine",
        "if value < smallest[o, s]",
        "if k < 3 and value < smallest[o, s]",
    ),
    "registers freed too early": ("program", "if last[register] == index and", "if last[register] <= index + 1 and"),
    "sums in another order": ("virtual_machine", "if inner < 8:", "if inner < 80:"),
    "differences the other way round": ("virtual_machine", "z[j] = a[j] - b[j]", "z[j] = b[j] - a[j]"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_player_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch, record_property: Any) -> None:
    module, old, new = FAULTS[fault]
    faulty = mutated(f"kernels.tape.{module}", old, new, interpreted=module == "virtual_machine")
    if module == "virtual_machine":
        monkeypatch.setattr(program.virtual_machine, "run", faulty.run)
    else:
        monkeypatch.setattr(replay, "Program", faulty.Program)
    problem = problem_of("quadratic")
    runs = [
        both(ALGORITHMS["clip, Poisson"], problem, ["suboptimality", "weighted-excess"], every=2),
        both(Descent(halved_below), problem_of("one dimension, quadratic"), ["suboptimality"], start=np.full(1, 3.0)),
    ]
    lines = [f"{'other numbers' if not same(a, b) else 'not played'}" for a, b, n in runs if not same(a, b) or n == 0]
    record_property("kill", (f"tape: {fault}", ", ".join(lines)))
    assert lines
