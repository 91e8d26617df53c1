"""Step sizes that change from round to round."""

from __future__ import annotations

import numpy as np
import pytest
from short_forms import clip, fedavg

from dpfl_theory.errors import InputError
from dpfl_theory.problems import make
from dpfl_theory.simulation import Schedule, Tabulated, simulate
from dpfl_theory.simulation.hyperparameters import to_json


def test_tabulated_steps_are_taken_one_by_one() -> None:
    """On f(w) = w^2/2 gradient steps multiply w by 1 - eta_k."""
    problem = make("quadratic", clients=1, dimension=1, condition=1.0, heterogeneity=0.0)
    run = simulate(fedavg(Tabulated([0.5, 0.25, 1.5])), problem, 3, start=[1.0], device="cpu")
    assert run.final[0, 0] == pytest.approx(0.5 * 0.75 * -0.5, rel=1e-15)


def test_a_geometric_schedule_is_its_own_table() -> None:
    problem = make("huber", clients=3, dimension=2, records=4, seed=1)
    table = Tabulated([0.2 * 0.9**k for k in range(6)])
    runs = [
        simulate(fedavg(step, 3, table, clip(0.4), sigma=0.1), problem, 6, 2, seed=3, device="cpu").final
        for step in (table, Schedule(0.2, 0.9))
    ]
    np.testing.assert_allclose(runs[0], runs[1], rtol=1e-13)


def test_a_table_that_ends_too_early_is_refused() -> None:
    problem = make("quadratic", clients=1, dimension=1)
    with pytest.raises(InputError, match="the step sizes end before round 2: give one for each round, not 2"):
        simulate(fedavg(Tabulated([0.1, 0.1])), problem, 3, device="cpu")


def test_bad_entries_are_refused_and_good_ones_described() -> None:
    with pytest.raises(InputError, match="an entry of the local step is -1: a finite positive number is needed"):
        fedavg(Tabulated([0.1, -1.0]))
    assert to_json(Tabulated([0.1, 0.2])) == {"steps": [0.1, 0.2]}
