"""DP-FTRL's noise and its sensitivity, by exact computation over all schedules of a client's participations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from oracles.dp_ftrl import intervals

from dpfl_theory.algorithms import get
from dpfl_theory.conform.operations import Operations
from dpfl_theory.privacy.events import gaussian_multiplier, leaf, simplified
from dpfl_theory.privacy.mechanisms import get as mechanism
from dpfl_theory.privacy.mechanisms.tree_messages import pattern_sensitivity, tree_sensitivity


def nodes(rounds: int, restart: int) -> np.ndarray:
    """C (nodes, rounds): the rounds of each node that some prefix uses; there is one node for each round."""
    rows = np.zeros((rounds, rounds))
    for t in range(rounds):
        first = t - t % restart
        begin, end = intervals(t % restart + 1)[-1]
        rows[t, first + begin - 1 : first + end] = 1.0
    return rows


def schedules(rounds: int, most: int, apart: int) -> Iterator[np.ndarray]:
    """All sets of at most ``most`` rounds that are at least ``apart`` rounds apart, as indicators."""
    for k in range(1, most + 1):
        for chosen in itertools.combinations(range(rounds), k):
            if all(b - a >= apart for a, b in itertools.pairwise(chosen)):
                yield np.isin(np.arange(rounds), chosen).astype(float)


@pytest.mark.parametrize(("rounds", "restart"), [(1, 1), (7, 7), (8, 8), (9, 4), (11, 11), (12, 5)])
@pytest.mark.parametrize(("most", "apart"), [(1, 1), (2, 1), (2, 3), (3, 2), (4, 3)])
def test_no_schedule_exceeds_the_sensitivity(rounds: int, restart: int, most: int, apart: int) -> None:
    """C has no negative entries, so that the worst messages of norm 1 all point in one direction."""
    matrix = nodes(rounds, restart)
    worst = max(float(np.linalg.norm(matrix @ u)) for u in schedules(rounds, most, apart))
    bound = tree_sensitivity(rounds, restart, min(most, -(-rounds // apart)), apart)
    assert worst <= bound * (1 + 1e-12)
    taken = [[int(t) + 1 for t in np.flatnonzero(u)] for u in schedules(rounds, most, apart)]
    assert max(pattern_sensitivity(rounds, restart, one) for one in taken) == pytest.approx(worst)
    if most == 1:  # the largest column of C
        assert worst == pytest.approx(bound, rel=1e-12)
        assert bound**2 == pytest.approx(min(rounds, restart).bit_length())


def test_the_lower_limit_is_that_of_a_schedule() -> None:
    """Two participations, three rounds apart, move the nodes of 8 rounds by at most sqrt(10); the bound is sqrt(12)."""
    run = mechanism("dp-ftrl")(noise_multiplier=4.0, rounds=8, participations=2, separation=3)
    ((attack, missing),) = run.attacks()
    assert missing == 0.0
    assert gaussian_multiplier(leaf(simplified(attack))) == pytest.approx(4.0 / math.sqrt(10.0))
    assert gaussian_multiplier(leaf(simplified(run.event()))) == pytest.approx(4.0 / math.sqrt(12.0))


@pytest.mark.parametrize("rounds", [1, 2, 5, 8, 13])
def test_full_participation_is_exact(rounds: int) -> None:
    exact = float(np.linalg.norm(nodes(rounds, rounds) @ np.ones(rounds)))
    bound = tree_sensitivity(rounds, rounds, rounds, 1)
    assert exact <= bound * (1 + 1e-12)
    if rounds & (rounds - 1) == 0:
        assert bound == pytest.approx(exact)


def test_separate_trees_compose() -> None:
    """A client that is once in each of 3 trees of 8 rounds has 3 times the squared sensitivity of one tree."""
    assert tree_sensitivity(24, 8, 3, 8) ** 2 == pytest.approx(3 * tree_sensitivity(8, 8, 1, 1) ** 2)
    kind = mechanism("dp-ftrl")
    one = kind(noise_multiplier=3.0, rounds=24, restart=8, participations=3, separation=8).event()
    assert one.forward.z == pytest.approx(3.0 / math.sqrt(3 * 4))


@pytest.mark.parametrize(("rounds", "restart"), [(13, 2**16), (12, 5)])
def test_the_noise_of_the_sum_is_that_of_its_nodes(rounds: int, restart: int) -> None:
    """The covariance of w over the rounds, from the effect of each node's noise: as many node variances as a prefix has
    nodes, and those of earlier trees."""
    run = get("dp-ftrl")(eta=0.1, eta_s=1.0, E=1, C=2.0, z=0.5, restart=restart)
    draws = np.eye(rounds)

    class Rng:
        def __init__(self) -> None:
            self.at = 0

        def normal(self, mean: float, deviation: float, size: int) -> np.ndarray:
            self.at += 1
            return deviation * draws[self.at - 1]

    rng, w, state, path = Rng(), np.zeros(rounds), None, []
    for k in range(rounds):
        w, state = run.round(Operations([], [], rng, 4.0, rounds, number=k), w, state)
        path.append(w)
    unit = (0.5 * 2.0 / 4.0) ** 2
    variances = np.sum(np.array(path) ** 2, axis=1) / unit
    expected, earlier = [], 0
    for k in range(rounds):
        place = k % restart + 1
        expected.append(earlier + place.bit_count())
        earlier = expected[-1] if place == restart else earlier
    assert variances == pytest.approx(expected)
