"""A fault in the one description of a round turns verdicts, by exact moments and over all functions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

from dpfl_theory.algorithms.averaging import Averaging
from dpfl_theory.algorithms.error_feedback import ErrorFeedback
from dpfl_theory.algorithms.scaffold import Scaffold
from dpfl_theory.algorithms.two_step_sizes import TwoSidedFedAvg
from dpfl_theory.checks.runner import run_one
from dpfl_theory.checks.settings import Settings
from dpfl_theory.semantics import operations
from dpfl_theory.semantics.base import Vector, World
from dpfl_theory.semantics.operations import Draw, RoundResult, WorldOperations
from dpfl_theory.statements import get
from dpfl_theory.statements.noble2022 import _moments
from dpfl_theory.statements.noble2022.privacy import claim4_1
from dpfl_theory.statements.zhang2021 import _round


def verdict(statement: str, method: str, name: str) -> str:
    (check,) = (c for c in get(statement).checks if c.method == method and c.name == name)
    return run_one(get(statement), check, Settings(device="cpu")).verdict


def scaled(factor: str, v: Vector) -> Vector:
    return (Fraction(factor) if isinstance(v.known, Fraction) else float(Fraction(factor))) * v


def mean_times(factor: str) -> tuple[Any, str, Any]:
    """A mean that is a multiple of what it should be."""
    return Averaging, "after", lambda a, o, mean: scaled(factor, mean)


DESCEND = WorldOperations.descend
LONG = WorldOperations, "descend", lambda o, y, i, step, steps, of: DESCEND(o, y, i, 2 * step, steps, of)
"""Local steps of twice the length."""
LONGER = WorldOperations, "descend", lambda o, y, i, step, steps, of: DESCEND(o, y, i, 8 * step, steps, of)
"""Local steps of eight times the length, for a bound that twice the length does not reach."""
UNFINISHED = tuple((kind, "steps", lambda a, o, i: a.local_steps - 1) for kind in (Scaffold, TwoSidedFedAvg))
"""Local steps of which the last one is not taken."""
UNCORRECTED = Scaffold, "correction", lambda a, o, own, c: o.zero
"""Local steps that forget the control variates."""
CONTROL_DOUBLED = Scaffold, "control_weight", lambda a, o: 2 / o.n
"""A server's control variate that takes over twice of what the users send."""


def cold(world: World, x: Vector, K: int) -> RoundResult:
    """Control variates that start from zero, where a warm start is asked for."""
    return RoundResult(x, (world.zero, (world.zero,) * world.clients))


MOVE, REMEMBER, ESTIMATE = ErrorFeedback.move, ErrorFeedback.remember, ErrorFeedback.estimate
BACKWARDS = ErrorFeedback, "move", lambda a, o, x, direction: MOVE(a, o, x, -direction)
"""Server steps away from the estimate."""
FORGETFUL = ErrorFeedback, "remember", lambda a, o, memory, sent, g: memory
"""Memories that never change."""
HASTY = ErrorFeedback, "remember", lambda a, o, memory, sent, g: REMEMBER(a, o, memory, 2 * sent, g)
"""Memories that take over twice of what was sent."""
DOUBLED = ErrorFeedback, "estimate", lambda a, o, before, mean: ESTIMATE(a, o, before, 2 * mean)
"""An estimate that takes over twice of the mean message."""


LOPSIDED = ((Fraction(1, 2), Fraction(-1, 2)), (Fraction(1, 2), 2))
"""An error whose mean is not zero."""
COHORT = World.cohort


def different(world: World, size: int, replacement: bool = False) -> tuple[int, ...]:
    """A cohort without replacement where one with it is asked for."""
    return COHORT(world, size)


def one_run(cohort: Sequence[int]) -> tuple[Draw, ...]:
    """A client that is drawn twice runs once."""
    return tuple(map(Draw, cohort))


ZHANG = ("zhang2021.eq21.repaired", "worst-case")
FEDAVG = "noble2022.theoremC.2.convex.repaired"


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize(
    ("module", "name", "fault", "statement", "method", "check"),
    [
        (*mean_times("1/4"), *ZHANG, "one round, convex, 2 of 2 clients, Q = 1, small local step"),
        (
            *(*LONG, "zhang2021.eq15.sharpened", "worst-case"),
            "the middle line, 1 client, Q = 3, eta_l Q L = 129/1000, noise",
        ),
        (
            *(*LONGER, "zhang2021.eq19.repaired.sharpened", "worst-case"),
            "without noise, Q = 4, eta_l Q L = 129/1000",
        ),
        (*LONG, "zhang2021.eq14.repaired", "exact", "f = x^2/2, x_t = 1, Q = 1"),
        (
            *(*LONG, "zhang2021.eq14.repaired", "worst-case"),
            "two of three clients, Q = 2, without, <=",
        ),
        (_round, "SKEWED", LOPSIDED, "zhang2021.eq14.repaired", "exact", "clipped, skew noise"),
        (World, "cohort", different, "zhang2021.eq18", "exact", "different curvatures, one negative"),
        (World, "cohort", different, "zhang2021.eq18", "worst-case", "two of three clients, Q = 2, shared, >="),
        (*mean_times("1/2"), FEDAVG, "worst-case", "one round, M = 2, lM = 1, K = 1, B = 1, step 1"),
        (*mean_times("0"), FEDAVG, "exact", "all rounds, four of six users"),
        (
            *(*mean_times("2"), "noble2022.lemmaC.4", "worst-case"),
            "one round, convex, M = 2, lM = 1, K = 2, eta~ nu = 1/240",
        ),
        (*mean_times("2"), "noble2022.lemmaC.9.repaired", "worst-case", "descent, M = 2, lM = 1, K = 1"),
        (
            *(*mean_times("2"), "noble2022.lemmaC.9.repaired", "exact"),
            "one round, two equal users, one at a time, eta~ nu = 6299/240000",
        ),
        (
            *(*UNCORRECTED, "noble2022.lemmaC.7", "exact"),
            "four users, one at a time, eta~ nu = 31/1875",
        ),
        (
            *(*UNCORRECTED, "noble2022.lemmaC.6", "exact"),
            "eight users, one at a time, eta~ nu = 1/24",
        ),
        (
            *(*LONG, "noble2022.corollaryC.1", "worst-case"),
            "convex, K = 2, eta_l nu = 1/24",
        ),
        (
            *(*UNCORRECTED, "noble2022.corollaryC.1", "worst-case"),
            "first display, martingale errors, K = 2",
        ),
        (*UNCORRECTED, "noble2022.corollaryC.1", "exact", "first display, convex"),
        (
            *(*LONG, "noble2022.corollaryC.1", "exact"),
            "second display, every outcome, two Huber users, equal variance",
        ),
        (
            *(*CONTROL_DOUBLED, "noble2022.corollaryC.1", "exact"),
            "third display given the cohort, every outcome, two Huber users",
        ),
        (
            *(*LONG, "noble2022.corollaryC.1", "worst-case"),
            "a gradient step, eta_l nu = 2",
        ),
        (
            *(*UNCORRECTED, "noble2022.lemmaC.4.sharpened", "exact"),
            "every draw, one of two users, two steps, eta~ nu = 1/24",
        ),
        (
            *(*LONG, "noble2022.lemmaC.6.sharpened", "exact"),
            "every draw, one of two users, two steps, eta~ nu = 1/24",
        ),
        (
            *(*mean_times("-1"), "noble2022.lemmaC.7.sharpened", "exact"),
            "every draw, one of two users, two steps, eta~ nu = 6299/240000",
        ),
        (*mean_times("0"), "noble2022.lemmaC.8.repaired", "exact", "all rounds, one user"),
        (*mean_times("0"), "noble2022.lemmaC.9.repaired", "exact", "all rounds, one user"),
        (
            *(*mean_times("0"), "noble2022.theoremC.1.strongly-convex.repaired", "exact"),
            "one user, one local step",
        ),
        (*mean_times("0"), "noble2022.theoremC.1.explicit", "exact", "one user, hundreds of rounds"),
        (*UNFINISHED[0], "noble2022.claim4.1.server", "privacy", "affine gradients, exactly"),
        (*UNFINISHED[1], "noble2022.claim4.1.server", "privacy", "affine gradients, exactly"),
        (
            *UNFINISHED[0],
            "noble2022.claim4.1.server",
            "privacy",
            "the warm round counted, exactly",
        ),
        (_moments, "warm_start", cold, "noble2022.lemmaC.6", "exact", "eight users, one at a time, eta~ nu = 1/24"),
        (
            *(_moments, "warm_start", cold, "noble2022.lemmaC.6", "exact"),
            "every draw, one of two users, two rounds, eta~ nu = 1/24",
        ),
        (
            claim4_1,
            "warm_start",
            cold,
            "noble2022.claim4.1.server",
            "privacy",
            "the warm round counted, exactly",
        ),
        (
            *(*mean_times("2"), "das2022.eq36", "worst-case"),
            "one round, fixed, r = 1, C/||u|| = (short, short), E = 2, eta L = 1/5",
        ),
        (*mean_times("2"), "das2022.eq35.fixed-size", "exact", "200 equal clients"),
        (*LONG, "das2022.lemma8", "worst-case", "E = 1, eta L = 1/2"),
        (*LONG, "das2022.eq57", "worst-case", "convex, t = 1, eta L = 1"),
        (*BACKWARDS, "shulgin2025.theorem1", "exact", "long runs on the line"),
        (
            *(*BACKWARDS, "shulgin2025.theorem1", "worst-case"),
            "non-convex, gradient = 5, error = 9/8, estimates = (4, 5, 6, 5, 4, 5)",
        ),
        (
            *(*BACKWARDS, "shulgin2025.corollary1", "worst-case"),
            "convex, gradient = 5, error = 33/32, estimates = (5, 6, 5, 4, 5, 6)",
        ),
        (
            *(*FORGETFUL, "shulgin2025.clip21.residual", "worst-case"),
            "non-convex, tau = 1/2, moved = 1/4",
        ),
        (
            *(*FORGETFUL, "shulgin2025.clip21.residual", "exact"),
            "clients on the line, all rounds",
        ),
        (
            *(*HASTY, "shulgin2025.theorem1", "exact"),
            "residuals after the update of runs on the line",
        ),
        (*HASTY, "shulgin2025.lemma2", "exact", "no overshoot beyond the radius"),
        (
            *(*DOUBLED, "shulgin2025.clip21.inactive", "exact"),
            "clients on the line against gradient descent",
        ),
    ],
)
def test_a_fault_in_a_round_is_noticed(
    module: Any, name: str, fault: Any, statement: str, method: str, check: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert verdict(statement, method, check) == "holds"
    monkeypatch.setattr(module, name, fault)
    assert verdict(statement, method, check) == "violated"


@pytest.mark.parametrize(
    ("method", "check"),
    [
        ("exact", "two draws of two identical clients, a run for every draw"),
        ("worst-case", "both clients, Q = 2, noise, anew, >="),
    ],
)
def test_a_draw_that_is_no_run_of_its_own_is_noticed(method: str, check: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """(18) is an equality, and no counterexample, where the second draw of a client repeats its first run."""
    assert verdict("zhang2021.eq18.algorithm3", method, check) == "violated"
    monkeypatch.setattr(operations, "runs", one_run)
    assert verdict("zhang2021.eq18.algorithm3", method, check) == "holds"


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("statement", "method", "check", "after"),
    [
        ("lemmaC.9", "exact", "one step from the minimiser", "holds"),
        ("claim4.1.server.warm", "privacy", "round 1 after the warm start, exactly", "holds"),
        ("claim4.1.third-party", "privacy", "a user that returns in another cohort, s = 1", "inconclusive"),
    ],
)
def test_a_server_that_never_moves_is_no_counterexample(
    statement: str, method: str, check: str, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lemma C.9 as printed fails because noise moves the server, Claim 4.1 because the server's variates do."""
    assert verdict(f"noble2022.{statement}", method, check) == "violated"
    monkeypatch.setattr(*mean_times("0"))
    monkeypatch.setattr(Scaffold, "control_weight", lambda a, o: 0)
    monkeypatch.setattr(claim4_1, "warm_start", cold)
    assert verdict(f"noble2022.{statement}", method, check) == after
