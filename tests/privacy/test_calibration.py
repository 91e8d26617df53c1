"""Noise and rounds for a budget: the result is certified, and slightly less noise or one more round is not."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpfl_theory.errors import InputError
from dpfl_theory.privacy import account, accounting, calibrate, get, largest_rounds
from dpfl_theory.privacy.accounting import largest, lowest_epsilon
from dpfl_theory.privacy.gaussian import gaussian_delta
from dpfl_theory.privacy.pld import epsilon_high, epsilon_limits

RUNS = {
    "full": get("dp-fedavg")(clients=10, rounds=40),
    "poisson": get("dp-fedavg")(clients=50, cohort=5, sampling="poisson", noise="average", rounds=40),
    "fixed": get("dp-fedavg")(clients=50, cohort=5, sampling="fixed", rounds=30),
    "with replacement": get("dp-fedavg")(
        clients=50, cohort=3, sampling="with-replacement", relation="replace", rounds=20
    ),
    "server": get("dp-fedavg")(clients=50, cohort=5, sampling="fixed", view="server", rounds=40),
    "coin": get("dp-scaffnew")(communication_probability=0.1, rounds=200),
    "records": get("dp-fedavg-record")(users=10, records=50, user_rate=0.5, record_rate=0.2, local_steps=2, rounds=10),
}
BUDGETS = {"full": (0.3, 1e-9), "poisson": (2.0, 1e-5), "fixed": (1.0, 1e-6), "coin": (8.0, 1e-3)}


def budget(run):
    return BUDGETS.get(run, (1.5, 1e-5))


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("run", RUNS)
def test_a_calibrated_multiplier_is_certified_and_a_little_less_is_not(run):
    mechanism, (epsilon, delta) = RUNS[run], budget(run)
    z = calibrate(mechanism, epsilon=epsilon, delta=delta)
    assert epsilon_high(mechanism.with_(noise_multiplier=z).event(), delta) <= epsilon
    assert epsilon_high(mechanism.with_(noise_multiplier=z * (1 - 2e-4)).event(), delta) > epsilon
    assert account(mechanism.with_(noise_multiplier=z), epsilon=epsilon).delta.high <= delta * (1 + 1e-2)


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("run", ["full", "poisson", "records"])
def test_the_lower_limit_of_the_multiplier_is_known_not_to_be_enough(run):
    mechanism, (epsilon, delta) = RUNS[run], budget(run)
    z, low = (calibrate(mechanism, epsilon=epsilon, delta=delta, limit=limit) for limit in ("high", "low"))
    assert low <= z * (1 + 2e-5)
    if run == "full":
        assert low == pytest.approx(z, rel=2e-5)
    if run == "poisson":
        assert low > 0.99 * z
    less = mechanism.with_(noise_multiplier=low * (1 - 2e-5))
    assert lowest_epsilon(less, delta) >= epsilon
    more = mechanism.with_(noise_multiplier=low * (1 + 2e-5))
    assert lowest_epsilon(more, delta) <= epsilon


def test_the_gaussian_mechanism_in_50_digits():
    for epsilon, delta in ((0.01, 1e-4), (1.0, 1e-12), (30.0, 1e-2), (400.0, 1e-6)):
        z = calibrate(get("dp-distributed-gd")(rounds=1), epsilon=epsilon, delta=delta)
        assert gaussian_delta(epsilon, z)[1] <= delta <= gaussian_delta(epsilon, z * (1 - 2e-5))[0]
        many = calibrate(get("dp-distributed-gd")(rounds=10_000), epsilon=epsilon, delta=delta)
        assert many == pytest.approx(100 * z, rel=1e-13)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 1.0, 50.0, 1e3, 1e6, 1e30])
@pytest.mark.parametrize("delta", [0.4, 1e-5, 1e-30])
def test_without_sampling_noise_is_calibrated_to_many_digits(epsilon, delta):
    run = get("dp-fedavg")(clients=7, rounds=11)
    low, high = (calibrate(run, epsilon=epsilon, delta=delta, limit=limit) for limit in ("low", "high"))
    assert low <= high <= low * (1 + 3e-14)
    assert gaussian_delta(epsilon, mpmath.mpf(high) / mpmath.sqrt(11))[1] <= delta
    assert gaussian_delta(epsilon, mpmath.mpf(low) * (1 - 1e-14) / mpmath.sqrt(11))[0] >= delta
    assert epsilon_high(run.with_(noise_multiplier=high).event(), delta) <= epsilon


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(("run", "start"), [("poisson", 50.0), ("records", 0.2)])
def test_where_the_search_starts_does_not_matter(run, start):
    epsilon, delta = budget(run)
    near, other = (calibrate(RUNS[run], epsilon=epsilon, delta=delta, start=s) for s in (1.0, start))
    assert other == pytest.approx(near, rel=3e-5)


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize(
    ("run", "noise"),
    [("full", 90.0), ("poisson", 3.0), ("fixed", 4.0), ("server", 18.0), ("coin", 6.0), ("records", 6.0)],
)
def test_the_rounds_fit_and_one_more_does_not(run, noise):
    mechanism, (epsilon, delta) = RUNS[run].with_(noise_multiplier=noise), budget(run)
    rounds = largest_rounds(mechanism, epsilon=epsilon, delta=delta)
    assert rounds >= 3
    assert epsilon_high(mechanism.with_(rounds=rounds).event(), delta) <= epsilon
    assert epsilon_high(mechanism.with_(rounds=rounds + 1).event(), delta) > epsilon


def test_no_round_fits():
    assert largest_rounds(get("dp-distributed-gd")(noise_multiplier=0.5), epsilon=1.0, delta=1e-5) == 0


def test_more_rounds_than_anybody_runs_are_refused():
    with pytest.raises(InputError, match=r"at least 100000000 rounds fit: .* so lower `noise_multiplier`"):
        largest_rounds(get("dp-distributed-gd")(noise_multiplier=1e9), epsilon=1.0, delta=1e-5)


# The search for a whole number, with costs that are meant to mislead it


class Counted:
    """A cost that counts how often it is asked, and insists on numbers from 1 on."""

    def __init__(self, cost):
        self.cost, self.asked = cost, []

    def __call__(self, n):
        assert isinstance(n, int)
        assert n >= 1
        self.asked.append(n)
        return self.cost(n)


COSTS = {
    "linear": lambda last: lambda n: n / last,
    "root": lambda last: lambda n: math.sqrt(n / last),
    "square": lambda last: lambda n: (n / last) ** 2,
    "steep": lambda last: lambda n: 0.5 if n <= last else 1e300,
    "wall": lambda last: lambda n: 1.0 if n <= last else math.inf,
    "nothing, then everything": lambda last: lambda n: 0.0 if n <= last else math.inf,
    "just below, just above": lambda last: lambda n: 1 - 1e-15 if n <= last else 1 + 1e-15,
    "logarithm": lambda last: lambda n: math.log1p(n) / math.log1p(last),
    "exponential": lambda last: lambda n: math.exp(min(n - last, 700)),
    "stairs": lambda last: lambda n: 1.0 if n <= last else 2.0 + (n - last) // 1000,
    "flat, then linear": lambda last: lambda n: max(0.9, n / last),
    "linear, then flat": lambda last: lambda n: n / last if n <= last else 1 + 1e-9,
}


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("last", [1, 2, 3, 7, 10, 1000, 65_536, 1_000_003])
def test_the_largest_number_within_the_budget(cost, last):
    counted = Counted(COSTS[cost](last))
    assert largest(counted, 1.0) == last
    assert len(counted.asked) < 150
    assert len(set(counted.asked)) == len(counted.asked)


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.integers(1, 4000), st.floats(0, 3)), min_size=1, max_size=8),
    st.floats(1e-3, 3),
    st.integers(2, 5000),
)
@example([(1, 5e-324), (2, 2.0)], 1.0, 5)  # costs whose ratio is no double
def test_the_largest_number_for_any_stairs(steps, level, wall):
    """Each step adds its height at its place, and everything is infinite behind the wall."""

    def cost(n):
        return math.inf if n >= wall else sum(height for place, height in steps if n >= place)

    expected = max((n for n in range(1, wall + 1) if cost(n) <= level), default=0)
    assert largest(Counted(cost), level) == expected


def test_a_cost_that_is_above_the_budget_at_once():
    counted = Counted(lambda n: math.inf)
    assert largest(counted, 5.0) == 0
    assert counted.asked == [1]


# Requests that make no sense


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.5, math.nan, math.inf, True, 2])
def test_delta_must_lie_between_0_and_1(delta):
    run = RUNS["full"].with_(noise_multiplier=20.0)
    for ask in (
        lambda: account(run, delta=delta),
        lambda: calibrate(run, epsilon=1.0, delta=delta),
        lambda: largest_rounds(run, epsilon=1.0, delta=delta),
    ):
        with pytest.raises(InputError, match=r"^`delta` is .*: it must lie in \(0, 1\)$"):
            ask()


@pytest.mark.parametrize("epsilon", [-1.0, 1e101, math.nan, math.inf, -math.inf, Fraction(10**101)])
def test_epsilon_must_be_positive_and_of_use(epsilon):
    run = RUNS["full"].with_(noise_multiplier=20.0)
    for ask in (
        lambda: account(run, epsilon=epsilon),
        lambda: calibrate(run, epsilon=epsilon, delta=1e-5),
        lambda: largest_rounds(run, epsilon=epsilon, delta=1e-5),
    ):
        with pytest.raises(InputError, match=r"^`epsilon` is .*: give a positive number of at most 1e\+100$"):
            ask()


def test_epsilon_zero_is_the_total_variation():
    run = RUNS["full"].with_(noise_multiplier=20.0)
    assert account(run, epsilon=0).delta.high == pytest.approx(
        math.erf(math.sqrt(40) / 20 / 2 / math.sqrt(2)), rel=1e-9
    )
    with pytest.raises(InputError, match="`epsilon` is 0"):
        calibrate(run, epsilon=0, delta=1e-5)


def test_account_asks_for_one_of_the_two():
    run = RUNS["full"].with_(noise_multiplier=20.0)
    for parameters in ({}, {"epsilon": 1.0, "delta": 1e-5}):
        with pytest.raises(InputError, match="give either `delta` or `epsilon`"):
            account(run, **parameters)
    with pytest.raises(InputError, match="dp-fedavg needs `noise_multiplier`"):
        account(RUNS["full"], delta=1e-5)
    with pytest.raises(InputError, match="dp-fedavg needs `clients`"):
        calibrate(get("dp-fedavg")(rounds=3), epsilon=1.0, delta=1e-5)


def test_an_account_holds_what_was_asked_and_what_was_found():
    run = RUNS["records"].with_(noise_multiplier=5.0)
    found = account(run, delta=1e-6)
    assert (found.delta.low, found.delta.high) == (1e-6, 1e-6)
    assert found.epsilon.high == epsilon_high(run.event(), 1e-6)
    # From below only an attack is known, which sees less than what is counted from above.
    assert found.epsilon.low == lowest_epsilon(run, 1e-6) < epsilon_limits(run.event(), 1e-6).low
    document = found.document()
    assert document["epsilon"]["high"] == found.epsilon.high
    assert document["mechanism"]["local_steps"] == 2
    assert len(document["notes"]) == len(run.notes()) > 0
    back = account(run, epsilon=found.epsilon.high)
    assert back.epsilon.low == back.epsilon.high == found.epsilon.high
    assert back.delta.low <= 1e-6 <= back.delta.high * 1.01
    assert back.moments is None


def test_an_epsilon_that_protects_nothing_is_said():
    """Little noise has a large epsilon with finite limits on both sides, and a sentence says that it gives no
    protection."""
    for run in (RUNS["coin"], RUNS["server"], RUNS["poisson"], RUNS["full"]):
        found = account(run.with_(noise_multiplier=0.01), delta=1e-5)
        assert 600 < found.epsilon.low <= found.epsilon.high < math.inf
        assert any("protects nothing in practice" in warning for warning in found.warnings)
        said = account(run.with_(noise_multiplier=0.01), epsilon=51.0).warnings
        assert "protects nothing in practice" in said[0]
        assert all("has such a delta" in warning for warning in said[1:])
    assert not account(RUNS["coin"].with_(noise_multiplier=5.0), delta=1e-5).warnings
    assert not account(RUNS["full"].with_(noise_multiplier=5.0), epsilon=50.0).warnings


def test_a_moments_bound_at_the_end_of_its_orders_is_said():
    found = account(RUNS["full"].with_(noise_multiplier=1e6), delta=0.4)
    assert found.moments.warning is not None
    assert found.moments.warning in found.warnings
    assert f"{found.moments.order:g}" in found.moments.warning


def test_a_mixed_up_bracket_is_refused():
    """No root on either side: the cost never falls below the budget, or is below it for any noise."""
    with pytest.raises(InputError, match="no finite noise multiplier is certified"):
        accounting._bracket(lambda log_z: True, 0.0)
    with pytest.raises(InputError, match="any noise is enough"):
        accounting._bracket(lambda log_z: False, 0.0)
    for root in (-7.3, 0.0, 0.1, 25.0):
        low, high = accounting._bracket(lambda log_z, root=root: log_z < root, 0.0)
        assert low <= root <= high
