"""noble2022 Theorems C.1 and C.2: second transcriptions, and the counterexamples by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpfl_theory.checks import algebra
from dpfl_theory.checks.monte_carlo import linearise
from dpfl_theory.checks.settings import Settings
from dpfl_theory.statements import get
from dpfl_theory.statements.model import sympy_symbols

V = {
    "c": 1.0,
    "excess": 1.0,
    "gradient": 1.0,
    "eta_g": 5.0,
    "eta_l": 0.1,
    "nu": 1.9,
    "mu": 0.3,
    "M": 100.0,
    "l": 0.25,
    "R": 40.0,
    "s": 0.2,
    "K": 7.0,
    "T": 900.0,
    "varsigma": 1.3,
    "Sigma": 2.7,
    "D0": 3.1,
    "F0": 4.3,
    "G": 0.9,
    "B": 1.4,
}


def transcription() -> dict[str, float]:
    """The right sides inside O(.), typed a second time."""
    nu, mu, M, l, sR, K, T, D, F, G, B = (  # noqa: E741
        V["nu"], V["mu"], V["M"], V["l"], V["s"] * V["R"], V["K"], V["T"], V["D0"], V["F0"], V["G"], V["B"]
    )  # fmt: skip
    square = 1.3**2 / sR + 2.7**2
    root = (1.3 / math.sqrt(sR) + 2.7) / math.sqrt(T * K * l * M)
    return {
        "C.1.strongly-convex": square / (mu * T * K * l * M)
        + mu * D**2 * math.exp(-min(l / 108, mu * l ** (2 / 3) / (48 * nu)) * T),
        "C.1.convex": root * D + nu / (l ** (2 / 3) * T) * D**2,
        "C.1.non-convex": root * math.sqrt(F) + nu / (l ** (2 / 3) * T) * F,
        "C.2.strongly-convex": square / (mu * T * K * l * M)
        + (1 - l) * G**2 / (mu * T * l * M)
        + nu * G**2 / (mu**2 * T**2)
        + mu * D**2 * math.exp(-mu / (16 * (1 + B**2) * nu) * T),
        "C.2.convex": root * D
        + G * D * math.sqrt(1 - l) / math.sqrt(T * l * M)
        + D ** (4 / 3) * nu ** (1 / 3) * G ** (2 / 3) / T ** (2 / 3)
        + B**2 * nu * D**2 / T,
        "C.2.non-convex": nu * math.sqrt(F) * root
        + nu * G * math.sqrt(F * (1 - l)) / math.sqrt(T * l * M)
        + F ** (2 / 3) * nu ** (1 / 3) * G ** (2 / 3) / T ** (2 / 3)
        + B**2 * nu * F / T,
    }


@pytest.mark.parametrize("name", transcription())
def test_formula_against_a_second_transcription(name: str) -> None:
    statement = get(f"noble2022.theorem{name}")
    assert linearise(statement, V)[1].total()[0] == pytest.approx(transcription()[name], rel=1e-12)
    assert statement.prescription is not None
    symbols = sympy_symbols(statement)
    numbers = {symbols[k]: x for k, x in V.items() if k in symbols}
    found = {k: float(e.subs(numbers)) for k, e in statement.prescription().items()}
    local = 1 / (8 * (1 + 1.4**2) * 1.9 * 7 * 5)
    if name.startswith("C.1"):
        local = 0.25 ** (2 / 3) / (24 * 1.9 * 7 * 5)
        if "strongly" in name:
            local = min(local, 0.25 / (54 * 0.3 * 7 * 5))
    assert found == pytest.approx({"eta_g": 5.0, "eta_l": local}, rel=1e-12)


@pytest.mark.parametrize("name", ["C.1.convex", "C.1.non-convex", "C.2.convex", "C.2.non-convex"])
def test_the_start_at_the_minimiser_by_simulation(name: str) -> None:
    """One round of one local step from x*, nu = 2, M = 3, d = 4, Sigma = 1: six standard errors of 10^5 runs, a false
    alarm of 2e-9."""
    statement = get(f"noble2022.theorem{name}")
    nu, M, d = 2.0, 3, 4
    step = 1 / (24 * nu) if "C.1" in name else 1 / (16 * nu)
    of_one_user = 1.0 / math.sqrt(2 * d)  # standard deviation per coordinate: Sigma^2 = 2 d sigma^2
    rng = np.random.default_rng(3)
    x = -step * rng.normal(0, of_one_user, (100000, M, d)).mean(axis=1)
    square = (x**2).sum(axis=1)
    values = nu**2 * square if "non-convex" in name else nu / 2 * square
    check = next(c for c in statement.checks if c.method == "algebra")
    outcome = check.build(check.instance)
    import sympy as sp

    s = sympy_symbols(statement)
    claimed = float(sp.sympify(outcome.notes["left"], locals=dict(s)).subs({s["nu"]: nu, s["M"]: M, s["Sigma"]: 1}))
    assert abs(values.mean() - claimed) <= 6 * values.std() / math.sqrt(len(values))
    assert outcome.notes["right"] == "0"
    assert algebra.run(statement, check, Settings()).verdict == "violated"


@pytest.mark.parametrize(("name", "eta"), [("C.1", 1 / 240), ("C.2", 1 / 160)])
def test_the_floor_of_a_constant_step_by_simulation(name: str, eta: float) -> None:
    """x' = x - eta F'(x) + eta xi with slopes 10 and 1: the mean of every iterate lies below -a, and no average of
    iterates has less excess than the claimed floor. 4000 runs; six standard errors."""
    statement = get(f"noble2022.theorem{name}.strongly-convex")
    check = next(c for c in statement.checks if c.method == "algebra")
    outcome = check.build(check.instance)
    floor, start = outcome.notes["floor"], outcome.notes["start"]
    a = math.sqrt(2 * floor)
    rng = np.random.default_rng(5)
    tau = math.sqrt(0.5)
    x = np.full(4000, start)
    total = np.zeros(4000)
    for t in range(1, 3001):
        x = x - eta * np.where(x > 0, 10.0, 1.0) * x + eta * rng.normal(0, tau, 4000)
        total += x
        if t in (1, 2, 10, 100, 1000, 3000):
            for found in (x, total / t):
                assert found.mean() + 6 * found.std() / math.sqrt(4000) < -a
            excess = np.where(total > 0, 5.0, 0.5) * (total / t) ** 2
            assert excess.mean() > floor
    assert start == pytest.approx(-eta * tau * math.sqrt(2 / math.pi) / 2, rel=1e-12)
    needed = list(outcome.notes["needed"].values())
    assert needed[-1] / needed[0] > 1e9
    assert algebra.run(statement, check, Settings()).verdict == "violated"


@pytest.mark.parametrize(("name", "eta", "floor"), [("C.1", 1 / 24, 1 / 1152), ("C.2", 1 / 16, 1 / 512)])
def test_noise_that_no_weights_remove_by_simulation(name: str, eta: float, floor: float) -> None:
    """nu = Sigma = 1, gradients cut at 8 eta sqrt(V): 10^5 runs from eta sqrt(V); no iterate's mean squared gradient
    is below the floor by more than six standard errors, at x^0 it is the floor."""
    statement = get(f"noble2022.theorem{name}.non-convex")
    check = next(c for c in statement.checks if c.name == "noise that no weights remove")
    outcome = check.build(check.instance)
    assert outcome.true is False
    assert outcome.notes["floor"] == f"Sigma**2/{round(1 / floor)}"
    rng = np.random.default_rng(6)
    deviation, width = math.sqrt(0.5), 8 * eta * math.sqrt(0.5)
    x = np.full(100_000, eta * deviation)
    for _ in range(100):
        square = np.clip(x, -width, width) ** 2
        assert square.mean() >= floor - 6 * square.std() / math.sqrt(len(x)) - 1e-15
        x = x - eta * np.clip(x, -width, width) + eta * rng.normal(0, deviation, x.shape)


@pytest.mark.parametrize("name", ["C.1", "C.2"])
def test_the_convex_parts_have_the_floor_of_the_strongly_convex_one(name: str) -> None:
    def notes(part: str) -> dict[str, object]:
        statement = get(f"noble2022.theorem{name}.{part}")
        check = next(c for c in statement.checks if c.name == "a step that does not shrink with T")
        assert algebra.run(statement, check, Settings()).verdict == "violated"
        found: dict[str, object] = check.build(check.instance).notes
        return found

    convex, strongly = notes("convex"), notes("strongly-convex")
    assert (convex["floor"], convex["start"]) == (strongly["floor"], strongly["start"])


def test_the_strongly_convex_form_needs_its_rounds() -> None:
    for name, least in (
        ("C.1", max(108 / 0.25, 48 * 1.9 / (0.3 * 0.25 ** (2 / 3)))),
        ("C.2", 8 * (1 + 1.4**2) * 1.9 / 0.3),
    ):
        statement = get(f"noble2022.theorem{name}.strongly-convex")
        failing = [a.test(None, {**V, "T": math.ceil(least) - 1}) for a in statement.assumptions]
        assert sum(why is not None for why in failing) == 1
        assert not any(a.test(None, {**V, "T": math.ceil(least)}) for a in statement.assumptions)
