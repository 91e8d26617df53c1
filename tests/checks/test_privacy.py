"""privacy: the Gaussian mechanism's exact delta, the classical noise, and planted faults."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import pytest
from scipy.stats import norm

from dpfl_theory.checks import privacy
from dpfl_theory.checks.privacy import GaussianClaim, covered
from dpfl_theory.checks.runner import plan, run_plan
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, ConstantClaim, Escape, Hypothesis, PrivacyClaim, PrivacyPoint, Source, Statement
from dpfl_theory.core.formula import prescription_of, sides_of
from dpfl_theory.errors import InputError
from dpfl_theory.privacy.gaussian import gaussian_delta, smallest_failing_epsilon
from dpfl_theory.statements.das2022 import definition5

SMALL = {"epsilon": ["0.01", "0.1", "0.5", "1"], "delta": ["1e-8", "1e-5", "0.01", "0.3", "0.8", "0.99"]}


def verdict(build, instance=SMALL):
    return privacy.run(definition5.DEFINITION5, Check("privacy", "test", build, instance), Settings())


def with_scale(scale, instance=SMALL):
    return verdict(lambda _, i: GaussianClaim(scale, tuple(i["epsilon"]), tuple(i["delta"])), instance)


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
    assert float(low) == pytest.approx(float(value), rel=1e-12, abs=0)


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


@pytest.mark.slow
def test_every_check_of_definition5_gives_the_recorded_verdict():
    report = run_plan(plan(definition5.STATEMENTS))
    assert [e.check for e in report.evidence if e.verdict != e.expected] == []


def classical_noise_multiplier(epsilon, delta):
    """Dwork and Roth's noise, which they state for epsilon < 1."""
    with mpmath.workdps(65):
        return mpmath.sqrt(2 * mpmath.log(mpmath.mpf("1.25") / mpmath.mpf(delta))) / epsilon


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
    found = verdict(definition5.definition5_claim)
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


@pytest.mark.parametrize("of", ["the prescribed variance", "the claimed delta"])
def test_the_claim_is_read_off_the_statement(of):
    made, noise = sides_of(definition5.DEFINITION5), prescription_of(definition5.DEFINITION5)["noise_variance"]
    share = {k: v / 1000 for k, v in made.rhs.items()}
    changed = {"prescription": lambda s: {"noise_variance": noise / 2}}
    if of == "the claimed delta":
        changed = {"sides": lambda s: replace(made, rhs=share)}
    for deltas in (SMALL["delta"], [*SMALL["delta"], "1"]):
        check = Check("privacy", "test", definition5.definition5_claim, {**SMALL, "delta": deltas})
        assert privacy.run(replace(definition5.DEFINITION5, **changed), check, Settings()).verdict == "violated"


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
    assert (
        covered(definition5.definition5_claim(definition5.DEFINITION5, {"epsilon": ["3.8"], "delta": ["0.5", "0.99"]}))
        is None
    )
    assert (
        covered(definition5.definition5_claim(definition5.DEFINITION5, {"epsilon": ["3.78"], "delta": ["0.5", "0.99"]}))
        is not None
    )


def test_disagreement_with_the_second_implementation_decides_nothing(monkeypatch):
    true = gaussian_delta
    monkeypatch.setattr(privacy, "gaussian_delta", lambda e, z: tuple(v * (1 + 1e-6) for v in true(e, z)))
    found = verdict(definition5.definition5_claim)
    assert found.verdict == "inconclusive"
    assert "dp-accounting" in found.reason


@pytest.mark.parametrize("wrong", [{"epsilon": "1", "s": "9/10"}, {"epsilon": "189/50", "s": "3/2"}])
def test_the_tail_bound_fails_where_it_is_false(wrong):
    assert not definition5._tail("wrong", **wrong).make(definition5.REPAIRED).true


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: smallest_failing_epsilon("x", "0.1"), "'x' is not a number: give a decimal number"),
        (lambda: gaussian_delta(float("nan"), 1), "nan is not a finite number: give a decimal number"),
        (lambda: gaussian_delta(1, 0), "the noise multiplier is 0: give a positive number"),
        (lambda: smallest_failing_epsilon(3, 0), "delta is 0: it must lie in (0, 1)"),
        (lambda: smallest_failing_epsilon(3, 1), "delta is 1: it must lie in (0, 1)"),
    ],
)
def test_bad_privacy_parameters_are_refused_in_one_sentence(call, message):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == message


SMALL_EPSILON = Hypothesis.custom("epsilon <= 1", lambda _, at: None if at["epsilon"] <= 1 else "epsilon exceeds 1")
CLAIM = Statement(
    "mine.claim", "fact", "a claim", Source("mine", "here"), "a claim about privacy", hypotheses=(SMALL_EPSILON,)
)


def decided(claim):
    return privacy.run(CLAIM, Check("privacy", "test", lambda *_: claim), Settings())


def point(claimed, low, high=None, epsilon=1.0):
    return PrivacyPoint({"epsilon": epsilon}, claimed, low, low if high is None else high)


def gaussian_points(factor):
    """The exact delta at three noise multipliers, claimed to be ``factor`` times what it is."""

    def points():
        found = []
        for z in (0.5, 1.0, 2.0):
            low, high = gaussian_delta(1, z)
            found.append(PrivacyPoint({"epsilon": 1.0, "noise_multiplier": z}, factor * low, low, high))
        return found

    return points


@pytest.mark.parametrize(("factor", "expected"), [(0.99, "violated"), (1.01, "holds")])
@pytest.mark.parametrize("proof", [None, "delta falls with the noise multiplier"])
def test_a_claim_that_is_wrong_by_a_hundredth_is_found(factor, expected, proof):
    found = decided(PrivacyClaim("delta", gaussian_points(factor), proof))
    assert found.verdict == expected
    assert len(found.notes["points"]) == 3
    if expected == "violated":
        assert found.lhs.low > found.rhs
        assert found.ratio == pytest.approx(1 / 0.99)
        assert "3 of 3 points fail" in found.reason
    else:
        assert found.lhs.high <= found.rhs
        assert ("3 points only" in found.reason) == (proof is None)
        assert proof is None or found.reason.endswith(f"by argument, not computed: {proof}")
    assert found.notes["argument"] == (proof if expected == "holds" else None)


def test_limits_that_straddle_the_claim_decide_nothing():
    found = decided(PrivacyClaim("delta", lambda: [point(0.5, 0.4, 0.5), point(0.5, 0.45, 0.55)], "a proof"))
    assert found.verdict == "inconclusive"
    assert "1 of 2 are not decided" in found.reason
    assert found.detectable == pytest.approx(0.5 / 0.4)


def test_the_worst_point_is_the_one_with_the_largest_ratio():
    points = [point(1e-9, 3e-9, epsilon=0.1), point(0.5, 0.6, epsilon=0.2), point(0.9, 0.1, epsilon=0.3)]
    found = decided(PrivacyClaim("delta", lambda: points))
    assert found.verdict == "violated"
    assert found.notes["worst"] == {"epsilon": 0.1}
    assert found.notes["failing"] == 2
    assert (found.lhs.low, found.rhs) == (3e-9, 1e-9)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (31, 31, "holds"),
        (30, 30, "violated"),
        (32, 32, "violated"),
        (30, 32, "inconclusive"),
        (31, 32, "inconclusive"),
        (31, 31 * (1 + 1e-11), "holds"),
    ],
)
def test_equalities(low, high, expected):
    found = decided(PrivacyClaim("rounds", lambda: [point(31, low, high)], relation="=="))
    assert found.verdict == expected


def test_a_delta_below_every_float_is_compared_and_written_out():
    tiny = mpmath.mpf(10) ** -4000
    found = decided(PrivacyClaim("delta", lambda: [point(tiny, tiny * 1.01)]))
    assert found.verdict == "violated"
    assert found.notes["points"][0]["claimed"] == "1.0e-4000"
    assert found.to_json()["rhs"] == 0.0
    assert decided(PrivacyClaim("delta", lambda: [point(tiny, tiny * 0.99)])).verdict == "holds"


def test_a_claim_of_zero_is_violated_by_anything_above_it():
    assert decided(PrivacyClaim("delta", lambda: [point(0.0, 1e-300)])).verdict == "violated"
    assert decided(PrivacyClaim("delta", lambda: [point(0.0, 0.0)])).verdict == "holds"


def test_points_outside_the_hypotheses_decide_nothing():
    found = decided(PrivacyClaim("delta", lambda: [point(1e-5, 1e-9), point(1e-5, 1.0, epsilon=2.0)]))
    assert found.verdict == "not-applicable"
    assert found.reason == "epsilon exceeds 1 (at epsilon = 2)"
    with pytest.raises(ValueError, match=r"does not name epsilon, which the hypothesis 'epsilon <= 1' reads"):
        decided(PrivacyClaim("delta", lambda: [PrivacyPoint({}, 0.5, 0.1, 0.1)]))


@pytest.mark.parametrize("wrong", [(0.5, 0.2, 0.1), (0.5, math.nan, 0.1), (math.nan, 0.1, 0.1), (-1e-9, 0.0, 0.0)])
def test_points_that_mean_nothing_are_refused(wrong):
    with pytest.raises(ValueError, match=r"enclose nothing|give a number"):
        PrivacyPoint({}, *wrong)


def test_claims_that_state_nothing_are_refused():
    with pytest.raises(ValueError, match="built no point"):
        decided(PrivacyClaim("delta", tuple))
    with pytest.raises(TypeError, match="built a float"):
        decided(1.5)


LADDER = tuple((u, v) for u in (0.001, 1.0) for v in (1.0, 1e6))


def existence(escape, argument="All others fail too.", candidates=LADDER):
    return decided(ConstantClaim("v", lambda: [point(math.inf, 2.5)], escape, candidates, argument))


def failing(u, v, epsilon=1.0, claimed=1e-5, low=1e-4):
    return Escape({"epsilon": epsilon, "u": u, "v": v}, claimed, low)


def test_no_constant_when_every_candidate_escapes():
    found = existence(lambda u, v: failing(u, v, low=1e-4 / u))
    assert found.verdict == "violated"
    assert found.reason.endswith("All others fail too.")
    assert (found.lhs.low, found.rhs) == (1e-4, 1e-5)
    assert found.notes["candidates"] == len(found.notes["escapes"]) == 4
    assert found.notes["needed"] == [{"epsilon": 1.0, "claimed": math.inf, "low": 2.5, "high": 2.5}]


@pytest.mark.parametrize(
    ("escape", "message"),
    [
        (lambda u, v: failing(u, v, low=1e-4 if v < 10 else 0.99e-5), "(0.001, 1e+06): the true delta is"),
        (lambda u, v: failing(u, v, low=1e-5), "the true delta is 1.0e-5 or more, where 1.0e-5 is claimed"),
        (lambda u, v: failing(u, v, epsilon=2.0), "epsilon exceeds 1"),
        (lambda u, v: failing(u, v, claimed=0.0), "delta = 0 does not lie in (0, 1)"),
    ],
)
def test_a_candidate_that_does_not_escape_keeps_the_claim_open(escape, message):
    found = existence(escape)
    assert found.verdict == "inconclusive"
    assert message in found.reason


def test_a_ladder_without_argument_or_candidates_refutes_nothing():
    assert existence(failing, argument="").verdict == "inconclusive"
    assert existence(failing, candidates=()).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("limits", "argument", "expected"),
    [
        ((3.9, 3.99), "enough everywhere", "holds"),
        ((4.04, 4.05), "enough everywhere", "violated"),
        ((3.9, 4.1), "enough everywhere", "inconclusive"),
        ((3.9, 3.99), "", "inconclusive"),
    ],
)
def test_a_stated_constant_against_the_needed_one(limits, argument, expected):
    needed = [point(4.0, 1.0), point(4.0, *limits), point(4.0, 9.0, epsilon=2.0)]  # the last is outside the hypotheses
    found = decided(ConstantClaim("v", lambda: needed, argument=argument))
    assert found.verdict == expected
    assert found.notes["needed"][2]["low"] == 9.0
    assert found.lhs.low == limits[0]


def test_a_constant_that_is_nowhere_stated_is_not_confirmed():
    assert decided(ConstantClaim("v", lambda: [point(math.inf, 2.0)], argument="words")).verdict == "inconclusive"
    outside = ConstantClaim("v", lambda: [point(4.0, 9.0, epsilon=2.0)], argument="words")
    assert decided(outside).verdict == "not-applicable"
