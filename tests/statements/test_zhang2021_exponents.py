"""zhang2021 Corollary 3.2.1, repaired: the fitted exponents, their references, and planted faults."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dpfl_theory.checks import monte_carlo
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Experiment, Statement
from dpfl_theory.core.evidence import Evidence
from dpfl_theory.statements import get, rates
from dpfl_theory.statements.zhang2021 import theorem3_2

STATEMENT = get("zhang2021.corollary3.2.1.repaired")


def decided(regime: dict[str, Any], fault: Callable[[Any], Any] | None = None) -> Evidence:
    (check,) = (c for c in STATEMENT.checks if c.method == "monte-carlo" and dict(c.instance) == regime)

    def build(statement: Statement, instance: Any) -> Experiment:
        if fault is None:
            built: Experiment = check.make(statement, instance)
            return built
        (found,) = theorem3_2.runs_of({**instance, "grid": instance["grid"][-1:]}, STATEMENT)
        return replace(found, algorithm=fault(found.algorithm))

    return monte_carlo.run(STATEMENT, replace(check, build=build), Settings(device="cpu"))


def fitted(regime: dict[str, Any], fault: Callable[[Any, Experiment, Experiment], Any]) -> dict[str, Any]:
    """The fit of faulty runs, of fewer replicates; fault(algorithm, run, first run of the grid)."""
    found = theorem3_2.runs_of(regime, STATEMENT)
    wrong = [replace(run, algorithm=fault(run.algorithm, run, found[0]), replicates=40) for run in found]
    return theorem3_2.fitted(regime, wrong, STATEMENT)


@pytest.mark.slow
@pytest.mark.parametrize("regime", theorem3_2.REGIMES[:1], ids=lambda r: r["symbol"])
def test_the_slope_is_the_claimed_one(regime: dict[str, Any]) -> None:
    """Both terms of the bound are attained up to one constant, so that the interval contains the claimed exponent; the
    step's length relative to 1/L, which changes with the symbol, moves it by at most 0.02."""
    evidence = decided(regime)
    found, claimed = evidence.notes["exponent"], float(Fraction(regime["claimed"]))
    assert evidence.verdict == "holds"
    assert evidence.vacuous is False
    assert found["refuted"] is False
    assert found["low"] - 0.02 <= claimed <= found["high"] + 0.02
    assert abs(found["slope"] - claimed) < 0.05
    assert found["high"] - found["low"] < 0.3
    assert found["slope_of_the_bound"] == pytest.approx(claimed, abs=1e-9)
    assert found["share_of_the_term"] == 1.0
    assert 0.45 < found["share_of_the_excess"] < 0.55
    needed = found["constant_needed"]
    assert max(needed) < 1.05 * min(needed)
    assert min(needed) > 0.2


FAULTS: dict[str, Callable[[Any, Experiment, Experiment], Any]] = {
    "epsilon": lambda a, run, first: a.with_values(sigma=first.algorithm.run.sigma),  # type: ignore[attr-defined]
    "N": lambda a, run, first: a.with_values(sigma=a.run.sigma * math.sqrt(run.values["N"])),
    "d": lambda a, run, first: a.with_values(sigma=a.run.sigma * math.sqrt(run.values["d"])),
}


@pytest.mark.slow
@pytest.mark.parametrize("symbol", FAULTS)
def test_the_fit_notices_noise_of_a_wrong_power(symbol: str) -> None:
    """Noise that does not fall with epsilon, falls only with sqrt(N), or grows with d: intervals from 0.36 in place of
    -1, from -0.24 in place of -1, and from 0.97 in place of 1/2."""
    (regime,) = (r for r in theorem3_2.REGIMES if r["symbol"] == symbol)
    assert fitted(regime, FAULTS[symbol])["refuted"] is True


def test_the_fit_notices_noise_that_is_absent() -> None:
    found = fitted(theorem3_2.REGIMES[0], lambda a, run, first: a.with_values(sigma=0.0))
    assert found["share_of_the_excess"] < 0.01


def test_the_way_is_the_best_one() -> None:
    """No other S gives a smaller bound."""
    (run, *_) = theorem3_2.runs_of(theorem3_2.REGIMES[0], STATEMENT)
    values = dict(run.values)
    best = sum(rates.terms(STATEMENT, values).values())
    for factor in (0.97, 1.03):
        assert sum(rates.terms(STATEMENT, {**values, "eta_g": factor * values["eta_g"]}).values()) > best
