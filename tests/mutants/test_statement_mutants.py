"""Planted faults in das2022's formulas: each must be killed by the check named beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from dpfl_theory.checks import algebra
from dpfl_theory.statements import get
from dpfl_theory.statements.das2022._consistency import agreeing_prescriptions, limit, specialises
from dpfl_theory.statements.formula import letters_of, prescription_of, sides_of
from dpfl_theory.statements.model import Sides, Statement

Change = Callable[[Mapping[str, Any], Any], Any]


def _with_term(id_: str, side: str, term: str, change: Change) -> Statement:
    """The statement with one term of one side changed."""
    original = get(id_)
    assert original.sides is not None

    def sides() -> Sides:
        assert original.sides is not None
        found = sides_of(original)
        terms = {"lhs": dict(found.lhs), "rhs": dict(found.rhs)}
        terms[side][term] = change(letters_of(original), terms[side][term])
        return Sides(**terms)

    return replace(original, sides=sides)


def _with_prescription(id_: str, name: str, change: Change) -> Statement:
    original = get(id_)

    def prescription() -> Mapping[str, Any]:
        assert original.prescription is not None
        found = dict(prescription_of(original))
        found[name] = change(letters_of(original), found[name])
        return found

    return replace(original, prescription=prescription)


def _special(mutant: Statement) -> algebra.Outcome:
    general = {"das2022.theorem4a": "das2022.theorem6.alpha", "das2022.theorem4b": "das2022.theorem7.alpha"}[mutant.id]
    names = {
        "das2022.theorem4a": {"E_unclipped_gap": "E_gap"},
        "das2022.theorem4b": {
            "E_unclipped_weighted_gap": "E_weighted_gap",
            "E_unclipped_weighted_Delta": "E_weighted_Delta",
        },
    }[mutant.id]
    check = specialises(
        get(general),
        lambda: mutant,
        lambda s: {"C_hat": s["G"], "E_clipped_length": 0, **{k: s[v] for k, v in names.items()}},
        "C_hat = G",
    )
    outcome: algebra.Outcome = check.build({})
    return outcome


def _prescribed(mutant: Statement) -> algebra.Outcome:
    check = agreeing_prescriptions(
        get("das2022.theorem6.alpha"), lambda: mutant, lambda s: {"C_hat": s["G"]}, "C_hat = G"
    )
    outcome: algebra.Outcome = check.build({})
    return outcome


def _limit(mutant: Statement) -> algebra.Outcome:
    outcome: algebra.Outcome = limit(get("das2022.theorem4a"), lambda: mutant).build({})
    return outcome


MUTANTS: dict[str, tuple[Statement, Callable[[Statement], algebra.Outcome]]] = {
    "4a: B1 with E/(2 alpha) for 3E/(2 alpha)": (
        _with_term("das2022.theorem4a", "rhs", "B1 (heterogeneity)", lambda s, t: t / 3),
        _special,
    ),
    "4a: coefficient without its square": (
        _with_term(
            "das2022.theorem4a", "lhs", "gap", lambda s, t: t + (s["rho"] * s["E"] / s["alpha"]) ** 2 * s["E_gap"]
        ),
        _special,
    ),
    "4a: A without rho": (
        _with_term("das2022.theorem4a", "rhs", "A (initialisation)", lambda s, t: t / s["rho"]),
        _special,
    ),
    "4a: D for D^2": (
        _with_term("das2022.theorem4a", "rhs", "A (initialisation)", lambda s, t: t.subs(s["D"] ** 2, s["D"])),
        algebra.homogeneous,
    ),
    "4a: gamma L for gamma/L": (
        _with_term(
            "das2022.theorem4a", "rhs", "A (initialisation)", lambda s, t: t + s["G"] * s["gamma"] * s["L"] * s["rho"]
        ),
        algebra.homogeneous,
    ),
    "4a: eta doubled": (_with_prescription("das2022.theorem4a", "eta", lambda s, e: 2 * e), _prescribed),
    "4a: eta without L": (_with_prescription("das2022.theorem4a", "eta", lambda s, e: e * s["L"]), algebra.homogeneous),
    "4a: K of Section 4.1": (_with_prescription("das2022.theorem4a", "K", lambda s, e: e / s["E"]), _prescribed),
    "4a: C without E": (_with_prescription("das2022.theorem4a", "C", lambda s, e: e / s["E"]), _prescribed),
    "4b: G^2/L for G^2/(2L)": (
        _with_term("das2022.theorem4b", "rhs", "B2 (normalisation)", lambda s, t: 2 * t),
        _special,
    ),
    "4b: G for G^2": (
        _with_term("das2022.theorem4b", "rhs", "B2 (normalisation)", lambda s, t: t / s["G"]),
        algebra.homogeneous,
    ),
    "4b: heterogeneity without rho E/alpha": (
        _with_term("das2022.theorem4b", "rhs", "B2 (heterogeneity)", lambda s, t: t * s["alpha"] / (s["rho"] * s["E"])),
        _special,
    ),
    "eq4: G for G/2": (_with_term("das2022.eq4", "rhs", "initialisation", lambda s, t: 2 * t), _limit),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_planted_fault_is_killed(name: str) -> None:
    mutant, check = MUTANTS[name]
    outcome = check(mutant)
    print(f"{'killed' if not outcome.true else 'SURVIVED':9s} {name}: {outcome.reason}")
    assert not outcome.true


@pytest.mark.parametrize(
    ("id_", "check"),
    [
        ("das2022.theorem4a", _special),
        ("das2022.theorem4b", _special),
        ("das2022.theorem4a", _prescribed),
        ("das2022.eq4", _limit),
    ],
)
def test_the_printed_formula_survives_the_same_check(id_: str, check: Callable[[Statement], algebra.Outcome]) -> None:
    assert check(get(id_)).true
