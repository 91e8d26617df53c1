"""zhang2021 Section 2: the claims, eq. (7) and Table 1 computed a second time, and faults that must be noticed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpfl_theory.checks import algebra, exact
from dpfl_theory.checks.settings import Settings
from dpfl_theory.problems.scalar import equation_8
from dpfl_theory.statements import get
from dpfl_theory.statements.model import Check, Statement
from dpfl_theory.statements.zhang2021 import claim2_1, claim2_2, huberised, table1

F = Fraction


def clip(v: float, c: float) -> float:
    return v * min(1.0, c / abs(v)) if v else 0.0


def end_of(a: list[float], b: list[float], eta: float, Q: int, send: Callable[[float, float], float]) -> float:
    """Where FedAvg on (a_i x - b_i)^2/2 ends; send(x, x_Q) is a client's share of the next x."""
    x = 0.3
    for _ in range(20_000):
        new = 0.0
        for p, q in zip(a, b):
            y = x
            for _ in range(Q):
                y -= eta * p * (p * y - q)
            new += send(x, y) / len(a)
        if abs(new - x) < 1e-15:
            break
        x = new
    return x


EIGHT = ([1.0, 2.0, 6.0], [4.0, 1.0, -1.0])


@pytest.mark.parametrize(("k", "eta", "Q"), [(5.0, 0.1, 2), (4.5, 0.5, 1), (100.0, 0.01, 20)])
def test_clipped_models_end_at_the_printed_point(k: float, eta: float, Q: int) -> None:
    lam = (1 - eta) ** Q
    end = end_of([1.0] * 3, [-0.5, -0.5, k], eta, Q, lambda x, y: clip(y, 1.0))
    assert end == pytest.approx(lam / (3 - 2 * lam), abs=1e-12)
    assert end <= 1 < (k - 1) / 3


def test_a_small_k_is_no_example() -> None:
    """With k = 2 and lambda = 3/5 the stationary point is the optimum: the check must say that the claim fails."""
    instance = {"k": ["2"], "c": ["1"], "eta_l": ["2/5"], "Q": [1]}
    check = Check("exact", "planted", claim2_1.missed_cases, instance)
    assert exact.run(get("zhang2021.claim2.1"), check, Settings()).verdict == "violated"
    check = Check("exact", "planted", claim2_1.formula_cases, {**instance, "eta_l": ["1/10"]})
    assert exact.run(get("zhang2021.claim2.1"), check, Settings()).verdict == "violated"


@pytest.mark.parametrize(
    ("c", "Q", "eta", "update", "gradient"),
    [(1.0, 1, 0.1, 0.0, 0.5), (1.0, 3000, 0.02, 2 / 3, 13 / 9)],
)
def test_table_1_by_iteration(c: float, Q: int, eta: float, update: float, gradient: float) -> None:
    assert end_of(*EIGHT, eta, Q, lambda x, y: x + clip(y - x, c)) == pytest.approx(update, abs=1e-9)
    x = 0.3
    for _ in range(2000 if Q == 1 else 3):
        new = 0.0
        for p, q in zip(*EIGHT):
            y = x
            for _ in range(Q):
                y -= eta * clip(p * (p * y - q), c)
            new += y / 3
        x = new
    assert x == pytest.approx(gradient, abs=1e-9)


def test_a_wrong_entry_is_noticed() -> None:
    wrong = {**table1.UPDATES, ("1", None): F(2, 3) + F(1, 10**9)}
    instance = {"clipping": "difference", "c": "1", "Q": None, "eta_l": ["1/50"]}
    check = Check("exact", "planted", lambda i: table1.entry_cases(i, wrong), instance)
    assert exact.run(get("zhang2021.table1.update-clipping.repaired"), check, Settings()).verdict == "violated"


def test_the_parameters_of_the_proof_fail_on_its_own_problem() -> None:
    """Q = 1 and eta_l = 1/max |f_i'(x*)| = 1/6 on problem (8): the slip recorded at Claim 2.2."""
    assert end_of(*EIGHT, 1 / 6, 1, lambda x, y: x + clip(y - x, 0.5)) == pytest.approx(0.5, abs=1e-12)
    (point,) = equation_8().stationary("difference", step="1/6", steps=1, threshold=2)
    assert (point.point, point.stability, point.slopes[0]) == (0, "repelling", F(-23, 18))


@pytest.mark.parametrize("scale", [F(1, 1000), F(1), F(50)])
def test_the_witness_never_clips_at_the_optimum(scale: Fraction) -> None:
    clients = claim2_2.scalar({"a": ["1", "2", "6"], "b": ["4", "1", "-1"]})
    step = claim2_2.witness(clients, scale)
    assert all(step * abs(a * (a * clients.optimum - b)) <= scale for a, b in zip(clients.a, clients.b))
    too_long = clients.round_map("difference", step=3 * scale, steps=1, threshold=scale)
    assert claim2_2.off_optimum(clients, too_long) > 0  # that step is clipped at the optimum, or unstable


def test_equal_losses_are_no_success() -> None:
    """With Q = 5 nothing is clipped on problem (8): both methods end at the same point."""
    instance = {"a": ["1", "2", "6"], "b": ["4", "1", "-1"], "runs": [["1/50", 5, "1"]]}
    check = Check("exact", "planted", claim2_2.better_cases, instance)
    assert exact.run(get("zhang2021.claim2.2b"), check, Settings()).verdict == "violated"


@pytest.mark.parametrize(("loss", "right"), [(huberised.huber_loss, True), (huberised.printed_loss, False)])
def test_the_derivative_of_the_huberised_loss_is_the_clipped_gradient(loss: Any, right: bool) -> None:
    a, b, c, eta, Q, h = F(2), F(-3), F(1), F(1, 10), 3, F(1, 10**9)
    weight = huberised.reweighting(a, eta, Q)
    y = x = F(5)
    for _ in range(Q):
        y -= eta * a * (a * y - b)
    sent = clip(float(x - y), float(c))  # what clipping takes off x in a round
    slope = (loss(a, b, weight, c, x + h) - loss(a, b, weight, c, x - h)) / (2 * h)
    assert bool(np.isclose(float(slope), sent)) == right


def test_a_wrong_offset_of_the_huberised_loss_is_noticed() -> None:
    def wrong(a: Fraction, b: Fraction, weight: Fraction, c: Fraction, x: Fraction) -> Fraction:
        return c * abs((a * x - b) / a) - c**2 / (2 * weight)

    repaired: Statement = get("zhang2021.eq7.repaired")
    (check,) = (c for c in repaired.checks if c.name == "clipped part")
    planted = replace(check, build=lambda i: huberised.difference_cases(i, wrong))
    assert exact.run(repaired, check, Settings()).verdict == "holds"
    assert exact.run(repaired, planted, Settings()).verdict == "violated"


def test_the_printed_loss_is_refuted_by_its_units_and_its_derivative() -> None:
    printed = get("zhang2021.eq7")
    assert algebra.homogeneous(printed).true is False
    assert algebra.homogeneous(get("zhang2021.eq7.repaired")).true is True
