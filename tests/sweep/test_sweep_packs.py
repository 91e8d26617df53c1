"""A cell's numbers are the same, bit for bit, for any packing and any number of processes."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest
from short_forms import clip, fedavg, scaffold, two_sided

import dpfl_theory as dpfl
from dpfl_theory.algorithms.scaffnew import DPScaffNew
from dpfl_theory.kernels.cpu import CpuEngine
from dpfl_theory.kernels.engine import Replicates
from dpfl_theory.problems import make
from dpfl_theory.runtime.executor import run_pieces
from dpfl_theory.simulation import Cohort, RecordGradient, Simulation, simulate
from dpfl_theory.sweep import pack
from dpfl_theory.sweep.design import designed
from dpfl_theory.sweep.run import run

CONFIG: dict[str, Any] = {
    "problem": [{"name": "huber", "clients": 6}, {"name": "logistic-synthetic", "clients": 5, "ridge": 0.1}],
    "algorithm": [
        {"name": "dp-fedavg", "E": 2, "C": 0.5, "sigma": 0.05},
        {"name": "fedavg", "cohort": 3, "sampling": "fixed"},
        {"name": "dp-normfedavg", "sigma": 0.1},
        {"name": "dp-scaffnew", "p": 0.5, "sigma": 0.01},
        {"name": "dp-sgd-record", "C": 1.0, "sigma_g": 0.5},
        {"name": "dp-sgd-record", "C": 1.0, "s": 0.5},
    ],
    "rounds": 55,  # enough for a tape
    "replicates": 3,
    "grid": {"eta": [0.05, 0.2], "seed": [0, 5]},
}


def texts(config: dict[str, Any], **how: Any) -> list[str]:
    return [json.dumps(row) for row in run(designed(config), **how).rows]


@pytest.fixture(scope="module")
def undisturbed() -> list[str]:
    found = texts(CONFIG)
    assert len(set(found)) == len(found) == 48
    assert all(json.loads(row)["status"] == "done" for row in found)
    return found


def forked(
    work: Sequence[Callable[[], list[str]]],
    jobs: int,
    order: Any = None,
    *,
    done: Callable[[int, list[str]], None],
    waiting: Callable[[list[int]], None],
) -> list[list[str]]:
    """The same as `spread`, in forks of this process and in the opposite order."""
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("fork")) as pool:
        running = [(i, pool.submit(work[i])) for i in reversed(range(len(work)))]
        for i, future in running:
            done(i, future.result())
    return []


@pytest.mark.exhaustive
@pytest.mark.parametrize("size", [1, 3, 10**6])
def test_packings_change_no_number(undisturbed: list[str], size: int) -> None:
    assert texts(CONFIG, pack=size) == undisturbed


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(("jobs", "size"), [(2, 2), (4, 5)])
def test_processes_change_no_number(undisturbed: list[str], jobs: int, size: int) -> None:
    assert texts(CONFIG, jobs=jobs, pack=size, over=forked) == undisturbed


@pytest.mark.slow
def test_spread_changes_no_number(undisturbed: list[str]) -> None:
    few = {**CONFIG, "problem": CONFIG["problem"][0], "algorithm": CONFIG["algorithm"][0]}
    assert texts(few, jobs=2, pack=3) == undisturbed[:4]


def test_a_cell_does_not_depend_on_the_sweep_that_it_is_in(undisturbed: list[str]) -> None:
    alone = {**CONFIG, "problem": CONFIG["problem"][1], "algorithm": CONFIG["algorithm"][3]}
    alone["grid"] = {"eta": [0.2], "seed": [5]}
    found = json.loads(texts(alone)[0])
    (row,) = (
        row
        for row in map(json.loads, undisturbed)
        if row["problem"] == "logistic-synthetic" and row["algorithm"] == "dp-scaffnew"
        if (row["eta"], row["seed"]) == (0.2, 5)
    )
    assert {**found, "cell": 0} == {**row, "cell": 0}


def _by_place(block: Sequence[tuple[int, int, int]]) -> Replicates:
    """A planted fault: a replicate's noise depends on its place in the block."""
    return Replicates(block[0][1], 0, len(block))


def _by_cell(block: Sequence[tuple[int, int, int]]) -> Replicates:
    """Another fault: it depends on its cell's number in the pack."""
    return Replicates.concatenate([Replicates(seed + cell, number, 1) for cell, seed, number in block])


@pytest.mark.parametrize("fault", [_by_place, _by_cell])
def test_noise_that_depends_on_the_packing_is_noticed(monkeypatch: pytest.MonkeyPatch, fault: Any) -> None:
    monkeypatch.setattr(pack, "_batch", fault)
    noisy = {**CONFIG, "problem": CONFIG["problem"][0], "algorithm": CONFIG["algorithm"][::3], "rounds": 6}
    one, three, all_ = (texts(noisy, pack=size) for size in (1, 3, 10**6))
    assert sum(a != b for a, b in zip(one, all_)) >= 4
    assert sum(a != b for a, b in zip(one, three)) >= 4


def _not_filled_up(cells: Sequence[Any], width: int) -> tuple[list[Replicates], list[int]]:
    """A planted fault: the last block has only the remaining replicates."""
    every = [(i, c.common.seed, k) for i, c in enumerate(cells) for k in range(c.common.replicates)]
    blocks = [every[first : first + width] for first in range(0, len(every), width)]
    return [pack._batch(block) for block in blocks], [i for block in blocks for i, _, _ in block]


def test_blocks_of_other_widths_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product of one row is summed in another order than one of many."""
    grid = {"eta": [0.1 * k for k in range(1, 8)]}
    wide = {
        **CONFIG,
        "problem": {"name": "quadratic", "dimension": 9},
        "algorithm": CONFIG["algorithm"][0],
        "replicates": 1,
    }
    config = {**wide, "grid": grid}
    assert texts(config, pack=1) == texts(config)
    monkeypatch.setattr(pack, "blocks_of", _not_filled_up)
    assert sum(a != b for a, b in zip(texts(config, pack=1), texts(config))) >= 1


def test_a_neighbour_that_diverges_changes_nothing() -> None:
    base = {"problem": {"name": "quadratic"}, "algorithm": {"name": "fedavg-two-sided"}, "rounds": 400, "replicates": 2}
    alone = run(designed({**base, "grid": {"eta_l": [0.1, 0.2]}})).rows
    beside = run(designed({**base, "grid": {"eta_l": [0.1, 50.0, 0.2]}})).rows
    assert [row["status"] for row in beside] == ["done", "failed", "done"]
    assert beside[1]["cause"].startswith("diverged in 2 of 2 replicates, the first after round ")
    assert [{**row, "cell": 0} for row in beside[::2]] == [{**row, "cell": 0} for row in alone]


def test_a_row_of_a_block_does_not_depend_on_its_place() -> None:
    """Equal replicates have equal bits at any place: the BLAS of this machine must have this property."""
    for family in ("quadratic", "huber", "logistic-synthetic", "softmax-synthetic", "least-squares"):
        problem = make(family, clients=5, dimension=7)
        scaffnew = Simulation(DPScaffNew(eta=0.1, p=0.5, C=0.5, sigma=0.1))
        for algorithm in (fedavg(0.1, 2, bound=clip(0.5), sigma=0.2), scaffnew, scaffold(0.1)):
            block = Replicates.concatenate([Replicates(3, 8, 1)] * pack.width_of(problem))
            run_ = simulate(algorithm, problem, 60, [block], device="cpu", series=True)
            assert (run_.final == run_.final[:1]).all(), (family, algorithm)
            series = run_["suboptimality"].every_round
            assert (series == series[:, :1]).all(), (family, algorithm)


def test_parts_of_a_batch_draw_what_they_draw_alone() -> None:
    engine, parts = CpuEngine(), [Replicates(7, 3, 2), Replicates(2**63, 0, 1), Replicates(7, 3, 3)]
    batch = Replicates.concatenate(parts)
    where = np.array([1, 0, 1, 1, 0, 1], dtype=bool)
    who = np.array([[0, 1, 2, 0, 1, 2], [2, 2, 1, 1, 0, 0]])
    sizes, counts = np.array([4, 5, 6]), np.array([2, 3, 6])
    rows = [slice(0, 2), slice(2, 3), slice(3, 6)]
    pairs = [
        (engine.uniform(batch, 4, 3, 2), [engine.uniform(p, 4, 3, 2) for p in parts], 0),
        (engine.normal(batch, 4, 3, 5, 1), [engine.normal(p, 4, 3, 5, 1) for p in parts], 1),
        (
            engine.normal(batch, 4, 3, 5, 1, where=where),
            [engine.normal(p, 4, 3, 5, 1, where=where[r]) for p, r in zip(parts, rows)],
            1,
        ),
        (
            engine.normal_of(batch, 4, who, 5, 1),
            [engine.normal_of(p, 4, np.ascontiguousarray(who[:, r]), 5, 1) for p, r in zip(parts, rows)],
            1,
        ),
        (
            engine.subsets(batch, 4, who, sizes, counts),
            [engine.subsets(p, 4, np.ascontiguousarray(who[:, r]), sizes, counts) for p, r in zip(parts, rows)],
            1,
        ),
    ]
    for together, alone, axis in pairs:
        assert np.array_equal(together, np.concatenate(alone, axis=axis))


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("rounds", [6, 70])
def test_the_numbers_are_those_of_simulate(rounds: int) -> None:
    problem = make("logistic-synthetic", clients=5, ridge=0.1)
    records = RecordGradient(1.0, 0.7, 2.0)
    scaffnew = {"eta": 0.5, "p": 0.25, "C": 0.3, "sigma": 0.05}
    direct = {
        "dp-fedavg": (
            {"eta": 0.5, "beta": 0.4, "C": 0.3, "E": 2, "sigma": 0.05},
            fedavg(0.5, 2, 0.4, clip(0.3), sigma=0.05),
        ),
        "dp-fedavg-two-sided": (
            {"eta_l": 0.5, "eta_g": 0.9, "c": 0.3, "Q": 3, "sigma": 0.0, "cohort": 2.0},
            two_sided(0.5, 0.9, 3, 0.3, cohort=Cohort("fixed", 2)),
        ),
        "dp-scaffnew": (scaffnew, Simulation(DPScaffNew(**scaffnew))),
        "dp-scaffold": (
            {"eta_l": 0.5, "eta_g": 0.9, "K": 2, "C": 0.7, "sigma_g": 2.0},
            scaffold(0.5, 0.9, 2, gradient=records),
        ),
        "fedavg": ({"eta": 0.5, "E": 2}, fedavg(0.5, 2)),
    }
    for name, (parameters, algorithm) in direct.items():
        config = {
            "problem": {"name": "logistic-synthetic", "clients": 5, "ridge": 0.1},
            "rounds": rounds,
            "replicates": 4,
        }
        (row,) = dpfl.sweep({**config, "algorithm": {"name": name, **parameters}, "seed": 9}).rows
        run_ = simulate(algorithm, problem, rounds, 4, 9, device="cpu")
        last, mean = run_["suboptimality"].last, run_["suboptimality"].mean
        assert row["suboptimality"] == pytest.approx(last.mean(), rel=1e-9), name
        assert row["suboptimality_average"] == pytest.approx(mean.mean(), rel=1e-9), name
        assert row["suboptimality_error"] == pytest.approx(last.std(ddof=1) / 2, rel=1e-6, abs=1e-15), name


def test_pieces_here_are_run_in_the_order_asked_for() -> None:
    order: list[int] = []
    work = [lambda: ["a"], lambda: ["b"]]
    found = run_pieces(work, 1, [1, 0], done=lambda i, _: order.append(i), waiting=lambda _: None)
    assert found == [["a"], ["b"]]
    assert order == [1, 0]
