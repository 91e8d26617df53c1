"""Rounds as people write them: no false names, no accusation of correct code, and no verdict without a comparison."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpfl_theory.cli import main
from dpfl_theory.conform.comparisons.cohort import sampled
from dpfl_theory.conform.result import Conformance
from dpfl_theory.conform.run import conform
from dpfl_theory.errors import InputError

MORE = pytest.mark.exhaustive
TWO_SIDED = {"as_": "dp-fedavg-two-sided", "eta_g": 1.0}
RECORD = {"as_": "dp-fedavg-record"}
Round = Callable[..., Any]


def found(round: Round, **given: Any) -> Conformance:
    return conform(round, **{"runs": 0, **given})


def names(one: Conformance) -> list[str]:
    return [fault.name for fault in one.faults]


def steps(w: Any, client: Any, lr: float, K: int, near: float = 0.0) -> Any:
    y = w.copy()
    for _ in range(K):
        y = y - lr * (client.gradient(y) + near * (y - w))
    return y


def clip(u: Any, C: float) -> Any:
    return u * min(1.0, C / max(float(np.linalg.norm(u)), 1e-300))


def clipped_mean(client: Any, y: Any, C: float, batch: Any = None) -> Any:
    g = client.record_gradients(y, batch)
    return (g * np.minimum(1.0, C / np.maximum(np.linalg.norm(g, axis=1, keepdims=True), 1e-300))).mean(axis=0)


# A threshold that follows the data


def adaptive(noise: Callable[[Any], float], rate: float, q: float, scale: float = 1.0) -> Round:
    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, epochs: Any, c: Any, z: Any, r: Any
    ) -> Any:
        C = c if state is None else state
        updates = [steps(w, clients[i], lr, epochs) - w for i in cohort]
        short = np.mean([np.linalg.norm(u) <= C for u in updates]) if updates else q
        total = sum((clip(u, C) for u in updates), 0.0 * w)
        below = short + noise(rng)
        return w + (total + rng.normal(0.0, scale * z * C, w.shape)) / r, C * np.exp(rate * (q - below))

    return round


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "rate", "q"),
    [
        (lambda rng: rng.normal(0.0, 3.0), 0.2, 0.5),
        pytest.param(lambda rng: rng.normal(0.0, 0.1), 0.3, 0.8, marks=MORE),
        pytest.param(lambda rng: rng.laplace(0.0, 0.2), 0.5, 0.9, marks=MORE),
    ],
)
def test_a_noisy_count_is_not_said_to_have_no_noise(noise: Any, rate: float, q: float) -> None:
    one = found(adaptive(noise, rate, q), **TWO_SIDED)
    assert names(one) == ["a clip level that learns from data, with noise"]
    assert not one.faults[0].private
    assert "without noise" not in str(one)
    assert one.privacy["epsilon"] is None, "what the count costs is not known"
    assert one.privacy["epsilon_claimed"] == pytest.approx(3.239, rel=1e-3)


@pytest.mark.slow
def test_the_next_nearest_algorithms_do_not_say_that_a_noisy_count_has_no_noise() -> None:
    one = conform(adaptive(lambda rng: rng.normal(0.0, 3.0), 0.2, 0.5), runs=0)
    said = " ".join(one.notes)
    assert "a clip level that learns from data, with noise" in said
    assert "without noise" not in said


@pytest.mark.slow
def test_a_count_without_noise_and_too_little_noise_are_told() -> None:
    silent = found(adaptive(lambda rng: 0.0, 0.3, 0.8), **TWO_SIDED)
    assert names(silent) == ["a clip level that learns from data without noise"]
    assert silent.faults[0].private
    less = found(adaptive(lambda rng: rng.normal(0.0, 0.1), 0.2, 0.5, scale=0.3), **TWO_SIDED)
    assert names(less) == ["a clip level that learns from data, with noise", "another noise"]
    assert [fault.private for fault in less.faults] == [False, True]
    other = found(adaptive(lambda rng: rng.normal(0.0, 0.1), 0.17, 0.5), **TWO_SIDED)
    assert names(other) == ["another round"]
    assert "first round of every path agrees with the algorithm" in other.faults[0].description


# Weights


def weighted(updates: bool, factor: Callable[[Any], float]) -> Round:
    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, beta: Any, epochs: Any, C: Any, z: Any
    ) -> Any:
        share = np.array([len(clients[i]) for i in cohort], dtype=float)
        share /= max(share.sum(), 1.0)
        ends = [steps(w, clients[i], lr, epochs) for i in cohort]
        sent = [clip((y - w) / (lr if updates else 1.0), C) for y in ends]
        noise = rng.normal(0.0, z * C * factor(share), w.shape)
        return w + beta * (sum((a * u for a, u in zip(share, sent)), 0.0 * w) + noise), state

    return round


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [
        TWO_SIDED,
        pytest.param({**TWO_SIDED, "eta_g": 0.7}, marks=MORE),
        pytest.param({"as_": "dp-fedavg", "sampling": "fixed"}, marks=MORE),
    ],
)
def test_weights_with_noise_for_the_largest_break_nothing(given: Any) -> None:
    one = found(weighted(given["as_"] == "dp-fedavg", lambda share: float(share.max(initial=0.0))), **given)
    assert names(one) == ["weights by numbers of records", "another noise"]
    assert not any(fault.private for fault in one.faults)
    assert one.privacy["epsilon"] <= one.privacy["epsilon_claimed"] * (1.0 + 1e-3)


@pytest.mark.slow
def test_weights_with_noise_for_equal_shares_are_refuted_by_a_pair() -> None:
    one = found(weighted(False, lambda share: 1.0 / len(share)), **TWO_SIDED)
    assert names(one) == ["weights by numbers of records", "more than the declared sensitivity"]
    assert one.privacy["epsilon"] > one.privacy["epsilon_claimed"]


def averaged(weights: bool) -> Round:
    """FedAvg of McMahan et al. 2017."""

    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, epochs: Any) -> Any:
        share = np.array([len(clients[i]) if weights else 1.0 for i in cohort], dtype=float)
        ends = [steps(w, clients[i], lr, epochs) for i in cohort]
        return sum((a * y for a, y in zip(share / share.sum(), ends)), 0.0 * w) if ends else w, state

    return round


@pytest.mark.parametrize(
    ("weights", "given", "name"),
    [
        (True, {"sampling": "fixed", "beta": 1.0}, "FedAvg of McMahan et al. 2017, weighted by numbers of records"),
        (True, {}, "FedAvg of McMahan et al. 2017, weighted by numbers of records"),
        (False, {"beta": 1.0}, "the difference in place of the update"),
        (True, {"as_": "fedavg-two-sided", "eta_g": 1.0}, "weights by numbers of records"),
    ],
)
def test_the_fedavg_of_libraries_gets_its_name(weights: bool, given: Any, name: str) -> None:
    one = found(averaged(weights), **{"as_": "fedavg", **given})
    assert name in one.faults[0].name
    assert len(one.faults) == 1
    said = str(one)
    assert "C/r" not in said
    assert "both step sizes" not in said
    assert not one.faults[0].private


# Noise


def local_private(updates: bool) -> Round:
    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, beta: Any, epochs: Any, C: Any, z: Any
    ) -> Any:
        ends = [steps(w, clients[i], lr, epochs) for i in cohort]
        sent = [clip((y - w) / (lr if updates else 1.0), C) + rng.normal(0.0, z * C, w.shape) for y in ends]
        return w + beta * np.mean(sent, axis=0), state

    return round


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "also"),
    [
        (TWO_SIDED, ()),
        pytest.param({"as_": "dp-fedavg", "sampling": "fixed", "cohort": 5}, (), marks=MORE),
        pytest.param({**TWO_SIDED, "sampling": "full", "clients": 5}, ("sqrt(n) too much noise",), marks=MORE),
    ],
)
def test_noise_that_protects_a_message_is_not_too_much(given: Any, also: Any) -> None:
    one = found(local_private(given["as_"] == "dp-fedavg"), **given)
    assert names(one) == [" or ".join(("sqrt(r) times the noise", *also))]
    assert "local privacy" in one.faults[0].description
    assert not one.faults[0].private


def after_the_steps(deviation: Callable[..., float]) -> Round:
    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, beta: Any, epochs: Any, C: Any, z: Any
    ) -> Any:
        ends = []
        for i in cohort:
            y = w.copy()
            for _ in range(epochs):
                y = y - lr * clipped_mean(clients[i], y, C)
            ends.append(y + rng.normal(0.0, z * deviation(C, lr, epochs, len(clients[i])), w.shape))
        return w + beta * (np.mean(ends, axis=0) - w), state

    return round


@pytest.mark.slow
@pytest.mark.parametrize(
    "deviation",
    [
        lambda C, lr, K, m: C,
        pytest.param(lambda C, lr, K, m: 2 * C / m, marks=MORE),
        pytest.param(lambda C, lr, K, m: 2 * C * lr * K / m, marks=MORE),
    ],
)
def test_noise_after_the_steps_is_not_said_to_follow_the_data(deviation: Any) -> None:
    one = found(after_the_steps(deviation), **RECORD)
    assert names(one) == ["noise after the local steps"]
    assert "numbers of noise" in one.faults[0].evidence
    assert not one.faults[0].private


def batched(draw: Callable[..., Any], noise: Callable[..., float] = lambda C, b, lr: lr * 2 * C / b) -> Round:
    def round(
        w: Any,
        state: Any,
        clients: Any,
        cohort: Any,
        rng: Any,
        *,
        lr: Any,
        beta: Any,
        epochs: Any,
        C: Any,
        share: Any,
        z: Any,
    ) -> Any:
        kept, ends = dict(state or {}), []
        kept["round"] = kept.get("round", -1) + 1
        for i in map(int, cohort):
            y, R = w.copy(), len(clients[i])
            for k in range(epochs):
                batch = draw(R, int(share * R), rng, kept, i, kept["round"], k)
                y = y - lr * clipped_mean(clients[i], y, C, batch)
                y = y + rng.normal(0.0, z * noise(C, len(batch), lr), w.shape)
            ends.append(y)
        return w + beta * (np.mean(ends, axis=0) - w), kept

    return round


def anew(R: int, b: int, rng: Any, *_: Any) -> Any:
    return rng.choice(R, b, replace=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "name"),
    [
        (lambda C, b, lr: 2 * C / b, "noise without the local step size"),
        pytest.param(lambda C, b, lr: lr * 7 * C / b, "another noise", marks=MORE),
    ],
)
def test_large_gaussian_noise_is_gaussian(noise: Any, name: str) -> None:
    assert names(found(batched(anew, noise), **RECORD)) == [name]


@pytest.mark.slow
def test_noise_that_goes_with_that_of_the_round_before_is_not_said_to_be_too_little() -> None:
    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, epochs: Any, c: Any, z: Any) -> Any:
        total = sum(clip(steps(w, clients[i], lr, epochs) - w, c) for i in cohort)
        noise, before = rng.normal(0.0, z * c, w.shape), 0.0 if state is None else state
        return w + (total + noise - 0.5 * before) / len(cohort), noise

    one = found(round, **TWO_SIDED)
    assert names(one) == ["noise that depends otherwise on earlier rounds"]
    assert not one.faults[0].private
    assert "not tested" in one.faults[0].description


# Batches and cohorts


def kept_for_ever(R: int, b: int, rng: Any, kept: Any, i: int, *_: Any) -> Any:
    return kept.setdefault(i, rng.choice(R, b, replace=False))


def of_a_round(R: int, b: int, rng: Any, kept: Any, i: int, k: int, step: int) -> Any:
    return kept.setdefault((i, k), rng.choice(R, b, replace=False))


def epochs_shuffled(R: int, b: int, rng: Any, kept: Any, i: int, *_: Any) -> Any:
    left = kept.get(i, [])
    left = left if len(left) >= b else rng.permutation(R).tolist()
    kept[i] = left[b:]
    return left[:b]


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    ("draw", "name"),
    [
        (lambda R, b, *_: np.arange(b), "records that are not drawn at random"),
        (lambda R, b, *_: np.arange(R)[R - b :], "records that are not drawn at random"),
        (
            lambda R, b, g, kept, i, k, step: (np.arange(b) + b * (3 * k + step)) % R,
            "records that are not drawn at random",
        ),
        (
            lambda R, b, g, kept, i, k, step: np.random.default_rng([5, i, k, step]).choice(R, b, replace=False),
            "records that are not drawn at random",
        ),
        (kept_for_ever, "a batch that is kept"),
        (of_a_round, "one batch for all local steps"),
        (epochs_shuffled, "batches that depend on each other"),
        (
            lambda R, b, rng, *_: (rng.integers(R) + np.arange(b)) % R,
            "batches that are not drawn uniformly",
        ),
        pytest.param(
            lambda R, b, rng, *_: rng.choice(R - 1 if 2 < R > b else R, b, replace=False),
            "batches that are not drawn uniformly",
            marks=MORE,
        ),
        pytest.param(anew, None, marks=pytest.mark.slow),
    ],
)
def test_batches_are_drawn_anew(draw: Any, name: str | None) -> None:
    one = found(batched(draw), **RECORD)
    assert names(one) == ([] if name is None else [name])
    assert one.verdict == ("conforms" if name is None else "differs")


def lots(factor: float, over: bool) -> Round:
    """Poisson sampling of records; divided by the expected size, or by the size."""

    def round(
        w: Any,
        state: Any,
        clients: Any,
        cohort: Any,
        rng: Any,
        *,
        lr: Any,
        beta: Any,
        epochs: Any,
        C: Any,
        share: Any,
        z: Any,
    ) -> Any:
        ends = []
        for i in cohort:
            y, R = w.copy(), len(clients[i])
            for _ in range(epochs):
                batch = np.flatnonzero(rng.random(R) < share)
                size = share * R if over else max(len(batch), 1)
                g = clipped_mean(clients[i], y, C, batch) * len(batch) if len(batch) else 0.0 * y
                y = y - lr * (g + rng.normal(0.0, factor * C * z, w.shape)) / size
            ends.append(y)
        return w + beta * (np.mean(ends, axis=0) - w), state

    return round


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factor", "given"),
    [
        (2.0, {}),
        pytest.param(1.0, {}, marks=MORE),
        pytest.param(1.0, {"relation": "zero-out"}, marks=MORE),
        pytest.param(2.0, {"share": 0.4}, marks=MORE),
    ],
)
def test_lots_of_records_are_not_batches_of_a_wrong_size(factor: float, given: Any) -> None:
    one = found(lots(factor, True), **RECORD, **given)
    assert names(one) == ["Poisson batches of records"]
    assert not one.faults[0].private


def record_by_record(poisson: bool) -> Round:
    """Records are taken one by one, as in loops over microbatches."""

    def round(
        w: Any,
        state: Any,
        clients: Any,
        cohort: Any,
        rng: Any,
        *,
        lr: Any,
        beta: Any,
        epochs: Any,
        C: Any,
        share: Any,
        z: Any,
    ) -> Any:
        ends = []
        for i in cohort:
            y, R = w.copy(), len(clients[i])
            for _ in range(epochs):
                b = share * R if poisson else int(share * R)
                batch = np.flatnonzero(rng.random(R) < share) if poisson else rng.choice(R, b, replace=False)
                total = sum((clip(clients[i].gradient(y, [j]), C) for j in batch), 0.0 * w)
                y = y - lr * (total + rng.normal(0.0, (1.0 if poisson else 2.0) * C * z, w.shape)) / b
            ends.append(y)
        return w + beta * (np.mean(ends, axis=0) - w), state

    return round


@pytest.mark.slow
def test_a_small_share_of_records_leaves_no_batch_empty() -> None:
    assert names(found(batched(anew), **RECORD, share=0.3)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("poisson", "name"), [(False, []), pytest.param(True, ["Poisson batches of records"], marks=MORE)]
)
def test_records_that_are_taken_one_by_one_are_one_batch(poisson: bool, name: list[str]) -> None:
    assert names(found(record_by_record(poisson), **RECORD)) == name


def of_all(noise: float) -> Round:
    """The gradients of all records are asked for, and those of a batch are used."""

    def round(
        w: Any,
        state: Any,
        clients: Any,
        cohort: Any,
        rng: Any,
        *,
        lr: Any,
        beta: Any,
        epochs: Any,
        C: Any,
        share: Any,
        z: Any,
    ) -> Any:
        ends = []
        for i in cohort:
            y, R = w.copy(), len(clients[i])
            for _ in range(epochs):
                batch = rng.choice(R, int(share * R), replace=False)
                g = clients[i].record_gradients(y)[batch]
                g = np.mean([clip(one, C) for one in g], axis=0)
                y = y - lr * (g + rng.normal(0.0, noise * C * z / len(batch), w.shape))
            ends.append(y)
        return w + beta * (np.mean(ends, axis=0) - w), state

    return round


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "given", "name"),
    [
        (2.0, {}, []),
        pytest.param(2.0, {"share": 0.5}, [], marks=MORE),
        pytest.param(1.0, {}, ["half the sensitivity or Poisson batches of records"], marks=MORE),
    ],
)
def test_records_that_cannot_be_seen_are_not_another_round(noise: float, given: Any, name: list[str]) -> None:
    one = found(of_all(noise), **RECORD, **given)
    assert names(one) == name
    assert one.verdict == ("differs" if name else "undecided")
    assert "cannot be seen" in str(one)


def test_a_lot_may_be_taken_in_parts() -> None:
    def round(
        w: Any,
        state: Any,
        clients: Any,
        cohort: Any,
        rng: Any,
        *,
        lr: Any,
        max_norm: Any,
        noise_multiplier: Any,
        q: Any,
    ) -> Any:
        total, records = 0.0 * w, 0
        for client in clients:
            records += len(client)
            lot = np.flatnonzero(rng.random(len(client)) < q)
            for start in range(0, len(lot), 2):
                part = lot[start : start + 2]
                total = total + len(part) * clipped_mean(client, w, max_norm, part)
        return w - lr / (q * records) * (total + rng.normal(0.0, noise_multiplier * max_norm, w.shape)), state

    assert found(round, as_="dp-sgd").verdict == "conforms"


@pytest.mark.parametrize("again", [False, True])
def test_an_epoch_has_each_record_once(again: bool) -> None:
    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, epochs: Any, batch_size: Any) -> Any:
        total, ends = sum(len(clients[i]) for i in cohort), 0.0 * w
        for i in cohort:
            y, n = w.copy(), len(clients[i])
            for _ in range(epochs):
                order = rng.integers(0, n, n) if again else rng.permutation(n)
                for start in range(0, n, batch_size):
                    y = y - lr * clients[i].gradient(y, order[start : start + batch_size])
            ends = ends + n / total * y
        return ends, state

    assert names(found(round, as_="fedavg-mcmahan")) == ["batches that do not split the records"] * again
    assert found(round, as_="fedavg-mcmahan", variations={"batches": "own"}).verdict == "conforms"


@pytest.mark.parametrize(
    ("each", "reading"), [(False, "the server adds noise to the average"), (True, "each client adds noise")]
)
def test_the_reading_is_that_with_as_many_draws(each: bool, reading: str) -> None:
    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, epochs: Any, c: Any, z: Any) -> Any:
        total = sum(clip(steps(w, clients[i], lr, epochs) - w, c) for i in cohort)
        r = len(cohort)
        noise = sum(rng.normal(0.0, z * c / r**0.5, (r, len(w)))) if each else rng.normal(0.0, z * c, len(w))
        return w + (total + noise) / r, state

    one = found(round, **TWO_SIDED)
    assert (one.verdict, one.reading) == ("conforms", reading)


def test_what_is_seen_is_due_to_the_deviation() -> None:
    """With two deviations, each has its own numbers: those without it, and with the other one."""

    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, epochs: Any, server_lr: Any) -> Any:
        ends = [w - steps(w, clients[i], lr, epochs) for i in cohort]
        moved = np.mean(ends, axis=0) + 0.9 * (0.0 * w if state is None else state)
        return w - moved, moved

    one = found(round, as_="fedavg-mcmahan")
    assert len(one.faults) == 3
    assert len({fault.evidence for fault in one.faults}) == 3
    assert all("without this deviation" in fault.evidence for fault in one.faults)


@pytest.mark.slow
def test_the_numbers_of_privacy_are_those_of_one_setting_and_of_first_rounds() -> None:
    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, epochs: Any, c: Any, z: Any) -> Any:
        updates = [steps(w, clients[i], lr, epochs) - w for i in cohort]
        kept = sum((clip(u, c) for u in updates), 0.0 * w)
        late = 0.0 * w if state is None else np.abs(state)
        return w + (kept + late + rng.normal(0.0, z * c, w.shape)) / len(cohort), sum(updates)

    one = found(round, **TWO_SIDED)
    assert names(one) == ["another round"]
    assert "in all comparisons with noise_multiplier = 1.3" in one.privacy["told"]
    assert "what later rounds reveal was not tested" in one.privacy["told"]


# Pairs of data sets


@pytest.mark.slow
def test_weight_decay_is_no_greater_sensitivity() -> None:
    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, epochs: Any, c: Any, z: Any, eta_g: Any
    ) -> Any:
        total = 0.0 * w
        for i in cohort:
            y = w.copy()
            for _ in range(epochs):
                y = y - lr * (clients[i].gradient(y) + 0.01 * y)
            total += clip(y - w, c)
        return w + eta_g * (total + rng.normal(0.0, z * c, w.shape)) / len(cohort), state

    one = found(round, **TWO_SIDED)
    assert names(one) == ["weight decay in the local steps"]
    assert not one.faults[0].private
    assert one.privacy["epsilon"] == pytest.approx(one.privacy["epsilon_claimed"], rel=1e-6)


@pytest.mark.slow
def test_adam_on_the_server_costs_no_privacy() -> None:
    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, epochs: Any, c: Any, z: Any, eta_g: Any
    ) -> Any:
        m, v = (0.0 * w, 0.0 * w) if state is None else state
        total = sum(clip(steps(w, clients[i], lr, epochs) - w, c) for i in cohort)
        average = (total + rng.normal(0.0, z * c, w.shape)) / len(cohort)
        m, v = 0.9 * m + 0.1 * average, 0.99 * v + 0.01 * average**2
        return w + eta_g * m / (np.sqrt(v) + 1e-3), (m, v)

    one = found(round, **TWO_SIDED)
    assert names(one) == ["another round"]
    assert not one.faults[0].private
    assert one.privacy["epsilon"] is None
    assert "no linear function" in str(one)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("z", [1e-12, 1e-200])
def test_very_little_noise_is_a_claim_and_not_a_fixed_seed(z: float) -> None:
    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, epochs: Any, c: Any, z: Any) -> Any:
        total = sum(clip(steps(w, clients[i], lr, epochs) - w, c) for i in cohort)
        return w + (total + rng.normal(0.0, z * c, w.shape)) / len(cohort), state

    assert names(found(round, **TWO_SIDED, z=z)) == ["a claimed epsilon above 50"]


ITS_OWN, FRESH, TURN = np.random.default_rng(1234), np.random.default_rng(), itertools.count()


def public_seed(n: int, rng: Any) -> Any:
    return ITS_OWN.choice(n, 3, replace=False)


def secret_seed(n: int, rng: Any) -> Any:
    return FRESH.choice(n, 3, replace=False)


def in_turn(n: int, rng: Any) -> Any:
    return np.arange(n)[3 * (next(TURN) % (n // 3)) :][:3]


def a_group(n: int, rng: Any) -> Any:
    return np.arange(3) + 3 * rng.integers(n // 3)


def neighbours(n: int, rng: Any) -> Any:
    return (np.arange(3) + rng.integers(n)) % n


def right(n: int, rng: Any) -> Any:
    return rng.choice(n, 3, replace=False)


def seeded_each_time(n: int, rng: Any) -> Any:
    return np.flatnonzero(np.random.default_rng(next(TURN)).random(n) < 0.5)


def independently(n: int, rng: Any) -> Any:
    return np.flatnonzero(rng.random(n) < 0.5)


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize(
    ("sampler", "scheme", "name"),
    [
        (public_seed, "fixed", "cohorts that can be predicted"),
        (in_turn, "fixed", "cohorts that can be predicted"),
        (seeded_each_time, "poisson", "cohorts that can be predicted"),
        (a_group, "fixed", "clients that are not independent"),
        (neighbours, "fixed", "clients that are not independent"),
        (secret_seed, "fixed", None),
        (right, "fixed", None),
        (independently, "poisson", None),
    ],
)
def test_cohorts_are_random(sampler: Any, scheme: str, name: str | None) -> None:
    drawn = sampled(sampler, {"n": 6, "r": 3.0, "scheme": scheme}, 0, 1e-6)
    assert [one.name for one in drawn.findings] == ([] if name is None else [name])
    assert drawn.open == ""


def test_epochs_of_clients_are_no_independent_cohorts() -> None:
    left: list[int] = []

    def shuffled(n: int, rng: Any) -> Any:
        if len(left) < 3:
            left[:] = rng.permutation(n).tolist()
        return [left.pop() for _ in range(3)]

    drawn = sampled(shuffled, {"n": 6, "r": 3.0, "scheme": "fixed"}, 0, 1e-6)
    assert [one.name for one in drawn.findings] == ["clients that take turns"]


def from_a_few_cohorts(n: int, rng: Any) -> Any:
    """Ten cohorts that are drawn from the rng once and come again."""
    if len(FEW) < 10:
        FEW.append(rng.choice(n, 3, replace=False))
    return FEW[next(TURN) % 10]


FEW: list[Any] = []
RANDOM_TURN = random.Random(0)


def of_python(n: int, rng: Any) -> Any:
    return RANDOM_TURN.sample(range(n), 3)


def of_the_round(n: int, rng: Any) -> Any:
    return np.random.default_rng(next(TURN)).choice(n, 3, replace=False)


def the_first(n: int, rng: Any) -> Any:
    return np.arange(3)


def replaced(n: int, rng: Any) -> Any:
    return rng.integers(n, size=3)


@pytest.mark.parametrize(
    ("sampler", "scheme", "names"),
    [
        (from_a_few_cohorts, "fixed", ["clients that take turns"]),
        (of_python, "fixed", ["cohorts that can be predicted"]),
        (of_the_round, "fixed", ["cohorts that can be predicted"]),
        (the_first, "fixed", ["cohorts that can be predicted"]),
        (the_first, "poisson", ["fixed-size cohorts accounted as Poisson", "cohorts that can be predicted"]),
        (replaced, "fixed", ["clients drawn twice"]),
        (replaced, "with-replacement", []),
        (right, "with-replacement", ["cohorts without replacement"]),
        (lambda n, rng: random.sample(range(n), 3), "fixed", []),
    ],
)
def test_cohorts_do_not_come_again(sampler: Any, scheme: str, names: list[str]) -> None:
    drawn = sampled(sampler, {"n": 7, "r": 3.0, "scheme": scheme}, 0, 1e-6)
    assert [one.name for one in drawn.findings] == names
    assert drawn.open == ""


@pytest.mark.parametrize("scheme", ["poisson", "fixed", "with-replacement"])
def test_right_samplers_are_accused_at_most_as_often_as_stated(scheme: str) -> None:
    ways = {
        "poisson": lambda n, rng: np.flatnonzero(rng.random(n) < 3 / n),
        "fixed": lambda n, rng: rng.permutation(n)[:3],
        "with-replacement": lambda n, rng: rng.integers(n, size=3),
    }
    v = {"n": 7, "r": 3.0, "scheme": scheme}
    assert not any(sampled(ways[scheme], v, seed, 0.05).findings for seed in range(3))


def members_at_rate(n: int, rng: Any, r: float = 3.0) -> Any:
    return np.flatnonzero(rng.random(n) < r / n)


def drawn_until(n: int, rng: Any, right: Callable[[int], bool], r: float = 3.0) -> Any:
    """A cohort that is drawn again until its size is right."""
    while not right(len(found := members_at_rate(n, rng, r))):
        pass
    return found


@pytest.mark.parametrize(
    ("sampler", "name"),
    [
        (lambda n, rng: drawn_until(n, rng, lambda size: size > 0), "no empty cohorts"),
        (lambda n, rng: drawn_until(n, rng, lambda size: size > 1), "no cohorts of fewer than 2 clients"),
        (lambda n, rng: drawn_until(n, rng, lambda size: size <= 5), "no cohorts of more than 5 clients"),
        # other causes of missing sizes have names of their own
        (lambda n, rng: members_at_rate(n, rng, 6.5), "a wrong sampling rate"),
        (lambda n, rng: rng.permutation(n)[: 1 + 4 * rng.integers(2)], "clients that are not independent"),
    ],
)
def test_independent_sampling_leaves_out_no_size(sampler: Any, name: str) -> None:
    drawn = sampled(sampler, {"n": 7, "r": 3.0, "scheme": "poisson"}, 0, 1e-6)
    assert [(one.name, one.private) for one in drawn.findings] == [(name, True)]


def test_empty_cohorts_that_are_drawn_again_are_named_where_the_rate_is_off_too() -> None:
    again = lambda n, rng: drawn_until(n, rng, lambda size: size > 0, 1.0)  # noqa: E731
    drawn = sampled(again, {"n": 3, "r": 1.0, "scheme": "poisson"}, 0, 1e-6)
    assert [one.name for one in drawn.findings] == ["no empty cohorts"]


@pytest.mark.parametrize(("n", "r"), [(7, 1.0), (7, 6.0), (30, 3.0), (60, 12.0)])
def test_sizes_that_are_unlikely_are_not_asked_for(n: int, r: float) -> None:
    """Each errs with probability 0.05; where no size is likely to be left out, with much less."""
    v = {"n": n, "r": r, "scheme": "poisson"}
    assert not any(sampled(lambda n, rng: members_at_rate(n, rng, r), v, seed, 0.05).findings for seed in range(2))


def test_a_sampler_that_cannot_be_loaded_anew_is_left_open() -> None:
    own = np.random.default_rng(5)
    one = found(
        averaged(False), as_="fedavg-two-sided", eta_g=1.0, sampler=lambda n, rng: own.choice(n, 3, replace=False)
    )
    assert one.verdict == "undecided"
    assert "was not tested" in " ".join(one.notes)


# Claims


def server_noise(
    w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, epochs: Any, c: Any, z: Any
) -> Any:
    total = sum((clip(steps(w, clients[i], lr, epochs) - w, c) for i in cohort), 0.0 * w)
    return w + (total + rng.normal(0.0, z * c, w.shape)) / len(cohort), state


@pytest.mark.slow
def test_a_claim_that_is_no_protection_is_told_and_no_round_is_blamed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for z in (1e-4, 0.1):
        one = found(server_noise, **TWO_SIDED, noise_multiplier=z)
        assert names(one) == ["a claimed epsilon above 50"]
        assert one.verdict == "differs"
        assert "its round is that of dp-fedavg-two-sided" in str(one)
    for z in (1.0, 0.2):
        assert found(server_noise, **TWO_SIDED, noise_multiplier=z).verdict == "conforms"
    with_batches = found(batched(anew), **RECORD, noise_multiplier=1e-3)
    assert names(with_batches) == ["a claimed epsilon above 50"]
    file = tmp_path / "own.py"
    file.write_text(
        "import numpy as np\n"
        "def round(w, state, clients, cohort, rng, *, c, z):\n"
        "    u = [0.1 * clients[i].gradient(w) for i in cohort]\n"
        "    total = sum(x * min(1.0, c / max(np.linalg.norm(x), 1e-300)) for x in u)\n"
        "    return w - (total + rng.normal(0.0, z * c, w.shape)) / len(cohort), state\n"
    )
    sets = [word for pair in ("eta_g=1", "eta_l=0.1", "Q=1", "noise_multiplier=0.00002") for word in ("--set", pair)]
    assert main(["conform", f"{file}:round", "--as", "dp-fedavg-two-sided", "--runs", "0", *sets]) == 1
    assert "above 50" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["fedopt", "FedLin", "mime-lite", "tamuna", "dp-fedprox", "dp-feddyn"])
def test_other_algorithms_are_no_misspelling(name: str) -> None:
    with pytest.raises(InputError) as caught:
        conform(averaged(False), name)
    assert f"unknown algorithm {name!r}: the nearest is" in str(caught.value)
    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize(("name", "meant"), [("FedNova", "fednova"), ("fed-adam", "fedadam"), ("FedAvg-M", "fedavgm")])
def test_other_spellings_are_recognised(name: str, meant: str) -> None:
    with pytest.raises(InputError, match=f"did you mean '{meant}'"):
        conform(averaged(False), name)


# What has no name, and how far names reach


def proximal(w: Any, clients: Any, cohort: Any, lr: float, K: int, state: Any) -> Any:
    return np.mean([steps(w, clients[i], lr, K, 0.3) for i in cohort], axis=0), state


def normalised(w: Any, clients: Any, cohort: Any, lr: float, K: int, state: Any) -> Any:
    taken = [K + len(clients[i]) % 2 for i in cohort]
    ways = [(w - steps(w, clients[i], lr, k)) / k for i, k in zip(cohort, taken)]
    return w - np.mean(taken) * np.mean(ways, axis=0), state


def adam(w: Any, clients: Any, cohort: Any, lr: float, K: int, state: Any) -> Any:
    m, v = (0.0 * w, 0.0 * w) if state is None else state
    g = np.mean([w - steps(w, clients[i], lr, K) for i in cohort], axis=0)
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    return w - 0.1 * m / (np.sqrt(v) + 1e-3), (m, v)


def wavering(w: Any, clients: Any, cohort: Any, lr: float, K: int, state: Any) -> Any:
    k = 0 if state is None else state + 1
    return np.mean([steps(w, clients[i], lr * (1.0 + 0.5 * np.sin(k)), K) for i in cohort], axis=0), k


def unequal(w: Any, clients: Any, cohort: Any, lr: float, K: int, state: Any) -> Any:
    return np.mean([steps(w, clients[i], lr, K * len(clients[i])) for i in cohort], axis=0), state


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "name", "message"),
    [
        (proximal, "a proximal term in the local steps", "0.3 (y - w)"),
        pytest.param(normalised, "another round", "no named deviation explains all rounds", marks=MORE),
        pytest.param(adam, "another round", "no named deviation explains all rounds", marks=MORE),
        (
            wavering,
            "another round",
            "the first round of every path agrees with the algorithm, but not all later rounds",
        ),
        pytest.param(
            unequal,
            "clients with numbers of local steps of their own or local steps on batches of records",
            "nothing that was tried separates them",
            marks=MORE,
        ),
    ],
)
def test_no_more_is_said_than_is_known(way: Any, name: str, message: str) -> None:
    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, epochs: Any) -> Any:
        return way(w, clients, cohort, lr, epochs, state)

    one = found(round, as_="fedavg-two-sided", eta_g=1.0)
    assert names(one) == [name]
    assert message in one.faults[0].description


def test_how_far_rounds_agree_does_not_contradict_the_numbers() -> None:
    """Where the server's step size is 1, two rounds agree; where it is not, one."""

    def anchored(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, server_lr: Any, E: Any, momentum: Any
    ) -> Any:
        first, v = (w, 0.0 * w) if state is None else state
        sizes = [len(clients[i]) for i in cohort]
        mean = np.average([steps(w, clients[i], lr, E) for i in cohort], axis=0, weights=sizes)
        v = momentum * v + mean - first
        return first + server_lr * v, (first, v)

    (one,) = found(anchored, as_="fedavgm").faults
    assert "the first round of every path agrees with the algorithm, but not all later rounds" in one.description
    assert "in round 3 w moves" in one.evidence


def scaffold(weights: bool = False, at_model: bool = False, own: float = 1.0, decay: float = 0.0) -> Round:
    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, eta_l: Any, eta_g: Any, K: Any) -> Any:
        c, kept, k = (0.0 * w, {}, 0) if state is None else state
        kept, model, control = dict(kept), 0.0 * w, 0.0 * w
        share = np.array([len(clients[i]) if weights else 1.0 for i in cohort], dtype=float)
        for i, a in zip(map(int, cohort), share / share.sum()):
            mine, y = kept.get(i, w if at_model else 0.0 * w), w
            for _ in range(K):
                y = y - eta_l / (1.0 + decay * k) * (clients[i].gradient(y) - mine + c)
            kept[i] = own * mine - c + (w - y) / (K * eta_l)
            model, control = model + a * (y - w), control + kept[i] - mine
        return w + eta_g * model, (c + control / len(clients), kept, k + 1)

    return round


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"weights": True}, {"weights by numbers of records"}),
        ({"at_model": True}, {"control variates that do not start at zero"}),
        (
            {"weights": True, "at_model": True},
            {"weights by numbers of records", "control variates that do not start at zero"},
        ),
        (
            {"weights": True, "decay": 0.3},
            {"weights by numbers of records", "a step size that decays with the rounds"},
        ),
        ({}, set()),
    ],
)
def test_weights_and_beginnings_of_scaffold(given: Any, expected: set[str]) -> None:
    assert set(names(found(scaffold(**given), as_="scaffold"))) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [
        {"own": 0.9},
        pytest.param({"own": 0.6, "decay": 0.1}, marks=MORE),
    ],
)
def test_the_answer_says_how_far_the_weights_explain(given: Any) -> None:
    one = found(scaffold(weights=True, **given), as_="scaffold")
    assert names(one) == ["another round"]
    assert "'weights by numbers of records' explains the first" in one.faults[0].description
    assert "but not all later rounds" in one.faults[0].description


def test_a_limit_of_epsilon_is_compared_with_a_given_multiplier_only() -> None:
    one = found(server_noise, **TWO_SIDED, noise_multiplier=0.6, max_epsilon=3.0)
    assert names(one) == ["a claimed epsilon above 3"]
    needed = float(one.faults[0].description.rpartition("at least ")[2])
    assert found(server_noise, **TWO_SIDED, noise_multiplier=needed, max_epsilon=3.0).verdict == "conforms"
    free = found(server_noise, **TWO_SIDED, max_epsilon=3.0)
    assert free.verdict == "conforms"
    assert "max_epsilon = 3 was not compared" in " ".join(free.notes)
    with pytest.raises(InputError, match="positive number"):
        found(server_noise, **TWO_SIDED, max_epsilon=0.0)
