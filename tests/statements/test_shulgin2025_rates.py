"""shulgin2025 Corollaries 1 and 2: the exponents of runs of DP-alpha-NormEC, their references, and faults."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpfl_theory.checks import monte_carlo
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Experiment, Statement
from dpfl_theory.core.evidence import Evidence
from dpfl_theory.core.prose import plain
from dpfl_theory.simulation import simulate
from dpfl_theory.statements import get
from dpfl_theory.statements.shulgin2025 import _runs as experiments
from dpfl_theory.statements.shulgin2025._instances import TABLE

COROLLARY2 = get("shulgin2025.corollary2")
LOG = math.log(1e5)
REGIMES = [(f"corollary{i}", regime) for i in (1, 2) for regime in TABLE[f"exponents{i}"].values()]
ALL = pytest.mark.parametrize(("id_", "regime"), REGIMES, ids=[f"{i}-{r['symbol']}-{r['family']}" for i, r in REGIMES])
PRIVATE = [r for i, r in REGIMES if r["family"] == "isotropic quadratics"]
MEASURED = {"epsilon": -0.75, "n": -0.375, "d": 0.375, "K + 1": 0.0}
"""x reaches the minimiser after a share of the rounds of order t, and the server's estimate has a share of the noise of
order sqrt(t) by then: t^(3/2)."""


def decided(id_: str, regime: dict[str, Any], fault: Callable[[Any], Any] | None = None) -> Evidence:
    statement = get(f"shulgin2025.{id_}")
    (check,) = (c for c in statement.checks if c.method == "monte-carlo" and dict(c.instance) == regime)

    def build(statement: Statement, instance: Any) -> Experiment:
        if fault is None:
            built: Experiment = check.build(statement, instance)
            return built
        found = experiments.build_one(statement, experiments.with_symbol(instance, instance["grid"][-1]))
        return replace(found, algorithm=fault(found.algorithm))

    return monte_carlo.run(statement, replace(check, build=build), Settings(device="cpu"))


@pytest.mark.exhaustive
@ALL
def test_runs_fall_no_slower_than_claimed(id_: str, regime: dict[str, Any]) -> None:
    """On slopes that last with the claimed exponent exactly; elsewhere faster, and with noise as t^(3/2)."""
    evidence = decided(id_, regime)
    found, claimed = evidence.notes["exponent"], float(Fraction(regime["claimed"]))
    assert evidence.verdict == "holds"
    assert found["refuted"] is False
    assert found["low"] <= found["slope"] <= found["high"]
    assert found["slope_of_the_bound"] == pytest.approx(claimed, abs=0.02)
    assert found["share_of_the_term"] > 0.96
    if regime["family"].startswith("slopes that last"):
        assert found["low"] == found["high"] == claimed
    elif regime["family"] == "isotropic quadratics":
        measured = MEASURED[regime["symbol"]]
        assert found["low"] - 0.02 < measured < found["high"] + 0.02
        assert found["high"] - found["low"] < 0.2
        assert found["share_of_the_excess"] > 0.9
        note = plain(get("shulgin2025.corollary2").source.note)
        assert f"{found['slope']:.2f} [{found['low']:.2f}, {found['high']:.2f}] in {regime['symbol']}" in note
        if claimed:  # faster than claimed, and not by chance
            assert found["high"] < claimed if claimed < 0 else found["low"] > claimed
    else:
        assert found["high"] < claimed - 0.3


def faulty(regime: dict[str, Any], fault: Callable[[Any, Experiment], Any]) -> dict[str, Any]:
    found = [experiments.build_one(COROLLARY2, experiments.with_symbol(regime, v)) for v in regime["grid"]]
    wrong = [replace(run, algorithm=fault(run.algorithm, run)) for run in found]
    return experiments.fitted(regime, wrong, COROLLARY2)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("regime", PRIVATE[:3], ids=[r["symbol"] for r in PRIVATE[:3]])
def test_the_fit_notices_noise_of_a_wrong_power(regime: dict[str, Any]) -> None:
    """Noise that does not fall with epsilon, is never averaged over the clients, or does not get shorter with d."""
    last = experiments.build_one(COROLLARY2, experiments.with_symbol(regime, regime["grid"][0])).values
    faults: dict[str, Callable[[Any, Experiment], Any]] = {
        "epsilon": lambda a, run: a.with_values(sigma=last["sigma"]),
        "n": lambda a, run: a.with_values(sigma=a.run.sigma * math.sqrt(run.values["n"])),
        "d": lambda a, run: a.with_values(sigma=a.run.sigma / math.sqrt(run.values["d"] / last["d"])),
    }
    assert faulty(regime, faults[regime["symbol"]])["refuted"] is True


def test_the_fit_notices_noise_that_is_absent() -> None:
    assert faulty(PRIVATE[1], lambda a, run: a.with_values(sigma=0.0))["share_of_the_excess"] < 0.1


@pytest.mark.parametrize("regime", PRIVATE, ids=[r["symbol"] for r in PRIVATE])
def test_standing_still_fails_at_the_far_end(regime: dict[str, Any]) -> None:
    assert decided("corollary2", regime, lambda a: a.with_values(step=1e-300)).verdict == "violated"


def test_memories_that_never_move_lose_the_rate() -> None:
    """Corollary 1 on quadratics: the server then follows the first estimate only."""
    (regime,) = (r for i, r in REGIMES if r["family"] == "quadratics")
    assert decided("corollary1", regime, lambda a: a.with_values(memory_step=1e-300)).verdict == "violated"


def test_the_order_is_attained_on_slopes_that_last() -> None:
    """min_k E||grad f(x^k)|| is t in every replicate, with noise: each exponent is exactly the claimed one."""
    for name, instance in TABLE["flat"].items():
        e = experiments.flat(COROLLARY2, instance)
        v = e.values
        assert v["sigma"] > 0
        run = simulate(e.algorithm, e.problem, e.rounds, 16, 1, ["gradient-norm"], start=e.start, series=True)
        t = (v["d"] * LOG / (v["n"] * v["epsilon"] ** 2)) ** 0.25
        assert np.allclose(run["gradient-norm"].every_round[: e.rounds], t, rtol=1e-12), name
        assert v["gap"] == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(("power", "order"), [(1.0, 0.5), (2 / 3, 2 / 3)])
def test_a_fixed_alpha_loses_the_order(power: float, order: float) -> None:
    """gap = L_max = c = 1, alpha = 1: the bound at its best beta_0 is of order t^(1/2) for R = t, and t^(2/3) for R of
    the best order; no R does better."""

    def bound(t: float, R: float, alpha: float) -> float:
        return 2 * R + 2 * math.sqrt(2 * (alpha + R) / R) * t

    small, smaller = 1e-6, 1e-8
    found = [bound(t, t**power, 1.0) for t in (small, smaller)]
    assert math.log(found[0] / found[1]) / math.log(small / smaller) == pytest.approx(order, abs=0.01)
    best = min(bound(small, R, 1.0) for R in np.geomspace(1e-9, 1.0, 4000))
    assert best > 0.99 * 6 * (small**2 / 2) ** (1 / 3)
    assert bound(1e-2, 1e-2, 1e-2) / 1e-2 == pytest.approx(6.0)
    assert [round(bound(t, t, 1.0) / t) for t in (1e-2, 1e-4)] == [30, 285]


def test_the_note_has_these_numbers() -> None:
    note = plain(get("shulgin2025.corollary2").source.note)
    assert "30 t at t = 1/100 and 285 t at t = 1/10000" in note
