"""dp-scaffold: noble2022 Theorem C.1 and the printed order of the noise against a second transcription."""

from __future__ import annotations

import math
from typing import Any

import pytest
from recommend.cases import INPUTS

from dpfl_theory import privacy
from dpfl_theory.errors import InputError
from dpfl_theory.recommend import recommend

STRONG = INPUTS["dp-scaffold"]
CONVEX = {k: v for k, v in STRONG.items() if k != "strong_convexity"}


def sigma_star(i: dict[str, Any]) -> float:
    """sigma_g* of Section 4.2."""
    lT = i["user_rate"] * i["rounds"]
    logs = math.log(2 * lT / i["delta"]) * math.log(2 / i["delta"])
    return i["record_rate"] * math.sqrt(lT * i["local_steps"] * logs) / (i["epsilon"] * math.sqrt(i["users"]))


@pytest.mark.parametrize("mu", [None, 0.5, 0.01, 1.0])
@pytest.mark.parametrize("l", [0.25, 1.0, 0.04])
def test_against_a_second_transcription(mu: float | None, l: float) -> None:  # noqa: E741
    i = {**CONVEX, "user_rate": l, "rounds": 20000} | ({} if mu is None else {"strong_convexity": mu})
    found = recommend("dp-scaffold", **i)
    M, K, T, sR = 100, 10, 20000, 800
    eta_g = math.sqrt(l * M)
    eta_l = l ** (2 / 3) / (24 * K * eta_g)
    sigma = sigma_star(i)
    Sigma = 2 * math.sqrt(2 * 41) * sigma / sR
    if mu is None:
        order = (math.sqrt(2 / sR) + Sigma) / math.sqrt(T * K * l * M) * 10 + 100 / (l ** (2 / 3) * T)
    else:
        eta_l = min(eta_l, l / (54 * mu * K * eta_g))
        order = (2 / sR + Sigma**2) / (mu * T * K * l * M) + mu * 100 * math.exp(
            -min(l / 108, mu * l ** (2 / 3) / 48) * T
        )
    assert found["eta_g"] == pytest.approx(eta_g, rel=1e-12)
    assert found["eta_l"] == pytest.approx(eta_l, rel=1e-12)
    assert found["noise"]["sigma_g"] == pytest.approx(sigma, rel=1e-12)
    assert found["noise"]["sigma_of_one_step"] == pytest.approx(2 * sigma / sR, rel=1e-12)
    assert found["order"]["value"] == pytest.approx(order, rel=1e-12)
    assert found["bound"] is None
    case = "convex" if mu is None else "strongly-convex"
    assert found["certificate"]["statements"][0]["id"] == f"noble2022.theoremC.1.{case}"


def test_the_rounds_that_the_strongly_convex_case_needs() -> None:
    least = max(108 / 0.25, 48 / (0.5 * 0.25 ** (2 / 3)))
    short = recommend("dp-scaffold", **{**STRONG, "rounds": math.ceil(least) - 1})
    assert not short["certificate"]["applies"]
    assert any("T = 431 is below 432" in w for w in short["warnings"])
    assert any("Without --strong-convexity" in w for w in short["warnings"])
    assert recommend("dp-scaffold", **{**STRONG, "rounds": math.ceil(least)})["certificate"]["applies"]
    assert recommend("dp-scaffold", **{**CONVEX, "rounds": 1})["certificate"]["applies"]


def test_noise_by_an_accountant() -> None:
    i = {**CONVEX, "users": 10, "records": 50, "user_rate": 0.5, "local_steps": 2, "rounds": 3}
    found = recommend("dp-scaffold", **i, calibration="accountant")
    kind: Any = privacy.get("dp-scaffold")
    run = kind(users=10, records=50, user_rate=0.5, record_rate=0.2, local_steps=2, rounds=3)
    assert found["noise"]["sigma_g"] == privacy.calibrate(run, epsilon=3.0, delta=2.5e-6)
    enough = run.with_(noise_multiplier=found["noise"]["sigma_g"])
    assert privacy.account(enough, delta=2.5e-6).epsilon.high <= 3.0
    assert not any("accountant" in w for w in found["warnings"])


def test_the_constant_scales_the_noise() -> None:
    one, four = (recommend("dp-scaffold", **CONVEX, **more) for more in ({}, {"constant": 4.0}))
    assert four["noise"]["sigma_g"] == pytest.approx(4 * one["noise"]["sigma_g"], rel=1e-12)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"strong_convexity": 1.5}, "--strong-convexity is 1.5: it exceeds --smoothness 1.0"),
        ({"user_rate": 0.005}, "--user-rate is 0.005: of --users 100 it is less than one user"),
        ({"record_rate": 1e-4}, "--record-rate is 0.0001: of --records 4000 it is less than one record"),
        ({"calibration": "accountant", "constant": 1.0}, "--constant is 1.0: an accountant needs none"),
    ],
)
def test_what_cannot_be_used(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        recommend("dp-scaffold", **{**STRONG, **changes})
