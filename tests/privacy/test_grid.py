"""Losses on a grid: from above both distributions keep their masses in each cell, from below P its mean loss."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from dpfl_theory.privacy.grid import LARGEST, Grid, _split, cells, end
from dpfl_theory.privacy.tails import FullParticipation, Mixture, Replaced, SampledUnit, SampledUnitReversed

PAIRS: dict[str, tuple[Any, Any]] = {
    "plain": (FullParticipation(1.0), FullParticipation(1.0)),
    "present": (SampledUnit(0.3, 0.8), SampledUnitReversed(0.3, 0.8)),
    "absent": (SampledUnitReversed(0.3, 0.8), SampledUnit(0.3, 0.8)),
    "replaced": (Replaced(0.2, 1.5), Replaced(0.2, 1.5)),
    "mixture": (
        Mixture((0.4, 0.5), (FullParticipation(1.0), FullParticipation(3.0))),
        Mixture((0.4, 0.5), (FullParticipation(1.0), FullParticipation(3.0))),
    ),
}


def ends_of(pair: tuple[Any, Any]) -> tuple[float, float]:
    return end(pair[0], 1e-13), end(pair[1], 1e-13)


def masses_above(pair: tuple[Any, Any], epsilon: float) -> tuple[float, float]:
    """P and Q of losses above an epsilon of either sign."""
    if epsilon >= 0:
        p, q = pair[0](np.array([epsilon]))
        return float(p[0]), float(q[0])
    # With equality for losses that have no atoms at -epsilon.
    q_back, p_back = pair[1](np.array([-epsilon]))
    return 1 - float(p_back[0]), 1 - float(q_back[0])


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("h", [0.03, 0.2])
def test_from_above_delta_is_exact_at_every_grid_point(name: str, h: float) -> None:
    pair = PAIRS[name]
    grid = cells(pair, ends_of(pair), h, True)
    losses = grid.losses()
    assert grid.h == h
    assert grid.masses.min() >= 0.0
    assert grid.masses.sum() + grid.infinite == pytest.approx(1.0, abs=1e-12)
    for k in range(-len(losses) // 4, len(losses) // 4, 3):
        epsilon = k * h
        above = losses > epsilon + h / 2
        found = float(grid.masses[above] @ -np.expm1(epsilon - losses[above])) + grid.infinite
        p, q = masses_above(pair, epsilon)
        assert found == pytest.approx(p - math.exp(epsilon) * q, abs=2e-12)
    for epsilon in np.linspace(0.0, 3.0, 17):  # and dominates everywhere
        above = losses > epsilon
        found = float(grid.masses[above] @ -np.expm1(epsilon - losses[above])) + grid.infinite
        p, q = masses_above(pair, float(epsilon))
        assert found >= p - math.exp(epsilon) * q - 1e-13


@pytest.mark.parametrize("name", [name for name in PAIRS if name != "mixture"])  # which has an atom at loss 0
def test_from_below_each_cells_mass_has_its_mean_loss(name: str) -> None:
    """A cell of masses p and q becomes one outcome of loss log(p/q), which is the mean of the ends it is moved to."""
    pair, h = PAIRS[name], 0.1
    grid = cells(pair, ends_of(pair), h, False)
    assert grid.infinite == 0.0
    assert grid.masses.sum() == pytest.approx(1.0, abs=1e-12)
    losses = grid.losses()
    edges = losses
    above = np.array([masses_above(pair, e) for e in edges])
    p, q = -np.diff(above[:, 0]), -np.diff(above[:, 1])
    some = (p > 1e-9) & (q > 1e-12)
    mean = float(np.sum(p[some] * np.log(p[some] / q[some])))
    assert float(grid.masses @ losses) == pytest.approx(mean, abs=1e-5)
    loose = cells(pair, ends_of(pair), h, True)
    assert float(loose.masses @ loose.losses()) > float(grid.masses @ losses)


def test_a_mixture_whose_release_is_sometimes_empty_keeps_the_rest_at_zero() -> None:
    """The kinds' weights add up to 0.9: with probability 0.1 nothing is seen, of loss 0."""
    pair = PAIRS["mixture"]
    for upper in (True, False):
        grid = cells(pair, ends_of(pair), 0.01, upper)
        zero = grid.masses[-grid.start]
        assert zero == pytest.approx(0.1, abs=0.02)
        assert grid.masses.sum() == pytest.approx(1.0, abs=1e-12)


def test_the_ends_of_a_grid() -> None:
    """Three cells above 0 and two below: what lies beyond counts as infinite above, and as the least loss below."""
    pair, h = (FullParticipation(1.0), FullParticipation(1.0)), 0.5
    grid = cells(pair, (1.4, 0.9), h, True)
    assert (grid.start, len(grid.masses)) == (-2, 6)
    assert grid.infinite == pytest.approx(float(ndtr(0.5 - 1.5)))
    below = float(ndtr(-0.5 - 1.0))  # P[loss < -1] of N(1/2, 1)
    inside = float(ndtr(0.5 + 1.0) - ndtr(0.5 - 1.5))
    assert grid.masses.sum() == pytest.approx(below + inside)
    assert grid.masses[0] >= below
    first = cells(pair, (1.4, 0.0), h, True)
    assert (first.start, len(first.masses)) == (0, 4)
    assert first.masses.sum() + first.infinite == pytest.approx(1.0)
    lower = cells(pair, (1.4, 0.9), h, False)
    assert lower.infinite == 0.0
    assert lower.masses.sum() == pytest.approx(1.0 - grid.infinite)
    assert Grid(0, np.ones(1), 1.0).infinite == 0.0
    np.testing.assert_allclose(Grid(-2, np.ones(4), 0.25).losses(), [-0.5, -0.25, 0.0, 0.25])


def test_a_cell_is_split_so_that_both_masses_are_kept() -> None:
    rng = np.random.default_rng(0)
    a, h = rng.normal(size=50), 0.3
    loss = a + h * rng.uniform(size=50)
    p = rng.uniform(size=50)
    q = p * np.exp(-loss)
    left, right = _split(p, q, a, h, True)
    np.testing.assert_allclose(left + right, p, rtol=1e-14)
    np.testing.assert_allclose(left * np.exp(-a) + right * np.exp(-a - h), q, rtol=1e-12)
    left, right = _split(p, q, a, h, False)
    np.testing.assert_allclose(left + right, p, rtol=1e-14)
    np.testing.assert_allclose((left * a + right * (a + h)) / p, loss, rtol=1e-11)
    for upper in (True, False):
        assert min(left.min(), right.min()) >= 0.0
        left, right = _split(
            np.array([0.0, -1e-18, 1.0, 1.0]), np.array([0.0, 1e-18, 9.0, 1e-9]), np.zeros(4), h, upper
        )
        assert left.tolist() == [0.0, 0.0, 1.0, 0.0]  # a loss outside its cell is moved to the nearer end
        assert right.tolist() == [0.0, 0.0, 0.0, 1.0]
    # Q's mass has vanished: from above all of P's counts as the larger loss.
    left, right = _split(np.array([0.5]), np.array([0.0]), np.zeros(1), h, True)
    assert left[0] + right[0] == 0.5
    assert right[0] == 0.5


@pytest.mark.parametrize("z", [0.5, 1.0, 20.0])
@pytest.mark.parametrize("negligible", [1e-3, 1e-12, 0.2])
def test_where_a_tail_ends(z: float, negligible: float) -> None:
    """The mass above N(1/2z^2, 1/z^2)'s end is negligible, and above a slightly smaller loss it is not."""
    tails, found = FullParticipation(z), end(FullParticipation(z), negligible)
    assert float(tails(np.array([found]))[0][0]) <= negligible
    if found > 1e-8:
        assert float(tails(np.array([found * (1 - 1e-3)]))[0][0]) > negligible


def test_ends_at_the_ends_of_the_range() -> None:
    assert LARGEST == 600.0  # the sentence of an account without a finite epsilon names it
    assert end(FullParticipation(0.01), 1e-9) == LARGEST
    assert 0.0 <= end(FullParticipation(1.0), 1.0) <= 1e-9
    assert end(SampledUnitReversed(0.5, 1.0), 1e-300) == pytest.approx(math.log(2), rel=1e-3)  # the loss is below log 2
    barely = FullParticipation(0.0375)
    assert float(barely(np.array([LARGEST]))[0][0]) > 0.0
    assert end(barely, 1e-30) == LARGEST
