"""noble2022 Lemmas C.4 to C.6 and Corollary C.1: proofs for all M, lM and K, and the claims that they refuse to
prove."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from dpfl_theory.core import Sides, Statement
from dpfl_theory.core.formula import sides_of, symbols_of
from dpfl_theory.statements.noble2022 import _symbols
from dpfl_theory.statements.noble2022.scaffold import corollaryC_1, lemmaC_1_to_3
from dpfl_theory.statements.noble2022.scaffold import corollaryC_1 as displays
from dpfl_theory.statements.noble2022.scaffold import lemmaC_4_to_6 as lemmas
from dpfl_theory.statements.noble2022.scaffold import lemmaC_4_to_6 as proofs
from dpfl_theory.statements.symbolic import least_on_the_unit_box

SHARP = {
    "C.4": (proofs.move, lemmas.C4_SHARPENED, {"drift": 0.999, "lag": 0.999, "slope": 0.999, "noise": 0.999}),
    "C.5": (proofs.lag, lemmas.C5_SHARPENED, {"lag before": 0.9, "slope": 0.55, "drift": 0.9, "noise": 0.85}),
    "C.6": (proofs.drift, lemmas.C6_SHARPENED, {"lag": 0.999, "slope": 0.999, "noise": 0.999}),
    "first display": (displays.first_display, corollaryC_1.REPAIRED, {"variance": 0.999}),
    "other displays": (displays.other_displays, corollaryC_1.REPAIRED, {"variance": 0.999}),
}


def scaled(statement: Statement, term: str, factor: float) -> Statement:
    """The statement with one term of its right side multiplied by a factor."""
    sides = sides_of(statement)
    right = {name: v * (sp.Rational(str(factor)) if name == term else 1) for name, v in sides.rhs.items()}
    return replace(statement, sides=lambda s: Sides(sides.lhs, right))


@pytest.mark.slow
@pytest.mark.parametrize("name", SHARP)
def test_the_proofs_prove_what_is_stated_and_nothing_less(name: str) -> None:
    prove, statement, factors = SHARP[name]
    assert prove.make(statement).true
    assert set(factors) == set(sides_of(statement).rhs)
    for term, factor in factors.items():
        larger, smaller = (scaled(statement, term, value) for value in (1.01, factor))
        assert term == "lag before" or prove.make(larger).true
        assert prove.make(smaller).true is None, term


def test_a_faster_forgetting_of_the_lag_is_not_proved() -> None:
    s = symbols_of(lemmas.C5_SHARPENED)
    sides = sides_of(lemmas.C5_SHARPENED)
    faster = {**sides.rhs, "lag before": (1 - sp.Rational(11, 20) * s["l"]) * s["lag"]}
    claim = replace(lemmas.C5_SHARPENED, sides=lambda _: Sides(sides.lhs, faster))
    assert proofs.lag.make(claim).true is None


PRINTED = [(lemmas.C4, lemmas.C4_SHARPENED), (lemmas.C5, lemmas.C5_SHARPENED),
           (lemmas.C6, lemmas.C6_SHARPENED)]  # fmt: skip


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(("printed", "sharp"), PRINTED, ids=["C.4", "C.5", "C.6"])
def test_the_printed_form_follows_from_the_sharpened_one_and_no_smaller_excess_does(
    printed: Statement, sharp: Statement
) -> None:
    assert sharp.sides is not None
    follows = proofs.by_lemma_c2(sharp.sides)
    assert follows.make(printed).true
    assert follows.make(scaled(printed, "excess", 1 / 40)).true is None


def test_the_bound_on_the_unit_box_is_one() -> None:
    rng = np.random.default_rng(3)
    x, y = sp.symbols("x y")
    for _ in range(20):
        powers = [(int(a), int(b)) for a, b in rng.integers(0, 4, (5, 2))]
        weights = [int(v) for v in rng.integers(-5, 6, 5)]
        polynomial = sum(w * x**a * y**b for w, (a, b) in zip(weights, powers))
        least = float(least_on_the_unit_box(polynomial, (x, y)))
        points = rng.random((50, 2))
        values = [sum(w * p**a * q**b for w, (a, b) in zip(weights, powers)) for p, q in points]
        assert min(values) >= least - 1e-12


def test_user_sums_behind_the_proofs_by_enumeration() -> None:
    """M users, all cohorts of r: the absent users' sum, and the variance that a cohort leaves."""
    from itertools import combinations

    rng = np.random.default_rng(5)
    for M, r in ((2, 1), (5, 2), (6, 5)):
        a = rng.standard_normal((M, 3))
        spread = []
        for cohort in combinations(range(M), r):
            inside = a[list(cohort)].mean(axis=0)
            absent = a[[i for i in range(M) if i not in cohort]].sum(axis=0) / M
            share = r / M
            assert np.allclose(absent, (1 - share) * a.mean(axis=0) - share * (inside - a.mean(axis=0)))
            spread.append(((inside - a.mean(axis=0)) ** 2).sum())
        kappa = (M - r) / ((M - 1) * r)
        assert np.mean(spread) == pytest.approx(kappa * ((a - a.mean(axis=0)) ** 2).sum(axis=1).mean())


def test_the_drift_of_users_never_leaves_the_growth_that_the_proof_allows() -> None:
    """||y^k - x|| <= A_k/(1 - q) along noiseless steps of smooth functions that are not convex."""
    rng = np.random.default_rng(8)
    for K in (1, 2, 7, 30):
        eta, x, b = 1 / (24 * K), rng.standard_normal(), rng.standard_normal()
        y, base = x, np.sin(x)
        for k in range(1, K + 1):
            y -= eta * (np.sin(y) - base + b)
            assert abs(y - x) <= eta * k * abs(b) / (1 - 1 / 24) * (1 + 1e-12)


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize(
    ("lemma", "check", "term"),
    [
        (lemmaC_1_to_3.C1_SHARPENED, "draws without replacement, every R", "sampling"),
        (lemmaC_1_to_3.C1_SHARPENED, "the noise's second moment", "noise"),
        (lemmaC_1_to_3.C1, "the noise's second moment is half of Sigma_g^2", "noise"),
        (lemmaC_1_to_3.C3, "part 2, every n", "means"),
        (lemmaC_1_to_3.C3, "part 2, every n", "variances"),
    ],
    ids=["C.1 sampling", "C.1 noise, sharpened", "C.1 noise", "C.3 means", "C.3 variances"],
)
def test_algebra_is_connected_with_the_entered_formula(lemma: Statement, check: str, term: str) -> None:
    (found,) = (c for c in lemma.checks if c.name == check)
    assert found.make(lemma).true
    assert found.make(scaled(lemma, term, 0.9)).true is not True


def test_a_smaller_factor_in_lemma_c2_does_not_follow_from_smoothness() -> None:
    assert lemmaC_1_to_3.descent.make(lemmaC_1_to_3.C2).true
    assert not lemmaC_1_to_3.descent.make(scaled(lemmaC_1_to_3.C2, "gap", 0.9)).true


def test_proofs_rest_on_forms_that_hold() -> None:
    """Whatever a used form assumes is among the assumptions of the statements that depend on it."""
    from dpfl_theory import statements

    implied = {_symbols.RECORDS.text}  # by lM and sR being whole
    for statement in lemmas.STATEMENTS:
        assert statement.uses
        mine = {a.text for a in statement.hypotheses} | implied
        for used in map(statements.get, statement.uses):
            if used.erratum is not None:
                assert statement.id in used.erratum.survives  # cited by the paper, not needed by our proof
                continue
            assert used.expected == "holds"
            assert {a.text for a in used.hypotheses} <= mine, (statement.id, used.id)


def test_the_sharpened_forms_against_a_second_transcription() -> None:
    at = {"eta": 0.011, "nu": 1.9, "eta_g": 1.7, "K": 7.0, "l": 0.125, "M": 80.0, "alpha": 0.75, "varsigma": 1.3,
          "s": 0.25, "R": 40.0, "Sigma": 2.7, "slope": 1.9, "drift": 0.21, "lag": 0.33}  # fmt: skip
    V = 1.3**2 / 10 + 2.7**2
    W = V / 70
    typed = {
        lemmas.C4_SHARPENED: 0.011**2 * (1.9**2 * (4 * 0.21 + 8 / 3 * 0.33) + 4 / 3 * 1.9 + 4 * W),
        lemmas.C5_SHARPENED: (1 - 17 / 288) * 0.33
        + 0.125**0.5 * (1.9 / (48 * 1.9**2) + 97 / 48 * 0.21)
        + 0.125 * W / (32 * 1.9**2),
        lemmas.C6_SHARPENED: 4.5 * 1.9**2 * 0.011 / 1.7**2
        * (48 / 529 * 1.9 * 0.011 * 0.33 + 1.9 / (529 * 1.9**2) + 72 / 529 * 0.011 * V / (1.9 * 7)),
    }  # fmt: skip
    for statement, value in typed.items():
        symbols = symbols_of(statement)
        right = sum(sides_of(statement).rhs.values()).subs({symbols[k]: v for k, v in at.items() if k in symbols})
        assert float(right) == pytest.approx(value, rel=1e-12), statement.id
