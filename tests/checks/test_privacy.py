"""privacy: the Gaussian mechanism's exact delta, the classical noise, and planted faults."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from scipy.stats import norm

from dpfl_theory.checks import privacy
from dpfl_theory.checks.privacy import GaussianClaim, covered
from dpfl_theory.checks.runner import plan, run_plan
from dpfl_theory.checks.settings import Settings
from dpfl_theory.errors import InputError
from dpfl_theory.privacy.gaussian import classical_noise_multiplier, gaussian_delta, smallest_failing_epsilon
from dpfl_theory.statements.das2022 import gaussian
from dpfl_theory.statements.model import Check

SMALL = {"epsilon": ["0.01", "0.1", "0.5", "1"], "delta": ["1e-8", "1e-5", "0.01", "0.3", "0.8", "0.99"]}


def verdict(build, instance=SMALL):
    return privacy.run(gaussian.DEFINITION5, Check("privacy", "test", build, instance), Settings())


def with_scale(scale, instance=SMALL):
    return verdict(lambda i: GaussianClaim(scale, tuple(i["epsilon"]), tuple(i["delta"])), instance)


@pytest.mark.parametrize(("epsilon", "z"), [(0.1, 3.0), (1.0, 1.0), (5.0, 0.4), (20.0, 0.2)])
def test_delta_is_the_integral_of_the_positive_part(epsilon, z):
    """The integral of max(p - e^epsilon q, 0), p and q normal around 1/z and 0: positive from epsilon z + 1/(2z)."""
    with mpmath.workdps(30):
        start = mpmath.mpf(epsilon) * z + 1 / (2 * mpmath.mpf(z))
        tail = [start, start + 1, start + 4, start + 30]
        value = mpmath.quad(
            lambda x: mpmath.npdf(x, 1 / mpmath.mpf(z)) - mpmath.exp(epsilon) * mpmath.npdf(x), tail, maxdegree=10
        )
    low, high = gaussian_delta(epsilon, z)
    assert low <= high
    assert float(low) == pytest.approx(float(value), rel=1e-12)


def test_delta_in_double_precision():
    for epsilon, z in [(0.5, 2.0), (1.0, 1.5), (3.0, 0.7)]:
        direct = norm.cdf(1 / (2 * z) - epsilon * z) - math.exp(epsilon) * norm.cdf(-1 / (2 * z) - epsilon * z)
        assert float(gaussian_delta(epsilon, z)[0]) == pytest.approx(direct, rel=1e-10)


def test_limits_of_delta():
    low, high = gaussian_delta(1000, 1)  # about e^(-500000): cancellation would leave nothing in double precision
    assert 0 < low <= high < mpmath.mpf(10) ** -200000
    assert (high - low) / high < mpmath.mpf(10) ** -20
    assert float(gaussian_delta(0, 2)[0]) == pytest.approx(2 * norm.cdf(0.25) - 1, rel=1e-12)
    assert float(gaussian_delta(1, Fraction(1, 100))[0]) == pytest.approx(1.0)


def test_delta_falls_with_epsilon_and_with_noise():
    values = [gaussian_delta(e, 1)[0] for e in ("0", "0.5", "1", "2", "4")]
    assert values == sorted(values, reverse=True)
    values = [gaussian_delta(1, z)[0] for z in ("0.1", "0.5", "1", "2", "4")]
    assert values == sorted(values, reverse=True)


def test_domains():
    with pytest.raises(InputError, match="epsilon is -1"):
        gaussian_delta(-1, 1)
    with pytest.raises(InputError, match="noise multiplier is 0"):
        gaussian_delta(1, 0)


def test_every_check_of_definition5_gives_the_recorded_verdict():
    report = run_plan(plan(gaussian.STATEMENTS))
    assert [e.check for e in report.evidence if e.verdict != e.expected] == []
    assert report.seconds < 15


def test_numbers_of_the_erratum():
    for delta, epsilon in (("1e-5", 8.42), ("1e-6", 8.78), ("0.9", 3.79)):
        found = smallest_failing_epsilon(classical_noise_multiplier(1, delta), delta)
        assert float(found) == pytest.approx(epsilon, abs=0.005)
    z = classical_noise_multiplier(10, "1e-5")
    assert float(z**2) == pytest.approx(0.2347, abs=5e-5)
    assert float(gaussian_delta(10, z)[0]) == pytest.approx(2.265e-5, rel=5e-4)


def test_the_threshold_separates_failure_from_success():
    s = classical_noise_multiplier(1, "1e-5")
    at = smallest_failing_epsilon(s, "1e-5")
    assert gaussian_delta(at * 0.999, s / (at * 0.999))[1] <= mpmath.mpf("1e-5") < gaussian_delta(at, s / at)[0]


def test_the_classical_noise_is_enough_up_to_epsilon_one():
    found = verdict(gaussian.definition5_claim)
    assert found.verdict == "holds"
    assert found.notes["cells"] >= 1


@pytest.mark.parametrize(
    "scale",
    [
        lambda d: mpmath.sqrt(2 * mpmath.log(1 / mpmath.mpf(d))),  # log(1/delta)
        lambda d: mpmath.sqrt(mpmath.log(mpmath.mpf("1.25") / mpmath.mpf(d))),  # the 2 is lost
        lambda d: mpmath.log(mpmath.mpf("1.25") / mpmath.mpf(d)) / 4,  # no square root
    ],
)
def test_planted_faults_are_found(scale):
    found = with_scale(scale)
    assert found.verdict == "violated"
    assert found.lhs.low > found.rhs


def test_a_claim_that_fails_between_grid_points_is_not_confirmed():
    """From delta = 0.02 to 0.8 the noise is that of 0.8: no grid point sees it, and the cells do not close."""

    def scale(delta):
        d = mpmath.mpf(delta)
        return classical_noise_multiplier(1, d if d < 0.02 else max(d, mpmath.mpf("0.8")))

    found = with_scale(scale, {"epsilon": ["1"], "delta": ["1e-5", "0.01", "0.8"]})
    assert found.verdict == "inconclusive"
    assert "did not close" in found.reason


def test_cells_need_a_falling_scale_and_do_not_close_on_a_false_claim():
    with pytest.raises(ValueError, match="the scale grows"):
        covered(GaussianClaim(lambda d: 1 + mpmath.mpf(d), ("1",), ("0.1", "0.5")))
    assert covered(gaussian.definition5_claim({"epsilon": ["3.8"], "delta": ["0.5", "0.99"]})) is None
    assert covered(gaussian.definition5_claim({"epsilon": ["3.78"], "delta": ["0.5", "0.99"]})) is not None


def test_disagreement_with_the_second_implementation_decides_nothing(monkeypatch):
    true = gaussian_delta
    monkeypatch.setattr(privacy, "gaussian_delta", lambda e, z: tuple(v * (1 + 1e-6) for v in true(e, z)))
    found = verdict(gaussian.definition5_claim)
    assert found.verdict == "inconclusive"
    assert "dp-accounting" in found.reason


@pytest.mark.parametrize("wrong", [{"epsilon": "1", "s": "9/10"}, {"epsilon": "189/50", "s": "3/2"}])
def test_the_tail_bound_fails_where_it_is_false(wrong):
    assert not gaussian._tail(wrong).true


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: classical_noise_multiplier(0, "1e-5"), "epsilon is 0: give a positive number"),
        (lambda: classical_noise_multiplier(-1, "1e-5"), "epsilon is -1: give a positive number"),
        (lambda: classical_noise_multiplier(1, 0), "delta is 0: it must lie in (0, 1)"),
        (lambda: classical_noise_multiplier(1, 2), "delta is 2: it must lie in (0, 1)"),
        (lambda: classical_noise_multiplier("x", "0.1"), "'x' is not a number: give a decimal number"),
        (lambda: gaussian_delta(float("nan"), 1), "nan is not a finite number: give a decimal number"),
        (lambda: gaussian_delta(1, 0), "the noise multiplier is 0: give a positive number"),
        (lambda: smallest_failing_epsilon(3, 0), "delta is 0: it must lie in (0, 1)"),
        (lambda: smallest_failing_epsilon(3, 1), "delta is 1: it must lie in (0, 1)"),
    ],
)
def test_bad_privacy_parameters_are_refused_in_one_sentence(call, told):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == told
