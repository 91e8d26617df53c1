"""Which rounds a mean is over: w_0, ..., w_{K-1}, not w_1, ..., w_K, and what a run ends with is w_K.

Faults are planted in the loop; checks of the catalogue, and equalities with exact second moments, must turn.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from mutants.planting import plant
from short_forms import fedavg

from dpfl_theory import statements
from dpfl_theory.checks import monte_carlo
from dpfl_theory.checks.monte_carlo import Experiment
from dpfl_theory.checks.runner import checks_of, run_one
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, Expected, Sides, Source, Statement, Symbol
from dpfl_theory.core.formula import symbols_of
from dpfl_theory.problems import make
from dpfl_theory.simulation.observables import Reach

FALLING = ("das2022.lemma9", "quadratics, the gap falls by 19% a round, eta L = 0.05")
PRODUCTS = ("zhang2021.eq13", "one round in two dimensions, two of six clients, half of them clipped")
COMPLETED = ("zhang2021.eq14.repaired", "one round in two dimensions, two of six clients")
CATALOGUE = (FALLING, PRODUCTS, COMPLETED)
LOOP = (
    "while k < rounds:\n        if tally.stopped:\n            "
    'raise RuntimeError("another block of replicates failed")\n'
    "        before = k\n        if player is not None and player.ready:\n            "
    "started = time.perf_counter()\n            "
    "state, k = player.play(state, kept, k, min(rounds, k + stretch))\n            "
    "longer = _PLAYED_SECONDS / max(time.perf_counter() - started, 1e-9)\n            "
    "stretch = max(_LEAST_PLAYED, int(min(rounds, stretch * min(4.0, longer))))\n"
    "        if k == before:\n            state, round_ = algorithm.round(context, state, k)\n"
    "            if k % every == 0:"
)
LATER = LOOP.replace("k < rounds", "k <= rounds").replace("k % every == 0", "k > 0 and (k - 1) % every == 0")
OBSERVED, ENDED = "add(o.evaluate(round_), xp)", "keep(o.evaluate(after))"
FAULTS = {
    "the vectors after the rounds": (
        OBSERVED,
        "add(o.evaluate(algorithm.after(context, state, k + 1) if o.of_state else round_), xp)",
    ),
    "rounds 1 to K": (LOOP, LATER),
    "the vector before the last round": (ENDED, "keep(o.evaluate(round_))"),
    "sums over one round more than divided by": ("while k < rounds:", "while k <= rounds:"),
}


def of_catalogue(id_: str, name: str) -> str:
    """The verdict of a check that the catalogue records as holding."""
    statement = statements.get(id_)
    check = next(c for c in checks_of(statement) if c.name == name)
    assert check.expected == "holds"
    return run_one(statement, check, Settings(device="cpu")).verdict


ROUNDS, STEP, LOCAL, SIGMA, REPLICATES = 6, 0.2, 2, 0.5, 8192


def moments(square: float) -> list[float]:
    """E||w_k - w*||^2, k = 0, ..., K, of Algorithm 1 on (1/2)||w - w*||^2 in three dimensions, without clipping:
    w_{k+1} - w* = (1 - eta)^E (w_k - w*) - eta zeta, where zeta has the variance sigma^2 in each coordinate."""
    found = [square]
    for _ in range(ROUNDS):
        found.append((1.0 - STEP) ** (2 * LOCAL) * found[-1] + 3 * STEP**2 * SIGMA**2)
    return found


def of_moments(distance: float, when: str) -> Any:
    """The evidence on ``E||w - w*||^2 = M``, over rounds 0 to K-1 or after the last one."""

    def sides(_: Any) -> Sides:
        s = symbols_of(statement)
        return Sides(lhs={"square": s["E_square"]}, rhs={"M": s["M"]})

    expected = Expected("E_square", (("distance-squared", 1),), (0, 2), "E", "square", when=when)
    statement = Statement(
        id="test.moments",
        kind="lemma",
        title="a second moment",
        source=Source("test", "nowhere"),
        text="a second moment",
        symbols=(Symbol("M", "moment", (0, 2)),),
        expectations=(expected,),
        relation="==",
        sides=sides,
    )
    problem = make("quadratic", clients=4, dimension=3, condition=1.0, heterogeneity=0.0, seed=1)
    known = moments(distance**2)
    value = known[-1] if when == "end" else math.fsum(known[:-1]) / ROUNDS
    assert problem.constants.w_star is not None
    start = problem.constants.w_star + distance * np.array([0.6, 0.0, 0.8])
    algorithm = fedavg(STEP, local_steps=LOCAL, sigma=SIGMA)
    reach = Reach.anywhere(problem)
    run = Experiment(problem, algorithm, ROUNDS, start, {"M": value}, REPLICATES, reach, width=0.1)
    return monte_carlo.run(statement, Check("monte-carlo", "test", lambda *_: run), Settings(device="cpu"))


MOMENTS = {"falling": (2.0, "mean"), "rising": (0.0, "mean"), "falling, end": (2.0, "end")}


@pytest.mark.slow
def test_checks_of_the_catalogue_hold() -> None:
    assert [of_catalogue(*check) for check in CATALOGUE] == ["holds"] * len(CATALOGUE)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", MOMENTS)
def test_second_moments_are_the_exact_ones(name: str) -> None:
    """False alarms have probability 1e-6 each."""
    evidence = of_moments(*MOMENTS[name])
    assert evidence.verdict == "holds", evidence.reason


NOTICED = {
    "the vectors after the rounds": {FALLING[0]: "violated", "falling": "inconclusive", "rising": "violated"},
    "rounds 1 to K": {
        PRODUCTS[0]: "violated",
        COMPLETED[0]: "violated",
        "falling": "inconclusive",
        "rising": "violated",
        "falling, end": "inconclusive",
    },
    "the vector before the last round": {"falling, end": "violated"},
    "sums over one round more than divided by": {
        PRODUCTS[0]: "violated",
        COMPLETED[0]: "violated",
        "falling": "violated",
        "rising": "violated",
        "falling, end": "inconclusive",
    },
}
"""The verdicts that turn. A square that is too small is inconclusive: it has no upper limit at finite sample size."""


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_other_rounds_are_noticed(fault: str, monkeypatch: pytest.MonkeyPatch, record_property: Any) -> None:
    plant(monkeypatch, "simulation.simulate", *FAULTS[fault])
    of_checks = {check[0]: of_catalogue(*check) for check in CATALOGUE}
    of_equalities = {name: of_moments(*which).verdict for name, which in MOMENTS.items()}
    turned = {k: v for k, v in {**of_checks, **of_equalities}.items() if v != "holds"}
    record_property("kill", (f"rounds: {fault}", ", ".join(turned)))
    assert turned == NOTICED[fault]
