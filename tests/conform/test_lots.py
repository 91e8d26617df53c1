"""DP-SGD over lots of records, as people draw them: the records of a lot, and its size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpfl_theory.conform.comparisons.batches import BatchRun, _in_turn
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


def by_lots(
    draw: Lot = poisson,
    divisor: Callable[[Any, int, float], float] = lambda lot, N, s: s * N,
) -> Any:
    """DP-SGD whose lots are drawn from the records of all clients together."""

    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, C: float, s: float, z: float
    ) -> Any:
        sizes, total, kept = [len(client) for client in clients], np.zeros_like(w), dict(state or {})
        ends = np.cumsum(sizes)
        lot = draw(rng, sizes, s, kept)
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


def names(one: Conformance) -> list[str]:
    return [fault.name for fault in one.faults]


def test_records_that_are_drawn_with_replacement_are_not_said_to_depend_on_earlier_ones() -> None:
    one = found(by_lots(with_replacement))
    assert names(one) == ["records drawn twice"]
    assert one.faults[0].private


def test_batches_share_as_many_records_as_independent_ones_of_as_many_distinct_records() -> None:
    """A batch of five of ten records that is drawn with replacement has four distinct ones on average."""
    reference = references()["dp-sgd"]
    (v,) = settings(reference, {"s": 1.0}, (), clients=3, cohort=None, scheme=None, relation=None)
    on: World = Plan(reference, [v]).paths[0].world
    records, rng = len(on.records[0].y), np.random.default_rng(3)
    assert records > 2

    def run() -> BatchRun:
        return BatchRun(0, tuple((tuple(rng.integers(0, records, records - 1).tolist()),) for _ in range(300)))

    case: Any = None  # which a finding would need
    assert _in_turn(case, [run() for _ in range(10)], on) is None
