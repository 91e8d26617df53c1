"""Noise "by Theorem 1 of Abadi et al.": each refutation and each repaired constant derived again, with mpmath only."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from scipy.stats import binom, norm

from dpfl_theory.checks import privacy
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, Sides
from dpfl_theory.core.formula import prescription_of, sides_of, symbols_of
from dpfl_theory.core.prose import plain
from dpfl_theory.statements import get
from dpfl_theory.statements import prescribed_noise as noise
from dpfl_theory.statements.das2022 import theorem3
from dpfl_theory.statements.hou2023 import lemma1
from dpfl_theory.statements.shulgin2025 import noise as alpha_norm_ec
from dpfl_theory.statements.zhang2021 import theorem3_2

LN = mpmath.log


def normal_delta(epsilon, z):
    """Phi(1/(2z) - epsilon z) - e^epsilon Phi(-1/(2z) - epsilon z), without the package."""
    with mpmath.workdps(60):
        e, z = mpmath.mpf(epsilon), mpmath.mpf(z)
        return mpmath.ncdf(1 / (2 * z) - e * z) - mpmath.exp(e) * mpmath.ncdf(-1 / (2 * z) - e * z)


def positive_part(epsilon, weights, shifts, deviations):
    """The integral of max(p - e^epsilon q, 0) on a fine grid: the smallest delta of one real output.

    p is a mixture of normal densities with these shifts, q the same with all shifts 0.
    """
    edge = max(shifts) + 9 * max(deviations)
    x = np.linspace(-edge, edge, 200_001)
    p = sum(w * norm.pdf(x, m, s) for w, m, s in zip(weights, shifts, deviations))
    q = sum(w * norm.pdf(x, 0, s) for w, s in zip(weights, deviations))
    return np.trapezoid(np.maximum(p - math.exp(epsilon) * q, 0), x)


def the_check(id_, name):
    statement = get(id_)
    return statement, next(c for c in statement.checks if c.method == "privacy" and c.name.startswith(name))


def privacy_verdict(statement, check):
    return privacy.run(statement, check, Settings())


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "z"), [(0.3, 1.5), (1.0, 0.9)])
def test_two_releases_are_one_with_half_the_variance(epsilon, z):
    """The plane's integral of max(p p' - e^epsilon q q', 0), by columns, against one of multiplier z/sqrt(2)."""
    p = [lambda x: mpmath.npdf(x, 1, z), lambda x: mpmath.npdf(x, 0, z)]

    def column(x):
        """The likelihood ratio exceeds e^epsilon where (x + y - 1)/z^2 > epsilon."""
        start = epsilon * z**2 + 1 - x
        above = [mpmath.ncdf((mean - start) / z) for mean in (1, 0)]
        return p[0](x) * above[0] - mpmath.exp(epsilon) * p[1](x) * above[1]

    both = mpmath.quad(column, [-12, -4, 0, 1, 4, 14])
    low, high = noise.one_release(epsilon, mpmath.mpf(z) ** 2 / 2)
    assert float(both) == pytest.approx(float(low), rel=1e-9)
    assert high - low < 1e-20


@pytest.mark.parametrize("v", [1, 3, 1e3, 1e6])
@pytest.mark.parametrize("log", [1, 5, 40])
def test_the_closed_form_behind_the_refutation(v, log):
    """With epsilon = 4 s^2 and multiplier s/epsilon: delta = Phi(s) - e^epsilon Phi(-3s) > 0.76 for every s >= 1."""
    with mpmath.workdps(60):
        s = mpmath.sqrt(mpmath.mpf(v) * log)
        epsilon = 4 * s**2
        value = mpmath.ncdf(s) - mpmath.exp(epsilon) * mpmath.ncdf(-3 * s)
        assert value >= mpmath.ncdf(s) - mpmath.npdf(s) / (3 * s) > 0.76
        low, high = noise.one_release(epsilon, (s / epsilon) ** 2)
        assert low <= value * (1 + mpmath.mpf(10) ** -30)
        assert value * (1 - mpmath.mpf(10) ** -30) <= high
    assert mpmath.exp(-1) < 0.76


@pytest.mark.parametrize(
    ("id_", "at", "multiplier"),
    [
        ("das2022.theorem3", {"q": 4, "n": 60, "r": 60, "C": 3, "K": 37, "epsilon": "36.9"}, "n sigma / C"),
        ("zhang2021.theorem3.2", {"v": 4, "N": 60, "P": 60, "c": 3, "T": 37, "epsilon": "37"}, "sqrt(P) sigma / c"),
        ("hou2023.lemma1", {"v": 4, "p": 1, "C": 3, "T": 37, "epsilon": "37"}, "sigma / C"),
        ("shulgin2025.noise", {"v": 4, "K": 36, "epsilon": "37"}, "sigma"),
    ],
)
def test_the_counterexample_of_37_rounds(id_, at, multiplier):
    """From the printed formula to the noise of one round, and 37 rounds one after another."""
    statement = get(id_)
    log, epsilon = LN(10**5), mpmath.mpf(at["epsilon"])
    variance = {
        "das2022.theorem3": lambda: 4 * 37 * 3**2 * log / (60 * epsilon) ** 2,
        "zhang2021.theorem3.2": lambda: 4 * 3**2 * 60 * 37 * log / (60**2 * epsilon**2),
        "hou2023.lemma1": lambda: 4 * 3**2 * 37 * log / epsilon**2,
        "shulgin2025.noise": lambda: 4 * 37 * log / epsilon**2,
    }[id_]()
    symbols = {**at, "delta": mpmath.mpf(10) ** -5}
    assert float(noise.evaluate(statement, noise.noise_of(statement), symbols)) == pytest.approx(float(variance))
    sigma = mpmath.sqrt(variance)
    z = {
        "n sigma / C": 60 * sigma / 3,
        "sqrt(P) sigma / c": mpmath.sqrt(60) * sigma / 3,
        "sigma / C": sigma / 3,
        "sigma": sigma,
    }[multiplier]
    true = normal_delta(epsilon, z / mpmath.sqrt(37))
    assert float(true) == pytest.approx(1.316e-5 if id_.startswith("das") else 1.361e-5, rel=5e-4)
    reported = plain(statement.erratum.counterexample if statement.erratum is not None else statement.remark.text)
    assert ("1.316e-5" if id_.startswith("das") else "1.36") in reported
    assert normal_delta(36, mpmath.sqrt(4 * log) / 36) < mpmath.mpf(10) ** -5  # 36 rounds are private: 37 is the least


@pytest.mark.parametrize(("rounds", "epsilon", "z"), [(2, 0.5, 0.4), (7, 2.0, 0.3), (8, 5.0, 0.2), (40, 12.0, 0.3)])
def test_the_returned_iterate_shows_at_least_what_is_said(rounds, epsilon, z):
    """The density of w_k along the client's update, k uniform over the rounds; k = 0 reveals nothing and is left
    out."""
    k = range(1, rounds)
    exact = positive_part(epsilon, [1 / rounds] * (rounds - 1), k, [math.sqrt(j) * z for j in k])
    bound = noise.returned_sum_delta(epsilon, z, rounds)
    assert bound <= exact * (1 + 1e-5)
    assert rounds < 8 or bound > 0.4  # the bound is informative


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    ("rounds", "epsilon", "z", "rate"), [(6, 1.0, 0.5, 0.5), (40, 5.0, 0.2, 0.5), (90, 3.0, 1.0, 0.3)]
)
def test_sampled_rounds_show_at_least_what_is_said(rounds, epsilon, z, rate):
    j = range(rounds + 1)
    exact = positive_part(epsilon, binom.pmf(j, rounds, rate), j, [math.sqrt(rounds) * z] * (rounds + 1))
    bound = noise.sampled_sum_delta(epsilon, z, rounds, rate)
    assert bound <= exact * (1 + 1e-5)
    assert rounds != 40 or bound > 0.8


def test_the_returned_iterate_at_the_recorded_instance():
    """Summed over all K rounds, without the simplification: q = 1, u = 1, K = 738, epsilon = 736.8."""
    with mpmath.workdps(40):
        K, epsilon = 738, 64 * LN(10**5)
        s = mpmath.sqrt(LN(10**5))
        z, t = mpmath.sqrt(K) * s / epsilon, mpmath.mpf(K) / 4
        seen = sum(mpmath.ncdf((k - t) / (mpmath.sqrt(k) * z)) for k in range(1, K)) / K
        unseen = sum(mpmath.ncdf(-t / (mpmath.sqrt(k) * z)) for k in range(1, K)) / K
        assert seen - mpmath.exp(epsilon) * unseen > 0.7
        assert 0.49 < noise.returned_sum_delta(epsilon, z, K) < seen
        assert epsilon < K


def binomial_delta(epsilon, squared, T, p):
    with mpmath.workdps(50):
        p = mpmath.mpf(p)
        return sum(
            mpmath.binomial(T, j) * p**j * (1 - p) ** (T - j) * normal_delta(epsilon, mpmath.sqrt(squared / j))
            for j in range(1, T + 1)
        )


def test_the_random_number_of_rounds_breaks_a_constant_that_is_enough_for_one_round():
    log = LN(10**7)
    z = mpmath.sqrt(4 * log)  # v = 4, pT = 1, epsilon = 1
    assert normal_delta(1, z) < mpmath.mpf(10) ** -7
    true = binomial_delta(1, z**2, 20, mpmath.mpf(1) / 20)
    assert float(true) == pytest.approx(1.125e-7, rel=1e-4)
    assert "1.125e-7" in plain(get("hou2023.lemma1").erratum.counterexample)
    low, high = lemma1.random_rounds_delta(1, z**2, 20, mpmath.mpf(1) / 20)
    assert low <= true <= high
    assert (high - low) / high < 1e-20


@pytest.mark.parametrize(("u", "v"), [(0.001, 1), (1, 1), (1, 5), (0.01, 30)])
def test_the_escape_with_one_expected_round_by_the_whole_mixture(u, v):
    """The full mixture, of which the escape uses a single term, exceeds delta as well, and epsilon <= min(u, 1)."""
    statement, check = the_check("hou2023.lemma1", "no constants, one round")
    at = check.make(statement).escape(u, v)
    T, p, epsilon, delta = (at.instance[k] for k in ("T", "p", "epsilon", "delta"))
    assert p * T == 1
    assert epsilon == min(u, 1)
    true = binomial_delta(epsilon, v * -LN(delta) / epsilon**2, T, p)
    assert true >= at.low > delta


def test_needed_constants():
    """Just below the smallest constant the true delta is above the claimed one, just above it is below."""
    for statement, name in (
        ("zhang2021.theorem3.2", "no constants, every"),
        ("das2022.theorem3", "no constants, when all"),
    ):
        found, check = the_check(statement, name)
        points = check.make(found).needed()
        zero_out = [p for p in points if p.instance["relation"] == "zero-out"]
        for p in zero_out:
            epsilon, delta = p.instance["epsilon"], p.instance["delta"]
            z = mpmath.sqrt(-LN(delta)) / epsilon
            assert (
                normal_delta(epsilon, z * mpmath.sqrt(p.low)) > delta >= normal_delta(epsilon, z * mpmath.sqrt(p.high))
            )
            assert p.high >= epsilon / (2 * -LN(delta))  # the divergence that is claimed
        same, replaced = points[:2]
        assert replaced.instance == {**same.instance, "relation": "replace"}
        assert replaced.low == 4 * same.low
        along = [p.low for p in zero_out if float(p.instance["delta"]) == 1e-5]
        assert len(along) == 5
        assert all(b > a for a, b in pairwise(along))
    setting = points[0]
    assert (float(setting.instance["epsilon"]), float(setting.instance["delta"])) == (5.0, 1e-6)
    assert float(setting.low) == pytest.approx(1.738, abs=5e-4)  # Appendix F: epsilon = 5, delta = 1e-6
    assert "1.738" in plain(get("das2022.theorem3").erratum.corrected)


def test_the_constant_needed_for_one_expected_round_grows_as_delta_falls():
    statement, check = the_check("hou2023.lemma1", "no constants, one round")
    points = check.make(statement, {**check.instance, "needed": ["1e-3", "1e-7", "1e-12"], "T": 6}).needed()
    for p in points:
        log = -LN(p.instance["delta"])
        chance = mpmath.mpf(1) / 6
        assert (
            binomial_delta(1, p.low * log, 6, chance)
            > p.instance["delta"]
            >= binomial_delta(1, p.high * log, 6, chance)
        )
    assert all(b.low > 1.2 * a.high for a, b in pairwise(points))
    assert statement.erratum is not None


def test_two_plus_the_root_of_three_separates_failure_from_success():
    """epsilon = 2L: v = 3.7 fails at delta = e^-400 and 3.73 at e^-8000; 3.7321 holds at every delta tried."""
    for v, log in (("3.7", 400), ("3.73", 8000)):
        v, log = mpmath.mpf(v), mpmath.mpf(log)
        assert normal_delta(2 * log, mpmath.sqrt(v * log) / (2 * log)) > mpmath.exp(-log)
        assert noise.one_release(2 * log, v / (4 * log))[0] > mpmath.exp(-log)
    with mpmath.workdps(40):
        v = mpmath.mpf("3.7321")
        assert v - (2 + mpmath.sqrt(3)) < 1e-4
        for log in ("0.01", "0.5", "2", "11.5", "100", "4000", "1e6"):
            for share in ("0.01", "0.5", "1", "1.9", "2"):
                L, epsilon = mpmath.mpf(log), mpmath.mpf(share) * mpmath.mpf(log)
                assert noise.one_release(epsilon, v * L / epsilon**2)[1] <= mpmath.exp(-L)


@pytest.mark.parametrize(("v", "share"), [("2.9", 1), ("1.99", "0.001"), ("5.2", 4)])
def test_the_bound_behind_the_repair_has_the_exact_exponent(v, share):
    """Just below the v with epsilon/(2 v L) + sqrt(2/v) = 1 the claim fails for some delta, for other ranges too."""
    v, share = mpmath.mpf(v), mpmath.mpf(share)
    edge = ((mpmath.sqrt(2) + mpmath.sqrt(2 + 2 * share)) / 2) ** 2
    assert abs(share / (2 * edge) + mpmath.sqrt(2 / edge) - 1) < 1e-12
    assert 0 < 1 - v / edge < 0.04
    log = mpmath.mpf(10) ** 5
    epsilon = share * log
    assert noise.one_release(epsilon, v * log / epsilon**2)[0] > mpmath.exp(-log)
    assert noise.one_release(epsilon, edge * log / epsilon**2)[1] <= mpmath.exp(-log)


def test_the_proof_behind_the_repair_at_random_points():
    for log in ("0.001", "0.3", "3", "50"):
        for share in ("0.001", "0.7", "2"):
            L = mpmath.mpf(log)
            epsilon = mpmath.mpf(share) * L
            b = 2 * mpmath.sqrt(L) - epsilon / (4 * mpmath.sqrt(L))
            assert b >= 1.5 * mpmath.sqrt(L) * (1 - mpmath.mpf(10) ** -12)
            true = normal_delta(epsilon, 2 * mpmath.sqrt(L) / epsilon)
            assert true < mpmath.ncdf(-b) <= mpmath.exp(-(b**2) / 2) / 2 * (1 + mpmath.mpf(10) ** -12)
            assert mpmath.exp(-(b**2) / 2) / 2 < mpmath.exp(-L)


MODULES = [
    (theorem3, "THEOREM3", "no constants, when all", "noise_variance"),
    (theorem3, "THEOREM3", "no constants, when only", "noise_variance"),
    (theorem3_2, "THEOREM3_2", "no constants, every", "noise_variance"),
    (theorem3_2, "THEOREM3_2", "no constants, 80", "noise_variance"),
    (lemma1, "LEMMA1", "no constants, every", "noise_variance"),
    (alpha_norm_ec, "ANY_EPSILON", "no constant, every", "sigma"),
]


def changed(statement, name, change):
    """The statement with another prescription, also in its right side if that is the prescription."""
    old = prescription_of(statement)[name]
    new = change(symbols_of(statement), old)
    planted = replace(statement, prescription=lambda _: {name: new})
    if statement.sides is None:
        return planted
    sides = sides_of(statement)
    rhs = {term: new if value == old else value for term, value in sides.rhs.items()}
    return replace(planted, sides=lambda _: Sides(sides.lhs, rhs))


@pytest.mark.parametrize(("module", "which", "name", "noise_name"), MODULES)
def test_a_noise_that_is_enough_is_not_refuted(module, which, name, noise_name, monkeypatch):
    """The refutation reads the printed formula. With (1 + epsilon/ln(1/delta)) times the variance, 1/q^2 times where
    clients are sampled, no pair with a sufficient constant escapes."""
    import sympy as sp

    statement = getattr(module, which)
    _, check = the_check(statement.id, name)

    def change(s, printed):
        factor = 1 + s["epsilon"] / sp.log(1 / s["delta"])
        if noise_name == "sigma":
            return printed * sp.sqrt(factor)
        return printed * factor * ((s["N"] / s["P"]) ** 2 if "P" in s else 1)

    monkeypatch.setattr(module, which, changed(statement, noise_name, change))
    found = privacy_verdict(
        getattr(module, which), replace(check, instance={**check.instance, "u": [1.0], "v": [10.0]})
    )
    assert found.verdict == "inconclusive"
    assert "where 1.0e-5 is claimed" in found.reason


def test_as_many_rounds_as_there_are_iterations_are_not_refuted(monkeypatch):
    """The second refutation of hou2023.lemma1 depends on pT: with T in its place no sufficient constant escapes."""
    _, check = the_check("hou2023.lemma1", "no constants, one round")
    monkeypatch.setattr(lemma1, "LEMMA1", changed(lemma1.LEMMA1, "noise_variance", lambda s, printed: printed / s["p"]))
    instance = {**check.instance, "u": [1.0], "v": [4.0], "needed": []}
    found = privacy_verdict(lemma1.LEMMA1, replace(check, instance=instance))
    assert found.verdict == "inconclusive"
    assert found.reason.startswith("not refuted for all constants: the candidates (1, 4): the true delta is")
    for log in (12, 50, 400):  # nor is it wrong
        at = {"C": 1, "p": mpmath.mpf(1) / 8, "T": 8, "v": 4, "epsilon": 1, "delta": mpmath.exp(-log)}
        variance = noise.evaluate(lemma1.LEMMA1, noise.noise_of(lemma1.LEMMA1), at)
        assert binomial_delta(1, variance, 8, at["p"]) < at["delta"]


@pytest.mark.parametrize(
    ("module", "which"),
    [(theorem3, "REPAIRED"), (theorem3_2, "EVERY_T"), (lemma1, "REPAIRED"), (alpha_norm_ec, "REPAIRED")],
)
def test_a_repaired_constant_that_is_too_small_is_found(module, which, monkeypatch):
    """3.7 in place of 4: it fails at delta = 1e-1000, and the exponent's check detects any other constant."""
    statement = getattr(module, which)
    (name,) = prescription_of(statement)

    def change(s, printed):
        import sympy as sp

        exact = sp.Rational(37, 40)
        return printed * (sp.sqrt(exact) if name == "sigma" else exact)

    planted = changed(statement, name, change)
    checks = {c.name: c for c in statement.checks}
    found = privacy_verdict(planted, checks["0 < epsilon <= 2 ln(1/delta)"])
    assert found.verdict == "violated"
    assert found.notes["worst"]["delta"] == "1.0e-1000"
    assert checks["the exponent"].make(planted).true is False


def test_beyond_the_repaired_range_the_constant_four_fails():
    check = next(c for c in theorem3.REPAIRED.checks if c.name.startswith("0 <"))
    claim = check.make(theorem3.REPAIRED, {**check.instance, "delta": ["1e-1000"], "share": ["2.4"]})
    (point,) = claim.points()
    assert point.low > point.claimed  # 4 is enough up to 8 (1 - sqrt(1/2)) = 2.343 times ln(1/delta)
    outside = Check("privacy", "outside", lambda *_: claim)
    assert privacy_verdict(theorem3.REPAIRED, outside).verdict == "not-applicable"
    assert noise.BUDGET.test(None, {"epsilon": 3.0, "delta": mpmath.exp(-1)}) is not None


def test_sampling_and_fewer_rounds_only_help_where_the_repaired_noise_counts_every_round():
    """A client of a fixed-size cohort takes part in j of K rounds: its share has multiplier z sqrt(K/j) >= z."""
    log = LN(10**5)
    z = 2 * mpmath.sqrt(log) / 20
    values = [normal_delta(20, z * mpmath.sqrt(mpmath.mpf(10) / j)) for j in range(1, 11)]
    assert all(b > a for a, b in pairwise(values))
    assert values[-1] <= mpmath.mpf(10) ** -5


def test_hypotheses_name_what_fails():
    for id_, good, bad, reported in (
        ("das2022.theorem3", {"u": 1, "r": 8, "n": 8, "K": 50, "epsilon": 49}, {"epsilon": 50}, "is not below"),
        ("das2022.theorem3", {"u": 1, "r": 8, "n": 8, "K": 50, "epsilon": 49}, {"r": 9}, "r = 9 exceeds n = 8"),
        (
            "das2022.theorem3.repaired",
            {"r": 8, "n": 8, "K": 50, "epsilon": 5},
            {"r": 7.5},
            "r = 7.5 is not a whole number",
        ),
        (
            "zhang2021.theorem3.2",
            {"u": 1, "P": 8, "N": 8, "T": 50, "epsilon": 50},
            {"epsilon": 51},
            "exceeds P^2 T u/N^2 = 50",
        ),
        ("zhang2021.theorem3.2", {"u": 1, "P": 8, "N": 8, "T": 50, "epsilon": 50}, {"P": 9}, "P = 9 exceeds N = 8"),
        ("hou2023.lemma1", {"u": 1, "p": 0.5, "T": 100, "epsilon": 50}, {"epsilon": 51}, "exceeds T p u = 50"),
        ("hou2023.lemma1", {"u": 1, "p": 0.5, "T": 100, "epsilon": 1}, {"p": 1.5}, "p = 1.5 exceeds 1"),
        ("hou2023.lemma1", {"u": 1, "p": 0.5, "T": 100, "epsilon": 1}, {"T": 1.5}, "T = 1.5 is not a whole number"),
        ("shulgin2025.noise.any-epsilon", {"u": 1, "K": 49, "epsilon": 50}, {"epsilon": 51}, "exceeds u (K + 1)"),
        ("shulgin2025.noise.any-epsilon", {"u": 1, "K": 49, "epsilon": 50}, {"K": 49.5}, "not a whole number"),
        ("shulgin2025.noise.any-epsilon", {"u": 1, "K": 49, "epsilon": 50}, {"delta": 1.0}, "delta = 1 is not below 1"),
        ("shulgin2025.noise", {"K": 49, "epsilon": 10}, {"epsilon": 10.1}, "epsilon = 10.1 exceeds 10"),
        ("shulgin2025.noise", {"K": 49, "epsilon": 10}, {"delta": 0.01}, "delta = 0.01 exceeds 0.00673795"),
        (
            "zhang2021.theorem3.2.repaired",
            {"P": 8, "N": 80, "T": 922, "epsilon": 5},
            {"T": 921},
            "T = 921 is below 80 log(1/delta)",
        ),
        ("zhang2021.theorem3.2.repaired", {"P": 8, "N": 80, "T": 922, "epsilon": 5}, {"epsilon": 5.8}, "exceeds min"),
        ("zhang2021.theorem3.2.repaired", {"P": 8, "N": 80, "T": 922, "epsilon": 5}, {"P": 5}, "exceeds min"),
    ):
        symbols = {"delta": 1e-5, **good}
        tests = [a.test for a in get(id_).hypotheses]
        assert [t(None, symbols) for t in tests] == [None] * len(tests)
        said = [t(None, {**symbols, **bad}) for t in tests]
        assert any(s is not None and reported in s for s in said), said


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    ("rounds", "epsilon", "enough"), [(1, "3.3", "4.33"), (4, "3.3", "2.55"), (1, "0.5", "2.56"), (4, "0.5", "1.6")]
)
def test_lemma1_at_the_budgets_of_the_experiments(rounds: int, epsilon: str, enough: str) -> None:
    """T = 400, delta = 1e-5, zero-out: the constants that the erratum gives, within a hundredth of the required
    ones."""
    p, log = mpmath.mpf(rounds) / 400, mpmath.log(10**5)
    for v, private in ((mpmath.mpf(enough), True), (mpmath.mpf(enough) - mpmath.mpf("0.01"), False)):
        squared = v * rounds * log / mpmath.mpf(epsilon) ** 2
        low, high = lemma1.random_rounds_delta(mpmath.mpf(epsilon), squared, 400, p)
        assert (high <= 1e-5) if private else (low > 1e-5)


def test_theorem3_with_4_is_not_private_where_the_data_are_replaced() -> None:
    """das2022's Appendix F, epsilon = 5, delta = 1e-6, every client: 323 times delta; with 16 it is private."""
    delta = mpmath.mpf("1e-6")
    of_q = {
        (q, moved): noise.one_release(5, q * mpmath.log(1 / delta) / 25 / moved**2) for q in (4, 16) for moved in (1, 2)
    }
    assert of_q[4, 1][1] < delta
    assert round(of_q[4, 2][0] / delta) == 323
    assert of_q[16, 2][1] < delta
