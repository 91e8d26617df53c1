"""dp-fedavg-two-sided: zhang2021's steps and repaired bound and noise against a second transcription."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recommend.cases import INPUTS, formulas

from dpfl_theory.errors import InputError
from dpfl_theory.recommend import recommend

BASE = INPUTS["dp-fedavg-two-sided"]


@given(
    st.fixed_dictionaries(
        {
            "clients": st.integers(200, 5000),
            "cohort": st.sampled_from([1.0, 20.0, 150.0]),
            "dim": st.integers(1, 100),
            "smoothness": st.floats(0.1, 10.0),
            "lipschitz": st.floats(0.1, 10.0),
            "gap": st.floats(0.01, 100.0),
            "dissimilarity": st.floats(0.0, 10.0),
            "gradient_variance": st.floats(0.0, 10.0),
            "local_steps": st.integers(1, 50),
            "rounds": st.integers(10**9, 10**10),
            "epsilon": st.floats(0.1, 5.0),
        }
    )
)
def test_against_a_second_transcription(i: dict[str, Any]) -> None:
    found = formulas("dp-fedavg-two-sided", **i, delta=1e-5)
    N, P, d, L, G, gap = (i[k] for k in ("clients", "cohort", "dim", "smoothness", "lipschitz", "gap"))
    sigma_g, variance, Q, T, epsilon = (
        i[k] for k in ("dissimilarity", "gradient_variance", "local_steps", "rounds", "epsilon")
    )
    eta_l, eta_g, log = 1 / (math.sqrt(T) * Q * L), math.sqrt(Q * P), math.log(1e5)
    assert found["eta_l"] == pytest.approx(eta_l, rel=1e-12)
    assert found["eta_g"] == pytest.approx(eta_g, rel=1e-12)
    assert found["c"] == pytest.approx(eta_l * Q * G, rel=1e-12)
    terms = {
        "initialisation": 4 * gap / (eta_g * eta_l * Q * T),
        "drift": 10 * eta_l**2 * L**2 * Q * (variance + 6 * Q * sigma_g**2),
        "sampling": eta_g * eta_l * L / P * (13 * variance + 54 * Q * sigma_g**2),
        "privacy": 8 * L * eta_g * eta_l * Q * G**2 * d * T * log / (N * epsilon) ** 2,
    }
    assert found["terms"] == pytest.approx(terms, rel=1e-9)
    noise = 4 * found["c"] ** 2 * P * T * log / (N * epsilon) ** 2
    assert found["noise"]["sigma"] == pytest.approx(math.sqrt(noise), rel=1e-9)
    assert found["certificate"]["applies"]
    assert found["bound"] == pytest.approx(sum(terms.values()), rel=1e-9)
    assert found["certificate"]["trivial"] == pytest.approx(min(G**2, 2 * L * gap), rel=1e-12)


def test_steps_beyond_their_limits_have_no_bound() -> None:
    found = formulas("dp-fedavg-two-sided", **{**BASE, "rounds": 2000})
    assert found["bound"] is None
    assert "No bound is claimed" in found["warnings"][0]
    assert "is not met: 6 L Q eta_g eta_l (P - 1) = 8476.8 exceeds P = 1000" in found["warnings"][0]
    best = recommend("dp-fedavg-two-sided", "bound-optimal", **{**BASE, "rounds": 2000})
    assert best["certificate"]["applies"]
    assert best["bound"] < best["certificate"]["trivial"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cohort": 2000.0}, "`cohort` is 2000.0: it exceeds `clients=1000`"),
        ({"cohort": 2.5}, "`cohort` is 2.5: every cohort has exactly P clients"),
        ({"calibration": "accountant"}, "computes the bound from the paper's own noise formula"),
    ],
)
def test_what_cannot_be_used(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        formulas("dp-fedavg-two-sided", **{**BASE, **changes})


def test_terms_with_equal_exponents_are_one_monomial() -> None:
    """The limit 6 L Q (P - 1) eta_g eta_l <= P was too strict by P/(P - 1), and a bound below it existed."""
    few = {"clients": 100_000, "cohort": 30.0, "dim": 1, "smoothness": 1.0, "lipschitz": 1.0, "gap": 1e6, "delta": 1e-2}
    none = {"dissimilarity": 0.0, "gradient_variance": 0.0, "local_steps": 1, "rounds": 2000, "epsilon": 1e-4}
    found = recommend("dp-fedavg-two-sided", "bound-optimal", **few, **none)
    assert found["certificate"]["lower_bound"] <= found["bound"] <= 11727.0392
