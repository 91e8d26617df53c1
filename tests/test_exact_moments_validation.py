"""The validation of exact second moments: fewer replicates agree, and faulty algorithms do not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any

import pytest

from dpfl_theory.algorithms.error_feedback import NormEC
from dpfl_theory.algorithms.scaffold import Scaffold
from dpfl_theory.validation import Context as Profile


@pytest.fixture(scope="module")
def exact() -> Any:
    """The script and its comparisons, imported as they import each other."""
    from validations import _exact_moments, exact_moments

    return SimpleNamespace(script=exact_moments, moments=_exact_moments, every=list(_exact_moments.comparisons(6)))


def deviation(comparison: Any, replicates: int, seed: int = 0) -> float:
    """The mean minus the exact value, in standard errors."""
    values = comparison.replicates(replicates, seed, "cpu")
    return float((values.mean() - float(comparison.exact)) / (values.std() / math.sqrt(replicates) + 1e-12))


def test_every_mean_is_the_exact_one(exact: Any) -> None:
    """Each within 5 standard errors: false alarms about 2e-5."""
    assert len({c.name for c in exact.every}) == len(exact.every) == 26
    for seed, comparison in enumerate(exact.every):
        assert abs(deviation(comparison, 10_000, seed)) < 5, comparison.name


def forgetful(right: Any) -> Any:
    """A fault: control variates stay those of the warm start."""

    def round_(a: Any, o: Any, w: Any, state: Any) -> Any:
        after, inner = Scaffold.round(a, o, w, state)
        return after, inner if a.is_warm(o) else state

    return with_parts(right, round=round_)


def late(right: Any) -> Any:
    """A fault: the server's control variate is one round late."""

    def round_(a: Any, o: Any, w: Any, state: Any) -> Any:
        after, (c, own) = Scaffold.round(a, o, w, state)
        return after, (c if a.is_warm(o) else state[0], own)

    return with_parts(right, round=round_)


def eager(right: Any) -> Any:
    """A fault: users outside the cohort also change their control variates."""

    def controls(a: Any, o: Any, w: Any, c: Any, own: Any, trained: Any) -> Any:
        new = o.apply(o.each(o.everyone, lambda i: a.train(o, w, i, own[i], c)), lambda t: t.new)
        return c + o.sum(o.everyone, new - own) / o.n, new

    def when_warm(a: Any, o: Any, *rest: Any) -> Any:
        return (Scaffold.controls if a.is_warm(o) else controls)(a, o, *rest)

    return with_parts(right, controls=when_warm)


def with_parts(right: Any, **parts: Any) -> Any:
    return replace(right, run=right.run.replaced(**parts))


def leaky(a: Any, o: Any, w: Any, state: Any) -> Any:
    """A fault: the memories include the noise of the server's estimate."""
    w, (v, v_i) = NormEC.round(a, o, w, state)
    noise = a.memory_step * o.parts["noise"]
    return w, (v, o.each(o.everyone, lambda i: v_i[i] + noise))


def as_(kind: type) -> Callable[[Any], Any]:
    return lambda right: kind(**{field.name: getattr(right, field.name) for field in fields(right)})


def louder(right: Any) -> Any:
    """A fault: the variance of the local noise is 14% too large."""
    return replace(right, gradient=replace(right.gradient, deviation=1.07 * right.gradient.deviation))


def without_share(right: Any) -> Any:
    """A fault: 1/M in place of 1/(lM)."""
    return right.with_values(global_step=right.run.global_step * right.cohort.size / 3)


def whole_batches(right: Any) -> Any:
    """A fault: all records are in each step, with the same noise."""
    return right.with_values(share=1.0, noise_multiplier=right.run.noise_multiplier / right.run.share)


TWO = "DP-SCAFFOLD, 2 of 3 users, K = 2, eta_g = 3/2, 3 rounds"
ONE = "DP-SCAFFOLD, 1 of 3 users, K = 3, eta_g = 1, 2 rounds"
LOCAL = "DP-FedAvg, local noise, 2 of 3 users, K = 2, eta_g = 3/2, 3 rounds"
RECORDS = "DP-SCAFFOLD, records, 1 of 3 users, K = 2, eta_g = 3/2, 1 round"
LINE = "alpha-NormEC, n = 3, d = 1, K = 5, beta = 1/2"


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize(
    ("name", "fault"),
    [
        *((TWO, fault) for fault in (louder, without_share, forgetful, late, eager)),
        (ONE, lambda right: with_parts(right, warm_members=Scaffold.warm_members)),
        *((LOCAL, fault) for fault in (louder, without_share)),
        (RECORDS, whole_batches),
        *((LINE, lambda right, f=f: right.with_values(sigma=f * right.run.sigma)) for f in (1.07, 1 / math.sqrt(3))),
        (LINE, lambda right: replace(right, run=right.run.replaced(round=leaky))),
    ],
)
def test_a_faulty_algorithm_is_noticed(exact: Any, name: str, fault: Callable[[Any], Any]) -> None:
    comparison = next(c for c in exact.every if c.name == name)
    wrong = replace(comparison, algorithm=fault(comparison.algorithm))
    assert abs(deviation(wrong, 40_000)) > 5


def test_every_comparison_is_as_precise_as_it_says(exact: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a tenth of the script's precision, the pilot's deviation is right within a fifth for all comparisons, and so
    is the number of replicates."""
    monkeypatch.setattr(exact.script, "PILOT", 5000)
    monkeypatch.setattr(exact.script, "PRECISION", 0.016)
    for found in exact.script.compute(Profile(profile="full"))["comparisons"]:
        reached = found["standard_error"] / found["exact"]
        assert reached < 1.2 * 0.016, found["name"]
        assert found["replicates"] == 5000 or reached > 0.8 * 0.016, found["name"]


def test_a_wrong_value_is_noticed(exact: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    comparison = exact.every[0]
    monkeypatch.setattr(exact.script, "PILOT", 2000)
    monkeypatch.setattr(exact.script, "PRECISION", 0.03)
    for factor, verdict in ((1, "yes"), (2, "no")):
        one = replace(comparison, exact=comparison.exact * factor)
        monkeypatch.setattr(exact.moments, "comparisons", lambda iterations, one=one: iter([one]))
        data = exact.script.compute(Profile(profile="full"))
        assert [claim["verdict"] for claim in data["claims"]] == [verdict]
        assert exact.script.draw(data)[""].axes
