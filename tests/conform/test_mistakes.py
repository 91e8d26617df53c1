"""Findings on rounds that are almost another algorithm: differences clipped, or divided by the number of
participants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpfl_theory.algorithms.fedavg import CLIPPED_DIFFERENCES
from dpfl_theory.conform.probes import Path, Plan, Spread, probe_without_noise
from dpfl_theory.conform.references import references
from dpfl_theory.conform.run import conform
from dpfl_theory.conform.settings import settings

DPFedAvg, DPTwoSided = references()["dp-fedavg"], references()["dp-fedavg-two-sided"]

NAME = "the difference is clipped, not divided by the local step size"


def textbook(members: bool = False, global_step: bool = False) -> Any:
    """DP-FedAvg as most libraries have it: w + (sum_i clip(y_i - w) + noise)/r, or divided by those that take part."""

    def plain(
        w: Any,
        state: Any,
        clients: Any,
        cohort: Any,
        rng: Any,
        *,
        lr: float,
        local_steps: int,
        clip: float,
        noise_multiplier: float,
        cohort_size: float,
    ) -> Any:
        return stepped(w, state, clients, cohort, rng, 1.0, lr, local_steps, clip, noise_multiplier, cohort_size)

    def stepped(
        w: Any,
        state: Any,
        clients: Any,
        cohort: Any,
        rng: Any,
        server_lr: float,
        lr: float,
        local_steps: int,
        clip: float,
        noise_multiplier: float,
        cohort_size: float,
    ) -> Any:
        total = np.zeros_like(w)
        for i in cohort:
            y = w.copy()
            for _ in range(local_steps):
                y = y - lr * clients[i].gradient(y)
            delta = y - w
            total += delta / max(1.0, float(np.linalg.norm(delta)) / clip)
        total += noise_multiplier * clip * rng.standard_normal(len(w))
        return w + server_lr * total / (max(len(cohort), 1) if members else cohort_size), state

    return stepped if global_step else plain


@pytest.mark.exhaustive
@pytest.mark.parametrize(("global_step", "scheme"), [(False, "poisson"), (True, "fixed")])
def test_a_clipped_difference_is_named_and_told_where_it_conforms(global_step: bool, scheme: str) -> None:
    found = conform(textbook(global_step=global_step), "dp-fedavg", runs=0)
    names = [fault.name for fault in found.faults]
    assert names[0] == NAME
    assert set(names[1:]) <= {"more than the declared sensitivity"}
    assert "C/eta" in found.faults[0].description
    assert "compare it with dp-fedavg-two-sided" in found.faults[0].description
    there = conform(textbook(global_step=global_step), "dp-fedavg-two-sided", sampling=scheme, runs=0)
    assert there.verdict == "conforms", str(there)


@pytest.mark.parametrize("fault", CLIPPED_DIFFERENCES, ids=["with a global step", "without"])
def test_a_clipped_difference_is_the_algorithm_with_other_letters(fault: Any) -> None:
    """Threshold C/eta, and eta times the global step (1 without a global step), at the same noise multiplier: the same
    paths, and the same covariance of the noise."""
    asked = {parameter.symbol for parameter in DPFedAvg.parameters}
    given: dict[str, Any] = {"clients": 6, "cohort": None, "scheme": None, "relation": None}
    for v in settings(DPFedAvg, {}, asked, **given):
        step = v["beta"] if "move" not in fault.parts else 1.0
        parameters = {"eta": v["eta"], "E": v["E"], "noise_multiplier": v["noise_multiplier"]}
        parameters |= {"C": v["C"] / v["eta"], "beta": v["eta"] * step}
        (other,) = settings(DPFedAvg, parameters, (), **given)
        for probe in Plan(DPFedAvg, [v]).paths:
            one = DPFedAvg.with_parts(fault.parts).round
            expected = probe_without_noise(DPFedAvg.round, probe.world, other, probe.who).w
            assert np.allclose(probe_without_noise(one, probe.world, v, probe.who).w, expected, rtol=1e-12, atol=0.0)
        found, there = (
            Spread(Path(letters_, probe.world, probe.who)).outcome(player)
            for player, letters_ in ((one, v), (DPFedAvg.round, other))
        )
        assert np.allclose(found, there, rtol=1e-6, atol=1e-9 * there.max())


@pytest.mark.slow
def test_a_division_by_those_that_take_part_conforms_where_their_number_is_fixed_alone() -> None:
    """Under independent sampling 1/|S| is as large as 1, and the declared sensitivity is c/r."""
    assert conform(textbook(members=True), "dp-fedavg-two-sided", eta_g=1.0, runs=0).verdict == "conforms"
    found = conform(textbook(members=True), "dp-fedavg-two-sided", sampling="poisson", eta_g=1.0, runs=0)
    names = {fault.name for fault in found.faults}
    assert "sum and noise divided by |S| in place of r" in names
    assert names <= {"sum and noise divided by |S| in place of r", "more than the declared sensitivity"}


def test_two_sided_cohorts_of_one_size_are_averaged_over_their_members() -> None:
    """1/r is 1/|S| there, as zhang2021 prints it."""
    asked = {parameter.symbol for parameter in DPTwoSided.parameters}
    for scheme in ("fixed", "full"):
        for v in settings(DPTwoSided, {}, asked, clients=6, cohort=None, scheme=scheme, relation=None):
            for probe in Plan(DPTwoSided, [v]).paths:
                assert {len(cohort) for cohort in probe.who} == {int(v["r"])}
