"""dp-fedavg and dp-normfedavg: das2022 Theorem 4 against a second transcription and against brute force."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recommend.cases import INPUTS, formulas

from dpfl_theory.errors import InputError

BASE, NORMED = INPUTS["dp-fedavg"], INPUTS["dp-normfedavg"]


def rho_of(i: dict[str, Any]) -> float:
    """Definition 2."""
    if "rho" in i:
        return float(i["rho"])
    return math.sqrt(i["constant"] * i["dim"] * math.log(1 / i["delta"])) / (i["clients"] * i["epsilon"])


def bounds(i: dict[str, Any], gamma: float, rho: float) -> tuple[float, float]:
    """Theorem 4's right sides over the left sides' coefficients, (a) and (b); (b) without its expectation."""
    E, a, L, G, D = i["local_steps"], i["alpha"], i["smoothness"], i["lipschitz"], i["distance"]
    A = G * (L * D**2 / gamma + gamma / L) * rho
    x = rho * E / a
    return (
        (A + 3 * E / (2 * a) * i["heterogeneity"] * rho) / (2 - x - x**2),
        (A + E / a * G**2 / (2 * L) * rho) / (2 - x**2),
    )


@pytest.mark.parametrize("gamma", [None, 3.0, 500.0])
@pytest.mark.parametrize("level", [{"rho": 0.05}, {"epsilon": 4.0, "delta": 1e-5, "constant": 400.0}])
@pytest.mark.parametrize("algorithm", ["dp-fedavg", "dp-normfedavg"])
def test_against_a_second_transcription(algorithm: str, level: dict[str, float], gamma: float | None) -> None:
    i = {k: v for k, v in BASE.items() if k not in ("epsilon", "delta", "constant", "rho")} | level
    i["heterogeneity"] = 0.1 if algorithm == "dp-fedavg" else 0.0
    if gamma is not None:
        i["gamma"] = gamma
    found = formulas(algorithm, **i)
    rho, E, L, G = rho_of(i), i["local_steps"], i["smoothness"], i["lipschitz"]
    chosen = L * i["distance"] if gamma is None else gamma
    exact = 2 * i["alpha"] * chosen / (G * E * rho**2)
    assert found["rho"] == pytest.approx(rho, rel=1e-12)
    assert found["eta"] == found["beta"] == pytest.approx(rho / (2 * i["alpha"] * L), rel=1e-12)
    assert found["C"] == pytest.approx(G * E, rel=1e-12)
    assert found["unrounded"]["rounds"] == pytest.approx(exact, rel=1e-12)
    assert found["rounds"] == math.ceil(exact)
    assert found["gamma"] == pytest.approx(chosen * found["rounds"] / exact, rel=1e-12)
    which = algorithm == "dp-normfedavg"
    assert found["bound"] == pytest.approx(bounds(i, found["gamma"], rho)[which], rel=1e-12)
    assert found["unrounded"]["bound"] == pytest.approx(bounds(i, chosen, rho)[which], rel=1e-12)
    sigma = G * E * rho * math.sqrt(found["rounds"] / i["dim"])
    if "epsilon" in i:  # Theorem 3 itself
        printed = i["constant"] * found["rounds"] * found["C"] ** 2 * math.log(1 / i["delta"])
        assert sigma == pytest.approx(math.sqrt(printed) / (i["clients"] * i["epsilon"]), rel=1e-12)
    assert found["noise"]["sigma"] == pytest.approx(sigma, rel=1e-12)
    assert found["noise"]["sigma_of_one_message"] == pytest.approx(sigma * 10, rel=1e-12)


@given(st.floats(0.05, 20.0))
def test_the_default_gamma_minimises_the_bound(factor: float) -> None:
    i = {**BASE, "alpha": 1e4}  # enough rounds that rounding does not matter
    best = formulas("dp-fedavg", **i)
    other = formulas("dp-fedavg", **i, gamma=45.0 * factor)
    assert best["gamma"] == pytest.approx(45.0, rel=1e-6)
    assert other["bound"] >= best["bound"] * (1 - 1e-9)


def test_a_whole_number_is_not_rounded_up_by_its_last_bit() -> None:
    """2 alpha gamma/(C rho^2) = 2 * 3 * 0.3/(0.9 * 0.1^2) is 200, which floating point misses."""
    i = {**NORMED, "alpha": 3.0, "gamma": 0.3, "lipschitz": 0.225, "rho": 0.1}
    assert 2 * 3.0 * 0.3 / (0.225 * 4 * 0.1**2) != 200
    assert formulas("dp-fedavg", **i)["rounds"] == 200


def test_a_hypothesis_that_fails_ends_the_claim() -> None:
    found = formulas("dp-fedavg", **{**NORMED, "rho": 0.5})
    assert not found["certificate"]["applies"]
    assert found["bound"] is None
    assert "No bound is claimed" in found["warnings"][0]
    assert "E = 4 exceeds alpha/(2 rho) = 2" in found["warnings"][0]
    large = formulas("dp-fedavg", **{**NORMED, "rho": 1.5, "local_steps": 1, "alpha": 9.0})
    assert any("rho = 1.5 is not below 1" in w for w in large["warnings"])
    short = formulas("dp-fedavg", **{**NORMED, "alpha": 0.9})
    assert any("alpha = 0.9 is below 1" in w for w in short["warnings"])


def test_normalisation_has_no_bound_where_clients_differ() -> None:
    found = formulas("dp-normfedavg", **{**NORMED, "heterogeneity": 0.1})
    assert found["bound"] is None
    assert found["repaired"]["bound"] is None
    assert found["certificate"]["applies"]
    assert any("not known before a run" in w for w in found["warnings"])


def test_the_repaired_bound_for_independent_sampling() -> None:
    found = formulas("dp-normfedavg", **NORMED)
    kappa = (1 - 0.1) / 100
    extra = 4 / 2.0 * 4.0 / (2 * 1.5) * kappa * 0.1 / (2 - (0.1 * 4 / 2) ** 2)
    assert found["repaired"]["statement"] == "das2022.theorem4b.repaired"
    assert found["repaired"]["kappa"] == pytest.approx(kappa, rel=1e-12)
    assert found["repaired"]["bound"] - found["bound"] == pytest.approx(extra, rel=1e-9)
    full = formulas("dp-normfedavg", **{**NORMED, "cohort": 1000.0})
    assert full["repaired"]["bound"] == full["bound"]
    assert not any("refuted for independent" in w for w in full["warnings"])


def test_vacuous_is_more_than_nothing_promises() -> None:
    """f is G-Lipschitz and L-smooth: f(w_0) - f(w*) <= min(G D, L D^2/2) without any run."""
    useful = formulas("dp-fedavg", **{**BASE, "epsilon": 100.0})
    assert useful["certificate"]["trivial"] == 60.0
    assert not useful["certificate"]["vacuous"]
    near = formulas("dp-fedavg", **{**BASE, "distance": 1e-3, "heterogeneity": 50.0})
    assert near["certificate"]["vacuous"]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({**BASE, "rho": 0.1}, "needs a privacy level: give `rho`, or `epsilon`, `delta` and `constant`"),
        ({k: v for k, v in NORMED.items() if k != "rho"}, "needs a privacy level"),
        ({k: v for k, v in BASE.items() if k != "constant"}, "give all of them, or `rho`"),
        ({**BASE, "cohort": 1001}, "`cohort` is 1001: it exceeds `clients=1000`"),
    ],
)
def test_what_cannot_be_used(inputs: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        formulas("dp-fedavg", **inputs)
