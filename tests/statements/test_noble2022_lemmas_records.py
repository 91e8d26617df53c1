"""noble2022's lemmas over records: every draw against closed moments, the bounded counterexamples once more by
quadrature and simulation, and faults in the worst cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp

from dpfl_theory.checks import exact
from dpfl_theory.checks.worst_case import inequality, solve
from dpfl_theory.core import Case, Check, Performance, Sides, Statement, Values, WorstCase
from dpfl_theory.core.formula import sides_of
from dpfl_theory.semantics.base import Vector, World
from dpfl_theory.semantics.base import expected as enumerated
from dpfl_theory.statements.noble2022 import _worst_cases
from dpfl_theory.statements.noble2022._instances import QUADRATICS
from dpfl_theory.statements.noble2022._moments import Users, rounds
from dpfl_theory.statements.noble2022.scaffold import _rounds as draws
from dpfl_theory.statements.noble2022.scaffold import corollaryC_1, lemmaC_1_to_3, lemmaC_7
from dpfl_theory.statements.noble2022.scaffold import lemmaC_4_to_6 as lemmas
from dpfl_theory.statements.noble2022.scaffold._rounds import Records, RecordUser


def shifted(curvature: int, offset: int) -> RecordUser:
    """F_i'(x) = a x - b, from two records whose gradients are 1 above and 1 below, wherever the runs go."""
    a, b = Fraction(curvature), Fraction(offset)
    return RecordUser(tuple((a, (b + sign) / a, Fraction(1000)) for sign in (1, -1)))


@pytest.mark.parametrize(("K", "size", "count"), [(1, 1, 3), (2, 1, 1), (1, 2, 2)])
def test_every_draw_gives_the_closed_moments(K: int, size: int, count: int) -> None:
    """Errors of +-1 on quadratics: sums over outcomes against sums of squared coefficients."""
    eta, eta_g, start = Fraction(1, 30), Fraction(3, 2), Fraction(3)
    users = [shifted(1, 2), shifted(2, -3)]
    found = draws.enumerated_rounds(Records(users, 1, Fraction(0)), K, eta, size, eta_g, start, count)
    linear = Users((Fraction(1), Fraction(2)), (Fraction(2), Fraction(-3)), K, eta, eta_g, size, start, Fraction(1))
    for mine, theirs in zip(found, rounds(linear, count)):
        for name in ("move", "drift", "lag", "lag_after", "gap", "slope", "distance", "distance_after"):
            assert getattr(mine, name) == getattr(theirs, name), name


def test_records_have_the_constants_that_they_claim() -> None:
    """Smoothness and variance of every user of the checks, on a fine grid; F_i is what F_i' integrates to."""
    found = [i["users"] for i in draws.HUBER.values()] + [corollaryC_1._WAVES, corollaryC_1._HUBER, corollaryC_1._EVEN]
    for records in (u for users in found for u in users):
        user = RecordUser(tuple(tuple(Fraction(v) for v in r) for r in records))  # type: ignore[arg-type]
        grid = [Fraction(k, 4) for k in range(-120, 121)]
        slopes = [user.gradient(x) for x in grid]
        steepest = max(abs(q - p) * 4 for p, q in pairwise(slopes))
        assert steepest <= user.smoothness
        assert steepest >= user.smoothness / 2
        spreads = [sum((g - m) ** 2 for g in user.of_records(x)) / len(user.records) for x, m in zip(grid, slopes)]
        assert max(spreads) <= user.spread
        for x in grid[::40]:
            rise = (user.value(x + Fraction(1, 10**6)) - user.value(x)) * 10**6
            assert abs(rise - user.gradient(x)) < Fraction(1, 10**5)


@pytest.mark.parametrize("drawn", [1, 2, 3])
def test_a_stochastic_gradient_of_records_has_the_moments_of_lemma_c1(drawn: int) -> None:
    """Mean F_i'(x), and the variance of a sample without replacement with tau^2 on top, at a point."""
    user, x, tau = (
        RecordUser(tuple((Fraction(1), Fraction(c), Fraction(9)) for c in (-1, 2, 5))),
        Fraction(3),
        Fraction(1, 4),
    )
    world = Records([user], drawn, tau)

    def observed() -> dict[str, Fraction]:
        g = world.stochastic_gradient(0, Vector(x), "error").known
        return {"mean": g, "square": g * g}

    found, gradients = enumerated(world, observed), user.of_records(x)
    spread = sum(((g - user.gradient(x)) ** 2 for g in gradients), Fraction(0)) / 3
    assert found["mean"] == user.gradient(x)
    assert found["square"] - found["mean"] ** 2 == spread * Fraction(3 - drawn, 2 * drawn) + tau**2


def expected(function: Callable[[Any], Any], tau: float) -> Any:
    """E function(e), e = +-1 + N(0, tau^2)."""
    with mpmath.workdps(30):
        density = lambda z: mpmath.exp(-z * z / 2) / mpmath.sqrt(2 * mpmath.pi)  # noqa: E731
        both = lambda z: (function(1 + tau * z) + function(-1 + tau * z)) / 2  # noqa: E731
        return mpmath.quad(lambda z: both(z) * density(z), [-12, -6, -2, 0, 2, 6, 12])


def compared(check: Check, instance: dict[str, Any]) -> Case:
    """Both sides of Corollary C.1 on an instance of the check."""
    return exact.compared(corollaryC_1.COROLLARY, check.make(corollaryC_1.COROLLARY, instance))


def test_the_pendulum_spreads_its_control_variate_more_than_stated() -> None:
    case = compared(corollaryC_1.pendulum, {"eta_l nu": "1/48", "tau": "1/100"})
    left = expected(lambda e: (e + mpmath.sin(e / 48)) ** 2, 0.01) / 4 + expected(lambda e: e**2, 0.01) / 4
    assert float(case.lhs) <= float(left) * (1 + 1e-15)
    assert float(left) == pytest.approx(float(case.lhs), rel=1e-6)
    assert float(left) > 1.02 * float(case.rhs)


def test_a_huber_user_with_long_steps_spreads_its_control_variate_more_than_stated() -> None:
    case = compared(corollaryC_1.long_steps, {"eta_l nu": "3", "tau": "1/10"})
    left = expected(lambda e: (e + max(-6, min(6, -3 * e))) ** 2, 0.1) / 4 + expected(lambda e: e**2, 0.1) / 4
    assert float(case.lhs) <= float(left)
    assert float(left) > 2.4 * float(case.rhs)


def test_errors_of_the_past_spread_a_control_variate_more_than_stated() -> None:
    """Convex, eta_l nu = 2, given C^1 = {1} and x^0 = 0: errors of +-1 alone by enumeration, with normal noise by
    200 000 replicates of the warm start and the first round (relative standard error 0.3%)."""
    case = compared(corollaryC_1.past_errors, {"M": 2, "eta_l nu": "2", "tau": "1/100"})
    found = []
    for a, b, c, d, e, f in product((1, -1), repeat=6):
        q = Fraction(a + b, 2) - Fraction(a + b + c + d, 4)
        y = -2 * (e - q)
        found.append(Fraction(e + f + max(-6, min(6, y)), 2))
    assert sum(found) == 0
    assert sum(v * v for v in found) / len(found) == Fraction(3, 4)  # V/K = 1/2
    rng, replicates = np.random.default_rng(9), 200_000
    error = lambda: rng.choice([-1.0, 1.0], replicates) + 0.01 * rng.standard_normal(replicates)  # noqa: E731
    own = [(error() + error()) / 2 for _ in range(2)]
    y, total = np.zeros(replicates), np.zeros(replicates)
    for _ in range(2):
        H = np.clip(y, -6, 6) + error()
        y, total = y - 2 * (H - own[0] + (own[0] + own[1]) / 2), total + H
    assert (total / 2).var() > 0.99 * float(case.lhs)
    assert (total / 2).var() > 1.45 * float(case.rhs)
    for step, fails_there in (("8/5", False), ("17/10", True)):  # 4/(3 - 1/M) = 8/5
        exact = compared(corollaryC_1.past_errors, {"M": 2, "eta_l nu": step, "tau": "1/10000"})
        assert (exact.excess > 0) is fails_there


def test_cohorts_spread_the_server_variate_without_errors_of_note() -> None:
    """M = 2, lM = 1, K = 2, Algorithm 1 line by line with Gaussian errors of variance V: 400 000 replicates (relative
    standard error 0.2%)."""
    case = compared(corollaryC_1.between_cohorts, {"eta_l nu": "1/48", "V": "1/1000000"})
    rng, replicates, eta, V = np.random.default_rng(4), 400_000, 1 / 48, 1e-6
    error = lambda: math.sqrt(V) * rng.standard_normal(replicates)  # noqa: E731
    own = np.array([1.0 + (error() + error()) / 2, (error() + error()) / 2])
    c, who = own.mean(axis=0), rng.integers(0, 2, replicates)
    new = []
    for i in (0, 1):
        y, total = np.ones(replicates), np.zeros(replicates)
        for _ in range(2):
            H = (np.clip(y, -2, 2) if i == 0 else 0.0) + error()
            y, total = y - eta * (H - own[i] + c), total + H
        new.append(total / 2)
    after = c + np.where(who == 0, new[0] - own[0], new[1] - own[1]) / 2
    assert after.var() > 0.99 * float(case.lhs)
    assert after.var() > 3 * float(case.rhs)


# Planted faults


COROLLARY = corollaryC_1.COROLLARY
DRAW, ERROR = Records.draw, World.error
FIRST = corollaryC_1._records(corollaryC_1._EVEN, "first", 2, "1", noise="1/100")


def fails(statement: Statement, found: Iterable[Values]) -> bool:
    return any(exact.compared(statement, values).excess > 0 for values in found)


def refuted(statement: Statement, built: WorstCase | Performance) -> bool:
    return solve(inequality(statement, built)).refuted is not None


def scaled(statement: Statement, **factors: Any) -> Statement:
    """The statement with these terms of its right side multiplied."""
    made, of = sides_of(statement), {name: sp.Rational(str(f)) for name, f in factors.items()}
    assert set(of) <= set(made.rhs)
    return replace(statement, sides=lambda s: Sides(made.lhs, {k: of.get(k, 1) * v for k, v in made.rhs.items()}))


def test_one_draw_for_all_steps_fails_the_first_display(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step errs as the first one did."""

    def repeated(world: Records, client: int, *name: Any) -> tuple[tuple[int, ...], int]:
        drawn: Any = world._values.setdefault(("drawn", client), None) or DRAW(world, client, *name)
        world._values["drawn", client] = drawn
        return drawn  # type: ignore[no-any-return]

    def same(world: World, *name: Any, **run: Any) -> Vector:
        return ERROR(world, *name[:-1], 0, **run)

    instance = {"K": 2, "eta_l nu": "1/24"}
    assert not fails(COROLLARY, corollaryC_1.over_records(COROLLARY, FIRST))
    assert not refuted(COROLLARY, corollaryC_1.of_one_user(COROLLARY, instance))
    monkeypatch.setattr(Records, "draw", repeated)
    monkeypatch.setattr(World, "error", same)
    assert fails(COROLLARY, corollaryC_1.over_records(COROLLARY, FIRST))
    assert refuted(COROLLARY, corollaryC_1.of_one_user(COROLLARY, instance))


def test_a_longer_gradient_step_brings_points_apart() -> None:
    for step, apart in (("2", False), ("21/10", True)):
        assert refuted(COROLLARY, corollaryC_1.gradient_step(COROLLARY, {"eta_l nu": step})) is apart


def test_correlated_records_fail_the_first_display(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two steps that share their record, but not the sign of the noise."""

    def linked(world: Records, client: int, *name: Any) -> tuple[tuple[int, ...], int]:
        chosen, sign = DRAW(world, client, *name)
        return world._values.setdefault(("records", client), chosen), sign

    monkeypatch.setattr(Records, "draw", linked)
    assert fails(COROLLARY, corollaryC_1.over_records(COROLLARY, FIRST))


def test_a_path_that_errs_elsewhere_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The errors are taken against the gradient at x^{t-1} in place of that at y_i^{k-1}."""
    honest, start = Records.gradient, Vector(Fraction(FIRST["start"]))
    monkeypatch.setattr(Records, "gradient", lambda world, client, x: honest(world, client, start))
    assert fails(COROLLARY, corollaryC_1.over_records(COROLLARY, {**FIRST, "corrections": ["4", "-4"]}))


def test_smaller_factors_of_records_and_sums_are_refuted() -> None:
    for lemma, instance in ((lemmaC_1_to_3.C1, {"R": 3, "sR": 1}), (lemmaC_1_to_3.C1_SHARPENED, {"R": 4, "sR": 3})):
        short = scaled(lemma, sampling="19/20")
        assert refuted(short, lemmaC_1_to_3.error_of_a_sample(short, instance))
    assert refuted(lemmaC_1_to_3.C3, lemmaC_1_to_3.part1_performance(lemmaC_1_to_3.C3, {"n": 2}, 0.95))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_smallest_factor_of_lemma_c3(n: int) -> None:
    """1 + sqrt((n - 1)/n) in place of both factors 2."""
    found = solve(inequality(lemmaC_1_to_3.C3, lemmaC_1_to_3.martingale(lemmaC_1_to_3.C3, {"n": n})))
    assert 2 * found.dual == pytest.approx(1 + math.sqrt((n - 1) / n), rel=1e-6)


def one_round(statement: Statement, kind: str = "convex", **more: Any) -> bool:
    """Whether a round of two users, of which one takes part, refutes the statement."""
    instance = {"class": kind, "M": 2, "size": 1, "K": 1, "step": "1", "power": "0", "noise": True, **more}
    return refuted(statement, _worst_cases.scaffold_round(statement, instance))


@pytest.mark.parametrize(
    "factors", [{"lag": "1.12/8"}, {"excess": "1.96/8"}, {"noise": "2.1/9"}], ids=["lag 8/7", "excess 2", "noise 15/7"]
)
def test_what_lemma_c4_needs_when_the_rest_is_as_printed(factors: dict[str, str]) -> None:
    planted = scaled(lemmas.C4, **{k: Fraction(v.split("/")[0]) / int(v.split("/")[1]) for k, v in factors.items()})
    assert one_round(planted, step="1/10")


@pytest.mark.slow
def test_lemma_c4_needs_its_drift_where_local_steps_are_long() -> None:
    """M = 1, K = 3, eta~ nu = 1, eta_g = 1/12 on a quadratic: a factor of 0.0131 for 4, but none; M = 2, K = 2 likewise
    in the worst case."""
    long = {**QUADRATICS["long"]["one user, K = 3, eta_g = 1/12"], "eta~ nu": "1"}
    for factor, too_little in (("0.0131", False), ("0.013", True)):
        planted = scaled(lemmas.C4, drift=Fraction(factor) / 4)
        assert fails(planted, draws.rounds_of(planted, long)) is too_little
    for eta_g, printed in (("1/384", 0), ("1/12", 1)):  # eta_l nu = 8 and 1/4
        assert one_round(scaled(lemmas.C4, drift=printed), K=2, eta_g=eta_g) is not bool(printed)


@pytest.mark.slow
def test_lemma_c5_needs_noise_where_the_global_step_is_long() -> None:
    """eta_g = 10, M = 5, lM = 1: a tenth of the noise is too little, 0.15 of it is not; no drift is needed."""
    for noise, drift, too_little in (("1/10", 1, True), ("3/20", 1, False), (1, 0, False)):
        assert one_round(scaled(lemmas.C5, noise=noise, drift=drift), M=5, power="1/2", eta_g="10") is too_little


@pytest.mark.slow
def test_what_lemma_c5_needs_when_the_rest_is_as_printed() -> None:
    """1 - 0.97 l for the lag, or a fifteenth of the excess, are too little for M = 5, lM = 1."""
    forgets = (1 - Fraction("0.97") / 5) / (1 - Fraction(17, 36) / 5)
    for factors in ({"lag before": forgets}, {"excess": "1/15"}):
        assert one_round(scaled(lemmas.C5, **factors), M=5, power="1/2")


def test_what_lemma_c6_needs_when_the_rest_is_as_printed() -> None:
    """Less than a seventeenth of the lag, a sixteenth of the excess, and half of the noise."""
    for factors in ({"lag": "1/17"}, {"excess": "1/16"}, {"noise": "1/2"}):
        assert one_round(scaled(lemmas.C6, **factors)), factors


def test_the_sharpened_drift_has_little_room() -> None:
    """A tenth less of the gradient's share, and half of the noise, are refuted."""
    for factors in ({"slope": "9/10"}, {"noise": "1/2"}, {"lag": "1/2"}):
        assert one_round(scaled(lemmas.C6_SHARPENED, **factors), "non-convex"), factors
    assert not one_round(lemmas.C6_SHARPENED, "non-convex")


@pytest.mark.slow
def test_too_small_bounds_fail_over_every_draw() -> None:
    far, near = draws.HUBER["one of two users, two rounds"], draws.HUBER["both users, two steps"]

    def small(statement: Statement, factor: str) -> Statement:
        return scaled(statement, **dict.fromkeys(sides_of(statement).rhs, factor))

    drift = lemmas.C6_SHARPENED
    assert not fails(drift, draws.draws_of(drift, {**far, "eta~ nu": "1/24"}))
    assert fails(small(drift, "1/6"), draws.draws_of(drift, {**far, "eta~ nu": "1/24"}))
    constants = (Fraction(4), Fraction(0), Fraction(0))
    greedy = replace(lemmaC_7.LEMMA, sides=lambda s: lemmaC_7._sides(s, constants))
    assert fails(greedy, draws.draws_of(greedy, {**near, "eta~ nu": "1/24"}))
    assert fails(small(lemmas.C5, "1/50"), draws.draws_of(lemmas.C5, {**far, "eta~ nu": "1/48", "alpha": "1"}))
