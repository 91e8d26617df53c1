"""Pairs of causes that could be taken for each other: what is printed is true of both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpfl_theory
from dpfl_theory.conform.comparisons.noise_linearity import (
    ADAPTS,
    CONSTANT,
    FIXED,
    NOT_GAUSSIAN,
    SCALED,
    TRANSFORMED,
)
from dpfl_theory.conform.comparisons.other_noise import AFTER
from dpfl_theory.conform.comparisons.sampled import MIXED
from dpfl_theory.conform.result import Conformance


def clip(u: Any, c: Any) -> Any:
    return u * min(1.0, c / max(float(np.linalg.norm(u)), 1e-300))


def total(w: Any, clients: Any, cohort: Any, eta: Any, c: Any) -> Any:
    return sum((clip(clients[i].gradient(w), c) for i in cohort), 0.0 * w)


def answered(round: Any, as_: str = "dp-fedavg", **given: Any) -> tuple[list[str], Conformance]:
    found = dpfl_theory.conform(round, as_, runs=0, **given)
    return [fault.name for fault in found.faults if fault.name != "more than the declared sensitivity"], found


def with_noise(noise: Any, after: Any = None) -> Any:
    """A round of DP-FedAvg with one local step and this noise; after: what the server does with the noisy average."""

    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, eta: Any, beta: Any, C: Any, r: Any, sigma: Any
    ) -> Any:
        mean = total(w, clients, cohort, eta, C) / r
        noisy = mean + noise(rng, sigma, len(w), mean, C)
        return w - beta * (noisy if after is None else after(noisy, C)), state

    return round


def test_constants_and_noise_from_a_seed() -> None:
    def seeded(rng: Any, sigma: Any, d: int, *_: Any) -> Any:
        return np.random.Generator(np.random.Philox(3)).standard_normal(d) * sigma

    def constant(rng: Any, sigma: Any, d: int, *_: Any) -> Any:
        return np.full(d, 0.01)

    assert answered(with_noise(seeded), E=1)[0][0] == FIXED
    names, found = answered(with_noise(constant), E=1)
    assert names[0] == CONSTANT
    assert "One of: a constant, or a mean of the noise that is not 0; noise" in str(found.faults[0].description)


def test_numbers_that_are_bent_alone_and_together_with_data() -> None:
    def bent(rng: Any, sigma: Any, d: int, *_: Any) -> Any:
        return sigma * np.tanh(rng.normal(0.0, 1.0, d))

    def plain(rng: Any, sigma: Any, d: int, *_: Any) -> Any:
        return rng.normal(0.0, sigma, d)

    assert NOT_GAUSSIAN in answered(with_noise(bent), E=1)[0]
    names, found = answered(with_noise(plain, lambda noisy, c: np.tanh(noisy / c) * c), E=1)
    assert NOT_GAUSSIAN not in names
    assert names == ["another round"] or TRANSFORMED in names, str(found)


def test_noise_scaled_by_data() -> None:
    def scaled(rng: Any, sigma: Any, d: int, mean: Any, c: Any) -> Any:
        return rng.normal(0.0, sigma * (0.5 + float(np.linalg.norm(mean)) / c), d)

    def along(rng: Any, sigma: Any, d: int, mean: Any, c: Any) -> Any:
        noise = rng.normal(0.0, sigma, d)
        return noise + mean * float(noise @ mean) / c**2

    assert answered(with_noise(scaled), E=1)[0] == [SCALED]
    names, found = answered(with_noise(along), E=1)
    assert SCALED not in names
    assert TRANSFORMED in names, str(found)


def learned(noisy: bool) -> Any:
    """A threshold that follows the lengths; noisy: with noise. Else the noise of each round is drawn in the one before
    it."""

    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, clip_norm: Any, z: Any, cohort_size: Any
    ) -> Any:
        c, noise = (clip_norm, rng.normal(0.0, 1.0, w.shape)) if state is None else state
        updates = [-lr * clients[i].gradient(w) for i in cohort]
        after = rng.normal(0.0, 1.0, w.shape)
        new = w + (sum(clip(u, c) for u in updates) + z * c * noise) / cohort_size
        below = sum(np.linalg.norm(u) <= c for u in updates) + (rng.normal(0.0, 5.0) if noisy else 0.0)
        return new, (c * np.exp(-0.2 * (below / cohort_size - 0.5)), after)

    return round


@pytest.mark.slow
def test_a_noisy_threshold_and_noise_that_is_drawn_beforehand() -> None:
    given = {"as_": "dp-fedavg-two-sided", "eta_g": 1.0, "Q": 1}
    assert ADAPTS in answered(learned(True), **given)[0]
    names, _ = answered(learned(False), **given)
    assert ADAPTS not in names


def record_round(each: bool) -> Any:
    """Noise z C in each local step, or once after all of them."""

    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, server_lr: Any, K: Any, C: Any, z: Any
    ) -> Any:
        ends = []
        for i in cohort:
            y = w.copy()
            for _ in range(K):
                g = clients[i].record_gradients(y)
                g = g * np.minimum(1.0, C / np.linalg.norm(g, axis=1, keepdims=True))
                y = y - lr * g.mean(axis=0) + (rng.normal(0.0, z * C, w.shape) if each else 0.0)
            ends.append(y if each else y + rng.normal(0.0, z * C, w.shape))
        return w + server_lr * (np.mean(ends, axis=0) - w), state

    return round


@pytest.mark.slow
def test_noise_in_each_step_and_after_all_steps() -> None:
    names, found = answered(record_round(False), "dp-fedavg-record")
    assert names == [AFTER]
    assert "does not depend on eta_l and K" in found.faults[0].description
    assert AFTER not in answered(record_round(True), "dp-fedavg-record")[0]


def test_a_cohort_of_its_own_is_no_noise_of_another_kind() -> None:
    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, eta: Any, beta: Any, C: Any, r: Any, sigma: Any
    ) -> Any:
        own = [i for i in range(len(clients)) if rng.uniform() < 0.02]
        mean = total(w, clients, own, eta, C) / r
        uniforms = rng.uniform(size=(12, len(w)))  # the sum of twelve is nearly normal
        return w - beta * (mean + 1e-3 * sigma * (uniforms.sum(axis=0) - 6.0)), state

    names, found = answered(round, E=1)
    assert NOT_GAUSSIAN not in names, str(found)
    assert MIXED in names, str(found)


def scaffold(kept: bool) -> Any:
    """SCAFFOLD whose clients' control variates are never kept; or are kept, but not subtracted in the local steps."""

    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, server_lr: Any, K: Any) -> Any:
        c, own = (np.zeros_like(w), [np.zeros_like(w)] * len(clients)) if state is None else state
        own, moves, changes = list(own), [], []
        for i in cohort:
            y = w
            for _ in range(K):
                y = y - lr * (clients[i].gradient(y) + c)
            new = own[i] - c + (w - y) / (K * lr)
            changes.append(new - own[i])
            moves.append(y - w)
            if kept:
                own[i] = new
        return w + server_lr * np.mean(moves, axis=0), (c + sum(changes) / len(clients), own)

    return round


def test_a_control_variate_that_is_not_kept_or_not_subtracted() -> None:
    said = []
    for kept in (False, True):
        names, found = answered(scaffold(kept), "scaffold")
        assert len(names) == 1
        said.append(str(found.faults[0].description))
    for text in said:
        assert "keeps its first value" in text
        assert "do not subtract c_i" in text


@pytest.mark.parametrize(("factor", "names"), [(3.0, ["another noise"]), (None, ["noise of the sum on the average"])])
def test_a_constant_is_no_number_of_clients(factor: float | None, names: list[str]) -> None:
    """With r = 3, noise that is 3 times too large is as large as noise that is r times too large."""

    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, eta: Any, beta: Any, C: Any, r: Any, sigma: Any
    ) -> Any:
        mean = total(w, clients, cohort, eta, C) / r
        return w - beta * (mean + rng.normal(0.0, (factor or r) * sigma, len(w))), state

    said, found = answered(round, E=1)
    assert said == names, str(found)
