"""Planted faults in shulgin2025's statements: their checks must detect a wrong constant, sign or hypothesis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dpfl_theory.algorithms.error_feedback import Clip21
from dpfl_theory.checks import algebra, exact, monte_carlo, worst_case
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Sides, Statement
from dpfl_theory.core.formula import sides_of
from dpfl_theory.statements import get
from dpfl_theory.statements.shulgin2025 import _line as line
from dpfl_theory.statements.shulgin2025 import _worst_cases as worst
from dpfl_theory.statements.shulgin2025._instances import TABLE
from dpfl_theory.statements.shulgin2025._line import run_of
from dpfl_theory.statements.shulgin2025.clip21 import INACTIVE_CLIPPING, inactive_runs

SETTINGS = Settings(alpha=1e-9, device="cpu")
CLASSES = ("convex", "non-convex")
OPPOSITE = {"L": "1", "gradient": "1", "error": "65/64", "estimate": "1/64"}
TRIANGLE = {"L": "1", "gradient": "5/4", "error": "3/4", "estimate": "1"}


def solved(id_: str, build: Any, instance: Mapping[str, Any], **terms: Any) -> worst_case.Solution:
    """The worst case with some of the right side's terms, or ``every`` one, multiplied."""
    statement = get(f"shulgin2025.{id_}")
    made = sides_of(statement)
    rhs = {k: terms.get(k, terms.get("every", 1)) * v for k, v in made.rhs.items()}
    planted = replace(statement, sides=lambda s: Sides(made.lhs, rhs))
    return worst_case.solve(worst_case.inequality(planted, build(planted, instance)))


@pytest.mark.parametrize("kind", CLASSES)
def test_the_descent_step_needs_its_factor_2(kind: str) -> None:
    assert solved("descent", worst.descent, {"class": kind, **OPPOSITE}).proved
    assert solved("descent", worst.descent, {"class": kind, **OPPOSITE}, estimate=Fraction(19, 20)).refuted is not None


@pytest.mark.parametrize("kind", CLASSES)
def test_the_sharpened_descent_step_cannot_gain_more(kind: str) -> None:
    assert solved("descent.sharpened", worst.descent_by_angle, {"class": kind, **TRIANGLE}).guarantee <= 1 + 1e-6
    assert solved(
        "descent.sharpened", worst.descent_by_angle, {"class": kind, **TRIANGLE}, gradient=Fraction(21, 20)
    ).refuted


@pytest.mark.parametrize("kind", CLASSES)
def test_the_worst_residual_is_the_repaired_radius(kind: str) -> None:
    """alpha = 1/4, beta = 1, r = 1/4 attains max(R, q + m) = 1.05 R, so a radius that is smaller fails."""
    found = {"class": kind, "L": "1", "alpha": "1/4", "beta": "1", "residual": "1/4"}
    assert solved("lemma2.repaired", worst.track, found).dual == pytest.approx(1.0, abs=1e-5)
    assert solved("lemma2.larger-beta", worst.track, found).dual == pytest.approx(1.05**2, rel=1e-5)


TIGHT: dict[str, tuple[Any, Mapping[str, Any], Fraction]] = {
    "clip21.residual": (worst.clip21_residual, {"L": "1", "tau": "1/2", "moved": "1/4"}, Fraction(39, 40)),
    "clip21.inactive": (worst.clip21_inactive, {"smoothness": ["4", "1"], "gamma L": "1"}, Fraction(39, 40)),
    "clip21.descent": (worst.clip21_descent, {"L": "1", "gamma L": "1/2"}, Fraction(19, 20)),
}


@pytest.mark.parametrize("name", TIGHT)
def test_smaller_right_sides_are_refuted(name: str) -> None:
    build, found, factor = TIGHT[name]
    for kind in CLASSES:
        assert solved(name, build, {"class": kind, **found}, every=factor).refuted is not None


def exact_checks() -> list[tuple[str, str]]:
    ids = ("lemma1", "table1", "lemma2.repaired", "lemma3", "appendixC.clipping", "appendixC.normalization")
    more = ("clip21.descent", "clip21.residual", "theorem2", "corollary2", "example1")
    names = []
    for id_ in (*ids, *more, "theorem1", "theorem1.sharpened", "corollary1"):
        for check in get(f"shulgin2025.{id_}").checks:
            decides = check.expected == "holds" and not check.part and "just inside" not in check.name
            if check.method == "exact" and decides:
                names.append((f"shulgin2025.{id_}", check.name))
    return names


LOOSE = {"shulgin2025.theorem1", "shulgin2025.theorem2"}
"""Statements whose bounds are at least twice the gradient while gamma L_max < R: see `test_theorem_1_is_loose`."""


FACTORS = {
    ("shulgin2025.corollary1", "the slope stays 1/sqrt(K + 1)"): Fraction(39, 170),
    ("shulgin2025.corollary2", "the slope stays t"): Fraction(33, 200),
    ("shulgin2025.theorem2", "first round"): Fraction(33, 100),
    ("shulgin2025.theorem1", "memories that lead away from the optimum"): Fraction(117, 1000),
    ("shulgin2025.theorem2", "memories that lead away from the optimum"): Fraction(117, 1000),
    ("shulgin2025.corollary1", "memories that lead away from the optimum"): Fraction(79, 1000),
    ("shulgin2025.corollary2", "memories that lead away from the optimum"): Fraction(116, 1000),
    ("shulgin2025.eq12.repaired", "a memory that leads away from the optimum"): Fraction(18, 100),
}
"""Checks whose bound is farther from its left side; just below this factor the verdict changes."""


@pytest.mark.exhaustive
@pytest.mark.parametrize(("id_", "name"), exact_checks())
def test_exact_checks_notice_a_factor(id_: str, name: str) -> None:
    """Nine tenths of the right side: some instance is tight enough; 43 hundredths for whole runs of loose theorems."""
    factor = (
        Fraction(43, 100) if id_ in LOOSE and "runs on the line" in name else FACTORS.get((id_, name), Fraction(9, 10))
    )
    statement = get(id_)
    (check,) = (c for c in statement.checks if (c.method, c.name) == ("exact", name))
    assert exact.run(statement, check, SETTINGS).verdict == "holds"
    assert exact.run(scaled(statement, factor), check, SETTINGS).verdict == "violated"


def test_theorem_1_is_loose() -> None:
    """K = 0 and one client: with Lx = L gamma <= R the bound s^2/(2 Lx) + 2R + Lx/2 is at least sqrt(5) s."""
    for R, step in ((1.0, 1.0), (1.0, 0.5), (3.0, 0.1)):
        for slope in (0.1, 1.0, 5**0.5, 10.0):
            bound = slope**2 / (2 * step * R) + 2 * R + step * R / 2
            assert bound >= 5**0.5 * slope * (1 - 1e-12)


def test_convergence_to_a_fixed_target_is_not_claimed_beyond_twice_alpha() -> None:
    statement = get("shulgin2025.appendixC.normalization")
    (check,) = (c for c in statement.checks if c.name.startswith("beta <= 2 alpha"))
    assert check.part
    for texts in (["1", "3", "1/10"], ["1", "5", "1/10"]):
        evidence = exact.run(statement, replace(check, instance={"runs": [texts], "k": 4}), SETTINGS)
        assert evidence.verdict == "violated"


def test_inactive_clipping_needs_its_hypothesis() -> None:
    """Without 'gamma L_max ||f'(x^0)|| <= tau' clipping sets in: a short threshold and a long step."""
    clients = [[["1", "4"], ["3", "-1"]]]
    inside = {"clients": clients, "runs": [["2", "1", "8", "1/4"]], "rounds": 8}
    outside = {"clients": clients, "runs": [["2", "1", "3", "2/5"]], "rounds": 8}
    found = inactive_runs(INACTIVE_CLIPPING, inside)
    assert found
    assert all(exact.compared(INACTIVE_CLIPPING, values).excess <= 0 for values in found)
    assert inactive_runs(INACTIVE_CLIPPING, outside) == []  # the hypothesis fails, so nothing is claimed
    algorithm = Clip21(gamma=Fraction(2, 5), tau=Fraction(3), sigma=0)
    run = run_of(algorithm, line.clients(clients[0]), Fraction(2), [Fraction(0)] * 2, 9)
    assert max(abs(e) for one in run.rounds for e in one.residuals) > 3


def scaled(statement: Statement, factor: Any) -> Statement:
    sides = sides_of(statement)
    return replace(statement, sides=lambda s: Sides(sides.lhs, {k: factor * v for k, v in sides.rhs.items()}))


RUNS = {
    ("shulgin2025.lemma3", "one client on the line"): 0.6,
    ("shulgin2025.lemma3", "quadratics, noise dominates"): 0.85,
    ("shulgin2025.descent", "one quadratic, no overshoot"): 0.97,
    ("shulgin2025.descent.sharpened", "one quadratic, no overshoot"): 0.98,
    ("shulgin2025.lemma2.repaired", "one client, its residual R/10, alpha = R/100"): 0.97,
    ("shulgin2025.lemma2.repaired", "one client, its residual 1.79 R, round 41"): 0.97,
    ("shulgin2025.clip21.descent", "quadratics, short step"): 0.98,
    ("shulgin2025.clip21.residual", "quadratics, zero memories, short threshold"): 0.97,
    ("shulgin2025.clip21.inactive", "one quadratic, first round"): 0.95,
    ("shulgin2025.corollary1", "first round only"): 0.4,
    ("shulgin2025.corollary2", "the slope stays t = 0.25, epsilon = 54.3, K = 200"): 0.15,
    ("shulgin2025.eq12", "one quadratic, 72 rounds, D = 1.0001 M"): 0.16,
    ("shulgin2025.eq12", "one client in two dimensions, condition 300, D = 1.0001 M"): 0.16,
    ("shulgin2025.eq12.repaired", "one quadratic, first round, D = M/20"): 0.9,
    (
        "shulgin2025.theorem1.sharpened",
        "one quadratic, zero memories, alpha = beta = 100 R, first round",
    ): 0.99,
    ("shulgin2025.example1", "alpha = 5, K = 400"): 0.5,
}


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize(("id_", "name"), RUNS)
def test_the_runs_notice_a_factor(id_: str, name: str) -> None:
    statement = get(id_)
    (check,) = (c for c in statement.checks if (c.method, c.name) == ("monte-carlo", name))
    assert monte_carlo.run(statement, check, SETTINGS).verdict == "holds"
    evidence = monte_carlo.run(scaled(statement, RUNS[id_, name]), check, SETTINGS)
    assert evidence.verdict == "violated"
    assert not evidence.asymptotic


STILL = {
    "corollary2": list(TABLE["accurate-private"]),
    "theorem2": [n for n in TABLE["noisy"] if n.startswith("16 clients")],
    "eq12": [n for n in TABLE["large"] if "D = 1.0001 M" in n],
    "eq12.repaired": list(TABLE["closer"]),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize(("id_", "name"), [(id_, name) for id_, names in STILL.items() for name in names])
def test_runs_that_an_algorithm_which_stands_still_breaks(id_: str, name: str) -> None:
    """With the symbols of the true run, and steps of nearly no length."""
    statement = get(f"shulgin2025.{id_}")
    (check,) = (c for c in statement.checks if (c.method, c.name) == ("monte-carlo", name))
    e = check.make(statement)
    still = replace(e, algorithm=e.algorithm.with_values(step=1e-9 * e.values["gamma"]))
    assert monte_carlo.run(statement, check, SETTINGS).verdict == "holds"
    evidence = monte_carlo.run(statement, replace(check, build=lambda s, i: still), SETTINGS)
    assert evidence.verdict == "violated"
    assert not evidence.asymptotic


def test_the_claim_of_an_arbitrary_accuracy_is_refuted_by_its_own_hypotheses() -> None:
    statement = get("shulgin2025.eq12.any-D")
    (check,) = (c for c in statement.checks if c.name == "D is arbitrary")
    evidence = algebra.run(statement, check, SETTINGS)
    assert evidence.verdict == "violated"
    assert "1/2" in evidence.reason
