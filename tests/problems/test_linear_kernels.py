"""The linear-model kernels: agreement with a loop in NumPy, extreme margins, replicate batches, the JIT switched
off."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from mutants.planting import mutated

from dpfl_theory import kernels
from dpfl_theory.kernels import linear, linear_array, linear_losses
from dpfl_theory.kernels.linear import LinearData
from dpfl_theory.problems.linear_model import LinearModel, linear_data

LOSS_NAMES = list(linear.LOSSES)


def ragged(loss: str, ridge: float = 0.1, classes: int = 4, features: int = 5) -> LinearModel:
    """Clients with 1, 2, 3, 7 and 40 records, so that padding and groups matter."""
    rng = np.random.default_rng(3)
    sizes = [7, 1, 40, 2, 3]
    total = sum(sizes)
    x = rng.standard_normal((total, features))
    if loss == "softmax":
        y = rng.integers(0, classes, total).astype(float)
    elif loss == "logistic":
        y = rng.choice([-1.0, 1.0], total)
    else:
        y = rng.standard_normal(total)
    parts = np.split(rng.permutation(total), np.cumsum(sizes)[:-1])
    threshold = rng.uniform(0.1, 2.0, total)
    data = linear_data(x, y, parts, loss, threshold=threshold, ridge=ridge, classes=classes if loss == "softmax" else 1)
    return LinearModel(data)


def calls(module: ModuleType, data: LinearData, w: Any, step: Any, steps: int, own: Any) -> list[Any]:
    first = () if module is linear else (np,)
    return [
        module.linear_local_phase(*first, data, w, step, steps),
        module.linear_gradients(*first, data, own),
        module.linear_values(*first, data, w),
    ]


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("module", [linear, linear_array], ids=["numba", "array"])
def test_kernels_agree_with_a_plain_loop(module: ModuleType, loss: str) -> None:
    model = ragged(loss)
    rng = np.random.default_rng(4)
    replicates = 19
    w = rng.standard_normal((replicates, model.d))
    own = rng.standard_normal((model.n, replicates, model.d))
    step = rng.uniform(0.01, 0.2, replicates)
    updates = np.zeros((model.n, replicates, model.d))
    for i in range(model.n):
        for s in range(replicates):
            at = w[s].copy()
            for _ in range(4):
                updates[i, s] += model.client_gradient(i, at)
                at = at - step[s] * model.client_gradient(i, at)
    found = calls(module, model.data, w, step, 4, own)
    np.testing.assert_allclose(found[0], updates, rtol=1e-12, atol=1e-13)
    gradients = [[model.client_gradient(i, v) for v in own[i]] for i in range(model.n)]
    np.testing.assert_allclose(found[1], gradients, rtol=1e-12, atol=1e-13)
    values = [[model.client_value(i, v) for i in range(model.n)] for v in w]
    np.testing.assert_allclose(found[2], values, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("module", [linear, linear_array], ids=["numba", "array"])
def test_one_step_is_the_gradient_whatever_the_step_size(module: ModuleType, loss: str) -> None:
    model = ragged(loss)
    w = np.random.default_rng(5).standard_normal((2, model.d))
    same = np.broadcast_to(w, (model.n, *w.shape))
    tiny, _, _ = calls(module, model.data, w, np.full(2, 1e-300), 1, same)
    _, gradient, _ = calls(module, model.data, w, np.zeros(2), 1, same)
    np.testing.assert_array_equal(tiny, gradient)


@pytest.mark.parametrize("module", [linear, linear_array], ids=["numba", "array"])
def test_extreme_margins_neither_overflow_nor_lose_the_loss(module: ModuleType) -> None:
    one = [np.array([0])]
    w = np.array([[1e4], [-1e4], [700.0], [-40.0], [0.0]])
    data = linear_data([[1.0]], [1.0], one, "logistic")
    updates, _, values = calls(module, data, w, np.ones(5), 1, w[None])
    np.testing.assert_allclose(values[:, 0], [0.0, 1e4, np.exp(-700.0), 40.0, np.log(2.0)], rtol=1e-12)
    np.testing.assert_allclose(updates[0, :, 0], [0.0, -1.0, -np.exp(-700.0), -1.0, -0.5], rtol=1e-12)
    data = linear_data([[1.0]], [0.0], one, "softmax", classes=2)
    pair = np.hstack([w, np.zeros_like(w)])
    updates, _, values = calls(module, data, pair, np.ones(5), 1, pair[None])
    np.testing.assert_allclose(values[:, 0], [0.0, 1e4, 0.0, 40.0, np.log(2.0)], rtol=1e-12)
    np.testing.assert_allclose(updates[0, :, 0], [0.0, -1.0, 0.0, -1.0, -0.5], rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(updates[0, :, 1], -updates[0, :, 0], rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_replicates_do_not_see_each_other(loss: str) -> None:
    model = ragged(loss)
    rng = np.random.default_rng(6)
    w, step = rng.standard_normal((200, model.d)), rng.uniform(0.01, 0.1, 200)
    whole = linear.linear_local_phase(model.data, w, step, 3)
    for replicate in (0, 8, 63, 64, 199):
        alone = linear.linear_local_phase(model.data, w[replicate : replicate + 1], step[replicate : replicate + 1], 3)
        np.testing.assert_allclose(whole[:, replicate], alone[:, 0], rtol=1e-12, atol=1e-14)


def test_the_array_module_splits_large_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ragged("softmax")
    w = np.random.default_rng(7).standard_normal((3, model.d))
    whole = linear_array.linear_local_phase(np, model.data, w, np.full(3, 0.1), 2)
    monkeypatch.setattr(linear_array, "_LIMIT", 1)
    np.testing.assert_array_equal(whole, linear_array.linear_local_phase(np, model.data, w, np.full(3, 0.1), 2))
    assert linear_array.linear_values(np, model.data, w).shape == (3, model.n)


def losses_off(module: ModuleType) -> float:
    """The largest relative error of summed losses of records 2, 3, ... against sums in extended precision."""
    rng, worst = np.random.default_rng(9), 0.0
    for loss, classes, size in itertools.product(LOSS_NAMES, (1, 2, 5), (0.1, 3.0, 200.0)):
        if (classes > 1) != (loss == "softmax"):
            continue
        p = size * rng.standard_normal((3 * classes, 11))
        y = {"softmax": rng.integers(0, classes, 13), "logistic": rng.choice([-1.0, 1.0], 13)}.get(
            loss, p[0, 0] + rng.random(13)
        )
        y, threshold, found = np.asarray(y, dtype=float), rng.uniform(0.1, 2.0, 13), np.empty(3)
        z, target, bound = p.reshape(3, classes, 11).astype(np.longdouble), y[2:], threshold[2:]
        if loss == "softmax":
            shift = z.max(axis=1)
            each = np.log(np.exp(z - shift[:, None]).sum(axis=1)) + shift - z[:, target.astype(int), np.arange(11)]
        elif loss == "logistic":
            t = target * z[:, 0]
            each = np.maximum(-t, 0) + np.log1p(np.exp(-abs(t)))
        else:
            r = abs(z[:, 0] - target)
            each = np.where((r <= bound) | (loss == "squared"), r * r / 2, bound * (r - bound / 2))
        module.losses(p, y, threshold, 2, linear.LOSSES[loss], classes, found)
        worst = max(worst, float(np.max(abs(found / each.sum(axis=1) - 1))))
    return worst


LOSS_FAULTS = {
    "another record's target": ("largest[j] - own[int(y[first + j]), j]", "largest[j] - own[int(y[j]), j]"),
    "the largest logit not taken off": ("own[c, j] -= largest[j]", "own[c, j] -= 0.0"),
    "a class left out": ("z[j] += own[c, j]", "z[j] = own[c, j]"),
    "wrong labels lose nothing": ("max(-z[j], 0.0) + log1p", "log1p"),
    "Huber's line from the start": ("inside = min(r, threshold[first + j])", "inside = threshold[first + j]"),
}


def test_losses_are_exact_to_rounding() -> None:
    assert losses_off(linear_losses) <= 1e-14


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("fault", LOSS_FAULTS)
def test_a_fault_in_the_losses_is_noticed(fault: str, record_property: Any) -> None:
    assert not losses_off(mutated("kernels.linear_losses", *LOSS_FAULTS[fault], interpreted=True)) <= 1e-14
    record_property("kill", (f"losses: {fault}", "extended precision"))


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_diverged_parameters_do_not_look_finite(loss: str) -> None:
    model = ragged(loss)
    w = np.full((1, model.d), np.nan)
    assert np.all(np.isnan(linear.linear_local_phase(model.data, w, np.ones(1), 1)))
    assert np.all(np.isnan(linear.linear_values(model.data, w)))


def test_softmax_with_two_classes_is_logistic_regression() -> None:
    rng = np.random.default_rng(8)
    x, y = rng.standard_normal((12, 3)), rng.integers(0, 2, 12).astype(float)
    parts = np.split(np.arange(12), 3)
    logistic = linear_data(x, 2 * y - 1, parts, "logistic")
    softmax = linear_data(x, y, parts, "softmax", classes=2)
    w = rng.standard_normal((4, 3))
    pair = np.hstack([-0.5 * w, 0.5 * w])
    np.testing.assert_allclose(linear.linear_values(logistic, w), linear.linear_values(softmax, pair), rtol=1e-12)


def test_wrapped_models_use_the_fused_engine_operations() -> None:
    model = ragged("logistic", ridge=0.0)
    engine = kernels.select("cpu")
    phase = model.kernels(engine).local_phase(np.ones((2, model.d)), np.full(2, 0.1), 2)
    norms = phase.lengths
    total = phase.bounded_combine(np.ones((2, model.n)), np.full(2, 0.3), True)
    unit = phase.updates() / np.linalg.norm(phase.updates(), axis=2, keepdims=True)
    np.testing.assert_allclose(total, 0.3 * unit.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(phase.lengths, norms, rtol=1e-14)


@pytest.mark.slow
def test_kernels_run_with_the_jit_off() -> None:
    code = (
        "import numpy as np\n"
        "from dpfl_theory.kernels import linear\n"
        "for loss, classes in (('squared', 1), ('huber', 1), ('logistic', 1), ('softmax', 2)):\n"
        "    data = linear.LinearData(np.ones((3, 2)), np.array([1.0, 1.0, 1.0]), np.array([0, 1, 3]), loss,\n"
        "                             np.ones(3), 0.1, classes)\n"
        "    w = np.ones((2, 2 * classes))\n"
        "    u = linear.linear_local_phase(data, w, np.array([0.1, 0.2]), 2)\n"
        "    g = linear.linear_gradients(data, np.stack([w, w]))\n"
        "    v = linear.linear_values(data, w)\n"
        "    print(repr(float(u.sum())), repr(float(g.sum())), repr(float(v.sum())))\n"
    )
    printed = []
    for switch in ("0", "1"):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": switch}
        run = subprocess.run(
            [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, env=environment, check=True
        )
        printed.append(np.array(run.stdout.split(), dtype=float))
    np.testing.assert_allclose(printed[0], printed[1], rtol=1e-14)
