"""worst-case: known worst ratios, planted faults, and what is refused as evidence."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from PEPit import PEP
from PEPit.functions import SmoothConvexFunction
from planted import PROBLEMS, checked

from dpfl_theory.checks import cache, certificate, estimation, pep_inequality, worst_case
from dpfl_theory.checks.certificate_file import is_proof
from dpfl_theory.checks.runner import plan, run_plan
from dpfl_theory.checks.settings import Settings
from dpfl_theory.checks.verifier import Form, proves, refutes
from dpfl_theory.core import Check, Performance
from dpfl_theory.core.formula import symbols_of
from dpfl_theory.statements.das2022 import (
    _worst_cases,
    eq18_to_34,
    eq47,
    facts,
    lemma8,
    lemma9,
    lemma10,
)


def verdict(build, instance, statement=lemma8.LEMMA8):
    return worst_case.run(statement, Check("worst-case", "test", build, instance), Settings())


def unconditional(statement, **changes):
    """The statement without its hypotheses, so that what lies outside them is solved too."""
    return replace(statement, hypotheses=(), **changes)


def with_term(statement, side, name, change):
    """The statement with one term of one side changed."""

    def sides(s):
        entered = statement.sides(s)
        terms = dict(getattr(entered, side))
        return replace(entered, **{side: {**terms, name: change(s, terms[name])}})

    return unconditional(statement, sides=sides)


def local(E, product, L="1"):
    return {"E": E, "eta L": product, "L": L}


def moved(class_, tau, product, conclusion=1):
    return {"class": class_, "tau": tau, "eta L": product, "L": "1", "conclusion": conclusion}


def step(class_, product):
    return {"class": class_, "eta L": product, "L": "1"}


@pytest.mark.slow
@pytest.mark.parametrize("module", [lemma8, lemma9, lemma10, facts], ids=lambda m: m.__name__.rpartition(".")[2])
def test_every_check_of_appendix_e_gives_the_recorded_verdict(module):
    report = run_plan(plan(module.STATEMENTS))
    assert [e.check for e in report.evidence if e.verdict != e.expected] == []
    solved = [e for e in report.evidence if e.method == "worst-case"]
    assert all(e.notes["proved_exactly"] for e in solved if e.verdict == "holds")
    assert all(e.notes["refuted_exactly"] for e in solved if e.verdict == "violated")


@pytest.mark.parametrize("product", ["1/2", "1/4", "1/16"])
def test_lemma8_one_step_ratio_is_that_of_a_huber_function(product):
    h = Fraction(product)
    w, target = Fraction(1), Fraction(7)  # f = w^2/2 up to 1, slope 1 beyond: f(7) = 13/2, gradient 1 at w = 1
    right = (w - target) ** 2 - (w - h - target) ** 2 + 2 * h * Fraction(13, 2)
    attained = (h / 2) / right
    assert attained == 1 / (2 * (1 - h))
    found = verdict(lemma8.local_phase, local(1, product))
    assert found.lhs.estimate == pytest.approx(float(attained), rel=2e-5)


def test_scaling_the_function_changes_nothing():
    one, four = (verdict(lemma8.local_phase, local(2, "1/4", L)) for L in ("1", "4"))
    assert one.ratio == pytest.approx(four.ratio, rel=1e-5)


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("tau", [1, 2, 3, 4])
@pytest.mark.parametrize("conclusion", [1, 2])
def test_lemma9_worst_ratios_at_the_largest_step(tau, conclusion):
    ratios = [
        verdict(lemma9.several_steps, moved(kind, tau, "1", conclusion), lemma9.LEMMA9).ratio
        for kind in ("convex", "non-convex")
    ]
    assert ratios == pytest.approx([(tau + 1) / (2 * tau**2), (2 * tau + 1) / (3 * tau**2)], rel=1e-5)


@pytest.mark.parametrize("product", ["1/8", "1/2", "1", "2"])
def test_lemma10_ratio_of_concave_quadratics(product):
    found = verdict(lemma10.one_step, step("non-convex", product), lemma10.SMOOTH_ALONE)
    assert found.verdict == "violated"
    assert found.ratio == pytest.approx(1 + 4 * float(Fraction(product)), rel=1e-5)
    assert 1 < found.lhs.low <= found.lhs.estimate * (1 + 1e-6)


def steeper(factor):
    return with_term(lemma8.LEMMA8, "rhs", "gradients", lambda s, term: factor * term)


def by_tau(power):
    return with_term(lemma9.LEMMA9, "rhs", "smoothness", lambda s, term: term * s.tau ** (power - 2))


LARGER = with_term(lemma10.LEMMA10, "rhs", "change", lambda s, term: term - s.gradient_change / 64)
SHORT = with_term(facts.FACT1, "rhs", "height", lambda s, term: term * sp.Rational(199, 200))
ANY_STEP = unconditional(lemma8.LEMMA8)
MUTANTS = {
    "lemma 8 with eta/L": (steeper(2), lemma8.local_phase, local(1, "1/2")),
    "lemma 8 with eta/L, two steps": (steeper(2), lemma8.local_phase, local(2, "1/2")),
    "lemma 8 with a coefficient 1 % larger": (steeper(sp.Rational(101, 100)), lemma8.local_phase, local(1, "1/2")),
    "lemma 8 above 1/(2L)": (ANY_STEP, lemma8.local_phase, local(1, "33/64")),
    "lemma 8 at 1/L": (ANY_STEP, lemma8.local_phase, local(1, "1")),
    "lemma 9 with tau": (by_tau(1), lemma9.several_steps, moved("convex", 4, "1/8")),
    "lemma 9 with tau, non-convex": (by_tau(1), lemma9.several_steps, moved("non-convex", 2, "1/2")),
    "lemma 9 without tau": (by_tau(0), lemma9.several_steps, moved("convex", 2, "1/2", 2)),
    "lemma 10 with a larger coefficient": (LARGER, lemma10.one_step, step("convex", "1")),
    "lemma 10 without convexity": (lemma10.SMOOTH_ALONE, lemma10.one_step, step("non-convex", "1/8")),
    "fact 1 with 1.99 L": (SHORT, facts.smooth_function, {"class": "convex", "L": "1"}),
    "fact 1 with 1.99 L, non-convex": (SHORT, facts.smooth_function, {"class": "non-convex", "L": "1"}),
}


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("name", MUTANTS)
def test_planted_faults_are_found(name):
    statement, build, instance = MUTANTS[name]
    found = verdict(build, instance, statement)
    assert found.verdict == "violated", found.reason
    assert found.notes["refuted_exactly"]
    assert found.lhs.low > 1


@pytest.mark.parametrize("name", ["lemma 8 with eta/L, two steps", "lemma 9 with tau", "fact 1 with 1.99 L"])
def test_a_worst_function_on_the_boundary_is_moved_inside(name, monkeypatch):
    """Where the solver finds no function that is deep inside and above the bound, on some processors."""
    search = estimation._deepest
    monkeypatch.setattr(estimation, "_deepest", lambda o, *a: None if o is not None else search(o, *a))
    statement, build, instance = MUTANTS[name]
    found = verdict(build, instance, statement)
    assert found.verdict == "violated", found.reason
    assert 1 < found.lhs.low <= found.lhs.estimate * (1 + 1e-5)
    monkeypatch.setattr(estimation, "_SHARES", ())
    assert verdict(build, instance, statement).verdict == "inconclusive"


def test_lemma8_needs_its_heterogeneity_term():
    """eta E Delta_i instead of 2 eta E Delta_i."""
    half = with_term(lemma8.LEMMA8, "rhs", "heterogeneity", lambda s, term: term / 2)
    assert verdict(lemma8.local_phase, local(1, "1/2"), half).verdict == "violated"


def test_a_step_that_is_too_long_is_outside_the_hypotheses():
    assert verdict(lemma8.local_phase, local(1, "33/64")).verdict == "not-applicable"


def test_an_unbounded_problem_counts_only_with_a_counterexample(monkeypatch):
    found = verdict(lemma8.local_phase, local(1, "1"), ANY_STEP)
    assert found.verdict == "violated"
    assert found.lhs.low >= 2
    assert found.to_json()["ratio"] is None
    monkeypatch.setattr(estimation, "refutes", lambda *_: False)
    assert verdict(lemma8.local_phase, local(1, "1"), ANY_STEP).verdict == "inconclusive"


def test_a_large_primal_value_without_a_verified_function_is_inconclusive(monkeypatch):
    monkeypatch.setattr(estimation, "refutes", lambda *_: False)
    assert verdict(lemma10.one_step, step("non-convex", "1"), lemma10.SMOOTH_ALONE).verdict == "inconclusive"


def test_without_a_rational_proof_the_dual_value_must_be_within_the_tolerance(monkeypatch):
    monkeypatch.setattr(estimation, "prove", lambda *_: None)
    found = verdict(lemma10.one_step, step("convex", "1"), lemma10.LEMMA10)
    assert found.verdict == "holds"
    assert "tolerance" in found.reason
    monkeypatch.setattr(estimation, "_guarantee", lambda *_: (1.0, 1e-4))
    assert verdict(lemma10.one_step, step("convex", "1"), lemma10.LEMMA10).verdict == "inconclusive"


def test_a_solver_failure_is_inconclusive(monkeypatch):
    import cvxpy as cp

    def fail(*_, **__):
        raise cp.error.SolverError("out of steps")

    monkeypatch.setattr(cp.Problem, "solve", fail)
    found = verdict(lemma8.local_phase, local(1, "1/2"))
    assert found.verdict == "inconclusive"
    assert "out of steps" in found.reason


def test_nothing_is_printed_and_json_is_plain(capsys):
    import json

    found = verdict(lemma8._lemma8, local(1, "1/2"))
    assert capsys.readouterr() == ("", "")
    json.dumps(found.to_json(), allow_nan=False)
    assert len(found.notes["worst_function"]) == 3  # minimiser, w_k, w*


def test_odd_denominators_are_cleared_before_coefficients_are_rounded():
    """(18) at E = 3 has the coefficient 1/12; its worst ratio is 1, and the double above it would prove nothing."""
    found = verdict(_worst_cases.eq18, {"E": 3, "eta L": "1/2", "L": "1"}, eq18_to_34.EQ18)
    assert found.ratio == pytest.approx(1, abs=1e-6)
    assert found.notes["proved_exactly"]


def test_a_letter_may_be_a_multiple_of_another():
    instance = {"L": "1", "eta L": "1/20", "E": 1, "sampling": "fixed", "lengths": ["2", "2"]}
    built = _worst_cases.one_round(eq47.EQ47, instance)
    s = symbols_of(eq47.EQ47)
    assert built.values["gamma"].free_symbols == {s.C_hat}
    assert verdict(lambda *_: built, instance, eq47.EQ47).verdict == "holds"
    incomplete = replace(built, values={k: v for k, v in built.values.items() if k != "C_hat^2"})
    with pytest.raises(ValueError, match="has no value for C_hat"):
        pep_inequality.arranged(eq47.EQ47, incomplete)


# The search for certificates: max G subject to G <= 1, as <1, G> <= 1 with multiplier 1.

OBJECTIVE = certificate.numeric(Form({(0, 0): Fraction(1)}), 1, 0)
LIMIT = certificate.numeric(Form({(0, 0): Fraction(1)}, constant=Fraction(-1)), 1, 0)


def test_a_certificate_proves_no_smaller_bound():
    assert certificate.prove(OBJECTIVE, [LIMIT], Fraction(1), np.array([1.0 + 1e-9])) == [1]
    for less in (Fraction(1, 10**12), Fraction(1, 1001), Fraction(1, 1000)):
        assert certificate.prove(OBJECTIVE, [LIMIT], 1 - less, np.array([1.0])) is None


def test_what_the_verifier_rejects_is_no_proof(monkeypatch):
    """The search decides nothing by itself."""
    monkeypatch.setattr(certificate, "proves", lambda *_: False)
    assert certificate.prove(OBJECTIVE, [LIMIT], Fraction(1), np.array([1.0])) is None
    monkeypatch.setattr(estimation, "proves", lambda *_: False)
    monkeypatch.setattr(certificate, "proves", proves)
    assert not checked(PROBLEMS["smooth convex"]).notes["proved_exactly"]


def test_points_outside_a_constraint_are_no_counterexample():
    """x^2 <= x^2 / 2 is false for x = 1, which meets x^2 <= 1, and not shown by the next double above 1."""
    half = certificate.numeric(Form({(0, 0): Fraction(1, 2)}), 1, 0)
    for x, shown in ((1.0, True), (1.0 + 2.0**-52, False)):
        points = certificate.rational(np.array([[x]]), np.zeros(0))
        assert refutes(OBJECTIVE.exact, half.exact, [LIMIT.exact], *points) == shown


def test_inconsistent_equations_have_no_solution():
    one = Fraction(1)
    assert certificate.solve_exactly([[one, one], [one, one]], [one, 2 * one], [one, one]) is None
    assert certificate.solve_exactly([[one, one]], [3 * one], [2 * one, Fraction(0)]) == [3, 0]


# Near the bound: what is proved, what the tolerances let pass, and what they do not.


def ratio_of(excess):
    """(1 + excess) x^2 <= x^2, the sides of which have no other ratio."""

    def build():
        problem = PEP()
        x = problem.set_initial_point()
        return Performance(problem, (1 + excess) * x**2, 1.0 * x**2, "squares")

    return build


@pytest.mark.parametrize("excess", [2.0**-10, 2.0**-14, 2.0**-17, 2.0**-20, 2.0**-30, 2.0**-50])
def test_nothing_is_proved_where_the_left_side_is_larger_by_less_than_a_thousandth(excess):
    found = checked(ratio_of(excess))
    assert not found.notes["proved_exactly"]
    assert "certificate" not in found.notes
    assert found.verdict != "holds" or found.lhs.estimate < 1 + estimation.SOLVER_TOLERANCE
    assert checked(ratio_of(-excess)).notes["proved_exactly"]


@pytest.mark.parametrize("excess", [2.0**-14, 2.0**-17])
def test_an_excess_beyond_the_solvers_tolerance_does_not_hold(excess):
    assert checked(ratio_of(excess)).verdict in ("violated", "inconclusive")


def solution(primal, dual, defect=0.0, signed=True):
    return estimation.Solution("optimal", primal, dual, defect, False, signed, False, None, ())


@pytest.mark.parametrize(
    ("primal", "dual", "defect", "signed", "verdict"),
    [
        (1.0, 1.0, 0.0, True, "holds"),
        (1.0 - 0.9e-5, 1.0, 0.0, True, "holds"),
        (1.0 - 1.1e-5, 1.0, 0.0, True, "inconclusive"),
        (1.0 + 1.1e-5, 1.0, 0.0, True, "inconclusive"),
        (0.99, 1.0, 0.0, True, "inconclusive"),
        (0.5, 0.5 + 0.9e-5, 0.0, True, "holds"),
        (0.5, 0.5 + 1.1e-5, 0.0, True, "inconclusive"),
        (0.5, 0.45, 0.0, True, "inconclusive"),
        (1.0, 1.0 + 0.9e-6, 0.0, True, "holds"),
        (1.0, 1.0 + 1.1e-6, 0.0, True, "inconclusive"),
        (1.0, 1.0, 0.9e-6, True, "holds"),
        (1.0, 1.0, 1.1e-6, True, "inconclusive"),
        (1.0, 1.0, 0.0, False, "inconclusive"),
        (math.nan, 0.5, 0.0, True, "inconclusive"),
        (math.inf, 0.5, 0.0, True, "inconclusive"),
    ],
)
def test_without_a_proof_primal_and_dual_value_must_agree(monkeypatch, primal, dual, defect, signed, verdict):
    """A gap of at most 1e-5, and a guarantee of at most 1 + 1e-6."""
    monkeypatch.setattr(worst_case, "solve", lambda _: solution(primal, dual, defect, signed))
    assert checked(PROBLEMS["smooth convex"]).verdict == verdict


@pytest.mark.parametrize(("gap", "message"), [(0.9e-5, 0.5), (1.1e-5, "not solved"), (0.05, "not solved")])
def test_a_ratio_for_information_needs_the_same_gap(monkeypatch, gap, message):
    monkeypatch.setattr(worst_case, "solve", lambda _: solution(0.5 - gap, 0.5))
    also = worst_case._also(lemma8.LEMMA8, PROBLEMS["smooth convex"])
    assert also == message


def test_a_large_problem_is_judged_by_the_relative_gap(monkeypatch):
    monkeypatch.setattr(worst_case, "solve", lambda _: solution(200.0 - 1e-3, 200.0))
    assert worst_case._also(lemma8.LEMMA8, PROBLEMS["smooth convex"]) == 200.0


# Certificates in evidence.


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_proof_is_kept_with_the_evidence(name):
    found = checked(PROBLEMS[name])
    assert found.notes["proved_exactly"]
    assert is_proof(found.notes["certificate"])
    assert found.notes["claim"].endswith("the left side is at most the right side")
    assert cache.read(cache.encode(found)).notes["certificate"] == found.notes["certificate"]


def test_a_proof_with_a_multiplier_below_one_is_completed_by_that_of_the_sign():
    """x^2 <= 2 x^2: the normalised problem has the multiplier 1/2, and the certificate is of left <= right."""

    def build():
        problem = PEP()
        x = problem.set_initial_point()
        return Performance(problem, 1.0 * x**2, 2.0 * x**2, "squares")

    found = checked(build)
    assert found.ratio == pytest.approx(0.5, rel=1e-6)
    assert is_proof(found.notes["certificate"])
    assert not is_proof({**found.notes["certificate"], "bound": "499/1000"})


def test_the_proof_of_the_sign_is_part_of_the_certificate():
    """(f(x) - f*)/2 <= f(x) - f*: with the multiplier 1/2, and half of the proof that f(x) - f* is not negative."""

    def build():
        problem = PEP()
        f = problem.declare_function(SmoothConvexFunction, L=1.0)
        s, x = f.stationary_point(), problem.set_initial_point()
        return Performance(problem, 0.5 * (f(x) - f(s)), f(x) - f(s), "half")

    found = checked(build)
    assert found.ratio == pytest.approx(0.5, rel=1e-6)
    assert found.notes["proved_exactly"]
    assert is_proof(found.notes["certificate"])
    assert found.notes["certificate"]["interpolation"] == [[0, 1, 0, "1/2"]]
