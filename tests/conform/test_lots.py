"""DP-SGD over lots of records, as people draw them: the records of a lot, and its size."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpfl_theory.conform.comparisons.batches import ROUNDS, RUNS, BatchRun, _in_turn, _likeliest, _one_size
from dpfl_theory.conform.probes import Plan
from dpfl_theory.conform.references import references
from dpfl_theory.conform.result import Conformance
from dpfl_theory.conform.run import conform
from dpfl_theory.conform.settings import settings
from dpfl_theory.conform.world import World

Lot = Callable[[Any, Any, float, Any], Any]
"""The numbers of a lot's records, among those of all clients, by rng, the clients' numbers of records, s, and a
mapping that is kept between rounds."""


def poisson(rng: Any, sizes: Any, s: float, kept: Any) -> Any:
    return np.flatnonzero(rng.random(sum(sizes)) < s)


def with_replacement(rng: Any, sizes: Any, s: float, kept: Any) -> Any:
    return rng.integers(0, sum(sizes), size=int(s * sum(sizes)))


def of_one_size(rng: Any, sizes: Any, s: float, kept: Any) -> Any:
    return rng.permutation(sum(sizes))[: round(s * sum(sizes))]


def in_turn(rng: Any, sizes: Any, s: float, kept: Any) -> Any:
    left, size = kept.get("left", []), round(s * sum(sizes))
    left = left if len(left) >= size else rng.permutation(sum(sizes))
    kept["left"] = left[size:]
    return left[:size]


def by_lots(
    draw: Lot = poisson,
    divisor: Callable[[Any, int, float], float] = lambda lot, N, s: s * N,
    check: Callable[[Any, int, float], Any] = lambda lot, N, s: None,
) -> Any:
    """DP-SGD whose lots are drawn from the records of all clients together. check: what the round returns in place of
    its w, if this is not None."""

    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, C: float, s: float, z: float
    ) -> Any:
        sizes, total, kept = [len(client) for client in clients], np.zeros_like(w), dict(state or {})
        ends = np.cumsum(sizes)
        lot = draw(rng, sizes, s, kept)
        if (instead := check(lot, sum(sizes), s)) is not None:
            return w + instead, kept
        for client, end in zip(clients, ends):
            mine = lot[(lot >= end - len(client)) & (lot < end)] - (end - len(client))
            if len(mine):
                g = client.record_gradients(w, mine)
                total += (g * np.minimum(1.0, C / np.maximum(np.linalg.norm(g, axis=1, keepdims=True), 1e-300))).sum(0)
        total = total + rng.normal(0.0, z * C, w.shape)
        return w - lr * total / divisor(lot, sum(sizes), s), kept

    return round


def found(round: Any, **given: Any) -> Conformance:
    return conform(round, "dp-sgd", **{"runs": 0, **given})


def three_clients() -> World:
    reference = references()["dp-sgd"]
    (v,) = settings(reference, {"s": 1.0}, (), clients=3, cohort=None, scheme=None, relation=None)
    return Plan(reference, [v]).paths[0].world


def names(one: Conformance) -> list[str]:
    return [fault.name for fault in one.faults]


def test_records_that_are_drawn_with_replacement_are_not_said_to_depend_on_earlier_ones() -> None:
    one = found(by_lots(with_replacement))
    assert names(one) == ["records drawn twice"]
    assert one.faults[0].private


def test_batches_share_as_many_records_as_independent_ones_of_as_many_distinct_records() -> None:
    """A batch of five of ten records that is drawn with replacement has four distinct ones on average."""
    on = three_clients()
    records, rng = len(on.records[0].y), np.random.default_rng(3)
    assert records > 2

    def run() -> BatchRun:
        return BatchRun(0, tuple((tuple(rng.integers(0, records, records - 1).tolist()),) for _ in range(300)))

    case: Any = None  # which a finding would need
    assert _in_turn(case, [run() for _ in range(10)], on) is None


@pytest.mark.parametrize("s", [0.5, pytest.param(0.05, marks=pytest.mark.exhaustive)])
def test_lots_of_one_size_are_not_poisson(s: float) -> None:
    one = found(by_lots(of_one_size), s=s)
    assert names(one) == ["batches of a fixed size"]
    assert "all of 180 lots have" in one.faults[0].evidence
    assert one.faults[0].private
    assert found(by_lots(), s=s).verdict == "conforms"


@pytest.mark.slow
def test_lots_that_take_turns_and_have_one_size_are_both() -> None:
    assert names(found(by_lots(in_turn), s=0.3)) == ["batches of a fixed size", "batches that depend on each other"]


def test_poisson_lots_that_are_nearly_everything_are_not_of_a_fixed_size() -> None:
    """With s = 0.9999 most lots have all records, also of right code."""
    on = three_clients()
    whole = [
        BatchRun(i, ((tuple(range(len(own.y))),),) * ROUNDS)  # the client's records, once in each round
        for i, own in enumerate(on.records)
    ]
    case: Any = None  # which a finding would need
    assert _one_size(case, [whole] * RUNS, on, 0.9999) is None
    with pytest.raises(AttributeError):
        _one_size(case, [whole] * RUNS, on, 0.5)


@pytest.mark.parametrize(("records", "s"), [(31, 0.5), (9, 0.999), (7, 0.01)])
def test_the_likeliest_size_is_that_of_the_binomial_distribution(records: int, s: float) -> None:
    own = max(math.comb(records, k) * s**k * (1.0 - s) ** (records - k) for k in range(records + 1))
    assert _likeliest(records, s) == pytest.approx(own, rel=1e-12)
    assert 0.0 < _likeliest(10**6, s) < 0.05, "also where the number of lots is no float"


@pytest.mark.slow
def test_a_division_by_the_size_is_told_with_a_fixed_size_and_is_not_said_to_be_random() -> None:
    for draw, more in ((of_one_size, ["batches of a fixed size"]), (poisson, [])):
        one = found(by_lots(draw, lambda lot, N, s: max(len(lot), 1)))
        assert names(one) == ["the lot and its noise are divided by its size", *more]
        assert "Where the size is random, the accounting does not cover it" in one.faults[0].description


def only_some(lot: Any, N: int, s: float) -> None:
    if s * N < 1.0:
        raise ValueError("a lot has no record on average")


def only_large(lot: Any, N: int, s: float) -> None:
    if s < 0.3:
        raise ValueError("the share is too small")


def raises(lot: Any, N: int, s: float) -> None:
    if not len(lot):
        raise ZeroDivisionError("no record")


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    ("check", "name"),
    [
        (lambda lot, N, s: None if len(lot) else 0.0, "no noise in an empty lot"),
        (raises, "fails in an empty lot"),
        (only_some, None),
        (only_large, None),
    ],
    ids=["skipped", "raises", "no record on average is refused", "small shares are refused"],
)
def test_an_empty_lot_has_noise(check: Any, name: str | None) -> None:
    one = found(by_lots(check=check), s=0.5)
    assert names(one) == ([] if name is None else [name])
    assert one.verdict == ("conforms" if name is None else "differs")
    assert any(fault.private for fault in one.faults) == (name == "no noise in an empty lot")


@pytest.mark.slow
def test_a_division_by_the_size_of_an_empty_lot_fails() -> None:
    one = found(by_lots(divisor=lambda lot, N, s: len(lot)))
    assert names(one) == ["the lot and its noise are divided by its size", "fails in an empty lot"]
    assert "not finite" in one.faults[1].description


# Records that are asked for again


def clipped(g: Any, norms: Any, C: float) -> Any:
    return (np.asarray(g) * np.minimum(1.0, C / np.maximum(norms, 1e-300))[:, None]).sum(axis=0)


def lot_again(client: Any, y: Any, lot: Any, C: float) -> Any:
    norms = np.linalg.norm(client.record_gradients(y, lot), axis=1)
    return clipped(client.record_gradients(y, lot), norms, C)


def norms_first(client: Any, y: Any, lot: Any, C: float) -> Any:
    norms = [np.linalg.norm(client.gradient(y, [j])) for j in lot]
    return clipped([client.gradient(y, [j]) for j in lot], norms, C)


def each_again(client: Any, y: Any, lot: Any, C: float) -> Any:
    return sum(norms_first(client, y, [j], C) for j in lot)


def step_of_lots(
    total: Any,
    draw: Callable[[Any, int, float], Any] = lambda rng, R, s: np.flatnonzero(rng.random(R) < s),
) -> Any:
    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, C: float, s: float, z: float
    ) -> Any:
        lots = [draw(rng, len(client), s) for client in clients]
        whole = sum(total(client, w, lot, C) for client, lot in zip(clients, lots) if len(lot))
        return w - lr * (whole + rng.normal(0.0, z * C, w.shape)) / (s * sum(map(len, clients))), state

    return round


def steps_of_batches(total: Any) -> Any:
    def round(
        w: Any,
        state: Any,
        clients: Any,
        cohort: Any,
        rng: Any,
        *,
        lr: float,
        beta: float,
        K: int,
        C: float,
        s: float,
        z: float,
    ) -> Any:
        ends = []
        for i in cohort:
            y, size = w.copy(), int(s * len(clients[i]))
            for _ in range(K):
                batch = rng.choice(len(clients[i]), size, replace=False)
                noise = rng.normal(0.0, 2.0 * C * z, w.shape)
                y = y - lr * (total(clients[i], y, batch, C) + noise) / size
            ends.append(y)
        return w + beta * (np.mean(ends, axis=0) - w), state

    return round


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("as_", ["dp-sgd", "dp-fedavg-record"])
@pytest.mark.parametrize("total", [lot_again, norms_first, each_again])
def test_records_whose_gradients_are_computed_twice_are_not_drawn_twice(as_: str, total: Any) -> None:
    round = step_of_lots(total) if as_ == "dp-sgd" else steps_of_batches(total)
    one = conform(round, as_, runs=0)
    assert one.verdict == "conforms", str(one)


def test_records_that_are_drawn_twice_and_taken_one_by_one_are_drawn_twice() -> None:
    one = found(step_of_lots(each_again, lambda rng, R, s: rng.integers(0, R, size=int(s * R))))
    assert "records drawn twice" in names(one)
