"""The smallest change with which something beats the start: each reported change is sufficient, and a much smaller one
is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpfl_theory.recommend import minimum_budget
from dpfl_theory.recommend.data import DataSource
from dpfl_theory.recommend.tuned import Budget

SOURCE = DataSource("breast-cancer", ridge=0.01, features=4)
BUDGET = Budget(0.1, 1e-5, rounds=16)
CLIENTS = 5


@pytest.fixture(scope="module")
def found() -> dict[str, float]:
    return minimum_budget.changes(SOURCE, CLIENTS, BUDGET, "dp-fedavg")


def test_at_the_budget_itself_nothing_helps() -> None:
    assert not minimum_budget.beats_start(SOURCE.problem(CLIENTS), "dp-fedavg", BUDGET, 0)


@pytest.mark.slow
def test_a_change_that_is_told_is_enough_and_a_third_of_it_is_not(found: dict[str, float]) -> None:
    """With another seed, so slightly more than the reported change is given, for other noise."""
    problem, epsilon, copies = SOURCE.problem(CLIENTS), found["epsilon"], int(found["clients"]) // CLIENTS
    assert minimum_budget.beats_start(problem, "dp-fedavg", replace(BUDGET, epsilon=1.3 * epsilon), 1)
    assert not minimum_budget.beats_start(problem, "dp-fedavg", replace(BUDGET, epsilon=epsilon / 3), 1)
    many, few = (SOURCE.problem(CLIENTS, copies=k) for k in (round(1.3 * copies), copies // 3))
    assert minimum_budget.beats_start(many, "dp-fedavg", BUDGET, 1)
    assert not minimum_budget.beats_start(few, "dp-fedavg", BUDGET, 1)


@pytest.mark.slow
def test_clients_and_epsilon_help_alike(found: dict[str, float]) -> None:
    """Noise enters the average as 1/(n epsilon), so that both factors are of one size."""
    ratio = (found["epsilon"] / BUDGET.epsilon) / (found["clients"] / CLIENTS)
    assert 0.4 < ratio < 2.5


def test_copies_of_the_clients_leave_the_objective_alone() -> None:
    one, three = SOURCE.problem(CLIENTS), SOURCE.problem(CLIENTS, copies=3)
    assert three.n == 3 * one.n
    assert three.constants.f_star == pytest.approx(one.constants.f_star, rel=1e-12)


@pytest.mark.parametrize("least", [2, 3, 7, 8, 40, 64])
def test_the_least_is_found(least: int) -> None:
    assert minimum_budget._least(lambda k: k >= least, 64) == least


def test_nothing_is_told_where_nothing_is_enough() -> None:
    assert minimum_budget._least(lambda k: False, 1000) is None
