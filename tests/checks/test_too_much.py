"""Work that would not end: it is counted beforehand, what is ended says how long it took, and meanwhile what runs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from patience import HANGS, Watch, given_time

from dpfl_theory.checks.runner import plan, run_plan
from dpfl_theory.core import Check, Expected, Sides, Source, Statement, Symbol, Symbols, Values, checks
from dpfl_theory.core.evidence import ENDED
from dpfl_theory.errors import WorkLimitError
from dpfl_theory.semantics.base import Vector, expected
from dpfl_theory.semantics.oracle import Oracle
from dpfl_theory.semantics.rational import Quadratics
from dpfl_theory.statements.iteration import Iteration

SYMBOLS = (
    Symbol("K", "rounds", (0, 0), "integer"),
    Symbol("n", "clients", (0, 0), "integer"),
    Symbol("L", "smoothness", (1, -2)),
    Symbol("eta", "step", (-1, 2)),
    Symbol("D", "distance", (0, 1), "nonnegative"),
)
SQUARE = Expected("square", (("distance-squared", 1),), (0, 2), "S", "squared distance", "end")


def sampled(o: Oracle, x: Vector, s: Symbols) -> Vector:
    (i,) = o.cohort(1)
    return x - s.eta * o.gradient(x, i)


def sides(s: Symbols) -> Sides:
    return Sides({"square": s.square}, {"start": 10000 * s.D**2})


def stated(**more: Any) -> Statement:
    source = Source("mine", "here")
    return Statement("mine.sgd", "lemma", "t", source, "text", SYMBOLS, (SQUARE,), sides=sides, **more)


@pytest.mark.parametrize(("method", "most", "rounds"), [("exact", 100_000, 8), ("worst-case", 1000, 4)])
def test_cohorts_that_fall_in_too_many_ways_are_counted_beforehand(method: str, most: int, rounds: int) -> None:
    iteration = Iteration(sampled, {"L": "smoothness", "n": "clients", "D": "start-distance"})
    statement = stated(checks=(Check(method, "fifty", iteration.build(method), {"K": 50, "n": 4, "eta": "1/2"}),))
    with Watch() as watch:
        (e,) = run_plan(plan([statement], (method,))).evidence
    assert watch.seconds < 10.0
    assert e.verdict == "inconclusive"
    assert f"have about 1.27e+30 outcomes, and at most {most} are enumerated: take at most {rounds} rounds" in e.reason
    assert 0.0 < e.seconds < 10.0 * watch.pace
    assert not e.notes.get(ENDED), "it is known for good, and may be kept"


def tossed(world: Quadratics, count: int) -> Mapping[str, Fraction]:
    return {"heads": Fraction(sum(world.coin(Fraction(1, 2)) for _ in range(count)))}


def test_as_many_ways_as_are_allowed_are_gone_through() -> None:
    world = Quadratics([1], [0])
    assert expected(world, lambda: tossed(world, 5), 32) == {"heads": Fraction(5, 2)}
    with pytest.raises(WorkLimitError, match="have about 32 outcomes, and at most 31 are enumerated"):
        expected(world, lambda: tossed(world, 5), 31)


def test_runs_that_stop_early_are_not_taken_for_many() -> None:
    """Twenty coins of which each is tossed only after heads fall in 21 ways; a run of heads alone looks like 2^20."""

    def run() -> Mapping[str, Fraction]:
        heads = 0
        while heads < 20 and world.coin(Fraction(1, 2)):
            heads += 1
        return {"heads": Fraction(heads)}

    world = Quadratics([1], [0])
    assert expected(world, run, 21) == {"heads": 1 - Fraction(1, 2**20)}
    with pytest.raises(WorkLimitError, match="more than 20 outcomes"):
        expected(world, run, 20)


def test_what_is_ended_says_how_long_it_took_and_meanwhile_what_runs(tmp_path: Path) -> None:
    def build(_: Statement, __: Mapping[str, Any]) -> Values:
        time.sleep(HANGS)
        return Values({})

    statement = stated(checks=checks("exact", build, {"sleeps": {}}))

    def ended(seconds: float) -> None:
        lines: list[str] = []
        pairs = plan([statement], ("exact",))
        with Watch() as watch:
            report = run_plan(pairs, limit=seconds, progress=lambda _, __, label, ___: lines.append(label))
        (e,) = report.evidence
        assert e.notes[ENDED]
        assert seconds <= e.seconds < 20.0 * watch.pace + seconds
        assert lines.count("mine.sgd exact sleeps") >= 3, "at the beginning, and each second"

    given_time(ended, 2.6)
