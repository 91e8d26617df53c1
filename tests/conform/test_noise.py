"""DP-FedAvg in one local step, right but unusually written, and with noise that only looks right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dpfl_theory
from benchmarks.conform.planted import function_of
from dpfl_theory.conform.comparisons.noise_linearity import CHANGES, DEPENDS, FIXED, NOBODY, NOT_GAUSSIAN
from dpfl_theory.errors import InputError

Noise = Callable[..., Any]


def served(
    noise: Noise, kind: Any = np.float64, small: float = 0.0, digits: int | None = None, returned: Any = None
) -> Any:
    """The round, in another precision, with a small number added to the norm, or rounded.

    noise (rng, sigma, d, total, cohort, state): what the server adds to the average.
    """

    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, beta: Any, C: Any, r: Any, sigma: Any) -> Any:
        k = 0 if state is None else state
        total = np.zeros(len(w), kind)
        for i in cohort:
            g = clients[i].gradient(w).astype(kind)
            total += (g * min(1.0, C / max(float(np.linalg.norm(g)) + small, 1e-300))).astype(kind)
        after = w - beta * (total / r + noise(rng, sigma, len(w), total, cohort, k)).astype(kind)
        return (after if digits is None else np.round(after, digits)).astype(returned or np.float64), k + 1

    return round


def plain(rng: Any, sigma: float, d: int, *_: Any) -> Any:
    return rng.normal(0.0, sigma, d)


def child(rng: Any, sigma: float, d: int, *_: Any) -> Any:
    return np.random.default_rng(int(rng.integers(2**62))).normal(0.0, sigma, d)


def inverse(rng: Any, sigma: float, d: int, *_: Any) -> Any:
    from scipy.special import ndtri

    return sigma * ndtri(rng.random(d))


def pairs(rng: Any, sigma: float, d: int, *_: Any) -> Any:
    one, two = rng.random(d), rng.random(d)
    return sigma * np.sqrt(-2.0 * np.log(1.0 - one)) * np.cos(2.0 * np.pi * two)


def legacy(rng: Any, sigma: float, d: int, *_: Any) -> Any:
    return np.random.RandomState(int(rng.integers(2**31))).normal(0.0, sigma, d)


RIGHT = {
    "single precision": (served(plain, np.float32), "single precision"),
    "single precision that is returned": (served(plain, np.float32, returned=np.float32), "single precision"),
    "a small number in the norm": (served(plain, small=1e-6), "a small number that is added to a norm"),
    "rounded results": (served(plain, digits=6), "rounded to decimals"),
    "a generator of its own": (served(child), "a generator that is made from the rng's numbers"),
    "an older generator": (served(legacy), "a generator that is made from the rng's numbers"),
    "by inverse transform": (served(inverse), "does not come from the rng's normal numbers"),
    "by pairs of uniform numbers": (served(pairs), "does not come from the rng's normal numbers"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("round", "note"), RIGHT.values(), ids=RIGHT)
def test_what_is_right_is_not_accused(round: Any, note: str) -> None:
    """The last five are tested on samples, each with an error probability of 1e-6."""
    found = dpfl_theory.conform(round, "dp-fedavg", E=1, runs=300)
    assert found.faults == ()
    assert found.verdict in ("conforms", "undecided")  # undecided where a state is kept, and samples were all there is
    assert note in " ".join(found.notes)


def test_a_refusal_names_the_methods_that_the_round_calls() -> None:
    with pytest.raises(InputError, match=r"but perhaps from rng\.integers or a generator that is made from the rng's"):
        dpfl_theory.conform(served(child), E=1, runs=0)


def test_what_is_exact_needs_no_word() -> None:
    found = dpfl_theory.conform(served(plain), "dp-fedavg", E=1, runs=0)
    assert (found.verdict, found.notes) == ("conforms", ())


def seeded(rng: Any, sigma: float, d: int, *_: Any) -> Any:
    np.random.seed(42)  # noqa: NPY002
    return np.random.normal(0.0, sigma, d)  # noqa: NPY002


def by_round(rng: Any, sigma: float, d: int, total: Any, cohort: Any, k: int) -> Any:
    np.random.seed(k)  # noqa: NPY002
    return np.random.normal(0.0, sigma, d)  # noqa: NPY002


def cut(rng: Any, sigma: float, d: int, *_: Any) -> Any:
    return np.clip(rng.normal(0.0, sigma, d), -3.0 * sigma, 3.0 * sigma)


def coarse(rng: Any, sigma: float, d: int, *_: Any) -> Any:
    return np.round(rng.normal(0.0, sigma, d), 2)


def bent(rng: Any, sigma: float, d: int, *_: Any) -> Any:
    return sigma * np.tanh(rng.normal(0.0, 1.0, d))


def uniform(rng: Any, sigma: float, d: int, *_: Any) -> Any:
    return rng.uniform(-(3.0**0.5) * sigma, 3.0**0.5 * sigma, d)


def logistic(rng: Any, sigma: float, d: int, *_: Any) -> Any:
    return rng.logistic(0.0, sigma * 3.0**0.5 / np.pi, d)


def only_with_clients(rng: Any, sigma: float, d: int, total: Any, cohort: Any, k: int) -> Any:
    return rng.normal(0.0, sigma, d) if len(cohort) else np.zeros(d)


def only_with_updates(rng: Any, sigma: float, d: int, total: Any, cohort: Any, k: int) -> Any:
    return rng.normal(0.0, sigma, d) if np.any(total) or not len(cohort) else np.zeros(d)


def rarely(rng: Any, sigma: float, d: int, total: Any, cohort: Any, k: int) -> Any:
    return rng.normal(0.0, sigma, d) if k % 5 != 4 else np.zeros(d)


def fading(rng: Any, sigma: float, d: int, total: Any, cohort: Any, k: int) -> Any:
    return rng.normal(0.0, sigma * (1.0 if k < 10 else 0.5), d)


WRONG = {
    "seeded in each round": (seeded, {FIXED}),
    "seeded by the number of the round": (by_round, {FIXED}),
    "cut at three deviations": (cut, {NOT_GAUSSIAN}),
    "rounded before it is added": (coarse, {NOT_GAUSSIAN}),
    "bent": (bent, {NOT_GAUSSIAN}),
    "uniform": (uniform, {NOT_GAUSSIAN}),
    "logistic": (logistic, {NOT_GAUSSIAN}),
    "only where a client takes part": (only_with_clients, {NOBODY}),
    "only where something is sent": (only_with_updates, {DEPENDS}),
    "not in every fifth round": (rarely, {CHANGES}),
    "less from the tenth round on": (fading, {CHANGES}),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("noise", "names"),
    [pytest.param(*w, id=n, marks=[pytest.mark.slow] * (n in ("uniform", "logistic"))) for n, w in WRONG.items()],
)
def test_noise_that_only_looks_right_is_named(noise: Noise, names: set[str]) -> None:
    """Without a sample, but for uniform and logistic noise. No epsilon is reported for it, except where a client that
    takes part always has noise."""
    found = dpfl_theory.conform(served(noise), "dp-fedavg", E=1, runs=0)
    assert found.verdict == "differs"
    assert {fault.name for fault in found.faults} == names
    assert all(fault.private for fault in found.faults)
    assert (found.privacy.get("epsilon") is None) == (names != {NOBODY})


@pytest.mark.slow
def test_one_number_for_all_coordinates_leaves_no_epsilon() -> None:
    """Data that move coordinates apart from each other are not covered by it."""

    def one(rng: Any, sigma: float, d: int, *_: Any) -> Any:
        return np.full(d, rng.normal(0.0, sigma))

    found = dpfl_theory.conform(served(one), "dp-fedavg", E=1, runs=0)
    assert [fault.name for fault in found.faults] == ["one number for all coordinates"]
    assert found.privacy["epsilon"] is None


@pytest.mark.slow
def test_the_epsilon_is_that_of_the_worst_setting() -> None:
    """Noise that forgets the threshold is too much for a small one and too little for a large one."""

    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, beta: Any, C: Any, r: Any, noise_multiplier: Any
    ) -> Any:
        return served(plain)(w, state, clients, cohort, rng, beta=beta, C=C, r=r, sigma=noise_multiplier / r)

    found = dpfl_theory.conform(round, "dp-fedavg", E=1, runs=0)
    assert [fault.name for fault in found.faults] == ["sensitivity without the clip threshold"]
    assert found.privacy["epsilon"] > found.privacy["epsilon_claimed"]


@pytest.mark.slow
def test_a_client_alone_counts_where_cohorts_are_independent() -> None:
    """Division by |S| is the largest then: C and not C/r."""

    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, beta: Any, C: Any, sigma: Any) -> Any:
        r = max(1, len(cohort))
        return served(plain)(w, state, clients, cohort, rng, beta=beta, C=C, r=r, sigma=sigma)

    found = dpfl_theory.conform(round, "dp-fedavg", E=1, runs=0)
    assert {"division by |S| in place of r", "more than the declared sensitivity"} == {f.name for f in found.faults}
    assert found.privacy["distance"] == pytest.approx(3 * found.privacy["sensitivity"], rel=1e-6)


def test_numbers_that_are_not_finite_end_no_audit_with_an_error() -> None:
    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, beta: Any, C: Any, r: Any, sigma: Any) -> Any:
        gradients = [clients[i].gradient(w) for i in cohort]
        total = sum((g * C / np.linalg.norm(g) for g in gradients), 0.0 * w)
        return w - beta * (total / r + rng.normal(0.0, sigma, len(w))), state

    found = dpfl_theory.conform(round, "dp-fedavg", E=1, runs=300)
    assert found.faults[0].name == "numbers that are not finite"
    assert "nan" not in str(found)


def test_single_precision_is_seen_where_moves_of_the_noise_come_out_exactly() -> None:
    """With this seed they do, and rounding was taken for another round where clients move w by very little."""
    found = dpfl_theory.conform(function_of("single_precision"), "dp-fedavg", seed=42, runs=0)
    assert found.verdict == "conforms", str(found)
    assert "single precision" in " ".join(str(found).split())


def test_pairs_that_give_no_numbers_in_usual_cohorts_end_no_comparison() -> None:
    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, beta: Any, C: Any, r: Any, sigma: Any) -> Any:
        after, state = served(plain)(w, state, clients, cohort, rng, beta=beta, C=C, r=r, sigma=sigma)
        lengths = [float(np.linalg.norm(clients[i].gradient(w))) for i in cohort]
        far = len(cohort) == int(r) and any(length > 5.0 * C or length == 0.0 for length in lengths)
        return after * (np.nan if far else 1.0), state

    found = dpfl_theory.conform(round, "dp-fedavg", E=1, runs=0)
    assert "numbers that are not finite" in {fault.name for fault in found.faults}


def test_other_arguments_are_no_other_algorithm() -> None:
    def round(w: Any, clients: Any, rng: Any, lr: float = 0.1, steps: int = 3) -> Any:
        return w

    with pytest.raises(InputError, match="the function takes w, clients, rng, lr, steps: a round takes w, state"):
        dpfl_theory.conform(round, "fedavg")
