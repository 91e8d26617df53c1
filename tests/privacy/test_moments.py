"""The bound by Renyi divergences: the Gaussian mechanism has alpha/(2 z^2) at the order alpha."""

from __future__ import annotations

import itertools
import logging
import math
from typing import Any

import numpy as np
import pytest

from dpfl_theory.privacy import rdp
from dpfl_theory.privacy.mechanisms import get
from dpfl_theory.privacy.rdp import ORDERS, Moments, moments_bound


def test_orders_are_fine_near_one_and_whole_beyond() -> None:
    assert list(ORDERS) == sorted(set(ORDERS))
    assert 1.01 < ORDERS[0] < 1.012  # dp-accounting's least
    assert ORDERS[-1] == 10_000
    assert set(range(2, 65)) <= set(ORDERS)
    fine = [order for order in ORDERS if order < 2]
    assert len(fine) > 30
    assert max(np.diff(np.log(np.array(fine) - 1))) < 0.14
    beyond = [order for order in ORDERS if order > 21]
    assert all(float(order).is_integer() for order in beyond)
    assert max(b / a for a, b in itertools.pairwise(beyond)) < 1.12


@pytest.mark.parametrize(("z", "rounds"), [(10.0, 100), (3.0, 1), (40.0, 7)])
@pytest.mark.parametrize("delta", [1e-3, 1e-8])
def test_the_gaussian_mechanism_by_its_formula(z: float, rounds: int, delta: float) -> None:
    """epsilon = T alpha/(2 z^2) + log(1 - 1/alpha) - log(delta alpha)/(alpha - 1), at the best order."""
    bound = moments_bound(get("dp-fedavg")(clients=10, noise_multiplier=z, rounds=rounds), delta)
    assert bound is not None

    def epsilon(order: float) -> float:
        cost = rounds * order / (2 * z * z)
        return cost + math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)

    best = min(ORDERS, key=epsilon)
    assert bound.epsilon == pytest.approx(epsilon(best), rel=1e-9)
    assert bound.order == best
    assert bound.warning is None


def test_an_order_at_either_end_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "The best order {} of the moments bound is an end of the orders tried: it may be too large."
    quiet = get("dp-fedavg")(clients=10, noise_multiplier=1e4, rounds=1)
    found = moments_bound(quiet, 1e-5)
    assert found is not None
    assert (found.order, found.warning) == (10_000, said.format("10000"))
    loud = get("dp-fedavg")(clients=10, noise_multiplier=0.001, rounds=100)
    found = moments_bound(loud, 1e-5)
    assert found is not None
    assert (found.order, found.warning) == (ORDERS[0], said.format(f"{ORDERS[0]:g}"))
    assert Moments(1.0, 2.0).warning is None


def test_what_has_no_textbook_event_has_no_bound() -> None:
    assert (
        moments_bound(get("dp-scaffnew")(communication_probability=0.5, noise_multiplier=2.0, rounds=3), 1e-5) is None
    )


def test_the_logger_is_quiet_only_meanwhile() -> None:
    logger = logging.getLogger("absl")
    before = logger.level
    try:
        for level in (logging.INFO, logging.WARNING):
            logger.setLevel(level)
            seen: list[Any] = []
            with rdp._quiet():
                seen.append(logger.level)
            assert (seen, logger.level) == ([logging.ERROR], level)
            with pytest.raises(ZeroDivisionError), rdp._quiet():
                raise ZeroDivisionError
            assert logger.level == level
    finally:
        logger.setLevel(before)
