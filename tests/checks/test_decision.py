"""Decisions at the edges: which limit decides, what the sentence says, and limits with known answers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpfl_theory.checks.confidence import asymptotic_limits, least_lower_limit, lower_limit, upper_limit
from dpfl_theory.checks.decision import BoundLimits, certain, decide, decide_least, undecided

ALPHA = 1e-6
INF, NAN = math.inf, math.nan


def limits(**changes: Any) -> BoundLimits:
    """Limits [1, 3] of a mean of 2 that are valid at finite sample size, with asymptotic ones [1.5, 2.5]."""
    given: dict[str, Any] = {"bound": 10.0, "mean": 2.0, "low": 1.0, "high": 3.0, "low_valid": True, "high_valid": True}
    given |= {"asymptotic_low": 1.5, "asymptotic_high": 2.5, "replicates": 1000, "broken": 0}
    return BoundLimits(**{**given, **changes})


VALID = "(valid at finite sample size)"
UP, DOWN = float(np.nextafter(3.0, 4.0)), float(np.nextafter(1.0, 0.0))


@pytest.mark.parametrize(
    ("bound", "changes", "verdict", "says"),
    [
        (10.0, {}, "holds", f"the upper confidence limit 3 is at most the bound 10 {VALID}"),
        (3.0, {}, "holds", f"the upper confidence limit 3 is at most the bound 3 {VALID}"),
        (float(np.nextafter(3.0, 0.0)), {}, "holds", "the asymptotic upper limit 2.5 is at most the bound 3"),
        (10.0, {"high_valid": False}, "holds", "the asymptotic upper limit 2.5 is at most the bound 10"),
        (2.5, {}, "holds", "the asymptotic upper limit 2.5 is at most the bound 2.5"),
        (
            2.0,
            {},
            "inconclusive",
            "the asymptotic limits [1.5, 2.5] contain the bound 2: 1000 replicates do not separate them",
        ),
        (1.5, {}, "inconclusive", "the asymptotic limits [1.5, 2.5] contain the bound 1.5"),
        (1.2, {}, "inconclusive", "the asymptotic lower limit 1.5 exceeds the bound 1.2, but no limit valid at finite"),
        (1.0, {}, "inconclusive", "the asymptotic lower limit 1.5 exceeds the bound 1, but"),
        (DOWN, {}, "violated", f"the lower confidence limit 1 exceeds the bound 1 {VALID}"),
        (0.5, {}, "violated", f"the lower confidence limit 1 exceeds the bound 0.5 {VALID}"),
        (0.5, {"low_valid": False}, "inconclusive", "the asymptotic lower limit 1.5 exceeds the bound 0.5, but"),
        (0.5, {"low_valid": False, "asymptotic_low": 0.5}, "inconclusive", "the asymptotic limits [0.5, 2.5] contain"),
        (2.0, {"equal": True}, "inconclusive", "all 1000 replicates are equal, 2, which gives no asymptotic limit"),
        (2.0, {"equal": True, "replicates": 1}, "inconclusive", "there is one replicate, 2, which gives"),
        (2.0, {"equal": True, "replicates": 2}, "inconclusive", "all 2 replicates are equal"),
        (INF, {}, "inconclusive", "the right side is inf in floating point"),
        (-INF, {}, "inconclusive", "the right side is -inf in floating point"),
    ],
)
def test_which_limit_decides(bound: float, changes: dict[str, Any], verdict: str, says: str) -> None:
    found = limits(bound=bound, **changes).verdict(0.0, cut=False)
    assert found[0] == verdict
    assert found[1].startswith(says)


def test_a_cut_run_says_so() -> None:
    assert (
        limits(bound=2.0).verdict(0.0, cut=True)[1].endswith("contain the bound 2: the time budget cut the run short")
    )
    wide = limits(bound=2.0, high_valid=False, low_valid=False).equality(0.0, 0.01, cut=True)
    assert wide[1].endswith("are wider than 0.01 of it: the time budget cut the run short")


@pytest.mark.parametrize(
    ("bound", "changes", "numbers"),
    [
        (10.0, {}, ("103", "110")),
        (2.7, {"high_valid": False}, ("102.5", "102.7")),
        (2.0, {}, ("[101.5, 102.5]", "102:")),
        (1.2, {}, ("101.5", "101.2")),
        (0.5, {}, ("101", "100.5")),
        (2.0, {"equal": True}, ("102", "the bound is 102")),
        (10.0, {"exact": True}, ("102", "110")),
    ],
)
def test_the_text_adds_what_was_moved_to_both_sides(
    bound: float, changes: dict[str, Any], numbers: tuple[str, str]
) -> None:
    here, there = (limits(bound=bound, **changes).verdict(moved, cut=False) for moved in (0.0, 100.0))
    assert here[0] == there[0]
    assert all(number in there[1] for number in numbers), there[1]
    undefined = limits(bound=-INF, **changes).verdict(INF, cut=False)
    assert undefined[0] == "inconclusive"
    assert undefined[1].startswith("the right side is nan in floating point")


@pytest.mark.parametrize(
    ("bound", "verdict", "words"),
    [(3.0, "holds", "is at most"), (2.9, "inconclusive", "is, up to rounding,"), (1.0, "inconclusive", "is, up to"),
     (0.9, "violated", "exceeds")],
)  # fmt: skip
def test_runs_without_randomness(bound: float, verdict: str, words: str) -> None:
    found = limits(bound=bound, exact=True).verdict(0.0, cut=False)
    assert found == (verdict, f"the value 2 of a run without randomness {words} the bound {bound:g}" if
                     words != "is, up to" else found[1])  # fmt: skip
    assert words in found[1]


def test_decided_and_differs() -> None:
    assert limits(bound=3.0).decided
    assert limits(bound=0.9).decided
    assert not limits(bound=2.9).decided
    assert not limits(bound=1.0).decided
    assert not limits(bound=3.0, high_valid=False).decided
    assert not limits(bound=0.9, low_valid=False).decided
    assert not limits(bound=3.0, broken=1).decided
    assert limits(bound=3.1).differs
    assert not limits(bound=3.0).differs
    assert limits(bound=0.9).differs
    assert not limits(bound=1.0).differs
    assert not limits(bound=3.1, high_valid=False).differs
    assert not limits(bound=0.9, low_valid=False).differs
    assert not limits(bound=0.9, broken=1).differs


@pytest.mark.parametrize(
    ("bound", "changes", "verdict", "says"),
    [
        (0.5, {}, "violated", f"the lower confidence limit 1 exceeds the right side 0.5 {VALID}"),
        (10.0, {}, "violated", f"the upper confidence limit 3 is below the right side 10 {VALID}"),
        (10.0, {"low_valid": False}, "violated", "the upper confidence limit 3 is below"),
        (3.0, {}, "inconclusive", "the asymptotic limits [1.5, 2.5] leave the right side 3 out, but no limit valid at"),
        (1.0, {}, "inconclusive", "the asymptotic limits [1.5, 2.5] leave the right side 1 out"),
        (2.5, {}, "holds", "the asymptotic limits [1.5, 2.5] contain the right side 2.5 and are within 0.5 of it"),
        (2.0, {}, "holds", "the asymptotic limits [1.5, 2.5] contain the right side 2 and are within 0.5 of it"),
        (1.5, {}, "inconclusive", "the asymptotic limits [1.5, 2.5] of the right side 1.5 are wider than 0.5 of it: "
         "1000 replicates do not make them narrower"),
        (2.0, {"equal": True}, "inconclusive", "all 1000 replicates are equal, 2, which gives no asymptotic limit, and "
         "the right side is 2"),
        (INF, {}, "inconclusive", "the right side is inf in floating point"),
        (2.0, {"broken": 1, "infinite": 1}, "inconclusive", "the run diverged in 1 of 1000 replicates"),
        (2.0, {"exact": True}, "holds", "the value 2 of a run without randomness is, up to rounding, the right side 2"),
        (3.1, {"exact": True}, "violated", "the value 2 of a run without randomness differs from the right side 3.1"),
    ],
)  # fmt: skip
def test_equalities(bound: float, changes: dict[str, Any], verdict: str, says: str) -> None:
    found = limits(bound=bound, **changes).equality(0.0, 0.5, cut=False)
    assert found[0] == verdict
    assert found[1].startswith(says)


def test_an_equality_holds_up_to_the_width_that_was_asked_for() -> None:
    """Limits [1.5, 2.5] around 2 are within 25% of it on either side, and within no less."""
    for width, verdict in ((0.25, "holds"), (0.2499, "inconclusive")):
        assert limits(bound=2.0).equality(0.0, width, cut=False)[0] == verdict
    lopsided = limits(bound=2.0, asymptotic_low=1.0, low=0.5)
    assert lopsided.equality(0.0, 0.49, cut=False)[0] == "inconclusive"
    assert lopsided.equality(0.0, 0.51, cut=False)[0] == "holds"
    other = limits(bound=2.0, asymptotic_high=3.0, high=4.0)
    assert other.equality(0.0, 0.49, cut=False)[0] == "inconclusive"
    assert other.equality(0.0, 0.51, cut=False)[0] == "holds"
    mirrored = limits(bound=-2.0, mean=-2.0, low=-3.0, high=-1.0, asymptotic_low=-2.5, asymptotic_high=-1.5)
    assert mirrored.equality(0.0, 0.25, cut=False)[0] == "holds"


def test_an_equalitys_text_adds_what_was_moved() -> None:
    for bound, changes, numbers in (
        (0.5, {}, ("101 exceeds", "side 100.5")),
        (10.0, {}, ("103 is below", "side 110")),
        (3.0, {}, ("[101.5, 102.5]", "side 103")),
        (2.0, {}, ("[101.5, 102.5]", "side 102")),
        (2.0, {"equal": True}, ("equal, 102", "side is 102")),
        (2.0, {"exact": True}, ("value 102", "side 102")),
    ):
        reported = limits(bound=bound, **changes).equality(100.0, 0.5, cut=False)[1]
        assert all(n in reported for n in numbers), reported
    # The width is relative to the right side as it is printed.
    assert limits(bound=2.0).equality(100.0, 0.5 / 102, cut=False)[0] == "holds"
    assert limits(bound=2.0).equality(100.0, 0.49 / 102, cut=False)[0] == "inconclusive"
    assert limits(bound=-INF).equality(INF, 0.5, cut=False)[0] == "inconclusive"


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        ((3, 0, 0), "the run diverged in 3 of 1000 replicates: in floating point its left side is "
         "without a value in 3, which proves nothing; take a smaller step, or a start nearer to the minimiser"),
        ((3, 3, 0), "the run diverged in 3 of 1000 replicates: in floating point its left side is "
         "infinite in 3, beyond the bound 10, which is suspicious but not a proof; take"),
        ((3, 1, 0), "the run diverged in 3 of 1000 replicates: in floating point its left side is "
         "without a value in 2, infinite in 1, beyond the bound 10, which is suspicious"),
        ((3, 0, 3), "in 3 of 1000 replicates the left side is infinite or undefined where the run stayed finite"),
        ((3, 1, 1), "the run diverged in 2 of 1000 replicates: in floating point its left side is "
         "without a value in 1, infinite in 1, beyond"),
        ((5, 0, 1), "the run diverged in 4 of 1000 replicates: in floating point its left side is without"),
    ],
)  # fmt: skip
def test_what_is_said_where_replicates_are_no_numbers(counts: tuple[int, int, int], says: str) -> None:
    broken, infinite, unbounded = counts
    made = limits(broken=broken, infinite=infinite, unbounded=unbounded)
    verdict, reason = made.verdict(0.0, cut=False)
    assert verdict == "inconclusive"
    assert reason.startswith(says)
    assert ("in 1 of 1000 replicates the left side is infinite or undefined" in reason) == (unbounded == 1)
    assert "bound 110" in made.verdict(100.0, cut=False)[1] or not infinite


def test_the_smallest_violation_that_limits_could_see() -> None:
    """1 + (mean - low)/bound, and at least mean/low, since near the bound limits are wider in proportion."""
    assert limits(bound=10.0).detectable(0.0) == pytest.approx(2.0)  # mean/low
    assert limits(bound=10.0, mean=3.0, low=2.5).detectable(0.0) == pytest.approx(1.2)
    assert limits(bound=0.25).detectable(0.0) == pytest.approx(5.0)
    assert limits(bound=10.0, low=-1.0).detectable(0.0) == pytest.approx(1.3)
    assert limits(bound=10.0, low=0.0).detectable(0.0) == pytest.approx(1.2)
    assert limits(bound=10.0, low=0.0).detectable(10.0) == pytest.approx(1.2)  # mean/low = 12/10
    assert limits(bound=10.0, low=-20.0).detectable(10.0) == pytest.approx(2.1)
    assert limits(bound=0.0).detectable(0.0) is None
    assert limits(bound=-1.0).detectable(0.0) is None
    assert limits(bound=-1.0).detectable(2.0) == pytest.approx(2.0)
    assert limits(bound=10.0, low_valid=False).detectable(0.0) is None
    assert limits(bound=10.0, low=-INF).detectable(0.0) is None
    assert limits(bound=1e308, mean=1.5e308, low=1.2e308).detectable(0.0) == pytest.approx(1.3)  # their sum overflows


def test_when_the_rigorous_limits_are_out_of_sight() -> None:
    """Their width over the slack says how many replicates they would need: about width/slack times as many."""
    assert limits(high_valid=False).rigorous_out_of_sight(10_000)
    assert not limits(high_valid=False, broken=1).rigorous_out_of_sight(10_000)
    assert not limits(high_valid=False, bound=2.4).rigorous_out_of_sight(10_000)
    assert limits(high_valid=False, bound=2.5).rigorous_out_of_sight(10_000)
    # 255 replicates are too few to give up, unless no more are allowed.
    assert not limits(high_valid=False, replicates=255).rigorous_out_of_sight(10_000)
    assert limits(high_valid=False, replicates=256).rigorous_out_of_sight(10_000)
    assert limits(high_valid=False, replicates=100).rigorous_out_of_sight(100)
    assert not limits(high_valid=False, replicates=99).rigorous_out_of_sight(100)
    # Width 6 - 2 over slack 3 - 2: four times as many replicates as the 1000 are needed, and twice as many are no
    # matter.
    wide = limits(high=6.0, bound=3.0)
    assert not wide.rigorous_out_of_sight(2000)
    assert wide.rigorous_out_of_sight(1999)
    assert not limits(high=6.0, bound=4.0).rigorous_out_of_sight(1000)  # width 4 over slack 2
    assert limits(high=6.0, bound=4.0).rigorous_out_of_sight(999)
    assert limits(mean=3.0, bound=3.0, asymptotic_high=3.0, high=6.0).rigorous_out_of_sight(10**9)
    assert limits(mean=3.0, bound=2.9, asymptotic_high=2.9, high=6.0).rigorous_out_of_sight(10**9)


# Limits from replicates


def test_limits_are_those_of_the_replicates_and_of_their_range() -> None:
    z = np.random.default_rng(0).uniform(size=400)
    found = decide(z, 0.8, 0.0, 1.0, ALPHA)
    assert (found.bound, found.replicates, found.broken, found.equal, found.exact) == (0.8, 400, 0, False, False)
    assert found.mean == pytest.approx(z.mean())
    assert found.low == lower_limit(z, ALPHA / 2, 0.0)
    assert found.high == upper_limit(z, ALPHA / 2, 1.0)
    assert (found.low_valid, found.high_valid) == (True, True)
    below, above = decide(z, 0.8, -INF, 1.0, ALPHA), decide(z, 0.8, 0.0, INF, ALPHA)
    assert (below.low, below.low_valid, below.high_valid) == (below.asymptotic_low, False, True)
    assert (above.high, above.low_valid, above.high_valid) == (above.asymptotic_high, True, False)
    assert decide(np.full(5, 0.25), 0.8, 0.0, 1.0, ALPHA).equal
    assert decide(np.array([0.25]), 0.8, 0.0, 1.0, ALPHA).equal
    assert not decide(np.array([0.25, 0.25, 0.5]), 0.8, 0.0, 1.0, ALPHA).equal


def test_asymptotic_limits_truncate_far_away_alone() -> None:
    """Ten bounds away: one replicate at 1000 widens no lower limit against 1, one at -1000 no upper one."""
    z = np.concatenate([np.random.default_rng(1).uniform(1.0, 3.0, size=500)])
    share = ALPHA / 32
    for bound, far in ((1.0, 1000.0), (-1.0, 1000.0), (0.0, 1000.0)):
        up, down = np.append(z, far), np.append(-z, -far)
        cut = max(bound, 0.0) + 10.0 * max(abs(bound), 1e-300)
        low = decide(up, bound, -INF, INF, ALPHA).asymptotic_low
        assert low == max(asymptotic_limits(np.minimum(up, cut), share)[0], asymptotic_limits(up, share)[0])
        cut = min(bound, 0.0) - 10.0 * max(abs(bound), 1e-300)
        high = decide(down, bound, -INF, INF, ALPHA).asymptotic_high
        assert high == min(asymptotic_limits(np.maximum(down, cut), share)[1], asymptotic_limits(down, share)[1])


def test_a_replicate_of_minus_infinity_lowers_the_mean_and_no_more() -> None:
    z = np.append(np.random.default_rng(2).uniform(size=300), -INF)
    found = decide(z, 2.0, -INF, 1.0, ALPHA)
    assert found.verdict(0.0, cut=False)[0] == "holds"
    assert found.asymptotic_low == -INF
    assert found.high == upper_limit(np.append(z[:-1], -20.0), ALPHA / 2, 1.0)
    assert found.broken == 0


def test_nan_and_infinity_leave_it_undecided() -> None:
    for bad, infinite in ((NAN, 0), (INF, 1)):
        z = np.append(np.zeros(9), bad)
        found = decide(z, 1.0, 0.0, 1.0, ALPHA)
        assert (found.broken, found.infinite, found.unbounded, found.replicates) == (1, infinite, 0, 10)
        assert found.verdict(0.0, cut=False)[0] == "inconclusive"
        stayed = decide(z, 1.0, 0.0, 1.0, ALPHA, stayed=np.ones(10, dtype=bool))
        assert (stayed.broken, stayed.infinite, stayed.unbounded) == (1, 0, 1)
        rounds = decide_least(np.stack([z, np.zeros(10)], axis=1), 1.0, 0.0, 1.0, ALPHA)
        assert (rounds.broken, rounds.infinite, rounds.replicates) == (1, infinite, 10)
        # Also where another round, of numbers alone, would be chosen.
        moving = np.linspace(0.0, 1.0, 10)
        found = decide_least(np.stack([np.append(np.zeros(9), INF), moving], axis=1), 1.0, 0.0, 1.0, ALPHA)
        assert (found.broken, found.high_valid) == (1, False)
    rows = np.array([[INF, NAN], [INF, 0.0], [0.0, 0.0]])
    found = undecided(rows, ~np.isfinite(rows).all(axis=1), 1.0)
    assert (found.broken, found.infinite) == (2, 1)  # what is undefined somewhere is not counted as infinite
    assert (found.low, found.high, found.asymptotic_low, found.asymptotic_high) == (-INF, INF, -INF, INF)
    assert not found.low_valid
    assert not found.high_valid
    assert math.isnan(found.mean)


def test_the_least_of_several_means() -> None:
    """Rounds with means 3, 1 and 2: the least is 1. Its upper limit has a third of alpha."""
    rng = np.random.default_rng(3)
    z = rng.uniform(size=(300, 3)) + np.array([2.5, 0.5, 1.5])
    found = decide_least(z, 2.0, 0.0, 4.0, ALPHA)
    assert found.mean == pytest.approx(z[:, 1].mean())
    assert found.high == upper_limit(z[:, 1], ALPHA / 6, 4.0)
    assert found.low == least_lower_limit(z, ALPHA / 2, 0.0)
    assert found.asymptotic_low == decide(z.min(axis=1), 2.0, -INF, INF, ALPHA).asymptotic_low
    assert found.asymptotic_high == decide(z[:, 1], 2.0, -INF, INF, ALPHA / 3).asymptotic_high
    assert (found.low_valid, found.high_valid) == (True, True)
    open_ = decide_least(z, 2.0, -INF, INF, ALPHA)
    assert (open_.low, open_.low_valid, open_.high_valid) == (open_.asymptotic_low, False, False)
    one_sided = decide_least(z, 2.0, 0.0, INF, ALPHA)
    assert (one_sided.low, one_sided.low_valid, one_sided.high_valid) == (found.low, True, False)


def test_a_round_whose_replicates_are_equal_is_chosen_only_where_all_are() -> None:
    rng = np.random.default_rng(4)
    z = np.stack([np.full(200, 0.5), rng.uniform(0.6, 1.0, size=200)], axis=1)
    found = decide_least(z, 2.0, 0.0, 4.0, ALPHA)
    assert not found.equal
    assert found.mean == 0.5
    assert found.high == upper_limit(z[:, 1], ALPHA / 4, 4.0)
    same = decide_least(np.tile([0.7, 0.5], (200, 1)), 2.0, 0.0, 4.0, ALPHA)
    assert same.equal
    assert same.high == upper_limit(np.full(200, 0.5), ALPHA / 4, 4.0)


def test_certain_values_differ_from_the_bound_by_more_than_rounding() -> None:
    """The slack is 1e-9 of the largest of the bound, the values and what was subtracted."""
    for value, bound, scale, slack in (
        (2.0, 3.0, 0.0, 3e-9),
        (-5.0, 1.0, 0.0, 5e-9),
        (1.0, 2.0, 1e3, 1e-6),
        (0.5, -4.0, 0.0, 4e-9),
    ):
        found = certain(np.array([value, value]), bound, scale)
        assert found.low == pytest.approx(value - slack, rel=1e-14, abs=0)
        assert found.high == pytest.approx(value + slack, rel=1e-14, abs=0)
        assert (found.asymptotic_low, found.asymptotic_high) == (found.low, found.high)
        assert (found.mean, found.replicates, found.broken, found.exact) == (value, 2, 0, True)
        assert (found.low_valid, found.high_valid, found.bound) == (True, True, bound)
    assert certain(np.array([3.0]), 3.0).verdict(0.0, cut=False)[0] == "inconclusive"
    assert certain(np.array([3.0 + 1e-8]), 3.0).verdict(0.0, cut=False)[0] == "violated"
    assert certain(np.array([3.0 - 1e-8]), 3.0).verdict(0.0, cut=False)[0] == "holds"
    assert certain(np.array([2.0, 2.0 + 1e-9]), 0.0).mean == pytest.approx(2.0 + 5e-10, rel=1e-15, abs=0)
    with pytest.raises(ValueError, match=r"gives both 2\.0 and 2\.00000001 in its replicates"):
        certain(np.array([2.0, 2.00000001]), 0.0)
    # Without any size there is no slack, and zero is at most zero.
    zero = certain(np.zeros(2), 0.0)
    assert (zero.low, zero.high) == (0.0, 0.0)
    assert zero.verdict(0.0, cut=False)[0] == zero.equality(0.0, 0.1, cut=False)[0] == "holds"
    assert certain(np.array([1e-3]), 1e-3).high == pytest.approx(1e-3 + 1e-12, rel=1e-15, abs=0)
    broken = certain(np.array([2.0, INF]), 3.0)
    assert (broken.broken, broken.infinite, broken.exact) == (1, 1, False)
    assert certain(np.array([2.0, NAN]), 3.0, stayed=np.array([True, True])).unbounded == 1
    assert certain(np.array([2.0, -INF]), 3.0).broken == 1


def test_the_limits_of_a_copy_are_its_own() -> None:
    assert replace(limits(), bound=0.5).verdict(0.0, cut=False)[0] == "violated"
    assert (limits().infinite, limits().unbounded, limits().equal, limits().exact) == (0, 0, False, False)
