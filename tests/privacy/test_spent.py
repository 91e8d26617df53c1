"""Accounts of runs whose attacks are Gaussian releases, of which every number is a closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import log_ndtr

from dpfl_theory.errors import InputError
from dpfl_theory.privacy import accounting
from dpfl_theory.privacy.accounting import (
    account,
    calibrate,
    epsilon_spent,
    largest,
    largest_rounds,
    lowest_delta,
    lowest_epsilon,
)
from dpfl_theory.privacy.events import Event, Repeated, gaussian
from dpfl_theory.privacy.gaussian_inverse import gaussian_multiplier
from dpfl_theory.privacy.mechanisms import Mechanism, get
from dpfl_theory.privacy.mechanisms.base import LARGEST, SMALLEST
from dpfl_theory.privacy.pld import CertifiedInterval, epsilon_high

DELTA = 1e-5


def profile(epsilon: float, z: float) -> float:
    """delta(epsilon) of one Gaussian release."""
    left, right = log_ndtr(0.5 / z - epsilon * z), epsilon + log_ndtr(-0.5 / z - epsilon * z)
    return float(np.exp(left) * -np.expm1(right - left))


def epsilon_of(z: float, delta: float) -> float:
    return float(brentq(lambda e: math.log(max(profile(e, z), 1e-300) / delta), 1e-9, 400.0, xtol=1e-13))


@dataclass(frozen=True, kw_only=True)
class Attacked(Mechanism):
    """A Gaussian release of which attacks show less: ``shown`` are (noise multiplier, probability of failing)."""

    name = "attacked"
    title = "Attacked"
    source = "here"
    protects = "client"
    noise_added_by = "server"
    shown: tuple[tuple[float, float], ...] = ()

    def validate(self) -> None:
        return None

    def event(self) -> Event:
        return gaussian(self.value("noise_multiplier"))

    def attacks(self) -> tuple[tuple[Event, float], ...]:
        return tuple((gaussian(z), failing) for z, failing in self.shown)

    def notes(self) -> tuple[str, ...]:
        return ("one",)

    def setting(self) -> dict[str, str]:
        return {"unit": "one client"}


def attacked(*shown: tuple[float, float]) -> Attacked:
    return Attacked(noise_multiplier=1.0, shown=shown)


def test_an_attack_that_never_fails_shows_its_epsilon() -> None:
    assert lowest_epsilon(attacked((2.0, 0.0)), DELTA) == pytest.approx(epsilon_of(2.0, DELTA), rel=1e-9)
    both = attacked((2.0, 0.0), (1.5, 0.0))
    assert lowest_epsilon(both, DELTA) == pytest.approx(epsilon_of(2.0, DELTA), rel=1e-9)  # the first shows most
    assert lowest_epsilon(attacked(), DELTA) == 0.0


def test_an_attack_that_fails_gives_away_a_millionth_of_delta() -> None:
    """With probability w the run is not as described: delta is at least that of the event less (1 + e^epsilon) w."""
    for failing in (1e-14, 1e-13):
        found = lowest_epsilon(attacked((2.0, failing)), DELTA)
        most, shown = math.log(1e-6 * DELTA / failing - 1), epsilon_of(2.0, DELTA * (1 + 1e-6))
        assert found == pytest.approx(min(most, shown), rel=1e-9)
        assert profile(found, 2.0) - (1 + math.exp(found)) * failing >= DELTA * (1 - 1e-9)
    # Half of a millionth is where epsilon 0 begins: such an attack is left out, and the next one counts.
    weak = epsilon_of(5.0, DELTA)
    for failing in (0.5e-6 * DELTA, 1e-3):
        assert lowest_epsilon(attacked((2.0, failing), (5.0, 0.0)), DELTA) == pytest.approx(weak, rel=1e-9)
    barely = lowest_epsilon(attacked((2.0, 0.49e-6 * DELTA)), DELTA)
    assert barely == pytest.approx(math.log(1 / 0.49 - 1), rel=1e-9)


def test_later_attacks_count_where_the_first_one_is_capped() -> None:
    capped = (2.0, 0.4e-6 * DELTA)
    cap = math.log(1.5)
    assert epsilon_of(5.0, DELTA) > cap
    assert lowest_epsilon(attacked(capped, (5.0, 0.0)), DELTA) == pytest.approx(epsilon_of(5.0, DELTA), rel=1e-9)
    assert lowest_epsilon(attacked(capped, (40.0, 0.0)), DELTA) == pytest.approx(cap, rel=1e-9)
    assert epsilon_of(40.0, DELTA) < cap


def test_delta_that_attacks_show() -> None:
    epsilon = 1.0
    assert lowest_delta(attacked((2.0, 0.0)), epsilon) == pytest.approx(profile(epsilon, 2.0), rel=1e-9)
    failing = 1e-4
    lost = (1 + math.e) * failing
    assert lowest_delta(attacked((2.0, failing)), epsilon) == pytest.approx(profile(epsilon, 2.0) - lost, rel=1e-9)
    assert lowest_delta(attacked((2.0, 0.5)), epsilon) == 0.0
    second = attacked((2.0, failing), (1.9, 0.0))
    assert lowest_delta(second, epsilon) == pytest.approx(profile(epsilon, 1.9), rel=1e-9)
    weaker = attacked((2.0, failing), (4.0, 0.0))
    assert lowest_delta(weaker, epsilon) == pytest.approx(profile(epsilon, 2.0) - lost, rel=1e-9)
    # An attack that loses at most a millionth of what it shows is enough: later ones are not looked at.
    little = 0.9e-6 * profile(epsilon, 2.0) / (1 + math.e)
    assert lowest_delta(attacked((2.0, little), (1.0, 0.0)), epsilon) == pytest.approx(
        profile(epsilon, 2.0) - (1 + math.e) * little, rel=1e-9
    )
    assert lowest_delta(attacked((2.0, 1.2 * little), (1.0, 0.0)), epsilon) == pytest.approx(
        profile(epsilon, 1.0), rel=1e-9
    )
    assert lowest_delta(attacked(), epsilon) == 0.0


def test_delta_that_attacks_show_at_an_epsilon_whose_power_is_no_double() -> None:
    """A failure of any probability w > 0 may have the delta e^epsilon w, which is more than 1; the next attack counts,
    and one that never fails loses nothing."""
    sure, unsure = (1e-3, 0.0), (0.5e-3, 1e-300)
    for epsilon in (800.0, 1e5):
        assert lowest_delta(attacked(unsure), epsilon) == 0.0
        assert lowest_delta(attacked(sure), epsilon) == pytest.approx(profile(epsilon, 1e-3), rel=1e-9)
        assert lowest_delta(attacked(unsure, sure), epsilon) == pytest.approx(profile(epsilon, 1e-3), rel=1e-9)
    # Before that what is lost is counted, also where it is all but everything.
    for failing in (1e-307, 6e-307):
        lost = failing * math.exp(705.0)
        assert 0.1 < lost < 1.0
        assert lowest_delta(attacked((1e-3, failing)), 705.0) == pytest.approx(1 - lost, rel=1e-9)


def test_limits_of_an_account_come_from_attacks_below_and_the_event_above() -> None:
    run = attacked((2.0, 0.0))
    spent = epsilon_spent(run, DELTA)
    assert spent.high == pytest.approx(epsilon_of(1.0, DELTA), rel=1e-9)
    assert spent.low == pytest.approx(epsilon_of(2.0, DELTA), rel=1e-9)
    assert spent.low <= spent.estimate <= spent.high
    found = account(run, delta=DELTA)
    assert (found.epsilon, found.delta) == (spent, CertifiedInterval(DELTA, DELTA, DELTA))
    assert (found.moments, found.warnings, found.mechanism) == (None, (), run)
    back = account(run, epsilon=1.0)
    assert back.epsilon == CertifiedInterval(1.0, 1.0, 1.0)
    assert back.delta.high == pytest.approx(profile(1.0, 1.0), rel=1e-9)
    assert back.delta.low == pytest.approx(profile(1.0, 2.0), rel=1e-9)
    assert (back.moments, back.warnings) == (None, ())
    assert account(run, epsilon=0.0).delta.high == pytest.approx(math.erf(0.5 / math.sqrt(2)), rel=1e-9)
    # Where the event is what is released, its own lower limit stays.
    plain = get("dp-norm-ec")(noise_multiplier=1.0, rounds=1)
    assert epsilon_spent(plain, DELTA).low == pytest.approx(epsilon_of(1.0, DELTA), rel=1e-9)
    assert account(plain, epsilon=1.0).delta.low == pytest.approx(profile(1.0, 1.0), rel=1e-9)
    same = Attacked(noise_multiplier=1.0, shown=((1.0, 0.0),))
    assert not accounting._bounded(same, same.event())
    assert accounting._bounded(run, run.event())
    assert accounting._bounded(Attacked(noise_multiplier=1.0, shown=((1.0, 0.1),)), gaussian(1.0))


@pytest.mark.parametrize(
    ("limits", "low", "expected"),
    [
        ((1.0, 2.0, 3.0), 0.5, (0.5, 2.0, 3.0)),
        ((1.0, 2.0, 3.0), 2.5, (2.5, 2.5, 3.0)),
        ((1.0, 2.0, 3.0), 4.0, (3.0, 3.0, 3.0)),
    ],
)
def test_another_lower_limit(limits: Any, low: float, expected: Any) -> None:
    assert accounting._with_low(CertifiedInterval(*limits), low) == CertifiedInterval(*expected)


def test_a_document_of_an_account() -> None:
    run = get("dp-fedavg")(clients=10, noise_multiplier=10.0, rounds=1)
    found = account(run, delta=DELTA)
    assert found.moments is not None
    document = found.document()
    assert set(document) == {"epsilon", "delta", "mechanism", "setting", "notes", "warnings", "moments"}
    assert document["setting"] == run.setting()
    assert document["moments"] == {
        "epsilon": found.moments.epsilon, "order": found.moments.order, "warning": None,
    }  # fmt: skip
    assert document["epsilon"] == {k: getattr(found.epsilon, k) for k in ("low", "estimate", "high")}
    assert (document["notes"], document["warnings"]) == ([], [])
    assert account(attacked((2.0, 0.0)), delta=DELTA).document()["moments"] is None
    assert account(attacked((2.0, 0.0)), delta=DELTA).document()["notes"] == ["one"]
    assert account(attacked((2.0, 0.0)), delta=DELTA).document()["setting"] == {"unit": "one client"}


@pytest.mark.parametrize("epsilon", [1e-5, 0.05, 1.0, 20.0])
@pytest.mark.parametrize("start", [1e-3, 1.0, 500.0])
def test_a_calibrated_multiplier_is_the_closed_form_to_five_digits(epsilon: float, start: float) -> None:
    """T = 9 full rounds are one release with a third of the multiplier."""
    run = get("dp-norm-ec")(rounds=9)
    truth = 3 * math.exp(brentq(lambda s: math.log(max(profile(epsilon, math.exp(s)), 1e-300) / DELTA), -4, 16))
    high = calibrate(run, epsilon=epsilon, delta=DELTA, start=start)
    low = calibrate(run, epsilon=epsilon, delta=DELTA, limit="low", start=start)
    assert truth * (1 - 1e-9) <= high <= truth * (1 + 1.2e-5)
    assert low == pytest.approx(truth, rel=1e-5)


def test_the_lower_multiplier_is_that_of_the_attacks() -> None:
    """An attack that sees half of the noise less: the multiplier below which it shows epsilon."""

    @dataclass(frozen=True, kw_only=True)
    class Half(Attacked):
        def attacks(self) -> tuple[tuple[Event, float], ...]:
            return ((gaussian(2 * self.value("noise_multiplier")), 0.0),)

    low, high = (calibrate(Half(), epsilon=1.0, delta=DELTA, limit=limit) for limit in ("low", "high"))
    assert low == pytest.approx(high / 2, rel=3e-5)


@pytest.mark.parametrize("start", [-8.0, -3.1, 0.0, 2.0])
@pytest.mark.parametrize("root", [-12.0, -7.3, 0.0, 0.24, 0.26, 0.5, 20.0])
def test_a_bracket_holds_the_root(start: float, root: float) -> None:
    """The steps double: the last one is as long as all before it and one more, and few are needed."""
    asked: list[float] = []

    def too_much(x: float) -> bool:
        asked.append(x)
        return x < root

    low, high = accounting._bracket(too_much, start)
    assert low < root <= high
    assert high - low <= abs(root - start) + 0.25
    assert len(asked) <= 3 + math.log2(1 + 4 * abs(root - start))


def test_a_bracket_ends() -> None:
    """The search covers exactly the noise multipliers of the accounting."""
    least, most = math.log(SMALLEST), math.log(LARGEST)
    asked: list[float] = []

    def same(x: float, answer: bool) -> bool:
        asked.append(x)
        return answer

    for start in (0.0, 0.5, -3.0, least, most):
        with pytest.raises(InputError, match="no finite noise multiplier is certified"):
            accounting._bracket(lambda x: same(x, True), start)
        with pytest.raises(InputError, match="any noise is enough"):
            accounting._bracket(lambda x: same(x, False), start)
        assert (min(asked), max(asked)) == (least, most)
        asked.clear()
        for root in (least + 1e-9, most):
            low, high = accounting._bracket(root.__gt__, start)
            assert least <= low < root <= high <= most
    for log_z, z in (
        (least, SMALLEST),
        (least - 1, SMALLEST),
        (most, LARGEST),
        (most + 1, LARGEST),
        (0.5, math.e**0.5),
    ):
        assert SMALLEST <= accounting._multiplier(log_z) <= LARGEST
        assert accounting._multiplier(log_z) == pytest.approx(z, rel=1e-12, abs=0)


@pytest.mark.parametrize(("epsilon", "delta"), [(1e60, 1e-5), (1.0, 1e-5), (1e-6, 1e-10), (1e-9, 1e-17)])
@pytest.mark.parametrize("start", [1e-40, 1.0, 1e12])
def test_a_multiplier_of_any_size_is_found_from_anywhere(epsilon: float, delta: float, start: float) -> None:
    """Also from where nothing at all is spent, and near the largest multiplier that is accounted for."""
    found = calibrate(attacked((2.0, 0.0)), epsilon=epsilon, delta=delta, start=start)
    least, enough = gaussian_multiplier(epsilon, delta)
    assert least <= found <= enough * (1 + 1e-5)
    assert epsilon_high(gaussian(found), delta) <= epsilon


@pytest.mark.parametrize("error", [-0.99, 0.0, 0.99])
def test_a_multiplier_is_certified_to_five_digits_wherever_the_solver_ends(
    error: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A solver is right within its tolerance: from below the multiplier is raised, and never by more than 1e-5."""

    class Solver:
        @staticmethod
        def brentq(f: Any, low: float, high: float, xtol: float) -> float:
            return float(brentq(f, low, high, xtol=1e-13)) + error * xtol

    monkeypatch.setattr(accounting, "optimize", Solver)
    for epsilon in (0.1, 1.0, 7.0):
        found = calibrate(attacked((2.0, 0.0)), epsilon=epsilon, delta=DELTA)
        assert epsilon_high(gaussian(found), DELTA) <= epsilon
        assert found <= gaussian_multiplier(epsilon, DELTA)[1] * (1 + 1e-5)


@pytest.mark.parametrize(("spent", "raised"), [(1.0, 0), (math.nextafter(1.0, 2.0), 1)])
def test_noise_without_sampling_is_raised_only_where_it_is_not_enough(
    spent: float, raised: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A budget that is met exactly is met."""
    costs = iter([spent])
    monkeypatch.setattr(accounting, "epsilon_high", lambda event, delta: next(costs, 0.5))
    found = calibrate(get("dp-norm-ec")(rounds=4), epsilon=1.0, delta=DELTA)
    enough = gaussian_multiplier(1.0, DELTA, 1.0)[1] / 0.5
    assert found == (enough * (1 + 2e-15) if raised else enough)


def test_from_which_epsilon_on_a_sentence_says_that_it_protects_nothing() -> None:
    assert accounting.meaningless_epsilon(50.0, "client") == ()
    (said,) = accounting.meaningless_epsilon(math.nextafter(50.0, math.inf), "client")
    assert said.startswith("An epsilon above 50 protects nothing in practice: it allows outcomes to be e^50 times")
    assert "one client's data" in said
    assert 10**21 < math.exp(50.0) < 10**22


def test_a_delta_that_publishing_one_client_has_is_told() -> None:
    for mechanism, n, unit in (
        (get("dp-fedavg")(clients=200, noise_multiplier=10.0, rounds=1), 200, "client"),
        (get("dp-scaffold")(users=4, records=50), 200, "record"),
    ):
        assert accounting.large_delta(math.nextafter(1 / n, 0.0), mechanism) == ()
        (said,) = accounting.large_delta(1 / n, mechanism)
        assert said.startswith("A delta of 0.005 is not below 1/200: who publishes all data of one " + unit)
    run = get("dp-fedavg")(clients=200, noise_multiplier=10.0, rounds=1)
    assert accounting.account(run, delta=0.005).warnings
    assert not accounting.account(run, delta=0.004).warnings
    assert accounting.large_delta(0.5, get("poisson-gaussian")(sampling_rate=0.1)) == ()


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 1.1, math.nan])
def test_delta_out_of_range(delta: float) -> None:
    with pytest.raises(InputError, match=r"it must lie in \(0, 1\)"):
        accounting.checked_delta(delta)


def test_epsilon_in_and_out_of_range() -> None:
    accounting.checked_delta(1e-300)
    accounting.checked_delta(1 - 1e-16)
    accounting.checked_epsilon(500)
    accounting.checked_epsilon(1e100)
    accounting.checked_epsilon(1e-9)
    accounting.checked_epsilon(0, zero=True)
    for epsilon, zero in (
        (0, False),
        (1.001e100, False),
        (1.001e100, True),
        (math.inf, True),
        (-1e-9, True),
        (-1, False),
        (math.nan, True),
    ):
        with pytest.raises(InputError, match=r"give a positive number of at most 1e\+100$"):
            accounting.checked_epsilon(epsilon, zero=zero)
    run = get("dp-norm-ec")(rounds=9, noise_multiplier=3.0)
    with pytest.raises(InputError, match="give either `delta` or `epsilon`"):
        account(run)
    with pytest.raises(InputError, match="give either `delta` or `epsilon`"):
        account(run, delta=0.1, epsilon=1.0)
    with pytest.raises(InputError, match="`epsilon` is 0"):
        largest_rounds(run, epsilon=0, delta=DELTA)


def test_rounds_of_a_gaussian_run() -> None:
    """T rounds with multiplier z are one with z/sqrt(T)."""
    run = get("dp-norm-ec")(noise_multiplier=50.0)
    found = largest_rounds(run, epsilon=1.0, delta=DELTA)
    assert profile(1.0, 50.0 / math.sqrt(found)) <= DELTA < profile(1.0, 50.0 / math.sqrt(found + 1))
    assert run.with_(rounds=found).event() == Repeated(gaussian(50.0), found)


COSTS: list[tuple[Any, float, int]] = [
    (lambda n: n, 7.0, 7),
    (lambda n: n, 7.5, 7),
    (lambda n: n, 1.0, 1),
    (lambda n: n, 0.5, 0),
    (lambda n: n**0.5, 300.0, 90_000),
    (lambda n: 0.0 if n < 1000 else 9.0, 1.0, 999),
    (lambda n: math.inf if n > 12 else 0.5, 1.0, 12),
    (lambda n: math.log(n) + 1, 12.0, int(math.exp(11))),
    (lambda n: n**3, 1e9, 1000),
    (lambda n: 2.0**n, 2.0**41, 41),
]


@pytest.mark.parametrize(("cost", "budget", "last"), COSTS, ids=range(len(COSTS)))
def test_the_largest_number_within_a_budget_and_few_questions(cost: Any, budget: float, last: int) -> None:
    asked: list[int] = []

    def counted(n: int) -> float:
        asked.append(n)
        return float(cost(n))

    assert largest(counted, budget) == last
    assert len(asked) <= 40
    assert len(asked) == len(set(asked))
    assert min(asked) == 1


def test_more_than_the_most_rounds() -> None:
    accounting_most = accounting.MOST_ROUNDS
    assert largest(lambda n: n, accounting_most - 0.5) == accounting_most - 1
    with pytest.raises(InputError, match="at least 100000000 rounds fit"):
        largest(lambda n: 1e-9 * n, 1.0)


@pytest.mark.parametrize("edge", [2.0, 3.0, 0.7])
def test_a_multiplier_at_a_step_is_found_to_five_digits(edge: float) -> None:
    """An attack that stops at a multiplier: below it epsilon is 4.4, above it nearly 0, and no slope shows the way."""

    @dataclass(frozen=True, kw_only=True)
    class Step(Attacked):
        def attacks(self) -> tuple[tuple[Event, float], ...]:
            return ((gaussian(1.0 if self.value("noise_multiplier") < edge else 100.0), 0.0),)

    assert calibrate(Step(), epsilon=1.0, delta=DELTA, limit="low") == pytest.approx(edge, rel=1e-5)
