"""Planted faults in das2022's formulas: the check named with each fault must detect it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from dpfl_theory.checks import algebra
from dpfl_theory.core import Sides, Statement, Symbols
from dpfl_theory.core.formula import prescription_of, sides_of, symbols_of
from dpfl_theory.statements import get

Change = Callable[[Mapping[str, Any], Any], Any]


def _with_term(id_: str, side: str, term: str, change: Change) -> Statement:
    """The statement with one term of one side changed."""
    original = get(id_)

    def sides(_: Symbols) -> Sides:
        found = sides_of(original)
        terms = {"lhs": dict(found.lhs), "rhs": dict(found.rhs)}
        terms[side][term] = change(symbols_of(original), terms[side][term])
        return Sides(**terms)

    return replace(original, sides=sides)


def _with_prescription(id_: str, name: str, change: Change) -> Statement:
    original = get(id_)

    def prescription(_: Symbols) -> Mapping[str, Any]:
        found = dict(prescription_of(original))
        found[name] = change(symbols_of(original), found[name])
        return found

    return replace(original, prescription=prescription)


def _by(name: str) -> Callable[[Statement], algebra.Outcome]:
    """The recorded check whose name starts with this text."""

    def run(mutant: Statement) -> algebra.Outcome:
        outcome: algebra.Outcome = next(c for c in mutant.checks if c.name.startswith(name)).make(mutant)
        return outcome

    return run


_special, _prescribed, _limit = _by("special case of"), _by("prescription agrees with"), _by("limit of")


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
