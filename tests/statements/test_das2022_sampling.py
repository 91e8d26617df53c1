"""das2022's two readings of a sampled cohort, and the proof that clipping survives independent clients: faults that
must be noticed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy as sp

from dpfl_theory.checks import monte_carlo, worst_case
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, Statement
from dpfl_theory.core.formula import sides_of
from dpfl_theory.statements import get
from dpfl_theory.statements.das2022 import _independent, _runs, _symbols, _worst_cases, fixed_size
from dpfl_theory.statements.das2022 import _instances as instances
from dpfl_theory.statements.das2022 import _worst_cases as worst

SIX = ("eq12", "eq35", "eq47", "theorem4b", "theorem7", "theorem7.alpha")


def test_both_readings_of_the_six_statements_are_entered_and_share_one_cause() -> None:
    assert {s.reading_of for s in fixed_size.STATEMENTS} == {f"das2022.{name}" for name in SIX}
    literal = [get(f"das2022.{name}") for name in SIX]
    assert {s.erratum.cause.id for s in literal if s.erratum is not None} == {"das2022.sampling"}
    for statement in literal:
        other = get(f"{statement.id}.fixed-size")
        assert (statement.expected, other.expected) == ("violated", "holds")
        assert other.sides is statement.sides
        schemes = [c.instance.get("cohort", {}).get("scheme") for c in statement.checks]
        assert "fixed" not in schemes
        assert "poisson" not in [c.instance.get("cohort", {}).get("scheme") for c in other.checks]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [21, 22])
def test_the_counterexample_within_theorem_3_s_range_is_of_the_sampling_alone(seed: int) -> None:
    """Independent clients: 1.142 times the bound; exactly three of them: 0.99; the same with the hypothesis lifted."""
    (instance,) = instances.TABLE["in-range"].values()
    exactly = {**instance, "cohort": {"scheme": "fixed", "size": 3}}
    statement, other = get("das2022.theorem4b"), get("das2022.theorem4b.fixed-size")
    lifted = replace(other, hypotheses=tuple(a for a in other.hypotheses if a is not _symbols.EXACT_COHORT))
    found = {}
    for name, of, run in (
        ("literal", statement, instance),
        ("exactly", other, exactly),
        ("outside", other, instance),
        ("lifted", lifted, instance),
    ):
        check = Check("monte-carlo", name, lambda s, i: _runs.experiment(s, i, "dp-normfedavg"), run)
        found[name] = monte_carlo.run(of, check, Settings(seed=seed, alpha=1e-6, device="cpu"))
    assert {k: e.verdict for k, e in found.items()} == {
        "literal": "violated",
        "exactly": "holds",
        "outside": "not-applicable",
        "lifted": "violated",
    }
    assert found["literal"].ratio == pytest.approx(1.146, abs=0.01)
    assert found["exactly"].ratio == pytest.approx(0.988, abs=0.005)


def room(h: str, counted: bool, least_E: int = 1) -> bool | None:
    check = _independent.checks(h, counted, least_E)[-1]
    return check.make(get("das2022.eq35.repaired")).true  # type: ignore[no-any-return]


def test_the_proof_for_independent_clients_needs_each_of_its_parts() -> None:
    """It ends where the slack is used up: before 1/4 without the clipped clients' Delta_i, with them soon after."""
    assert room("1/4", True)
    assert room("6/25", False)
    assert room("3/10", False, 2)
    assert room("1/4", False) is False
    assert room("27/100", True) is False
    assert room("1/3", False, 2) is False


def test_the_room_by_brute_force() -> None:
    """The last inequality on a grid, with sqrt(8) for 14/5: true up to 1/4, and a third more share breaks it."""
    h, s = np.meshgrid(np.linspace(0.0, 0.25, 251), np.linspace(0.0, 1.0, 401))
    given = 0.5 - h + 3 * h / 16
    left = h * (s + np.minimum(s, 1 - s) / np.sqrt(8)) ** 2
    assert np.all(left <= s * (1 - h + h * s) * given + 1e-15)
    assert not np.all(4 / 3 * left <= s * (1 - h + h * s) * given)


def test_what_clients_give_in_a_round_by_brute_force() -> None:
    """Random clients whose gradients at w* sum to zero: the excess h ||mean g||^2 against what the checks add up."""
    rng = np.random.default_rng(8)
    worst = 0.0
    for _ in range(3000):
        n, d = int(rng.integers(2, 7)), int(rng.integers(1, 4))
        c = rng.standard_normal((n, d))
        c -= c.mean(axis=0)
        c *= rng.random() / np.sqrt(8) / np.linalg.norm(c, axis=1).max()  # C = 1, ||E c_i|| <= 1/sqrt(8)
        u = rng.standard_normal((n, d)) * rng.uniform(0.1, 4.0, (n, 1))
        length = np.linalg.norm(u, axis=1)
        h = rng.uniform(0.0, 0.25)
        sent = u / np.maximum(1.0, length)[:, None]
        gives = np.where(length <= 1, ((u - c) ** 2).sum(axis=1), 0.5 - h + 3 * h / 16)
        worst = max(worst, h * float((sent.mean(axis=0) ** 2).sum()) / float(gives.mean()))
    assert 0.3 < worst <= 1.0


def worst_ratio(statement: Statement, build: Callable[..., Any], instance: Mapping[str, Any]) -> float:
    return worst_case.solve(worst_case.inequality(statement, build(statement, instance))).dual


def test_the_round_of_theorem_6_s_second_form_notices_phases_that_are_too_long() -> None:
    """Two hundred equal clients just above C: inside eta L E <= 1/4 the round holds, at eta L E = 2 it does not."""
    instance: dict[str, Any] = {"L": "1", "sampling": "independent", "lengths": ["99/100"], "copies": 200}
    statement = get("das2022.theorem6.alpha")
    found = {
        (E, product): worst_ratio(statement, _worst_cases.one_round, {**instance, "E": E, "eta L": product})
        for E, product in ((4, "1/16"), (4, "1/2"))
    }
    assert found[4, "1/16"] <= 1.0 + 1e-6
    assert found[4, "1/2"] > 1.0 + 1e-3


def test_kappa_at_the_papers_cohorts() -> None:
    erratum = get("das2022.eq12").erratum
    assert erratum is not None
    assert erratum.effect.value == pytest.approx(float(Fraction(1, 1000) * (1 - Fraction(1000, 5000))))


@pytest.mark.parametrize("E", [1, 2, 3])
def test_what_a_client_gives_over_all_convex_functions(E: int) -> None:
    """By performance estimation: (18) with 1 - eta L in place of 1/2, and (32) with ||u - E c||^2 eta/(LE) added to its
    left side, c the gradient at w*. Both notice a share more of the given terms."""
    instance = {"E": E, "eta L": "1/8", "L": "1"}
    eq18, eq32 = get("das2022.eq18"), get("das2022.eq32")
    made = sides_of(eq18)

    def by(share: float) -> Statement:
        """1/2 in (18)'s left side replaced."""
        return replace(eq18, sides=lambda s: replace(made, lhs={"update": 2 * sp.Rational(share) * made.lhs["update"]}))

    assert worst_ratio(by(7 / 8), worst.eq18, instance) <= 1.0 + 1e-6
    assert worst_ratio(by(0.95), worst.eq18, {**instance, "E": 1}) > 1.0 + 1e-4
    ratios = []
    for share in (1.0, 1.0 + 3.0 * E):
        step = worst._Step(instance)
        target = step.phase.points[0] - step.way
        slope = step.phase.function.gradient(target)
        known = worst_case.inequality(eq32, worst._unclipped(eq32, step))
        more = share * step.eta / (step.L * E) * (step.u - E * slope) ** 2
        ratios.append(worst_case.solve(replace(known, left=known.left + more)).dual)
    assert ratios[0] <= 1.0 + 1e-6
    assert ratios[1] > 1.0 + 1e-4
