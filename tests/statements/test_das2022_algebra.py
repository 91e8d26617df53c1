"""das2022's algebra checks read the formulas that are entered: a changed constant is noticed by name."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

import pytest
import sympy as sp

from dpfl_theory import statements
from dpfl_theory.checks.runner import run_one
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Statement
from dpfl_theory.core.formula import sides_of, symbols_of
from dpfl_theory.statements.das2022 import (
    comparison,
    eq4_and_5,
    eq12,
    eq18_to_34,
    eq41_to_46,
    eq47,
    facts,
    fixed_size,
    theorem4,
    theorem7,
)

_CLIPPED_FORM = "is das2022.eq22 with C = C_hat E"
_INFINITE = "both sides infinite where gradients have one direction"
FAULTS = [
    (comparison, "CLOW", "the difference at the shortest update", "rhs", "excess"),
    (comparison, "WEIGHTS", "weights of at least 1, 2 clients", "lhs", "clipping, (4)"),
    (comparison, "WEIGHTS", "weights of at least 1, 2 clients", "rhs", "normalisation, (5)"),
    (eq12, "EQ12", "slack, independent sampling", "rhs", "clients"),
    (eq12, "EQ12", "slack, full sampling", "lhs", "cohort"),
    (fixed_size, "EQ12", "slack, fixed sampling", "rhs", "clients"),
    (eq18_to_34, "EQ18", "from Lemma 8 and Fact 2", "lhs", "update"),
    (eq18_to_34, "EQ18", "from Lemma 8 and Fact 2", "rhs", "heterogeneity"),
    (eq18_to_34, "EQ23", "from Lemma 9", "rhs", "inner product"),
    (eq18_to_34, "EQ23", "from Lemma 9", "rhs", "update"),
    (facts, "FACT1", "from one gradient step", "rhs", "height"),
    (facts, "FACT1", "quadratics of any curvature up to L", "lhs", "slope"),
    (eq41_to_46, "EQ41", _CLIPPED_FORM, "rhs", "update"),
    (eq41_to_46, "EQ45", "(44) in (42)", "rhs", "gap"),
    (eq41_to_46, "EQ45", "(44) in (42)", "rhs", "heterogeneity"),
    (eq41_to_46, "EQ45", "(44) in (42)", "rhs", "normalisation"),
    (eq41_to_46, "EQ45", "at ||u_i|| = C not above (32)", "rhs", "gap"),
    (eq47, "EQ47", _INFINITE, "rhs", "heterogeneity"),
    (theorem7, "GENERAL", "the condition on K is eta L < 1/2", "lhs", "unclipped"),
    (theorem7, "GENERAL", "Theorem 6 where every update is clipped", "lhs", "clipped"),
    (theorem7, "GENERAL", "Theorem 6 where every update is clipped", "rhs", "initialisation"),
    (theorem7, "GENERAL", _INFINITE, "lhs", "unclipped"),
    (theorem7, "ALPHA", _INFINITE, "rhs", "heterogeneity"),
    (theorem4, "B", _INFINITE, "rhs", "B2 (heterogeneity)"),
    (theorem7, "GENERAL_REPAIRED", "fixed cohorts give the printed form", "rhs", "normalisation"),
    (theorem7, "GENERAL_REPAIRED", "from (46) and the repaired (12), over the rounds", "rhs", "normalisation"),
    (theorem7, "GENERAL_REPAIRED", "from (46) and the repaired (12), over the rounds", "rhs", "heterogeneity"),
    (theorem7, "GENERAL_REPAIRED", "from (46) and the repaired (12), over the rounds", "lhs", "clipped"),
]


def altered(statement: Statement, side: str, term: str) -> Statement:
    """The statement with one term of one side larger by a hundredth."""
    found = sides_of(statement)
    terms = {k: (sp.Rational(101, 100) * v if k == term else v) for k, v in getattr(found, side).items()}
    assert term in terms
    return replace(statement, sides=lambda s: replace(found, **{side: terms}))


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize(("module", "name", "check", "side", "term"), FAULTS)
def test_a_term_that_is_a_hundredth_too_large_is_noticed(
    module: ModuleType, name: str, check: str, side: str, term: str
) -> None:
    statement: Statement = getattr(module, name)
    found = next(c for c in statement.checks if c.method == "algebra" and c.name == check)
    assert found.make(statement).true
    assert found.make(altered(statement, side, term)).true is False


def test_another_bound_of_eq_5_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    check = next(c for c in comparison.SECTION.checks if c.method == "algebra")
    assert check.make(comparison.SECTION).true
    monkeypatch.setattr(eq4_and_5, "EQ5", altered(eq4_and_5.EQ5, "rhs", "initialisation"))
    assert check.make(comparison.SECTION).true is False


def test_the_excess_of_independent_sampling_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The repaired recursion takes kappa from das2022.eq12.repaired as entered."""
    check = next(c for c in theorem7.GENERAL_REPAIRED.checks if c.name.startswith("from (46)"))
    monkeypatch.setattr(eq12, "REPAIRED", altered(eq12.REPAIRED, "rhs", "cohort size"))
    assert check.make(theorem7.GENERAL_REPAIRED).true is False


def test_the_kappa_term_vanishes_as_alpha_grows() -> None:
    """(5) needs no kappa, though (3) does: the limit of Theorem 4b repaired is (5), printed and repaired."""
    repaired, printed = (
        next(s for s in eq4_and_5.STATEMENTS if s.id == i) for i in ("das2022.eq5.repaired", "das2022.eq5")
    )
    assert repaired.uses == ("das2022.theorem4b.repaired",)
    check = next(c for c in repaired.checks if c.name == "limit of das2022.theorem4b.repaired as alpha grows")
    assert check.make(repaired).true
    assert sides_of(printed).rhs == sides_of(repaired).rhs


SEVERAL = [
    (s, side, name)
    for s in statements.select((), "das2022")
    if s.sides is not None and s.expected == "holds"
    for side in ("lhs", "rhs")
    for name in getattr(sides_of(s), side)
    if len(getattr(sides_of(s), side)) > 1
]


def verdicts_by_algebra(statement: Statement) -> dict[str, str]:
    found = {}
    for check in statement.checks:
        if check.method == "algebra":
            try:
                found[check.name] = run_one(statement, check, Settings(device="cpu")).verdict
            except Exception as error:
                found[check.name] = type(error).__name__
    return found


@pytest.mark.exhaustive(keep=6)
@pytest.mark.parametrize(
    ("statement", "side", "name"), [pytest.param(*one, id=f"{one[0].id} {one[2]}") for one in SEVERAL]
)
def test_without_any_of_its_terms_a_bound_no_longer_follows(statement: Statement, side: str, name: str) -> None:
    """Also where its absence would weaken the bound, which no instance could refute: algebra compares both sides."""
    made = sides_of(statement)
    rest = {k: v for k, v in getattr(made, side).items() if k != name}
    changed = replace(statement, sides=lambda _: replace(made, **{side: rest}))
    before, after = verdicts_by_algebra(statement), verdicts_by_algebra(changed)
    assert set(before.values()) == {"holds"}
    assert before != after


@pytest.mark.parametrize("id_", ["das2022.theorem6", "das2022.theorem7.fixed-size"])
def test_one_round_less_is_noticed_though_it_weakens_the_bound(id_: str) -> None:
    statement = statements.get(id_)
    made, K = sides_of(statement), symbols_of(statement).K
    fewer = replace(made, rhs={name: term.subs(K, K - 1) for name, term in made.rhs.items()})
    changed = replace(statement, sides=lambda _: fewer)
    assert "violated" in verdicts_by_algebra(changed).values()


def test_theorem_6_s_heterogeneity_term_decides_an_instance() -> None:
    """The run's mean gap is known in closed form: the choice among four clients is nearly all that moves w."""
    statement = statements.get("das2022.theorem6")
    (check,) = (c for c in statement.checks if "heterogeneity alone" in c.name)
    made = sides_of(statement)
    without = replace(made, rhs={"initialisation": made.rhs["initialisation"]})
    found = [
        run_one(s, check, Settings(device="cpu")) for s in (statement, replace(statement, sides=lambda _: without))
    ]
    assert [e.verdict for e in found] == ["holds", "violated"]
    assert found[0].ratio == pytest.approx(0.34, abs=0.02)
