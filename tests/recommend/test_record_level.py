"""Record-level algorithms in a comparison: noise that another accountant confirms, for equal and for different
clients, and faults that it detects."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism, from_two_probability_mass_functions
from scipy.stats import norm

from dpfl_theory.errors import InputError
from dpfl_theory.privacy import calibrate, get
from dpfl_theory.problems import make
from dpfl_theory.problems.linear_model import LinearModel, linear_data
from dpfl_theory.recommend.compare import compare
from dpfl_theory.recommend.search import Plan
from dpfl_theory.recommend.tuned import Budget, tuned
from dpfl_theory.simulation import simulate

DPFedAvgRecord, DPScaffold, DPSGDRecord = (
    tuned()[f"dp-{name}"] for name in ("fedavg-record", "scaffold", "sgd-record")
)

ALIKE = make("logistic-synthetic", clients=8, dimension=3, records=40, seed=2)
TINY = Plan(points=16, replicates=2, generations=2, finalists=3, second=6, last=16)
EPSILON, DELTA = 3.0, 1e-5


def _unlike() -> LinearModel:
    """Clients of 13 to 60 records."""
    rng = np.random.default_rng(3)
    ends = np.cumsum([13, 21, 29, 60])
    x = rng.standard_normal((int(ends[-1]), 3))
    y = np.where(x @ [1.0, -1.0, 0.5] + rng.standard_normal(len(x)) > 0, 1.0, -1.0)
    return LinearModel(linear_data(x, y, np.split(np.arange(len(x)), ends[:-1]), "logistic", ridge=0.01), "unlike")


PROBLEMS = {"alike": ALIKE, "unlike": _unlike()}


def one_of_a_share(share: float, z: float, above: bool) -> Any:
    """dp-accounting's losses of one step, where the record's place is drawn with this chance.

    Zhu, Dong and Wang (AISTATS 2022): losses above 0 are those of (1 - s) N(0, z^2) + s N(1, z^2) over N(0, z^2), those
    below 0 the same mirrored, and what is left is 0. Cells of the losses are made one, each with its two masses.
    """
    if share == 1.0:
        return from_gaussian_mechanism(z)  # exact at its grid's points
    last = 1.0 + 11.0 * z
    edges = np.linspace(0.5, last, 6001)  # at 1/2 the loss is 0
    still = norm.sf(edges / z)
    mixed = (1.0 - share) * still + share * norm.sf((edges - 1.0) / z)
    up, down = -np.diff(np.append(mixed, 0.0)), -np.diff(np.append(still, 0.0))
    level = 1.0 - up.sum() - down.sum()
    upper = {k: math.log(m) for k, m in enumerate([level, *up, *down]) if m > 0.0}
    lower = {k: math.log(m) for k, m in enumerate([level, *down, *up]) if m > 0.0}
    shared = upper.keys() & lower.keys()
    kept = [{k: masses[k] for k in shared} for masses in (lower, upper)]
    return from_two_probability_mass_functions(*kept, above, value_discretization_interval=5e-4)


def independent(one: Any, told: dict[str, float]) -> float:
    """The mean of dp-accounting's upper and lower estimates, whose rounding of losses is opposite, of the largest
    epsilon of any client's record, from hyper-parameters and clients' sizes alone.

    All clients take part. A record of client i is in floor(s R_i) of R_i, and moves a step by at most 2C/(s R_i); the
    noise is the client's own, or, in the mean of single steps that a third party sees, that of all: 2C sigma_g/(s R_j).
    """
    sizes = np.diff(one.problem.data.offsets)
    summed = told["K"] == 1 and one.name != "dp-scaffold" and one.budget.view == "third-party"
    found = []
    for size in np.unique(sizes):
        hidden = math.sqrt(float(np.sum((size / sizes) ** 2))) if summed else 1.0
        share = math.floor(told["s"] * size + 1e-9) / size
        found.append(epsilon_of_steps(share, told["sigma_g"] * hidden, int(told["rounds"] * told["K"])))
    return max(found)


@cache
def epsilon_of_steps(share: float, z: float, steps: int) -> float:
    """Kept, since algorithms share their calibrations."""
    both = (True,) if share == 1.0 else (True, False)
    composed = [one_of_a_share(share, z, above).self_compose(steps) for above in both]
    return sum(run.get_epsilon_for_delta(DELTA) for run in composed) / len(composed)


def chosen(one: Any, rounds: int, local_steps: int, share: int) -> dict[str, float]:
    """Values with these counts, those that the algorithm has."""
    middle = one.values([0.5] * len(one.axes))
    shares = {axis.name: axis.values for axis in one.axes}.get("share", (1.0,))
    given = {"rounds": rounds, "local_steps": local_steps, "share": shares[share % len(shares)]}
    return {name: given.get(name, value) for name, value in middle.items()}


CASES = [(16, 1, 0), (16, 1, 2), (8, 4, 0), (3, 16, 0), (1, 1, 1)]
"""Rounds, local steps, and which share."""


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", [DPFedAvgRecord, DPSGDRecord, DPScaffold], ids=lambda k: k.name)
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("view", ["third-party", "server"])
def test_another_accountant_finds_the_epsilon_that_was_asked_for(kind: Any, problem: str, view: str) -> None:
    one = kind(PROBLEMS[problem], Budget(EPSILON, DELTA, rounds=32, view=view))
    for case in CASES[:: 1 if view == "third-party" else 2]:
        values = chosen(one, *case)
        reported = one.certified(values)
        assert independent(one, reported) == pytest.approx(EPSILON, rel=2e-4)
        limits = one.spent(values, one.multiplier(values))
        assert limits.low <= limits.high <= EPSILON
        assert limits.high >= (1 - 1e-4) * EPSILON


def client_level(one: Any, values: dict[str, float]) -> float:
    """The least multiplier that hides a client's messages, which are one in a round, behind the noise of all."""
    run: Any = get("dp-fedavg")
    return calibrate(run(clients=one.problem.n, rounds=int(values["rounds"])), epsilon=EPSILON, delta=DELTA)


FAULTS = {
    "a client's noise for a record": (DPFedAvgRecord, "alike", (8, 4, 0), {"multiplier": client_level}),
    "a client's noise for a record of DP-SCAFFOLD": (DPScaffold, "alike", (8, 4, 0), {"multiplier": client_level}),
    "a client's noise for a record, one step": (DPSGDRecord, "alike", (16, 1, 2), {"multiplier": client_level}),
    "all clients taken for the smallest": (DPSGDRecord, "unlike", (16, 1, 2), {"_alike": lambda *_: 1.0}),
    "others' noise counted in later steps": (DPFedAvgRecord, "alike", (8, 4, 0), {"_hidden": lambda *_: True}),
    "others' noise counted in SCAFFOLD": (DPScaffold, "alike", (8, 1, 0), {"noise_of_others": True}),
    "local steps forgotten": (DPScaffold, "alike", (8, 4, 0), {"local_steps": lambda *_: 1}),
}


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("fault", FAULTS)
def test_noise_for_something_else_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, problem, case, changed = FAULTS[fault]
    one = kind(PROBLEMS[problem], Budget(EPSILON, DELTA, rounds=32))
    values = chosen(one, *case)
    steps = one.local_steps(values)
    right = independent(one, one.certified(values))
    for name, value in changed.items():
        monkeypatch.setattr(kind, name, value)
    wrong = independent(one, {**one.certified(values), "K": steps})
    assert right == pytest.approx(EPSILON, rel=2e-4)
    assert abs(wrong / EPSILON - 1) > 0.5, "a tolerance of 2e-4 notices this"


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("kind", [DPFedAvgRecord, DPSGDRecord, DPScaffold], ids=lambda k: k.name)
def test_the_noise_of_a_round_is_what_was_accounted_for(kind: Any, problem: str) -> None:
    """The mean of n clients' steps has noise of variance eta^2 sum_j (2C sigma_g/(s R_j))^2/n^2. The estimate has a
    standard error of sqrt(2/N) of it; six of them make one false alarm in 10^8."""
    one = kind(PROBLEMS[problem], Budget(EPSILON, DELTA, rounds=32))
    reported = one.certified(chosen(one, 1, 1, 2))
    replicates, n = 2000, one.problem.n
    ends = simulate(one.algorithm(reported), one.problem, 1, replicates, 5, (), device="cpu").final
    quiet = simulate(one.algorithm({**reported, one.noise: 0.0}), one.problem, 1, 1, 5, (), device="cpu").final
    step = reported.get("eta", reported.get("eta_l", 0.0)) * reported.get("eta_g", 1.0)
    sizes = np.diff(one.problem.data.offsets)
    expected = step**2 * float(np.sum((2 * reported["C"] * reported["sigma_g"] / (reported["s"] * sizes)) ** 2)) / n**2
    assert reported["s"] == 1.0
    assert np.mean((ends - quiet) ** 2) == pytest.approx(expected, rel=6 * math.sqrt(2 / ends.size))


def test_shares_are_records_of_the_smallest_client() -> None:
    one = DPSGDRecord(PROBLEMS["unlike"], Budget(EPSILON, DELTA, rounds=32))
    (share,) = (axis for axis in one.axes if axis.name == "share")
    assert share.values == (3 / 13, 6 / 13, 1.0)
    single = make("logistic-synthetic", clients=4, dimension=2, records=1, seed=1)
    (share,) = (axis for axis in DPSGDRecord(single, Budget(EPSILON, DELTA)).axes if axis.name == "share")
    assert share.values == (1.0,)


@pytest.mark.parametrize("cohort", [1.0, 2.0])
def test_a_cohort_of_clients_that_differ_is_certified_from_above_alone(cohort: float) -> None:
    """At worst a record's round has the largest of the other clients in addition to its own."""
    one = DPFedAvgRecord(PROBLEMS["unlike"], Budget(EPSILON, DELTA, rounds=32, cohort=cohort))
    values = chosen(one, 16, 1, 0)
    limits = one.spent(values, one.multiplier(values))
    assert limits.low == 0.0 < limits.high <= EPSILON
    hidden = 1.0 + (13 / 60) ** 2 if cohort == 2.0 else 1.0
    sigma_g = one.certified(values)["sigma_g"]
    run: Any = get("dp-fedavg-record")
    seen = run(users=4, records=13, user_rate=cohort / 4, record_rate=1.0, local_steps=1, view="server", rounds=16)
    assert sigma_g * math.sqrt(hidden) == pytest.approx(calibrate(seen, epsilon=EPSILON, delta=DELTA), rel=1e-4)


@pytest.mark.slow
def test_each_unit_has_a_recommendation_of_its_own() -> None:
    found = compare(ALIKE, Budget(EPSILON, DELTA, rounds=32), plan=TINY)
    units = [row["protects"] for row in found["algorithms"]]
    assert units == sorted(units)
    assert set(units) == {"client", "record"}
    assert found["left_out"] == []
    for unit, name in found["recommended_by_unit"].items():
        rows = [row for row in found["algorithms"] if row["protects"] == unit]
        means = [row["suboptimality"]["mean"] for row in rows]
        assert means == sorted(means)
        assert name == rows[0]["name"]
        assert means[0] < 0.5 * found["start"]["suboptimality"]
        assert rows[0]["title"] in found["advice_by_unit"][unit]
        assert {row["relation"] for row in rows} == {"zero-out" if unit == "client" else "replace"}
        assert {row["mechanism"]["protects"] for row in rows} == {unit}
        assert {row["view"] for row in rows} == {"third-party"}
    assert found["recommended"] == found["recommended_by_unit"]["client"]
    assert found["advice"] == found["advice_by_unit"]["client"]
    by_name = {row["name"]: row for row in found["algorithms"]}
    assert by_name["dp-scaffold"]["vectors"] == 2 * by_name["dp-scaffold"]["hyperparameters"]["rounds"] <= 32
    # 320 records hide one of them far better than 8 clients hide one of these.
    assert by_name["dp-sgd-record"]["suboptimality"]["mean"] < by_name["dp-fedavg"]["suboptimality"]["mean"]


@pytest.mark.slow
def test_processes_find_what_one_finds() -> None:
    asked: dict[str, Any] = {"algorithms": ("dp-clip21", "dp-sgd-record"), "plan": TINY, "seed": 4}
    budget = Budget(EPSILON, DELTA, rounds=16)
    lines: list[tuple[float, str]] = []
    together = compare(ALIKE, budget, jobs=2, progress=lambda share, name: lines.append((share, name)), **asked)
    assert together == compare(ALIKE, budget, **asked)
    assert lines[0] == (0.0, "dp-sgd-record")


@pytest.mark.slow
def test_only_one_unit_may_be_compared() -> None:
    found = compare(ALIKE, Budget(EPSILON, DELTA, rounds=16), unit="record", plan=TINY)
    assert {row["name"] for row in found["algorithms"]} == {
        "dp-fedavg-record",
        "dp-scaffold",
        "dp-sgd",
        "dp-sgd-record",
    }
    assert list(found["recommended_by_unit"].values()) == [found["recommended"]]


def test_nothing_is_recommended_for_records_that_ends_no_better_than_the_start() -> None:
    budget = Budget(0.001, DELTA, rounds=8)
    found = compare(ALIKE, budget, algorithms=("dp-sgd-record", "dp-clip21"), plan=TINY)
    assert found["recommended_by_unit"] == {"client": None, "record": None}
    assert found["advice_by_unit"]["record"].startswith("Nothing found at this budget (epsilon = 0.001")


def test_what_cannot_be_run_is_left_out_and_said() -> None:
    quadratic = make("quadratic", clients=4, dimension=3, seed=1)
    found = compare(quadratic, Budget(EPSILON, DELTA, rounds=1), plan=TINY)
    assert {left["name"] for left in found["left_out"]} == {
        "dp-sgd",
        *(kind.name for kind in (DPFedAvgRecord, DPScaffold, DPSGDRecord)),
    }
    assert len(found["algorithms"]) == len(tuned()) - 4
    with pytest.raises(InputError, match="has no records: dp-sgd-record needs a linear model"):
        compare(quadratic, Budget(EPSILON, DELTA), algorithms=("dp-sgd-record",))
    with pytest.raises(InputError, match=r"there is no algorithm to compare: .*has no records"):
        compare(quadratic, Budget(EPSILON, DELTA), unit="record")
    with pytest.raises(InputError, match="none of dp-clip21 protects a record"):
        compare(ALIKE, Budget(EPSILON, DELTA), algorithms=("dp-clip21",), unit="record")
    with pytest.raises(InputError, match="the unit of privacy is 'site': choose one of client, record or all"):
        compare(ALIKE, Budget(EPSILON, DELTA), unit="site")


@pytest.mark.slow
def test_a_cohort_that_some_cannot_draw_stops_only_these() -> None:
    found = compare(ALIKE, Budget(EPSILON, DELTA, rounds=8, cohort=0.5), plan=TINY)
    why = {left["name"]: left["why"] for left in found["left_out"]}
    for name in ("dp-fedavg-record", "dp-scaffold", "dp-sgd-record"):
        assert why[name] == f"`cohort` is 0.5: {name} needs a client in each round"
    for name in ("dp-scaffnew", "dp-clip21", "dp-norm-ec"):
        assert f"no accountant certifies {name} for that, all clients take part in a round" in why[name]
    assert {row["name"] for row in found["algorithms"]} == {"dp-fedavg", "dp-normfedavg", "dp-fedavg-mcmahan"}
    with pytest.raises(InputError, match=r"`cohort` is 2.5: dp-fedavg-two-sided needs a whole number of clients"):
        compare(ALIKE, Budget(EPSILON, DELTA, cohort=2.5), algorithms=("dp-fedavg-two-sided",))
