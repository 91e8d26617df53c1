"""dp-norm-ec: shulgin2025 Corollary 2 and Theorem 2 against a second transcription and against brute force."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recommend.cases import INPUTS, formulas

from dpfl_theory import privacy
from dpfl_theory.errors import InputError
from dpfl_theory.recommend import recommend

BASE = INPUTS["dp-norm-ec"]
ACCOUNTED = {**BASE, "calibration": "accountant"}


def bound(i: dict[str, Any], rounds: int, beta_0: float, c: float = 2.0) -> float:
    """Theorem 2 with sigma, beta and gamma of Corollary 2; rounds = K + 1."""
    sigma = c * math.sqrt(rounds * math.log(1 / i["delta"])) / i["epsilon"]
    beta = beta_0 / rounds
    R = i["residual"]
    gamma = beta * R / ((i["alpha"] + R) * i["smoothness_max"])
    noise = 2 * beta * math.sqrt(rounds * i["dim"] * sigma**2 / i["clients"])
    return i["gap"] / (gamma * rounds) + 2 * R + i["smoothness"] * gamma / 2 + noise


@pytest.mark.parametrize(
    "changes", [{}, {"alpha": 0.0}, {"rounds": 50}, {"beta_0": 3.0}, {"constant": 1.0, "rounds": 9}]
)
def test_against_a_second_transcription(changes: dict[str, Any]) -> None:
    i = {**BASE, **changes}
    found = formulas("dp-norm-ec", **i)
    rounds, beta_0, R = found["rounds"], found["beta_0"], i["residual"]
    c = math.sqrt(i.get("constant", 4.0))
    assert found["K"] == rounds - 1
    assert found["beta"] == pytest.approx(beta_0 / rounds, rel=1e-12)
    assert found["gamma"] == pytest.approx(found["beta"] * R / ((i["alpha"] + R) * 2.0), rel=1e-12)
    sigma = c * math.sqrt(rounds * math.log(1e5)) / 4.0
    assert found["noise"]["sigma"] == pytest.approx(sigma, rel=1e-12)
    if found["certificate"]["applies"]:
        assert found["bound"] == pytest.approx(bound(i, rounds, beta_0, c), rel=1e-12)
    else:
        assert found["beta"] >= i["alpha"] + R
        assert found["bound"] is None
    assert found["certificate"]["trivial"] == pytest.approx(math.sqrt(60.0), rel=1e-12)


@given(st.floats(0.1, 10.0))
def test_the_default_beta_0_minimises_the_bound_of_long_runs(factor: float) -> None:
    found = formulas("dp-norm-ec", **BASE)
    best = bound(BASE, 10**9, found["beta_0"])
    assert bound(BASE, 10**9, found["beta_0"] * factor) >= best * (1 - 1e-9)


def test_the_default_rounds_are_the_least() -> None:
    found = formulas("dp-norm-ec", **BASE)
    assert found["certificate"]["applies"]

    def serves(rounds: int) -> bool:
        terms = formulas("dp-norm-ec", **BASE, rounds=rounds)
        others = sum(v for name, v in terms["terms"].items() if name != "curvature")
        return terms["certificate"]["applies"] and terms["terms"]["curvature"] <= 0.01 * others * (1 + 1e-12)

    assert serves(found["rounds"])
    assert not serves(found["rounds"] - 1)
    flat = formulas("dp-norm-ec", **{**BASE, "smoothness": 2.0, "residual": 50.0, "beta_0": 2000.0})
    assert flat["beta"] < 50.1
    assert flat["terms"]["curvature"] <= 0.01 * flat["bound"]


def test_noise_by_an_accountant() -> None:
    """Its noise is enough, and less than the printed one; the hidden constant does not depend on the rounds."""
    found = recommend("dp-norm-ec", "printed", **ACCOUNTED)
    kind: Any = privacy.get("dp-norm-ec")
    run = kind(rounds=found["rounds"], noise_multiplier=found["noise"]["sigma"] * (1 + 1e-6))
    limits = privacy.account(run, delta=1e-5).epsilon
    assert limits.high <= 4.0 * (1 + 1e-9)
    assert limits.high >= 4.0 * (1 - 1e-3)
    assert found["noise"]["constant"] < 4.0
    other = recommend("dp-norm-ec", "printed", **ACCOUNTED, rounds=1000)
    assert other["noise"]["constant"] == pytest.approx(found["noise"]["constant"], rel=1e-12)


def test_what_is_said_of_the_printed_noise() -> None:
    assert any("noise.repaired" in w for w in formulas("dp-norm-ec", **BASE)["warnings"])
    for changes in ({"constant": 3.0}, {"epsilon": 24.0}):
        assert any("not known to be sufficient" in w for w in formulas("dp-norm-ec", **{**BASE, **changes})["warnings"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"smoothness": 3.0}, "`smoothness` is 3.0: it exceeds `smoothness_max=2.0`"),
        ({"calibration": "none"}, "`calibration` is 'none': choose one of paper, accountant"),
    ],
)
def test_what_cannot_be_used(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        formulas("dp-norm-ec", **{**BASE, **changes})
