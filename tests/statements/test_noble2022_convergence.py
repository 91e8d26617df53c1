"""noble2022 Theorems C.1 and C.2: second transcriptions, and the counterexamples by simulation."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpfl_theory.checks import algebra, monte_carlo
from dpfl_theory.checks.monte_carlo import linearise
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Experiment, Hypothesis
from dpfl_theory.core.formula import prescription_of, symbols_of
from dpfl_theory.core.prose import plain
from dpfl_theory.statements import get
from dpfl_theory.statements.noble2022 import _runs, _symbols

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
    symbols = symbols_of(statement)
    numbers = {symbols[k]: x for k, x in V.items() if k in symbols}
    found = {k: float(e.subs(numbers)) for k, e in prescription_of(statement).items()}
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
    outcome = check.make(statement)
    import sympy as sp

    s = symbols_of(statement)
    claimed = float(sp.sympify(outcome.notes["left"], locals=dict(s)).subs({s["nu"]: nu, s["M"]: M, s["Sigma"]: 1}))
    assert abs(values.mean() - claimed) <= 6 * values.std() / math.sqrt(len(values))
    assert outcome.notes["right"] == "0"
    assert algebra.run(statement, check, Settings()).verdict == "violated"


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(("name", "eta"), [("C.1", 1 / 240), ("C.2", 1 / 160)])
def test_the_floor_of_a_constant_step_by_simulation(name: str, eta: float) -> None:
    """x' = x - eta F'(x) + eta xi with slopes 10 and 1: the mean of every iterate lies below -a, and no average of
    iterates has less excess than the claimed floor. 4000 runs; six standard errors."""
    statement = get(f"noble2022.theorem{name}.strongly-convex")
    check = next(c for c in statement.checks if c.method == "algebra")
    outcome = check.make(statement)
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


def test_the_floor_with_bounded_gradients_by_simulation() -> None:
    """The same with errors of +1 or -1: no iterate leaves [-1, 1], no gradient exceeds C = 11. 4000 runs; six standard
    errors."""
    statement = get("noble2022.theoremC.1.strongly-convex")
    check = next(c for c in statement.checks if c.name == "the same with bounded gradients")
    outcome = check.make(statement)
    eta, floor, x = 1 / 240, outcome.notes["floor"], np.full(4000, outcome.notes["start"])
    assert outcome.true is False
    assert outcome.notes["start"] == pytest.approx(-eta / 2, rel=1e-12)
    assert 7.6e-10 < floor < 7.7e-10
    rng, total, longest = np.random.default_rng(12), np.zeros(4000), 0.0
    for t in range(1, 3001):
        gradient = np.where(x > 0, 10.0, 1.0) * x + rng.choice([-1.0, 1.0], 4000)
        longest = max(longest, float(np.abs(gradient).max()))
        x = x - eta * gradient
        total += x
        if t in (1, 2, 10, 100, 1000, 3000):
            for found in (x, total / t):
                assert found.mean() + 6 * found.std() / math.sqrt(4000) < -math.sqrt(2 * floor)
    assert longest <= 11
    with pytest.raises(ValueError, match="either Gaussian"):
        check.make(statement, {**check.instance, "Sigma": "1"})


@pytest.mark.parametrize(("name", "eta", "floor"), [("C.1", 1 / 24, 1 / 1152), ("C.2", 1 / 16, 1 / 512)])
def test_noise_that_no_weights_remove_by_simulation(name: str, eta: float, floor: float) -> None:
    """nu = Sigma = 1, gradients cut at 8 eta sqrt(V): 10^5 runs from eta sqrt(V); no iterate's mean squared gradient
    is below the floor by more than six standard errors, at x^0 it is the floor."""
    statement = get(f"noble2022.theorem{name}.non-convex")
    check = next(c for c in statement.checks if c.name == "noise that no weights remove")
    outcome = check.make(statement)
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
        found: dict[str, object] = check.make(statement).notes
        return found

    convex, strongly = notes("convex"), notes("strongly-convex")
    assert (convex["floor"], convex["start"]) == (strongly["floor"], strongly["start"])


def test_the_strongly_convex_form_needs_its_rounds() -> None:
    for name, least in (
        ("C.1", max(108 / 0.25, 48 * 1.9 / (0.3 * 0.25 ** (2 / 3)))),
        ("C.2", 8 * (1 + 1.4**2) * 1.9 / 0.3),
    ):
        statement = get(f"noble2022.theorem{name}.strongly-convex")
        failing = [a.test(None, {**V, "T": math.ceil(least) - 1}) for a in statement.hypotheses]
        assert sum(why is not None for why in failing) == 1
        assert not any(a.test(None, {**V, "T": math.ceil(least)}) for a in statement.hypotheses)


HYPOTHESES = [  # a hypothesis, values that meet it on the users at +0.3 and -0.3, changes that do not, and the message
    (_symbols.SMOOTH, {"nu": 2.0}, {"nu": 1.99}, "nu = 1.99"),
    (_symbols.GRADIENTS, {"C": 1.5}, {"C": 1.49}, "G_record = 1.5 exceeds C = 1.49"),
    (_symbols.STRONGLY_CONVEX, {"mu": 1.0}, {"mu": 1.01}, "mu = 1.01"),
    (_symbols.STRONGLY_CONVEX, {"mu": 1.0}, {"mu": 0.0}, "mu = 0 does not exceed 0"),
    (_symbols.DISSIMILAR, {"G": 0.3, "B": 1.0}, {"G": 0.29}, "G^2"),
    (_symbols.DISSIMILAR, {"G": 0.3, "B": 1.0}, {"B": 0.9}, "B = 0.9"),
]


@pytest.mark.parametrize("case", HYPOTHESES, ids=[f"{h.text[:24]} {sorted(change)}" for h, _, change, _ in HYPOTHESES])
def test_hypotheses_read_the_problem(case: tuple[Hypothesis, dict[str, float], dict[str, float], str]) -> None:
    hypothesis, values, change, reported = case
    ridge = 0.0 if hypothesis in (_symbols.GRADIENTS, _symbols.DISSIMILAR) else 1.0
    problem = _runs.points(4, spread=0.3, ridge=ridge)
    assert hypothesis.test(problem, values) is None
    assert hypothesis.test(None, values) is None
    why = hypothesis.test(problem, {**values, **change})
    assert why is not None
    assert reported in why


def test_an_objective_that_is_not_convex_is_refused() -> None:
    class Saddle:
        constants = type("Constants", (), {"mu_min": -0.5, "L_max": 1.0})

    saddle: Any = Saddle()
    assert "-0.5" in str(_symbols.CONVEX.test(saddle, {}))
    assert _symbols.CONVEX.test(_runs.points(2), {}) is None


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("C.1.convex.repaired", {"nu": 0.5}),
        ("C.1.strongly-convex.repaired", {"mu": 1.5}),
        ("4.2.fedavg", {"G": 0.0}),
        ("4.2.scaffold", {"C": 0.1}),
    ],
)
def test_a_run_outside_the_hypotheses_is_not_applicable(name: str, change: dict[str, float]) -> None:
    statement = get(f"noble2022.theorem{name}")
    check = next(c for c in statement.checks if c.method == "monte-carlo")

    def build(_: Any, instance: Any) -> Experiment:
        found: Experiment = check.make(statement, instance)
        return replace(found, values={**found.values, **change})

    assert monte_carlo.run(statement, replace(check, build=build), Settings()).verdict == "not-applicable"


def settings_of(changes: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    statement = get("noble2022.theoremC.1.convex")
    check = next(c for c in statement.checks if c.name == "the paper's own settings")
    instance = {name: {**at, **changes.get(name, {})} for name, at in check.instance.items()}
    evidence = algebra.run(statement, replace(check, instance=instance), Settings())
    return evidence.verdict, dict(evidence.notes)


def test_the_papers_own_settings_are_what_the_notes_say() -> None:
    """By hand: sqrt(20) and sqrt(3.2), 108/0.2 and 108/0.05, 96/(0.05^(2/3) 546) and with 72, 96/(0.2^(2/3) 400)."""
    verdict, notes = settings_of({})
    assert verdict == "holds"
    assert [round(f(notes["eta_g"]) ** 2, 3) for f in (min, max)] == [3.2, 20.0]
    assert list(notes["rounds"].values()) == [540, 2160]
    assert notes["start"]["Tables 1 and 4"] == [round(96 / (0.05 ** (2 / 3) * T), 2) for T in (546, 72)]
    assert notes["start"]["Figures 1 and 2, logistic regression"] == [round(96 / (0.2 ** (2 / 3) * 400), 2)] * 2
    texts = {part: plain(get(f"noble2022.theoremC.1.{part}").source.note) for part in ("convex", "strongly-convex")}
    assert "2.2 to 4.5 in Section 5" in texts["convex"]  # sqrt(0.05 * 100) to sqrt(0.2 * 100)
    assert "1.8 to 3.5 in Figures 9 and 10" in texts["convex"]  # sqrt(0.08 * 40) to sqrt(0.12 * 100)
    assert {2.2361, 4.4721, 1.7889, 3.4641} <= set(notes["eta_g"])
    ours = plain(get("noble2022.theoremC.1.convex.repaired").source.note)
    assert all(number in ours for number in ("1.3 to 9.8", "0.7 times"))
    assert all(number in texts["strongly-convex"] for number in ("540", "2160"))


@pytest.mark.parametrize(
    "changes",
    [
        {"Figures 1 and 2, logistic regression": {"T": [540]}},
        {"Tables 1 and 4": {"T": [708]}},
        {"Figure 9": {"l": ["1/100"]}},
    ],
    ids=["enough rounds", "a start below the trivial bound", "one user a round"],
)
def test_settings_within_the_theorem_are_noticed(changes: dict[str, Any]) -> None:
    assert settings_of(changes)[0] == "violated"
