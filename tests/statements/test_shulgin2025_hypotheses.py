"""shulgin2025's hypotheses test the actual run: a run that violates one of them is not-applicable."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dpfl_theory.algorithms.error_feedback import InformedNormEC
from dpfl_theory.checks import monte_carlo
from dpfl_theory.checks.monte_carlo import linearise
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Experiment, Statement
from dpfl_theory.core.expressions import AnySymbols, evaluate
from dpfl_theory.statements import all_statements, get
from dpfl_theory.statements.shulgin2025._runs import measured
from dpfl_theory.statements.shulgin2025._symbols import tracked_radius

SETTINGS = Settings(alpha=1e-9, device="cpu")
CLIP21 = {"clip21.descent", "clip21.residual", "clip21.inactive"}


def first_run(id_: str) -> tuple[Statement, Any, Experiment]:
    statement = get(f"shulgin2025.{id_}")
    (check, *_) = (c for c in statement.checks if c.method == "monte-carlo")
    return statement, check, check.make(statement)


def verdict(statement: Statement, check: Any, experiment: Experiment) -> Any:
    return monte_carlo.run(statement, replace(check, build=lambda s, i: experiment), SETTINGS)


def another_algorithm(e: Experiment, **fields: Any) -> Experiment:
    """The run with other hyper-parameters, its symbols taken from it again; R and similar symbols keep the claimed
    values."""
    known: Any = e.algorithm
    attributes = InformedNormEC.attributes()
    algorithm = known.with_values(**{attributes[name]: value for name, value in fields.items()})
    claimed = {k: v for k, v in e.values.items() if k not in ("gamma", "alpha", "beta", "sigma", "residual_0")}
    values = {**measured(e.problem, algorithm.run, e.start, e.rounds - 1), **claimed}
    return replace(e, algorithm=algorithm, values=values)


STEP = ("theorem1", "theorem1.sharpened", "theorem2", "corollary1", "corollary2", "eq12", "eq12.any-D", "eq12.repaired")
QUIET = (
    "theorem1",
    "theorem1.sharpened",
    "corollary1",
    "eq12",
    "eq12.any-D",
    "eq12.repaired",
    "descent",
    "descent.sharpened",
)
RESIDUAL = (
    "theorem1",
    "theorem1.sharpened",
    "theorem2",
    "corollary1",
    "corollary2",
    "eq12",
    "eq12.any-D",
    "eq12.repaired",
)
LEMMA2 = ("lemma2", "lemma2.larger-beta", "lemma2.repaired")


@pytest.mark.parametrize("id_", [*STEP, *LEMMA2])
def test_a_longer_step(id_: str) -> None:
    statement, check, e = first_run(id_)
    found = verdict(statement, check, another_algorithm(e, gamma=1.5 * e.values["gamma"]))
    assert found.verdict == "not-applicable"
    assert "gamma" in found.reason


@pytest.mark.parametrize("id_", QUIET)
def test_noise_where_there_must_be_none(id_: str) -> None:
    statement, check, e = first_run(id_)
    found = verdict(statement, check, another_algorithm(e, sigma=0.5))
    assert found.verdict == "not-applicable"
    assert "sigma = 0.5" in found.reason


def test_the_repaired_lemma_2_allows_residuals_up_to_its_radius() -> None:
    """alpha = 0, beta = 0.9 R: rho = 1.8 R. The form with the same beta allows R."""
    statement, check, e = first_run("lemma2.repaired")
    rho = linearise(statement, e.values)[1].total()[0]
    assert evaluate(tracked_radius(AnySymbols()), e.values) == pytest.approx(rho, rel=1e-12)
    assert rho == pytest.approx(1.8 * e.values["R"], rel=1e-12)
    off = e.values["residual_0"] / abs(1 - e.algorithm.describe()["memory"])
    for share, applies in ((1.79, True), (1.81, False)):
        planted = another_algorithm(e, memory=1.0 + share * e.values["R"] / off)
        found = verdict(statement, check, planted)
        assert found.verdict == ("holds" if applies else "not-applicable")
        assert applies or "= 1.81 exceeds max(R, " in found.reason
        assert verdict(get("shulgin2025.lemma2.larger-beta"), check, planted).verdict == "not-applicable"


@pytest.mark.parametrize("id_", [*RESIDUAL, "lemma2", "lemma2.larger-beta"])
def test_memories_farther_off_than_R(id_: str) -> None:
    statement, check, e = first_run(id_)
    off = e.values["residual_0"] / abs(1 - e.algorithm.describe()["memory"])  # of zero memories
    found = verdict(statement, check, another_algorithm(e, memory=1.0 + 1.5 * e.values["R"] / off))
    assert found.verdict == "not-applicable"
    assert "residual" in found.reason


@pytest.mark.parametrize("id_", RESIDUAL)
def test_memories_nearer_than_R(id_: str) -> None:
    """R is the largest residual, not a bound of it; Lemma 2's is a bound."""
    statement, check, e = first_run(id_)
    off = e.values["residual_0"] / abs(1 - e.algorithm.describe()["memory"])
    assert verdict(statement, check, another_algorithm(e, memory=1.0 + 0.5 * e.values["R"] / off)).verdict == (
        "not-applicable"
    )


@pytest.mark.parametrize("id_", [*STEP, *LEMMA2, "descent"])
def test_constants_below_the_problems(id_: str) -> None:
    statement, check, e = first_run(id_)
    names = ["L"] if id_ == "descent" else ["L_max"] if id_ in LEMMA2 else ["L", "L_max"]
    for name in names:
        reported = verdict(statement, check, replace(e, values={**e.values, name: 0.9 * e.values[name]}))
        assert reported.verdict == "not-applicable", name


@pytest.mark.parametrize("id_", ["theorem2", "lemma3", "corollary2"])
def test_other_numbers_of_clients_or_coordinates(id_: str) -> None:
    statement, check, e = first_run(id_)
    for name, value in (("n", e.values["n"] + 1), ("d", e.values["d"] + 1), ("sigma", -1.0)):
        reported = verdict(statement, check, replace(e, values={**e.values, name: value}))
        assert reported.verdict == "not-applicable", name
        assert f"{name} = " in reported.reason


@pytest.mark.parametrize(("field", "symbol"), [("sigma", "sigma"), ("beta", "beta"), ("step", "gamma")])
def test_corollary_2_needs_its_prescription(field: str, symbol: str) -> None:
    statement, check, e = first_run("corollary2")
    planted = another_algorithm(e, **{field: 0.8 * e.values[symbol]})
    found = verdict(statement, check, planted)
    assert found.verdict == "not-applicable"
    assert symbol in found.reason


def test_corollary_1_needs_its_constant() -> None:
    statement, check, e = first_run("corollary1")
    found = verdict(statement, check, replace(e, values={**e.values, "c": 0.5 * e.values["c"]}))
    assert found.verdict == "not-applicable"
    assert "gamma sqrt(K + 1)" in found.reason


def test_other_weights_than_the_repaired_ones() -> None:
    statement, check, e = first_run("eq12.repaired")
    found = verdict(statement, check, another_algorithm(e, beta=1.1 * e.values["beta"]))
    assert found.verdict == "not-applicable"


@pytest.mark.parametrize("id_", sorted(CLIP21))
def test_clip21(id_: str) -> None:
    statement, check, e = first_run(id_)
    wrong = {"gamma": -1.0, "sigma": 0.5}
    if id_ != "clip21.descent":
        wrong.update({"R": 0.9 * e.values["R"], "L_max": 0.9 * e.values["L_max"], "tau": 0.0})
    for name, value in wrong.items():
        assert verdict(statement, check, replace(e, values={**e.values, name: value})).verdict == "not-applicable", name


@pytest.mark.slow
def test_every_run_says_how_far_off_its_memories_are() -> None:
    """Without a residual R is taken as given: no run of the catalogue is exempt in this way. Each run's symbols are its
    algorithm's own, except those with other stated values that put it just outside."""
    for statement in all_statements():
        if statement.paper != "shulgin2025" or statement.id == "shulgin2025.example1":
            continue
        for check in statement.checks:
            if check.method != "monte-carlo" or "stated" in check.instance:
                continue
            e = check.make(statement)
            own = e.algorithm.describe()
            assert e.values["residual_0"] >= 0, check.name
            assert e.values["gamma"] == own["gamma"]
            assert e.values["sigma"] == own["sigma"]
            if "alpha" in own:
                assert (e.values["alpha"], e.values["beta"]) == (own["alpha"], own["beta"])
