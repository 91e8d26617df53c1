"""noble2022 Theorem C.2 repaired: the proof of its round, its exact rounds and its worst cases, and faults in them."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from dpfl_theory.checks import exact
from dpfl_theory.checks.settings import Settings
from dpfl_theory.checks.worst_case import solve
from dpfl_theory.core import Performance, Sides, Statement
from dpfl_theory.core.formula import sides_of
from dpfl_theory.statements import get
from dpfl_theory.statements.noble2022 import _moments, _step_size, _worst_cases, theoremC_2
from dpfl_theory.statements.noble2022._moments import Users, rounds, squares
from dpfl_theory.statements.noble2022._step_size import ROUNDS
from dpfl_theory.statements.noble2022.theoremC_2 import proof

KINDS = ("convex", "strongly convex", "non-convex")


def theorem(kind: str) -> Statement:
    return get(f"noble2022.theoremC.2.{kind.replace(' ', '-')}.repaired")


def refuted(performance: Performance) -> bool:
    return solve(performance).refuted is not None


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_proof_of_a_round_has_little_to_spare(kind: str) -> None:
    """The most that it leaves: 1/24 of the gain, 1/50 of another coefficient."""
    assert proof(kind).make(theorem(kind)).true
    claim = ROUNDS[kind]
    for name, change in {"gain": 1 / 24, "noise": -1 / 50, "users": -1 / 1000, "drift": -1 / 50}.items():
        worse = replace(claim, **{name: getattr(claim, name) + Fraction(change * 1.01).limit_denominator(10**6)})
        assert proof(kind, worse).make(theorem(kind)).true is None, name


@pytest.mark.parametrize("slope", [np.sin, lambda x: np.clip(x, -0.4, 0.4), lambda x: x - 0.5 * np.sin(2 * x)])
def test_local_steps_stay_as_near_as_the_proof_says(slope: Any) -> None:
    """All signs of the errors, for slopes sin(x), not convex; of a Huber loss, convex, so that q = 1; and with the
    curvature 1 - cos 2x in [0, 2]."""
    nu, eta, K = 2.0, 0.05, 6
    convex = slope is not np.sin
    for x, error in product((0.0, 0.3, -1.7), (0.0, 0.1, 3.0)):
        g, q = abs(float(slope(x))), 1.0 if convex else 1 + eta * nu
        y = np.full(2**K, x)
        signs = np.array(list(product((-1.0, 1.0), repeat=K)))
        for k in range(1, K + 1):
            y = y - eta * (slope(y) + error * signs[:, k - 1])
            allowed = q**k * eta * (k * g + math.sqrt(k) * error)
            moved = math.sqrt(np.mean((y - x) ** 2))
            assert moved <= allowed * (1 + 1e-12)
            if x == 0.0 and error and k > 1:  # a stationary point, where the errors alone move the user
                assert moved > 0.8 * eta * math.sqrt(k) * error


def test_exact_rounds_are_those_of_the_enumeration() -> None:
    """The server's vector by itself against the result from the users' points, two rounds of every cohort."""
    a, b = (Fraction(1), Fraction(1, 3), Fraction(-1, 4)), (Fraction(2), Fraction(0), Fraction(-1))
    for size, K in ((1, 2), (2, 2), (3, 1)):
        users = Users(a, b, K, Fraction(1, 7), Fraction(5, 4), size, Fraction(3), Fraction(2))
        found = squares(users, 2, control=False)
        wanted = rounds(users, 2, control=False)
        assert found == [wanted[0].distance, wanted[1].distance, wanted[1].distance_after]


def test_the_least_dissimilarity_is_that_of_a_grid() -> None:
    a, b = (Fraction(1), Fraction(1, 2), Fraction(-1, 4)), (Fraction(2), Fraction(0), Fraction(-1))
    users = Users(a, b, 1, Fraction(1), Fraction(1), 1, Fraction(0), Fraction(0))
    found = float(_moments.dissimilarity(users, Fraction(3)))
    x = np.linspace(-20, 20, 400_001)
    own = np.array([float(p) * x - float(q) for p, q in zip(a, b)])
    assert ((own**2).mean(axis=0) - 9 * own.mean(axis=0) ** 2).max() == pytest.approx(found, rel=1e-6)
    with pytest.raises(ValueError, match="no G serves"):
        _moments.dissimilarity(users, Fraction(1))


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("part", ["convex", "strongly-convex", "non-convex"])
def test_exact_rounds_refute_a_fifth_of_the_bound(part: str) -> None:
    """All rounds on quadratics use up to 0.33 of it (0.26 for strong convexity), one user alone after 32 rounds as much
    as any: the bound is not far away."""
    statement = get(f"noble2022.theoremC.2.{part}.repaired")
    (check,) = (c for c in statement.checks if (c.method, c.name) == ("exact", "all rounds, one user alone"))
    one = replace(check, instance={**check.instance, "T": [32], "V": ["1/100"]})
    assert exact.run(statement, one, Settings()).verdict == "holds"
    assert exact.run(weaker(statement, Fraction(1, 5)), one, Settings()).verdict == "violated"


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("kind", KINDS)
def test_worst_cases_of_a_round_refute_smaller_coefficients(kind: str) -> None:
    one = {"class": kind, "M": 1, "size": 1, "K": 1, "B": 1, "step": "1", **_worst_cases.MORE[kind]}
    claim, smooth = ROUNDS[kind], kind == "non-convex"
    gain = {"convex": Fraction(21, 10), "strongly convex": Fraction(5), "non-convex": Fraction(99, 100)}
    noise, users = (Fraction(9, 20), Fraction(9, 10)) if smooth else (Fraction(99, 100), Fraction(3, 2))
    assert refuted(_worst_cases.fedavg_round(theorem(kind), one, replace(claim, noise=noise)))
    assert refuted(_worst_cases.fedavg_round(theorem(kind), {**one, "M": 2}, replace(claim, users=users)))
    assert refuted(_worst_cases.fedavg_round(theorem(kind), one, replace(claim, gain=gain[kind])))


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("kind", KINDS)
def test_a_step_from_a_free_point_costs_at_least_half_of_what_the_proof_says(kind: str) -> None:
    """21/16 for convex, 29/16 for strongly convex (mu = 1/2), 11/16 for smooth functions, at the longest step."""
    instance = {"class": kind, "step": "1", **_worst_cases.MORE[kind]}
    assert not refuted(_worst_cases.free_step(theorem(kind), instance))
    price = {"convex": 0.75, "strongly convex": 0.75, "non-convex": 0.3}
    assert refuted(_worst_cases.free_step(theorem(kind), instance, price[kind]))


@pytest.mark.slow
def test_worst_cases_of_a_round_need_the_drift() -> None:
    """Two users with four local steps each, with hardly more progress than they make; no drift at all is refuted."""
    instance = {"class": "convex", "M": 2, "size": 2, "K": 4, "B": 1, "step": "1"}
    claim = replace(ROUNDS["convex"], gain=Fraction(9, 5), noise=Fraction(3), drift=Fraction(0))
    assert refuted(_worst_cases.fedavg_round(theorem("convex"), instance, claim))


@pytest.mark.slow
def test_the_sums_over_the_rounds_read_the_entered_terms() -> None:
    """Any term a hundredth smaller, and the algebra fails."""
    for kind in KINDS:
        statement, strongly = theorem(kind), kind == "strongly convex"
        step = _step_size.logarithm(theoremC_2.ratio) if strongly else _step_size.three_cases(kind)
        assert step.make(statement).true
        for name in sides_of(statement).rhs:
            assert not step.make(weaker(statement, Fraction(99, 100), name)).true, (kind, name)


def weaker(statement: Statement, factor: Fraction, name: str = "") -> Statement:
    """The statement with its right side, or one term of it, multiplied."""
    given = sides_of(statement)
    less = {term: value * (factor if name in ("", term) else 1) for term, value in given.rhs.items()}
    return replace(statement, sides=lambda _: Sides(given.lhs, less))


@pytest.mark.parametrize("kind", KINDS)
def test_one_round_keeps_what_the_bound_needs(kind: str) -> None:
    """The coefficients of `ROUNDS`, read from the entered terms; a tenth off a term of the bound changes one of them by
    a tenth or more, and a quarter of the bound is refuted by the worst case of a round."""
    statement, known = theorem(kind), ROUNDS[kind]
    assert _step_size.round_constants(statement, kind) == known
    for name, field in {
        "start": "gain",
        "noise": "noise",
        "sampling of users": "users",
        "heterogeneity": "drift",
    }.items():
        found = _step_size.round_constants(weaker(statement, Fraction(9, 10), name), kind)
        factor = getattr(found, field) / getattr(known, field)
        assert factor >= Fraction(10, 9) if name == "start" else factor <= Fraction(9, 10)
    one = {"class": kind, "M": 1, "size": 1, "K": 1, "B": 1, "step": "1", **_worst_cases.MORE[kind]}
    assert not refuted(_worst_cases.fedavg_round(statement, one))
    assert refuted(_worst_cases.fedavg_round(weaker(statement, Fraction(1, 4)), one))


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", KINDS)
def test_the_edges_of_the_hypotheses(kind: str) -> None:
    """Within 2% of an edge the verdict turns, so that a hypothesis relaxed by 5% would be noticed."""
    edges = [c for c in theorem(kind).checks if c.name.startswith("just ") and c.method == "exact"]
    assert len(edges) == (4 if kind == "strongly convex" else 2)
    for check in edges:
        wanted = "not-applicable" if "outside" in check.name else "holds"
        assert exact.run(theorem(kind), check, Settings()).verdict == check.expected == wanted


def test_the_logarithm_is_that_of_the_weight_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A W a hundred times too large, in the entered sides as in the argument, and the start leaves too much."""
    true, statement = _step_size.weight, theoremC_2.STRONGLY_CONVEX_REPAIRED
    monkeypatch.setattr(_step_size, "weight", lambda *given: 100 * true(*given))
    again = replace(statement, sides=lambda s: theoremC_2._strongly_convex_sides(s))
    assert not _step_size.logarithm(theoremC_2.ratio).make(again).true


def test_a_cohort_without_a_rational_root_is_refused() -> None:
    (check, *_) = (c for c in theorem("convex").checks if c.method == "exact")
    with pytest.raises(ValueError, match="is no square"):
        list(check.make(theorem("convex"), {**check.instance, "size": 2}))
