"""Published epsilons: limits enclose the tight ones, agree with dp-accounting, and stay below looser accountants."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import dp_accounting as dp
import pytest
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

from dpfl_theory.privacy import account, calibrate, get
from dpfl_theory.privacy.gaussian import gaussian_delta


@dataclass(frozen=True)
class Published:
    """A Poisson-subsampled Gaussian run and the epsilon that its source prints.

    ``by`` is the source's accountant: "moments" with the conversion of Mironov (2017) at the orders of TensorFlow
    Privacy, which reproduces the printed digits, or another upper bound. Opacus' PRV value adds its error of .01.
    """

    source: str
    rate: float
    noise: float
    steps: int
    delta: float
    printed: float
    by: str = "moments"
    digits: int = 2
    cell: float = 2e-4
    """The width of dp-accounting's cells."""


MNIST = 256 / 60000
PUBLISHED = [
    Published("TensorFlow Privacy, MNIST tutorial, 15 epochs", MNIST, 1.3, 3515, 1e-5, 1.19),
    Published("TensorFlow Privacy, MNIST tutorial, 60 epochs", MNIST, 1.1, 14062, 1e-5, 3.01),
    Published("TensorFlow Privacy, MNIST tutorial, 45 epochs", MNIST, 0.7, 10546, 1e-5, 7.10),
    Published("TensorFlow Privacy, first MNIST tutorial, 60 epochs", MNIST, 1.12, 14062, 1e-5, 2.92),
    Published("TensorFlow Privacy, first MNIST tutorial, 10 epochs", MNIST, 1.2, 2343, 1e-5, 1.20),
    Published("Abadi et al. 2016, Section 3.2", 0.01, 4.0, 10_000, 1e-5, 1.26),
    Published("TensorFlow Privacy, first MNIST tutorial, 30 epochs", MNIST, 0.6, 7031, 1e-5, 9.74, "upper bound"),
    Published("Opacus, accountants_test.py, RDP", 0.04, 1.5, 2250, 1e-5, 7.32911117143, "upper bound", 11),
    Published("Opacus, accountants_test.py, PRV", 0.04, 1.5, 2249, 1e-5, 6.77739571215, "upper bound", 11),
    Published("Opacus, accountants_test.py, noise for 8", 0.04, 1.425307617, 2250, 1e-5, 8.0, "upper bound", 9),
    Published("no source: 5000 of 763430 users", 5000 / 763_430, 1.0, 4120, 1e-9, math.inf, "upper bound"),
    Published("no source: 5000 of 10^8 users", 5e-5, 1.0, 4120, 1e-9, math.inf, "upper bound", cell=5e-6),
]


def run(case: Published) -> Any:
    kind: Any = get("poisson-gaussian")
    return kind(sampling_rate=case.rate, noise_multiplier=case.noise, rounds=case.steps)


def witness(case: Published) -> float:
    """dp-accounting's upper limit, by another discretisation of the privacy loss."""
    accountant = PLDAccountant(dp.NeighboringRelation.ADD_OR_REMOVE_ONE, case.cell)
    event = dp.PoissonSampledDpEvent(case.rate, dp.GaussianDpEvent(case.noise))
    accountant.compose(dp.SelfComposedDpEvent(event, case.steps))
    return float(accountant.get_epsilon(case.delta))


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    "case",
    [pytest.param(c, id=c.source, marks=[pytest.mark.slow] * (c.cell < 1e-4)) for c in PUBLISHED],
)
def test_published_epsilons_of_dp_sgd(case: Published) -> None:
    found = account(run(case), delta=case.delta).epsilon
    above = witness(case)
    assert found.high == pytest.approx(above, rel=1e-3)
    assert found.low <= above
    assert found.width < (5e-3 if found.high > 0.1 else 0.05)
    assert found.high <= case.printed + 0.5 * 10**-case.digits, "a looser accountant printed it"
    if case.by == "moments":
        orders = [1 + x / 10 for x in range(1, 100)] + list(range(12, 64))
        accountant = RdpAccountant(orders)
        event = dp.PoissonSampledDpEvent(case.rate, dp.GaussianDpEvent(case.noise))
        accountant.compose(dp.SelfComposedDpEvent(event, case.steps))
        rdp = zip(accountant._orders, accountant._rdp, strict=True)
        printed = min(r + math.log(1 / case.delta) / (order - 1) for order, r in rdp)
        assert round(printed, case.digits) == case.printed, "the setting is that of the source"


@pytest.mark.slow
def test_calibrated_noise_of_dp_sgd() -> None:
    """dp-accounting's search, on its own grid."""
    kind: Any = get("poisson-gaussian")
    found = calibrate(kind(sampling_rate=0.01, rounds=1000), epsilon=1.0, delta=1e-5)
    theirs = dp.calibrate_dp_mechanism(
        lambda: PLDAccountant(dp.NeighboringRelation.ADD_OR_REMOVE_ONE, 1e-3),
        lambda z: dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(z)), 1000),
        1.0,
        1e-5,
        dp.LowerEndpointAndGuess(1.0, 1.5),
        tol=1e-4,
    )
    assert found == pytest.approx(theirs, rel=1e-3)


@pytest.mark.slow
def test_the_tutorial_in_tight_numbers() -> None:
    """Fifteen epochs of 234 batches: .864, where a method without sampling would have an epsilon above 1200."""
    kind: Any = get("poisson-gaussian")
    tutorial = kind(sampling_rate=MNIST, noise_multiplier=1.3, rounds=15 * 234)
    found = account(tutorial, delta=1e-5).epsilon
    assert found.low <= 0.8638 <= found.high + 1e-4
    assert found.high == pytest.approx(0.864, abs=5e-4)
    without = account(get("dp-distributed-gd")(noise_multiplier=1.3, rounds=15 * 234), delta=1e-5).epsilon
    assert without.low > 1200
    assert without.width < 1e-12


def test_the_fourier_accountant() -> None:
    """Koskela, Jälkö, Honkela 2020, the README of their PLD-Accountant: q = .01, sigma = 4, in units of C.

    Its text says 1000 compositions; both printed numbers are those of 10 000.
    """
    kind: Any = get("poisson-gaussian")
    common = {"sampling_rate": 0.01, "rounds": 10_000}
    removed = account(kind(noise_multiplier=4.0, **common), epsilon=1.0).delta
    assert removed.low <= 4.243484012034273e-06 <= removed.high
    assert removed.high == pytest.approx(4.243484012034273e-06, rel=1e-4)
    # Substitution moves by 2C, and the multiplier here counts in 2C.
    replaced = account(kind(noise_multiplier=2.0, relation="replace", **common), delta=1e-5).epsilon
    assert replaced.low <= 1.9931200626285734 <= replaced.high
    assert replaced.high == pytest.approx(1.9931200626285734, rel=1e-4)


def test_a_multiplier_of_c_and_one_of_2c() -> None:
    """dp-accounting's PLDAccountant counts in C under replacement too."""
    from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism

    distribution = from_gaussian_mechanism(
        2.0,
        sampling_prob=0.05,
        value_discretization_interval=1e-3,
        neighboring_relation=dp.NeighboringRelation.REPLACE_ONE,
    )
    theirs = distribution.self_compose(200).get_epsilon_for_delta(1e-6)
    kind: Any = get("poisson-gaussian")
    ours = kind(noise_multiplier=1.0, sampling_rate=0.05, rounds=200, relation="replace")
    assert account(ours, delta=1e-6).epsilon.high == pytest.approx(theirs, rel=1e-3)
    assert "there it is 2z, here 2" in ours.setting()["multiplier"]


# The Gaussian mechanism without sampling, by Theorem 8 of Balle and Wang (2018): releases, noise, delta

GAUSSIANS = [
    (1, 1.0, 1e-5),
    (1, 4.844805262605389, 1e-5),  # Dwork and Roth's noise for epsilon = 1
    (100, 10.0, 1e-5),
    (3510, 1.3, 1e-5),
    (3516, 1.3, 1e-5),
    (10_000, 0.6, 1e-6),
    (40, 1e-5, 1e-9),
    (7, 300.0, 1e-3),
]


@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize(("times", "noise", "delta"), GAUSSIANS)
def test_the_gaussian_mechanism_at_any_epsilon(times: int, noise: float, delta: float) -> None:
    import mpmath

    kind: Any = get("dp-distributed-gd")
    found = account(kind(noise_multiplier=noise, rounds=times), delta=delta).epsilon
    with mpmath.workdps(60):
        one = mpmath.mpf(noise) / mpmath.sqrt(times)
        assert gaussian_delta(found.low, one)[0] >= delta or found.low == 0
        assert gaussian_delta(found.high, one)[1] <= delta
    assert found.high - found.low <= 1e-11 * found.high
    if 0.01 < found.high < 100:
        gaussian = PLDAccountant(dp.NeighboringRelation.ADD_OR_REMOVE_ONE, 1e-4)
        gaussian.compose(dp.SelfComposedDpEvent(dp.GaussianDpEvent(noise), times))
        assert gaussian.get_epsilon(delta) == pytest.approx(found.high, rel=1e-3)
    if found.high > 0.01:
        z = calibrate(kind(rounds=times), epsilon=found.high, delta=delta)
        assert z == pytest.approx(noise, rel=1e-11)
