"""Constants from data: against plain NumPy and SciPy, overriding, and constants that no data set can give."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from dpfl_theory.errors import InputError
from dpfl_theory.problems.data import load
from dpfl_theory.problems.partition import PARTITIONS, partition
from dpfl_theory.recommend import recommend, settings
from dpfl_theory.recommend.constants_from_data import MEASURES
from dpfl_theory.recommend.inputs import DataOptions, inputs_of

BUDGET = {"epsilon": 8.0, "delta": 1e-5}
REST: dict[str, dict[str, Any]] = {
    "dp-scaffnew": {"clients": 3, "clip": 1.0, "constant": 4.0, "ridge": 0.2, **BUDGET},
    "dp-fedavg": {"clients": 3, "cohort": 3.0, "local_steps": 2, "alpha": 1.0, "rho": 0.1},
    "dp-normfedavg": {"clients": 3, "cohort": 3.0, "local_steps": 2, "alpha": 1.0, "rho": 0.1},
    "dp-fedavg-two-sided": {"clients": 3, "cohort": 3.0, "local_steps": 2, "rounds": 5000, **BUDGET},
    "dp-norm-ec": {"clients": 3, "alpha": 0.1, **BUDGET},
    "dp-scaffold": {
        **{
            "users": 3,
            "user_rate": 1.0,
            "record_rate": 0.5,
            "local_steps": 5,
            "rounds": 100,
            "clip": 1.0,
            "ridge": 0.2,
        },
        **BUDGET,
    },
}
REST["dp-fedavg-record"] = {name: value for name, value in REST["dp-scaffold"].items() if name != "ridge"}
DATA = {"data": "breast-cancer", "features": 2}


def plain(ridge: float) -> dict[str, float]:
    """The constants of logistic regression on two principal components, three i.i.d. clients, without the package's
    solvers: eigenvalues from NumPy, minima from SciPy."""
    found = load("breast-cancer", features=2)
    y = 2.0 * found.y - 1.0
    clients = [(found.x[own], y[own]) for own in partition("iid", found.y, 3)]

    def risk(w: np.ndarray, own: list[tuple[np.ndarray, np.ndarray]]) -> tuple[float, np.ndarray]:
        value = np.mean([np.mean(np.logaddexp(0.0, -s * (x @ w))) for x, s in own]) + ridge / 2 * w @ w
        slope = np.mean([-(s * expit(-s * (x @ w))) @ x / len(s) for x, s in own], axis=0) + ridge * w
        return float(value), slope

    def solved(own: list[tuple[np.ndarray, np.ndarray]]) -> Any:
        options = {"gtol": 1e-10, "ftol": 1e-16, "maxiter": 5000}
        return minimize(risk, np.zeros(3), (own,), jac=True, method="L-BFGS-B", options=options)

    best = solved(clients)
    own = [solved([c]) for c in clients]
    zero = np.zeros(3)
    curvature = [np.linalg.eigvalsh(x.T @ x / (4 * len(x))).max() + ridge for x, _ in clients]
    at_star = [risk(best.x, [c]) for c in clients]
    mean = np.mean([x.T @ x / (4 * len(x)) for x, _ in clients], axis=0)
    return {
        "clients": 3,
        "dimension": 3,
        "records": min(len(s) for _, s in clients),
        "largest smoothness": max(curvature),
        "smoothness": np.linalg.eigvalsh(mean).max() + ridge,
        "strong convexity": ridge,
        "distance": float(np.linalg.norm(best.x)),
        "stacked distance": math.sqrt(3) * float(np.linalg.norm(best.x)),
        "stacked gradient at the minimiser": math.sqrt(sum(float(g @ g) for _, g in at_star)),
        "heterogeneity": float(np.mean([v - o.fun for (v, _), o in zip(at_star, own)])),
        "gap": math.log(2) - best.fun,
        "first gradient": max(float(np.linalg.norm(risk(zero, [c])[1])) for c in clients),
    }


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("algorithm", sorted(REST))
def test_the_constants_are_those_of_a_plain_computation(algorithm: str) -> None:
    given = REST[algorithm]
    found = recommend(algorithm, "printed", **DATA, **given)
    truth = plain(given.get("ridge", 0.0))
    measured = {name: one.measured for name, one in inputs_of(settings()[algorithm]).items() if one.measured}
    compared = 0
    for name, measure in measured.items():
        if name in found["data"]["constants"] and measure in truth:
            assert found["inputs"][name] == pytest.approx(truth[measure], rel=2e-6), name
            compared += 1
        else:
            assert name in given or measure in ("lipschitz", "gradient variance", "largest dissimilarity"), name
    assert compared >= 3


def test_every_measure_serves_some_input() -> None:
    served = {one.measured for kind in settings().values() for one in inputs_of(kind).values()}
    assert served - {""} == set(MEASURES)


def test_the_partitions_are_those_of_the_problems() -> None:
    assert inputs_of(DataOptions)["partition"].choices == PARTITIONS


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("algorithm", sorted(REST))
def test_the_answer_is_that_for_the_same_numbers(algorithm: str) -> None:
    found = recommend(algorithm, "printed", **DATA, **REST[algorithm])
    data, again = found.pop("data"), recommend(algorithm, "printed", **found["inputs"])
    found.pop("vacuous", None)  # the data tell what the start has besides
    for certificate in (found["certificate"], again["certificate"]):
        certificate.pop("vacuous")
        certificate.pop("trivial")
    assert again == found
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert set(data["constants"]) <= set(found["inputs"])
    for name, reported in data["constants"].items():
        assert reported["value"] == found["inputs"][name]
        assert reported["text"]
        assert reported["kind"]
        assert math.isfinite(reported["error"])


def test_bounds_of_gradients_hold_for_every_record() -> None:
    """At random points: no client's gradient exceeds G, no record's variance the bound; both bounds are near."""
    lipschitz = recommend("dp-fedavg", "printed", **DATA, **REST["dp-fedavg"])["inputs"]["lipschitz"]
    variance = recommend("dp-scaffold", "printed", **DATA, **REST["dp-scaffold"])["inputs"]["gradient_variance"]
    found = load("breast-cancer", features=2)
    y, rng = 2.0 * found.y - 1.0, np.random.default_rng(0)
    longest = widest = 0.0
    for own in partition("iid", found.y, 3):
        for w in rng.normal(size=(400, 3)) * 10 ** rng.uniform(-2, 2, (400, 1)):
            records = -(y[own] * expit(-y[own] * (found.x[own] @ w)))[:, None] * found.x[own]
            mean = records.mean(axis=0)
            longest = max(longest, float(np.linalg.norm(mean)))
            widest = max(widest, float(np.mean(np.sum((records - mean) ** 2, axis=1))))
    assert 0.5 * lipschitz < longest <= lipschitz
    assert 0.2 * variance < widest <= variance


def test_given_constants_come_first() -> None:
    found = recommend("dp-norm-ec", "printed", **DATA, clients=4, residual=0.01, alpha=0.01, **BUDGET)
    assert found["inputs"]["residual"] == 0.01
    assert found["inputs"]["clients"] == found["data"]["clients"] == 4
    assert not {"residual", "clients"} & set(found["data"]["constants"])
    assert recommend("dp-norm-ec", "printed", **DATA, alpha=0.01, **BUDGET)["inputs"]["clients"] == 10


def test_shape_options_reach_the_problem() -> None:
    base = recommend("dp-norm-ec", "printed", **DATA, **REST["dp-norm-ec"])
    assert recommend("dp-norm-ec", "printed", data="breast-cancer", **REST["dp-norm-ec"])["inputs"]["dim"] == 31
    sorted_ = recommend("dp-norm-ec", "printed", **DATA, partition="shards", **REST["dp-norm-ec"])
    assert sorted_["inputs"]["residual"] != base["inputs"]["residual"]
    assert sorted_["data"]["partition"] == "shards"
    short = recommend("dp-norm-ec", "printed", **DATA, row_norm=1.0, **REST["dp-norm-ec"])
    assert short["inputs"]["smoothness_max"] <= 0.25 < base["inputs"]["smoothness_max"]


def test_classes_choose_the_model(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 2))
    for classes, model in ((2, "logistic"), (3, "softmax")):
        y = rng.integers(0, classes, 60)
        y[:classes] = np.arange(classes)
        np.savez(tmp_path / "own.npz", x=x, y=y)
        lines = [
            f"{label} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row.tolist())) for label, row in zip(y, x)
        ]
        (tmp_path / "own.txt").write_text("\n".join(lines) + "\n")
        answers = [
            recommend("dp-norm-ec", "printed", data=str(tmp_path / f), **REST["dp-norm-ec"])
            for f in ("own.npz", "own.txt")
        ]
        for found in answers:
            assert found["data"]["problem"].startswith(f"{model} regression on own")
            assert found["inputs"]["dim"] == 3 * (1 if classes == 2 else 3)
            assert found["data"]["records"] == 60
        assert answers[0]["bound"] == pytest.approx(answers[1]["bound"], rel=1e-9)


def test_without_ridge_scaffold_is_convex() -> None:
    given = {**REST["dp-scaffold"], "ridge": 0.0}
    found = recommend("dp-scaffold", "printed", **DATA, **given)
    assert "strong_convexity" not in found["inputs"]
    assert "2, convex" in found["certificate"]["reason"]


@pytest.mark.parametrize(
    ("algorithm", "changed", "message"),
    [
        (
            "dp-scaffnew",
            {"ridge": None},
            "dp-scaffnew needs `strong_convexity`, and logistic regression on breast-cancer",
        ),
        ("dp-fedavg", {"ridge": 0.1}, "dp-fedavg needs `lipschitz`, and the gradients of logistic regression on"),
        (
            "dp-fedavg",
            {"features": None},
            "dp-fedavg needs `distance` and `heterogeneity`, and the minimum of logistic",
        ),
        ("dp-scaffold", {"ridge": None, "features": None}, "dp-scaffold needs `distance`, and the minimum of"),
        ("dp-norm-ec", {"data": "brest-cancer"}, "did you mean 'breast-cancer'?"),
        ("dp-norm-ec", {"data": "no/such.npz"}, "data file 'no/such.npz' does not exist"),
        ("dp-norm-ec", {"data": "diabetes"}, "does not fit this family"),
        ("dp-norm-ec", {"data": None}, "`features` is for a problem that is made from data: give `data` too"),
        ("dp-norm-ec", {"data": "no/such.npz", "epsilon": None}, "dp-norm-ec needs `epsilon`: give the epsilon of"),
        ("dp-norm-ec", {"partition": "fair"}, "partition is 'fair': choose one of"),
        ("dp-norm-ec", {"ridge": -1.0}, "ridge"),
        ("dp-norm-ec", {"clients": 10**6}, "clients"),
        ("dp-norm-ec", {"clients": 2.5}, "clients"),
        ("dp-norm-ec", {"features": 99}, "features is 99"),
    ],
)
def test_what_data_cannot_give(algorithm: str, changed: dict[str, Any], message: str) -> None:
    inputs = {**DATA, **REST[algorithm], **changed}
    with pytest.raises(InputError) as caught:
        recommend(algorithm, "printed", **inputs)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_advice_does_not_lead_in_circles() -> None:
    """With all features the minimum is not attained without ridge, and gradients have no bound with it."""
    lines = []
    for ridge in (None, 0.1):
        with pytest.raises(InputError) as caught:
            recommend("dp-fedavg", "printed", **{**DATA, **REST["dp-fedavg"], "features": None, "ridge": ridge})
        lines.append(str(caught.value))
    without, with_ = lines
    assert "dp-fedavg needs `distance` and `heterogeneity`, and the minimum of" in without, "all that is absent"
    assert without.endswith(
        ": with `ridge` it would lack `lipschitz` instead, so give fewer `features`, or give `distance` and "
        "`heterogeneity` yourself"
    )
    assert with_.endswith(": without `ridge` it would lack `distance` instead, so give `lipschitz` yourself")
    with pytest.raises(InputError, match="leave `ridge` out, or give `lipschitz` yourself"):
        recommend("dp-fedavg", "printed", **{**DATA, **REST["dp-fedavg"], "ridge": 0.1})


def test_a_constant_that_does_not_exist_may_be_given() -> None:
    """All thirty features separate the classes: no minimum without ridge. Numbers by hand will do."""
    given = {**REST["dp-fedavg"], "data": "breast-cancer", "distance": 5.0, "heterogeneity": 0.0}
    found = recommend("dp-fedavg", "printed", **given)
    assert found["inputs"]["distance"] == 5.0
    assert set(found["data"]["constants"]) == {"dim", "smoothness", "lipschitz"}


@pytest.mark.exhaustive
@pytest.mark.parametrize("algorithm", sorted(REST))
def test_a_bound_above_what_the_start_has_is_said_to_promise_nothing(algorithm: str) -> None:
    """The start's suboptimality, or gradient, by NumPy: also where only the constants would allow more."""
    given = {**REST[algorithm], "epsilon": 1e4} if "epsilon" in REST[algorithm] else {**REST[algorithm], "rho": 1e-3}
    found = recommend(algorithm, "printed", **DATA, **given)
    ridge = given.get("ridge", 0.0)
    data = load("breast-cancer", features=2)
    x, y = data.x, 2.0 * data.y - 1.0
    means = list(partition("iid", data.y, 3))
    slope = np.mean([-(y[o] / 2) @ x[o] / len(o) for o in means], axis=0)
    least = minimize(
        lambda w: float(np.mean([np.mean(np.logaddexp(0, -y[o] * (x[o] @ w))) for o in means]) + ridge / 2 * w @ w),
        np.zeros(3),
        options={"gtol": 1e-9},
    ).fun
    unit = found["certificate"]["bounds"].split("[")[-1].rstrip("]")
    start = {
        "F": math.log(2) - least,
        "F/X": float(np.linalg.norm(slope)),
        "F^2/X^2": float(slope @ slope),
        "X^2": math.inf,
    }[unit]
    nothing = found["bound"] is not None and found["bound"] >= min(start, found["certificate"]["trivial"])
    assert bool(found["certificate"]["vacuous"]) == nothing
    low = recommend(algorithm, "printed", **DATA, **REST[algorithm])
    if low["bound"] is not None and low["bound"] >= start:
        assert "the value of these data at the start" in low["vacuous"]
        assert low["certificate"]["trivial"] == pytest.approx(start, rel=1e-4)
