"""The share of correct labels on held-out records against its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracles.compare import ENGINES, play
from short_forms import fedavg

from dpfl_theory.errors import InputError
from dpfl_theory.kernels.linear import LinearData
from dpfl_theory.problems import make
from dpfl_theory.problems.linear_model import LinearModel, linear_data
from dpfl_theory.simulation import metrics as module
from dpfl_theory.simulation import simulate
from dpfl_theory.simulation.metrics import accuracy


def held_out(classes: int) -> LinearData:
    """Clients with 2, 7 and 3 records of two features, some of them zero, so that there are ties."""
    rng = np.random.default_rng(4)
    x = rng.standard_normal((12, 2))
    x[[1, 4, 8]] = 0.0
    y = rng.choice([-1.0, 1.0], 12) if classes == 1 else rng.integers(0, classes, 12)
    parts = np.split(np.arange(12), [2, 9])
    return linear_data(x, y, parts, "logistic" if classes == 1 else "softmax", classes=classes)


def by_definition(data: LinearData, w: np.ndarray) -> float:
    shares = []
    for a, b in zip(data.offsets[:-1], data.offsets[1:]):
        right = 0
        for x, y in zip(data.x[a:b], data.y[a:b]):
            logits = w.reshape(data.classes, -1) @ x
            label = (1.0 if logits[0] >= 0.0 else -1.0) if data.classes == 1 else float(np.argmax(logits))
            right += label == y
        shares.append(right / (b - a))
    return float(np.mean(shares))


def disagreements(metrics: Any) -> list[str]:
    """How a version of the module differs from the definition, with all records at once and a few at a time."""
    wrong, whole = [], metrics._LIMIT
    for classes, limit, (name, engine) in ((c, m, e) for c in (1, 3) for m in (whole, 30) for e in ENGINES.items()):
        data = held_out(classes)
        observable = metrics.accuracy(data)
        start = np.random.default_rng(7).standard_normal((5, data.parameters))
        run = play(fedavg(0.3), LinearModel(data), 2, start, engine=engine)
        metrics._LIMIT = limit
        try:
            found = [observable.evaluate(round_) for round_ in run.rounds]
        finally:
            metrics._LIMIT = whole
        expected = [[by_definition(data, w) for w in ws] for ws in run.servers[:-1]]
        if not np.allclose(found, expected, rtol=1e-14):
            wrong.append(f"{name}, {classes} classes, limit {limit}: {found}, not {expected}")
    return wrong


def test_accuracy_is_that_of_the_definition() -> None:
    assert disagreements(module) == []


def test_it_is_an_observable_of_the_state() -> None:
    problem = make("softmax-synthetic", clients=3, dimension=2, records=20, classes=3, ridge=0.01)
    own = accuracy(problem.data, "own-accuracy")
    run = simulate(fedavg(0.8), problem, 30, 2, observe=[own, "suboptimality"], series=True, device="cpu")
    assert run["own-accuracy"].series.shape == (31, 2)
    assert run["own-accuracy"].last[0] == pytest.approx(by_definition(problem.data, run.final[0]))
    assert own.low(None) == 0.0  # type: ignore[arg-type]
    assert own.high(None) == 1.0  # type: ignore[arg-type]


def test_what_cannot_be_used_is_refused_in_one_sentence() -> None:
    with pytest.raises(InputError, match=r"^accuracy is not defined for the loss 'squared': use logistic or softmax "):
        accuracy(linear_data([[1.0]], [1.0], [np.array([0])], "squared"))
    problem = make("logistic-synthetic", clients=2, dimension=3, records=4, ridge=0.1)
    with pytest.raises(InputError, match=r"^the held-out records need 2 parameters, the problem has 3$"):
        simulate(fedavg(0.1), problem, 1, observe=[accuracy(held_out(1))], device="cpu")
