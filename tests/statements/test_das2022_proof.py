"""das2022's proof steps: counterexamples re-derived in plain NumPy, and faults that the checks must notice."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
import sympy as sp

from dpfl_theory import statements
from dpfl_theory.checks import exact, monte_carlo, worst_case
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, Sides, Statement, Symbols
from dpfl_theory.core.formula import sides_of
from dpfl_theory.core.prose import plain
from dpfl_theory.statements.das2022 import _instances as instances
from dpfl_theory.statements.das2022 import _sampling_moments, _worst_cases, eq35_to_39, facts, snr
from dpfl_theory.statements.das2022 import _worst_cases as worst
from dpfl_theory.statements.symbolic import sides_at

STEP = {"E": 2, "eta L": "1/2", "L": "1"}


def worst_ratio(statement: Statement, build: Callable[..., Any], instance: Mapping[str, Any]) -> float:
    return worst_case.solve(worst_case.inequality(statement, build(statement, instance))).dual


def larger(id_: str, term: str, factor: float) -> Statement:
    """The statement with a term of its left side, or one that moves there, times the factor."""
    statement = statements.get(id_)
    made = sides_of(statement)
    side = "lhs" if term in made.lhs else "rhs"
    terms = dict(getattr(made, side))
    return replace(
        statement, sides=lambda s: replace(made, **{side: {**terms, term: sp.Rational(factor) * terms[term]}})
    )


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize(
    ("id_", "build", "instance", "term", "factor"),
    [
        ("das2022.eq18", worst.eq18, STEP, "update", 2.0),
        ("das2022.eq22", worst.clipped, STEP, "update", 4.0),
        ("das2022.eq41", worst.clipped, STEP, "update", 4.0),
        ("das2022.eq23", worst.eq23, {**STEP, "E": 1}, "update", 0.9375),
        ("das2022.eq31", worst.eq31, {**STEP, "eta L": "1/8"}, "gap", 1.25),
        ("das2022.eq32", worst.unclipped, {**STEP, "eta L": "1/64"}, "gap", 1.0625),
        ("das2022.eq45", worst.lengthened, {**STEP, "eta L": "1/64"}, "gap", 1.0625),
    ],
)
def test_a_stronger_step_is_refuted(
    id_: str, build: Any, instance: Mapping[str, Any], term: str, factor: float
) -> None:
    assert worst_ratio(statements.get(id_), build, instance) <= 1.0 + 1e-6
    assert worst_ratio(larger(id_, term, factor), build, instance) > 1.0 + 1e-4


def test_the_sharpened_threshold_is_the_smallest_for_one_step() -> None:
    one = {**STEP, "E": 1}
    exact = 16.0 * 2.0**0.5 / 9.0
    sharpened = statements.get("das2022.eq22.sharpened")
    assert worst_ratio(sharpened, partial(worst.clipped, threshold=exact), one) == pytest.approx(1.0, abs=1e-6)
    assert worst_ratio(sharpened, partial(worst.clipped, threshold=0.98 * exact), one) > 1.001


def test_the_middle_of_31_s_display_is_sharp_in_its_sum_of_squares() -> None:
    eq31 = statements.get("das2022.eq31")
    assert worst_ratio(eq31, worst.eq31_sum, {**STEP, "E": 1}) == pytest.approx(1.0, abs=1e-6)


def round_of(**changes: Any) -> dict[str, Any]:
    return {
        "L": "1",
        "eta L": "1/20",
        "E": 1,
        "sampling": "independent",
        "lengths": ["100"],
        "copies": 10,
        **changes,
    }


def test_a_round_of_independent_clients_breaks_the_normalised_recursion() -> None:
    """In plain numbers: ten clients with one Huber function of threshold g, C = 100 g, w_k - w* just outside its
    parabola. E||w_{k+1} - w*||^2 exceeds what (40) with (46) allows."""
    n, eta, g = 10, 0.05, 1.0
    C = 100.0 * g
    w = 1.0 * g  # where the parabola ends: gradient g
    gap = 0.5 * w * w
    p = 1.0 / n
    sizes = np.arange(n + 1)
    from scipy.stats import binom

    after = float(np.sum(binom.pmf(sizes, n, p) * (w - eta * C * sizes) ** 2))
    a = eta
    allowed = w * w - 2.0 * eta * (C / g) * (1.0 - 2.0 * a * a) * gap + eta * eta * C * C
    assert after > 1.3 * allowed
    eq47 = statements.get("das2022.eq47")
    found = worst_ratio(eq47, _worst_cases.one_round, round_of())
    assert found > after / (allowed + 2.0 * eta * (C / g) * gap)
    assert worst_ratio(eq47, _worst_cases.one_round, round_of(sampling="fixed")) <= 1.0 + 1e-6


def test_a_round_notices_noise_that_is_counted_twice() -> None:
    """The clipped round holds with independent clients, and would not with a second moment twice as large."""
    instance = round_of(lengths=["short"], copies=10, **{"eta L": "1/2"})
    assert worst_ratio(eq35_to_39.EQ35, _worst_cases.one_round, instance) <= 1.0 + 1e-6


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("term", ["distance", "clipped", "unclipped", "heterogeneity"])
def test_a_round_reads_each_term_of_35(term: str) -> None:
    """A term that is a hundred times better breaks a round that keeps (35) as it is printed."""
    made = sides_of(eq35_to_39.EQ35)
    factor = sp.Rational(1, 100) if term in ("distance", "heterogeneity") else 100
    better = replace(made, rhs={**made.rhs, term: factor * made.rhs[term]})
    lengths = ["short", "short"] if term == "heterogeneity" else ["1", "short"]
    instance = round_of(lengths=lengths, copies=1, sampling="fixed", **{"eta L": "1/4"})
    assert worst_ratio(eq35_to_39.EQ35, _worst_cases.one_round, instance) <= 1.0 + 1e-6
    altered = replace(eq35_to_39.EQ35, sides=lambda s: better)
    assert worst_ratio(altered, _worst_cases.one_round, instance) > 1.0 + 1e-4


def test_an_equal_clients_round_reads_the_noise_of_35() -> None:
    made = sides_of(eq35_to_39.EQ35)
    check = next(c for c in eq35_to_39.EQ35.checks if c.name.endswith("with noise"))
    quiet = replace(
        eq35_to_39.EQ35, sides=lambda s: replace(made, rhs={k: v for k, v in made.rhs.items() if k != "noise"})
    )
    assert exact.run(eq35_to_39.EQ35, check, Settings()).verdict == "holds"
    assert exact.run(quiet, check, Settings()).verdict == "violated"


def test_normalised_signals_can_cancel() -> None:
    rng = np.random.default_rng(3)
    shorter = 0
    for _ in range(200):
        u = rng.standard_normal((3, 2)) * rng.uniform(0.1, 10.0, (3, 1))
        length = np.linalg.norm(u, axis=1, keepdims=True)
        clip, norm = u * np.minimum(1.0, 4.0 / length), 4.0 * u / length
        shorter += np.linalg.norm(clip.sum(axis=0)) > np.linalg.norm(norm.sum(axis=0))
    assert shorter > 20
    (found,) = snr.signals(snr.ANY_COHORT, {"C": "10", "updates": [[["10"], ["-1"]]]})
    assert sides_at(snr.ANY_COHORT, found.symbol_values) == (9, 0)


def test_clipping_beats_normalisation_on_the_conflicting_clients() -> None:
    """Both methods without noise in a plain loop: normalisation is more than twice as far at the end of the run."""
    rows, thresholds = np.array([[1.0, 0.0], [-0.9, 0.19**0.5]]), np.array([1.0, 0.1])
    instance = instances.TABLE["clipping-wins"]["two clients that conflict, alpha = 1"]
    eta, C = instance["rho"] / (2.0 * instance["alpha"]), 1.0
    mean = {}
    for method in ("clip", "norm"):
        w, total = np.array(instance["point"]), 0.0
        for _ in range(instance["rounds"]):
            margins = rows @ w
            inside = np.abs(margins) <= thresholds
            values = np.where(inside, 0.5 * margins**2, thresholds * (np.abs(margins) - 0.5 * thresholds))
            total += float(values.mean())
            u = np.clip(margins, -thresholds, thresholds)[:, None] * rows
            length = np.linalg.norm(u, axis=1, keepdims=True)
            sent = u * np.minimum(1.0, C / length) if method == "clip" else C * u / length
            w = w - eta * sent.mean(axis=0)
        mean[method] = total / instance["rounds"]
    assert mean["norm"] > 2.0 * mean["clip"]


def test_a_rival_run_is_needed_and_used() -> None:
    section = statements.get("das2022.section4.1")
    check = next(c for c in section.checks if c.name.endswith("alpha = 1"))
    found = monte_carlo.run(section, check, Settings(alpha=1e-6))
    assert found.verdict == "violated"
    alone = replace(check, build=lambda s, i: replace(check.build(s, i), rival=None))
    with pytest.raises(ValueError, match="no rival run"):
        monte_carlo.run(section, alone, Settings(alpha=1e-6))


@pytest.mark.parametrize("term", ["gap", "heterogeneity"])
def test_a_step_with_a_term_of_the_wrong_size_is_noticed(term: str) -> None:
    """eq. 32 with a term that is a fifth too good fails on the instance where that term is the largest."""
    eq32 = statements.get("das2022.eq32")
    name = {
        "gap": "nearly linear objective, eta L = 0.02",
        "heterogeneity": "opposite clients at w*, eta L = 0.02",
    }[term]
    check = next(c for c in eq32.checks if c.name == name)

    def wrong(_: Symbols) -> Sides:
        sides = sides_of(eq32)
        factor = 1.2 if term == "gap" else 0.8
        return Sides(sides.lhs, {**sides.rhs, term: factor * sides.rhs[term]})

    assert monte_carlo.run(eq32, check, Settings(alpha=1e-6)).verdict == "holds"
    assert monte_carlo.run(replace(eq32, sides=wrong), check, Settings(alpha=1e-6)).verdict != "holds"


def test_the_summed_recursion_needs_its_noise_term() -> None:
    eq36 = statements.get("das2022.eq36")
    made = sides_of(eq36)
    check: Check = next(c for c in eq36.checks if c.name == "(34) over the rounds")
    assert check.make(eq36).true
    rhs = {k: v for k, v in made.rhs.items() if k != "noise"}
    assert not check.make(replace(eq36, sides=lambda s: Sides(made.lhs, rhs))).true


def test_appendix_f_does_not_meet_the_hypothesis_on_the_threshold() -> None:
    from dpfl_theory.problems.quadratic import appendix_f

    for seed in range(3):
        c = appendix_f(seed=seed).constants
        least = 4.0 * 20 * np.sqrt(c.L_max * c.delta_i_star.max())
        assert 200.0 < least < 300.0


def test_fact_2_s_worst_case_is_p() -> None:
    made = sides_of(facts.FACT2)
    nine_tenths = replace(made, rhs={k: sp.Rational(9, 10) * v for k, v in made.rhs.items()})
    assert worst_ratio(facts.FACT2, facts.any_vectors, {"p": 3}) == pytest.approx(1.0, abs=1e-6)
    assert worst_ratio(replace(facts.FACT2, sides=lambda s: nine_tenths), facts.any_vectors, {"p": 3}) == pytest.approx(
        1 / 0.9, abs=1e-6
    )


def test_one_normalised_round_of_ten_equal_clients() -> None:
    """f_i = w^2/2, r = 1, E = 1, eta = 1/20, w = 1, C = 100: E w_1^2 against (40) with (46), over all cohort sizes."""
    eta, C, n = Fraction(1, 20), 100, 10
    chance = [math.comb(n, j) * Fraction(1, n) ** j * Fraction(n - 1, n) ** (n - j) for j in range(n + 1)]
    after = sum(share * (1 - eta * C * j) ** 2 for j, share in enumerate(chance))
    allowed = 1 + eta * (-(2 - 4 * eta**2) * C * Fraction(1, 2) + eta * C**2)
    assert (float(after), float(allowed)) == (38.5, 21.025)
    assert (1 - eta * C) ** 2 < allowed  # with exactly one client
    erratum = statements.get("das2022.eq47").erratum
    assert erratum is not None
    assert all(number in plain(erratum.counterexample) for number in ("38.5", "21.025"))


@pytest.mark.parametrize(("eta", "ratio", "message"), [("1/2", "99/100", "0.862"), ("9/20", "9999/10000", "0.829")])
def test_eq35_fails_below_and_at_a_local_phase_of_two(eta: str, ratio: str, message: str) -> None:
    (found,) = _sampling_moments.equal_clients(
        eq35_to_39.EQ35, {**_sampling_moments.EQUAL, "eta": eta, "C/||u||": ratio, "E": [4], "sampling": "independent"}
    )
    left, right = sides_at(eq35_to_39.EQ35, found.symbol_values)
    assert left > right
    assert f"{float(left):.3f}" == message
    erratum = statements.get("das2022.eq35").erratum
    assert erratum is not None
    assert message in plain(erratum.counterexample)
