"""exact: comparison of fractions, and eq. (12) of das2022 with its planted faults."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from dpfl_theory.checks import exact
from dpfl_theory.checks.exact import Case
from dpfl_theory.checks.runner import plan, run_plan
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, Source, Statement
from dpfl_theory.core.formula import sides_of, symbols_of
from dpfl_theory.statements.das2022 import _sampling_moments as moments
from dpfl_theory.statements.das2022 import eq12, facts, lemma10
from dpfl_theory.statements.symbolic import sides_at

ONE, TWO = Fraction(1), Fraction(2)


def evidence(cases, relation="<="):
    statement = Statement("t.s", "step", "t", Source("t", "t"), "t", relation=relation)
    return exact.run(statement, Check("exact", "c", lambda *_: cases, part="a test"), Settings())


def test_the_relation_decides():
    assert evidence([Case({}, ONE, TWO), Case({}, ONE, ONE)]).verdict == "holds"
    assert evidence([Case({}, ONE, ONE), Case({}, ONE + Fraction(1, 10**30), ONE)]).verdict == "violated"
    assert evidence(Case({}, ONE, TWO), "==").verdict == "violated"
    assert evidence(Case({}, TWO, TWO), "==").verdict == "holds"


def test_the_worst_case_is_named_and_the_smallest_failing_one_too():
    found = evidence([Case({"n": 1}, ONE, ONE), Case({"n": 2}, Fraction(3, 2), ONE), Case({"n": 3}, TWO, ONE)])
    assert found.notes["worst"] == {"n": "3"}
    assert found.notes["first_failing"] == {"n": "2"}
    assert found.notes["failing"] == 2
    assert found.ratio == 2


def test_an_excess_over_a_side_that_is_not_positive_is_the_worst():
    cases = [Case({"n": 1}, 100 * ONE, ONE), Case({"n": 2}, ONE, Fraction(0))]
    assert exact.worst(cases) is cases[1]


def test_long_fractions_are_short_in_the_reason_and_whole_in_the_notes():
    left, right = Fraction(7**200, 3**200), Fraction(7**6000, 3**6000)  # Python itself writes no more than 4300 digits
    reason = evidence(Case({"q": left, "p": Fraction(1, 3)}, left, Fraction(10**80))).reason
    beginning = str(7**200)[:17]
    assert f"{beginning}... = 3.93873769058e+73" in reason
    assert "p = 1/3" in reason
    assert max(map(len, reason.split())) <= 21
    notes = evidence(Case({"q": right}, left, left)).notes
    assert Fraction(notes["lhs"]) == left
    assert len(notes["worst"]["q"].split("/")[1]) == 2863


def test_rounded_sides_and_empty_sweeps_are_refused():
    with pytest.raises(TypeError, match=r"left side is 0\.5, a float"):
        Case({}, 0.5, ONE)
    with pytest.raises(ValueError, match="built no case"):
        evidence([])
    with pytest.raises(ValueError, match="compare by <= or =="):
        evidence(Case({}, ONE, ONE), "rate")


def test_every_check_of_eq12_gives_the_recorded_verdict():
    report = run_plan(plan(eq12.STATEMENTS))
    assert [e.check for e in report.evidence if e.verdict != e.expected] == []


def test_second_moments_by_an_independent_enumeration():
    members, p = ((2, -1), (0, 3), (5, 4)), Fraction(2, 3)
    total = Fraction(0)
    for joins in product((0, 1), repeat=3):
        weight = ONE
        for joined in joins:
            weight *= p if joined else 1 - p
        sums = [sum(j * v[k] for j, v in zip(joins, members)) for k in (0, 1)]
        total += weight * Fraction(sum(x * x for x in sums), 4)
    assert moments.second_moment(members, TWO, "independent") == total
    assert moments.closed_form(members, TWO, "independent") == total


@pytest.mark.parametrize("scheme", ["independent", "fixed"])
@pytest.mark.parametrize("family", ["equal", "opposite", "orthogonal", "one-hot", "drawn"])
def test_closed_forms(scheme, family):
    for n in range(1, 7):
        members = moments.vectors(family, n)
        for r in range(1, n + 1):
            counted = moments.second_moment(members, Fraction(r), scheme)
            assert counted == moments.closed_form(members, Fraction(r), scheme)


def decided(statement, build, instance):
    return exact.run(statement, Check("exact", "c", build, instance, part="a test"), Settings()).verdict


def by(factor):
    """(12) with its right side times a factor, from (r, n)."""
    sides = sides_of(eq12.EQ12)
    s = symbols_of(eq12.EQ12)
    rhs = {k: factor(s.r, s.n) * v for k, v in sides.rhs.items()}
    return replace(eq12.EQ12, sides=lambda _: replace(sides, rhs=rhs))


def test_the_smallest_counterexample_of_the_erratum():
    instance = {"vectors": "equal", "sampling": "independent", "n": [2], "r": [1]}
    (found,) = moments.moments(eq12.EQ12, instance)
    assert sides_at(eq12.EQ12, found.symbol_values) == (Fraction(3, 2), 1)


WRONG_FACTORS = {
    "printed": lambda r, n: 1,
    "half the excess": lambda r, n: 1 + (1 - r / n) / (2 * r),
    "one per cent less": lambda r, n: 1 + Fraction(99, 100) * (1 - r / n) / r,
    "excess over n": lambda r, n: 1 + (1 - r / n) / n,
    "r/n forgotten in the wrong place": lambda r, n: 1 + (1 - r / n) ** 2 / r,
}


@pytest.mark.parametrize("name", WRONG_FACTORS)
def test_wrong_factors_are_refuted(name):
    instance = {"vectors": "equal", "sampling": "independent", "n": [2, 3, 4]}
    assert decided(by(WRONG_FACTORS[name]), moments.moments, instance) == "violated"
    assert decided(eq12.REPAIRED, moments.moments, instance) == "holds"


def test_a_wrong_closed_form_or_a_loose_factor_would_be_seen(monkeypatch):
    instance = {"vectors": "drawn", "sampling": "fixed", "n": [3, 4], "seed": 1}
    assert decided(eq12.EQ12, moments.agreement, instance) == "holds"
    true = moments.closed_form
    monkeypatch.setattr(moments, "closed_form", lambda g, r, s: true(g, r, "independent"))
    assert decided(eq12.EQ12, moments.agreement, instance) == "violated"
    equal = {"vectors": "equal", "sampling": "independent", "n": [2, 3]}
    assert decided(by(lambda r, n: 1 + 1 / r), moments.attained, equal) == "violated"


def test_fewer_than_one_client_is_outside_the_hypotheses():
    for r, verdict in (("1", "holds"), ("99/100", "not-applicable")):
        instance = {"vectors": "one-hot", "sampling": "independent", "n": [2, 3], "r": [r]}
        assert decided(eq12.EQ12, moments.moments, instance) == verdict


def test_unknown_vector_family():
    with pytest.raises(ValueError, match="is not one of equal, opposite"):
        moments.vectors("random", 2)


def test_lemma10_counterexamples_as_the_remark_prints_them():
    statement = lemma10.SMOOTH_ALONE
    (quadratic,) = lemma10.concave_quadratic(statement, {"L": "1", "eta L": ["1"]})
    (well,) = lemma10.smooth_well(statement, {"eta L": ["1"]})
    assert sides_at(statement, quadratic.symbol_values) == (4, 0)
    assert well.instance["w"] == Fraction(1, 4)
    assert sides_at(statement, well.symbol_values) == (Fraction(1, 4), 0)


def test_fact2_with_a_smaller_factor_is_refuted():
    instance = {"p": [2, 3], "seed": 1}
    sides = sides_of(facts.FACT2)
    smaller = {k: (1 - Fraction(1, 1000)) * v for k, v in sides.rhs.items()}
    assert decided(facts.FACT2, facts.drawn_vectors, instance) == "holds"
    weaker = replace(facts.FACT2, sides=lambda s: replace(sides, rhs=smaller))
    assert decided(weaker, facts.drawn_vectors, instance) == "violated"
