"""The benchmarks' contestants compute the same runs, and a wrong one gets no timing. No time is asserted."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks import c_record_clipping, child, fedavg, gpu, machine, scaffnew, scaling, table
from benchmarks.a_appendix_f import SIZES, problem_of, stepwise
from benchmarks.f_tiny import CENTRES, CURVATURES
from benchmarks.harness import TOLERANCE, Case, Contestant, cases, error_of, has_jax, names, race
from dpfl_theory.kernels.cpu import CpuEngine

with_jax = pytest.mark.skipif(not has_jax(), reason="JAX is not installed (the extra bench)")


def tiny(symbol: str, jax: bool = False) -> list[Case]:
    return cases(symbol, "tiny", jax)


@pytest.mark.parametrize("symbol", names())
@pytest.mark.parametrize("jax", [False, pytest.param(True, marks=with_jax)])
def test_contestants_agree(symbol: str, jax: bool) -> None:
    """Normals of other generators are drawn with fixed seeds; with other seeds, 1 in 10^6 samples would be refused."""
    for case in tiny(symbol, jax):
        assert case.contestants[0].name.startswith("dpfl_theory")
        assert len(case.contestants) >= 2
        assert sum(c.name.startswith("JAX") for c in case.contestants) >= int(jax)
        last = replace(case, checkpoints=case.checkpoints[-1:])  # JAX compiles again for each
        errors = {c.name: error_of(last if jax else case, c) for c in case.contestants}
        assert {name: error for name, error in errors.items() if not error <= TOLERANCE} == {}


@pytest.mark.parametrize("symbol", [symbol for symbol in names() if symbol != "e"])
def test_noise_moves_what_is_timed(symbol: str) -> None:
    """The timed computation includes noise; without noise a second run gives the same numbers."""
    for case in tiny(symbol):
        for contestant in case.contestants:
            rounds = case.checkpoints[-1]
            quiet, private = (np.asarray(contestant.run(rounds, noise)) for noise in (False, True))
            assert np.array_equal(quiet, np.asarray(contestant.run(rounds, False))), contestant.name
            assert np.all(np.isfinite(private))
            assert np.max(np.abs(private - quiet)) > 1e-6 * np.max(np.abs(quiet - case.start)), contestant.name


def unclipped(case: Case) -> Contestant:
    problem, start, setting = problem_of(SIZES["tiny"])
    wide = replace(setting, threshold=math.inf)
    return fedavg.numpy_batched("planted", wide, start, stepwise(problem, wide), 0.0)


def one_step_less(case: Case) -> Contestant:
    problem, start, setting = problem_of(SIZES["tiny"])
    short = replace(setting, local_steps=setting.local_steps - 1)
    return fedavg.numpy_batched("planted", short, start, stepwise(problem, short), 0.0)


def another_coin(case: Case) -> Contestant:
    q, c = CURVATURES[:, None, None], CENTRES[:, None, None]
    setting = scaffnew.Setting(1.0, 0.501, 1.0, 0.1)
    return scaffnew.numpy_batched("planted", setting, case.start, 3, lambda w: q * (w - c), 0.0)


def no_ridge(case: Case) -> Contestant:
    setting = c_record_clipping.setting_of(c_record_clipping.SIZES["tiny"])

    def sums(x: Any, y: Any, w: Any, ridge: float) -> Any:
        return c_record_clipping.by_formula(x, y, w, 0.0)

    return c_record_clipping.numpy_batched("planted", setting, sums, 0.0)


FAULTS = [("a", 0, unclipped), ("a", 0, one_step_less), ("f", 1, another_coin), ("c", 0, no_ridge)]


@pytest.mark.parametrize(("symbol", "number", "plant"), FAULTS)
def test_a_planted_fault_gets_no_time(symbol: str, number: int, plant: Any) -> None:
    case = tiny(symbol)[number]
    wrong = plant(case)
    assert error_of(case, wrong) > 100 * TOLERANCE
    raced = replace(case, contestants=[case.contestants[0], wrong])
    found = race(raced, threads=1, repetitions=1, target=1e-3)
    ours, refused = found["rows"]
    assert ours["agrees"]
    assert len(ours["seconds"]) == 1
    assert not refused["agrees"]
    assert refused["seconds"] == []
    lines = table.section(symbol, found, "quiet").splitlines()
    (line,) = [text for text in lines if text.startswith("| planted")]
    assert "no time" in line
    assert len({text.count("|") for text in lines if text.startswith("|")}) == 1  # every row has all columns


def test_what_is_no_number_or_has_another_shape_is_refused() -> None:
    case = tiny("f")[0]
    assert error_of(case, Contestant("NaN", lambda rounds, private: case.start * math.nan)) == math.inf
    assert error_of(case, Contestant("one replicate", lambda rounds, private: case.start[:1])) == math.inf
    right = case.contestants[0].run
    slightly = Contestant(
        "slightly", lambda rounds, private: case.start + (right(rounds, private) - case.start) * 1.001
    )
    assert 1e-4 < error_of(case, slightly) < 1e-2
    resting = replace(case, contestants=[Contestant("resting", lambda rounds, private: case.start)])
    with pytest.raises(ValueError, match="nothing has moved"):
        error_of(resting, resting.contestants[0])


@pytest.mark.parametrize("fault", [lambda z: 1.2 * z, lambda z: z + 0.1, lambda z: np.sign(z), lambda z: z * z])
def test_other_distributions_are_no_standard_normals(fault: Any) -> None:
    case = tiny("e")[0]
    (good,) = [c for c in case.contestants if c.normals]
    planted = Contestant("planted", lambda rounds, private: fault(good.run(rounds, private)), normals=True)
    assert error_of(case, planted) > TOLERANCE


def test_rates_and_scaling_are_measured() -> None:
    assert machine.dgemm((4, 5, 6)) > 0.0
    assert machine.copy(1) > 0.0
    assert "Load average" in machine.description("Profile: tiny", False)
    assert "JAX is not installed" in machine.description("Profile: tiny", False)
    assert set(scaling.GRIDS) <= set(names())
    found = scaling.measure("a", replicates=2, clients=3, rounds=2)
    assert found["microseconds"] > 0.0
    assert found["peak"] >= found["before"] > 0.0
    text = table.scaling_of("a", "A title", {"replicates": [{"replicates": 2, "clients": 3, "rounds": 2, **found}]})
    assert "One thread, clients = 3, rounds = 2." in text


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (child, "f --size tiny --repetitions 1 --target 0.001"),
        (scaling, "a --replicates 2 --clients 3 --rounds 2"),
    ],
)
def test_processes_of_benchmarks_print_their_results(
    module: Any, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The mains that `make bench` starts, each in a process of its own."""
    monkeypatch.setattr("sys.argv", [module.__name__, *words.split()])
    monkeypatch.setattr(child, "settings", lambda threads: {})  # the environment of this process stays
    module.main()
    assert json.loads(capsys.readouterr().out)


class Wrong(CpuEngine):
    """An engine whose noise is 1e-6 too large."""

    def normal(self, *address: Any, **options: Any) -> Any:
        return (1.0 + 1e-6) * super().normal(*address, **options)

    def normal_of(self, *address: Any, **options: Any) -> Any:
        return (1.0 + 1e-6) * super().normal_of(*address, **options)


def test_the_table_of_a_device_has_every_case() -> None:
    lines = gpu.rows(CpuEngine(), CpuEngine(), "tiny", 0.01, 100.0, math.inf)
    assert [line.split(")")[0] for line in lines] == ["| (a", "| (b", "| (c", "| (d"]
    assert all(line.count("|") == 8 and "0.0e+00" in line for line in lines)


def test_a_device_that_disagrees_gets_no_time() -> None:
    lines = gpu.rows(CpuEngine(), Wrong(), "tiny", 0.01, 100.0, math.inf)
    assert all("they disagree" in line for line in lines)


def test_what_is_not_reached_in_the_time_is_told() -> None:
    lines = gpu.rows(CpuEngine(), CpuEngine(), "tiny", 0.01, 100.0, -math.inf)
    assert all("not reached in the time" in line for line in lines)


def test_a_search_for_counterexamples_counts_its_instances() -> None:
    """A case whose bound omits the dimension, unlike the recorded run."""
    from benchmarks.falsifiers import CASES, measure

    (case,) = (i for i, c in enumerate(CASES) if c.id == "shulgin2025.lemma3")
    found = measure(case, "climb (ours)", 12, 0)
    assert found["recorded"] < 0 < found["largest"]
    assert 1 < found["found_at"] <= 12
    assert found["verdict"] == "violated"
    blind = measure(case, "no climb", 1, 0)
    assert (blind["found_at"], blind["verdict"]) == (None, "holds")
