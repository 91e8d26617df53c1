"""dp-scaffnew: hou2023 Corollary 1 and Theorem 1 against a second transcription and against brute force."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recommend.cases import INPUTS, formulas

from dpfl_theory.errors import InputError

BASE = INPUTS["dp-scaffnew"]


def by_hand(i: dict[str, Any]) -> dict[str, Any]:
    """Corollary 1, Theorem 1 and Lemma 1, typed from the paper with 50 digits."""
    with mpmath.workdps(50):
        L, mu, D, H, C, e, d, v = (
            mpmath.mpf(str(i[k]))
            for k in (
                "smoothness",
                "strong_convexity",
                "distance",
                "gradient_norm_at_optimum",
                "clip",
                "epsilon",
                "delta",
                "constant",
            )
        )
        nd = i["clients"] * i["dim"]
        eta, p = 1 / L, mpmath.sqrt(mu / L)
        psi = D**2 + eta**2 / p**2 * H**2
        lam = mpmath.log(1 / (1 - mu / L))
        T = mpmath.log(psi * e**2 * lam / (v * C**2 * nd * mpmath.log(1 / d))) / lam

        def bound(t: Any) -> Any:
            theta = max(1 - mu * eta, 1 - p**2)
            return theta**t * psi + p**2 * nd / (1 - theta) * v * C**2 * t * mpmath.log(1 / d) / e**2

        whole = max(1, int(mpmath.ceil(T)))
        sigma = mpmath.sqrt(v * C**2 * p * whole * mpmath.log(1 / d)) / e
        return {"eta": eta, "p": p, "T": T, "iterations": whole, "psi_0": psi, "bound": bound, "sigma": sigma}


VARIED = st.fixed_dictionaries(
    {
        "clients": st.integers(1, 500),
        "dim": st.integers(1, 200),
        "smoothness": st.floats(0.1, 100.0),
        "ratio": st.floats(1e-6, 0.99),
        "distance": st.floats(0.1, 1e4),
        "gradient_norm_at_optimum": st.floats(0.0, 100.0),
        "clip": st.floats(1e-3, 10.0),
        "epsilon": st.floats(0.05, 20.0),
        "delta": st.sampled_from([1e-3, 1e-5, 1e-9]),
        "constant": st.floats(0.5, 8.0),
        "calibration": st.just("paper"),
    }
)


@given(VARIED)
def test_against_a_second_transcription(values: dict[str, Any]) -> None:
    inputs = {k: v for k, v in values.items() if k != "ratio"}
    inputs["strong_convexity"] = values["ratio"] * values["smoothness"]
    found, hand = formulas("dp-scaffnew", **inputs), by_hand(inputs)
    for name in ("eta", "p", "psi_0"):
        assert found[name] == pytest.approx(float(hand[name]), rel=1e-12)
    assert found["unrounded"]["iterations"] == pytest.approx(float(hand["T"]), rel=1e-9, abs=1e-9)
    assert found["iterations"] == hand["iterations"]
    assert found["bound"] == pytest.approx(float(hand["bound"](hand["iterations"])), rel=1e-9)
    assert found["bound"] == pytest.approx(sum(found["terms"].values()), rel=1e-12)
    assert found["noise"]["sigma"] == pytest.approx(float(hand["sigma"]), rel=1e-9)
    assert found["expected_communications"] == pytest.approx(found["p"] * found["iterations"], rel=1e-15)
    assert found["certificate"]["vacuous"] == (found["bound"] >= found["psi_0"])


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize(
    "changes",
    [{}, {"distance": 40.0}, {"distance": 10.0}, {"epsilon": 0.1}, {"clip": 1e-3}, {"strong_convexity": 0.6}],
)
def test_rounding_up_misses_the_best_whole_number_by_one_at_most(changes: dict[str, Any]) -> None:
    """Theorem 1's bound at eta*, p*, minimised over T = 1, 2, ... by brute force."""
    inputs = {**BASE, **changes}
    found, hand = formulas("dp-scaffnew", **inputs), by_hand(inputs)
    best = min(range(1, 2000), key=hand["bound"])
    assert found["iterations"] in (best, best + 1)
    if found["unrounded"]["iterations"] <= 1:
        assert found["iterations"] == best == 1


def test_too_much_noise_for_any_iteration() -> None:
    found = formulas("dp-scaffnew", **{**BASE, "distance": 1.0})
    assert found["unrounded"]["iterations"] < 0
    assert found["unrounded"]["bound"] is None
    assert found["iterations"] == 1
    assert found["bound"] > found["psi_0"]
    certificate = found["certificate"]
    assert certificate["vacuous"]
    assert not certificate["optimal"]
    assert "below 1, where Theorem 1 does not apply" in certificate["reason"]
    assert any("T* >= 1" in text for s in certificate["statements"] for text in s.get("failures", []))
    assert found["warnings"][0] == "The bound is not below psi_0: it promises nothing beyond the start."


def test_the_certificate_knows_when_corollary_1_holds() -> None:
    refuted = formulas("dp-scaffnew", **BASE)
    holds = formulas("dp-scaffnew", **{**BASE, "gradient_norm_at_optimum": 0.0})
    assert not refuted["certificate"]["optimal"]
    assert holds["certificate"]["optimal"]
    assert any("hou2023.corollary1 is refuted" in w for w in refuted["warnings"])
    assert not any("hou2023.corollary1" in w for w in holds["warnings"])
    prescription, bound, noise = refuted["certificate"]["statements"]
    assert (prescription["id"], prescription["verdict"]) == ("hou2023.corollary1", "violated")
    assert prescription["erratum"]["repaired"] == "hou2023.corollary1.repaired"
    assert (bound["id"], bound["verdict"], bound["failures"]) == ("hou2023.theorem1", "holds", [])
    assert noise["id"] == "hou2023.lemma1"


def test_where_no_curvature_differs() -> None:
    """mu = L: ln([1 - mu/L]^(-1)) is infinite and T* tends to 0; one iteration from h_0 = h* ends at the noise."""
    found = formulas("dp-scaffnew", **{**BASE, "strong_convexity": 1.0, "gradient_norm_at_optimum": 0.0})
    assert (found["eta"], found["p"], found["iterations"]) == (1.0, 1.0, 1)
    assert found["terms"]["optimisation"] == 0.0
    assert found["bound"] == pytest.approx(200 * 4.0 * math.log(1e5) / 64, rel=1e-12)
    near = formulas("dp-scaffnew", **{**BASE, "strong_convexity": 1 - 1e-12, "gradient_norm_at_optimum": 0.0})
    assert near["iterations"] == 1
    assert near["bound"] == pytest.approx(found["bound"], rel=1e-6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"strong_convexity": 2.0}, r"`strong_convexity` is 2.0: it exceeds `smoothness=1.0`"),
        ({"distance": 0.0, "gradient_norm_at_optimum": 0.0}, "`distance` is 0.0: .* the start is the minimum"),
        ({"constant": None}, "dp-scaffnew needs `constant`: give the constant v of Lemma 1's noise"),
        ({"calibration": "none"}, "`calibration` is 'none': choose one of paper, accountant"),
        ({"clients": 2.5}, "`clients` is 2.5: give a whole number of at least 1"),
        ({"delta": 1.0}, r"`delta` is 1.0: give a number in \(0, 1\)"),
    ],
)
def test_what_cannot_be_used(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        formulas("dp-scaffnew", **{**BASE, **changes})
