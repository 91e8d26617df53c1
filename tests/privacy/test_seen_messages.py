"""Who sees single messages: the accountant counts the noise of one message then, and no other client's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr
from scipy.stats import binom

from dpfl_theory.privacy import pld
from dpfl_theory.privacy.events import Repeated, WithProbability, gaussian
from dpfl_theory.privacy.mechanisms import Mechanism, get
from dpfl_theory.privacy.pld import delta_limits, epsilon_limits
from dpfl_theory.privacy.tails import SampledUnit

CLIP = 2.5


def gaussian_profile(epsilon: float, z: float) -> float:
    """delta(epsilon) of one Gaussian release: Balle and Wang, Theorem 8."""
    left, right = log_ndtr(0.5 / z - epsilon * z), epsilon + log_ndtr(-0.5 / z - epsilon * z)
    return float(np.exp(left) * -np.expm1(right - left))


def sampled_profile(epsilon: float, q: float, z: float) -> float:
    """delta(epsilon) of (1-q) N(0, z^2) + q N(1, z^2) over N(0, z^2), by integration on a fine grid."""
    x, step = np.linspace(-15 * z, 1 + 15 * z, 400_001, retstep=True)
    other = np.exp(-0.5 * (x / z) ** 2)
    own = (1 - q) * other + q * np.exp(-0.5 * ((x - 1) / z) ** 2)
    return float(np.maximum(own - math.exp(epsilon) * other, 0.0).sum() * step / (z * math.sqrt(2 * math.pi)))


@pytest.mark.parametrize("relation", ["zero-out", "replace"])
@pytest.mark.parametrize(("sampling", "cohort"), [("full", 12), ("fixed", 3), ("poisson", 3)])
def test_the_server_of_dp_fedavg_sees_the_noise_of_one_message(sampling: str, cohort: int, relation: str) -> None:
    """A client that is drawn, with probability r/n, sends its clipped update with noise; the server reads it."""
    run = get("dp-fedavg")(
        clients=12,
        cohort=cohort,
        sampling=sampling,
        relation=relation,
        view="server",
        noise_multiplier=6.0,
        rounds=1,
    )
    moved = CLIP * (2 if relation == "replace" else 1)
    one = run.sigma(CLIP)["sigma_of_one_message"] / moved
    assert one == pytest.approx(6.0 / math.sqrt(cohort))
    for epsilon in (0.0, 0.5, 1.5):
        expected = cohort / 12 * gaussian_profile(epsilon, one)
        assert delta_limits(run.event(), epsilon).high == pytest.approx(expected, rel=1e-6)


def local_steps(run: Mechanism) -> tuple[float, float]:
    """q and z of one local step, in units of the largest change of a clipped gradient's average: a record moves it
    from C/(sR) to -C/(sR), and the user's own noise has the standard deviation sigma_g 2C/(sR)."""
    batch = round(run.value("record_rate") * run.value("records"))
    return batch / run.value("records"), run.sigma(CLIP)["sigma_of_one_step"] / (2 * CLIP / batch)


SEEN: list[tuple[str, dict[str, Any]]] = [
    ("dp-fedavg-record", {"local_steps": 1, "view": "server"}),
    ("dp-fedavg-record", {"local_steps": 3, "view": "third-party"}),
    ("dp-fedavg-record", {"local_steps": 3, "view": "server"}),
    ("dp-scaffold", {"local_steps": 1, "view": "third-party"}),
    ("dp-scaffold", {"local_steps": 3, "view": "third-party"}),
    ("dp-scaffold", {"local_steps": 1, "view": "server"}),
    ("dp-fedsgd", {"view": "server"}),
]


@pytest.mark.parametrize(
    ("name", "parameters"), SEEN, ids=lambda x: x if isinstance(x, str) else "-".join(map(str, x.values()))
)
def test_where_the_other_users_noise_hides_nothing_it_is_not_counted(name: str, parameters: dict[str, Any]) -> None:
    """Of K local steps the first one by itself reveals at least its own divergence, whatever the rest adds."""
    rates = {} if name == "dp-fedsgd" else {"record_rate": 0.4}
    run = get(name)(users=8, records=5, user_rate=0.5, noise_multiplier=1.5, rounds=1, **rates, **parameters)
    q, z = local_steps(run)
    assert (q, z) == pytest.approx((rates.get("record_rate", 1.0), 1.5))
    steps, chance = run.count("local_steps"), 4 / 8
    for epsilon in (0.0, 0.4, 1.5):
        found = delta_limits(run.event(), epsilon).high
        one = chance * sampled_profile(epsilon, q, z)
        if steps == 1:
            assert found == pytest.approx(one, rel=1e-4)
        else:
            assert found > 1.2 * one


def test_with_one_local_step_a_third_party_sees_the_noise_of_the_whole_cohort() -> None:
    """The counterpart: counting only one user's noise would overstate the observations."""
    run = get("dp-fedavg-record")(
        users=8, records=5, user_rate=0.5, record_rate=0.4, local_steps=1, noise_multiplier=1.5, rounds=1
    )
    q, z = local_steps(run)
    for epsilon in (0.0, 0.4, 1.5):
        expected = 0.5 * sampled_profile(epsilon, q, z * math.sqrt(4))
        assert delta_limits(run.event(), epsilon).high == pytest.approx(expected, rel=1e-4)


def test_k_steps_that_are_seen_compose() -> None:
    """All records and all users: K steps of T rounds are KT Gaussian releases."""
    for name, view in (
        ("dp-scaffold", "third-party"),
        ("dp-fedavg-record", "server"),
        ("dp-fedavg-record", "third-party"),
    ):
        run = get(name)(
            users=4, records=5, user_rate=1.0, record_rate=1.0, local_steps=3, noise_multiplier=7.0, rounds=6, view=view
        )
        truth = gaussian_profile(1.0, 7.0 / math.sqrt(18))
        assert delta_limits(run.event(), 1.0).high == pytest.approx(truth, rel=1e-6)


@pytest.mark.parametrize("times", [3, 50, 2000])
def test_the_lower_limit_allows_for_all_of_the_discretisation_error(
    times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From below a loss in the middle of a cell moves by half its width h, up or down with equal probability. So the
    error of T losses is h (T/2 - Binomial(T, 1/2)) there: beyond what is allowed for, with at most the given
    probability."""
    widths = []
    cells = pld.cells

    def kept(*arguments: Any) -> Any:
        grid = cells(*arguments)
        widths.append(grid.h)
        return grid

    monkeypatch.setattr(pld, "cells", kept)
    delta = 1e-5
    for curve in pld._lower(Repeated(WithProbability(gaussian(3.0), 0.3), times), delta):
        h = widths[-1]
        assert 0 < curve.allowance <= 0.01 * delta
        assert curve.error > 0
        beyond = binom.sf(np.floor(curve.error / h + times / 2), times, 0.5)
        assert beyond <= curve.allowance
        assert curve.error < 1.05 * h * math.sqrt(times * math.log(2 / curve.allowance) / 2)
        assert ndtr(-2 * curve.error / (h * math.sqrt(times))) < curve.allowance
    widths.clear()
    curves = pld._upper(Repeated(WithProbability(gaussian(3.0), 0.3), times), delta)
    assert all((curve.error, curve.allowance) == (0.0, 0.0) for curve in curves)


def test_both_limits_enclose_a_sampled_release() -> None:
    limits = epsilon_limits(WithProbability(gaussian(1.0), 0.5), 1e-3)
    assert 0.5 * gaussian_profile(limits.high, 1.0) <= 1e-3 * (1 + 1e-9)
    assert 0.5 * gaussian_profile(limits.low, 1.0) >= 1e-3 * (1 - 1e-9)
    p, q = SampledUnit(0.3, 2.0)(np.array([0.7]))
    assert float(p[0] - math.exp(0.7) * q[0]) == pytest.approx(sampled_profile(0.7, 0.3, 2.0), rel=1e-6)
