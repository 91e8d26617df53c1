"""zhang2021 Theorem 3.1 and its proof: the rational machinery against plain enumeration, the counterexamples computed a
second time, and faults that the checks must detect."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from short_forms import clip, fedavg, two_sided

from dpfl_theory.checks import exact, monte_carlo, worst_case
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, Sides, Statement, Values
from dpfl_theory.core.formula import sides_of
from dpfl_theory.problems import make
from dpfl_theory.simulation import Cohort, simulate
from dpfl_theory.statements import get
from dpfl_theory.statements.zhang2021 import _runs
from dpfl_theory.statements.zhang2021._instances import ROUNDS, TREES
from dpfl_theory.statements.zhang2021._round import ScalarRound, at_limit, local_steps, rounds, worst_round
from dpfl_theory.statements.zhang2021._symbols import StepLimits, repaired_limits, sharpened_limits

F = Fraction


def plain(instance: Mapping[str, Any]) -> dict[str, float]:
    """E f(x_{t+1}) - f(x_t) and other symbols of a round by floating-point enumeration of all random choices."""
    q, m = ([float(F(v)) for v in instance[name]] for name in ("q", "m"))
    x, N, P, Q = float(F(instance["x"])), len(q), instance["P"], instance["Q"]
    L = max(map(abs, q))
    eta, eta_g = float(F(instance["eta Q L"])) / (Q * L), float(F(instance["eta_g"]))
    s, c = float(F(instance.get("noise", 0))), float(F(instance["c"])) if "c" in instance else math.inf
    law = [(0.5, 1.0), (0.5, -1.0)] if instance.get("law", "even") == "even" else [(0.8, -0.5), (0.2, 2.0)]
    sums = []  # of every client: (probability, sum of stochastic gradients, sum of gradients)
    for h, centre in zip(q, m):
        own = []
        for drawn in itertools.product(law, repeat=Q):
            y, g_sum, exact_sum = x, 0.0, 0.0
            for _, n in drawn:
                slope = h * (y - centre)
                g_sum, exact_sum, y = g_sum + slope + s * n, exact_sum + slope, y - eta * (slope + s * n)
            own.append((math.prod(p for p, _ in drawn), g_sum, exact_sum))
        sums.append(own)
    alpha = np.mean([min(1.0, c / max(1e-300, eta * abs(sum(p * g for p, g, _ in own)))) for own in sums])

    def f(y: float) -> float:
        return float(np.mean([h * (y - centre) ** 2 / 2 for h, centre in zip(q, m)]))

    without = instance["sampling"] == "without"
    cohorts = list(itertools.combinations(range(N), P) if without else itertools.product(range(N), repeat=P))
    change = local = 0.0
    for members in cohorts:
        for runs in itertools.product(*(sums[i] for i in members)):
            p = math.prod(r[0] for r in runs) / len(cohorts)
            moved = -sum(eta * g * min(1.0, c / max(1e-300, eta * abs(g))) for _, g, _ in runs) / P
            change += p * (f(x + eta_g * moved) - f(x))
            local += p * (eta * alpha * sum(e for _, _, e in runs) / P) ** 2
    sigma = float(F(instance.get("sigma", 0)))
    return {"E_next": change + np.mean(q) * eta_g**2 * sigma**2 / P / 2, "cohort_local": local, "alpha": float(alpha)}


@pytest.mark.parametrize("sampling", ["without", "anew"])
@pytest.mark.parametrize("name", [n for n in ROUNDS["scalar"] if n != "many steps"])
def test_a_round_is_what_enumeration_says(name: str, sampling: str) -> None:
    """Small Q in place of the instance's, so that every noise of every client of a cohort can be drawn."""
    instance = ROUNDS["scalar"][name]
    instance = {
        **instance,
        "Q": min(2, instance["Q"]),
        "x": "5/3",
        "eta Q L": "1/10",
        "eta_g": "2",
        "sampling": sampling,
    }
    found, values = plain(instance), ScalarRound(instance).values()
    for symbol, value in found.items():
        assert float(values[symbol]) == pytest.approx(value, rel=1e-9, abs=1e-15), symbol


@pytest.mark.parametrize("sampling", ["without", "anew", "shared"])
def test_closed_form_moments_are_those_of_the_paths(sampling: str) -> None:
    """With a threshold that clips nothing the round enumerates paths instead of using its closed form."""
    instance = {"q": ["2", "-1"], "m": ["1", "4"], "x": "3", "Q": 4, "P": 2, "noise": "3", "eta Q L": "1/10"}
    instance |= {"sampling": sampling}
    assert ScalarRound(instance).values() == ScalarRound({**instance, "c": "1000000"}).values()


def test_equation_19_fails_from_32_local_steps_on() -> None:
    for Q, holds in ((31, True), (32, False)):
        left = (Q - 1) * Q * (2 * Q - 1) / 6  # of eta^4 sigma_l^2, as eta -> 0
        assert (left <= 10 * Q**2) == holds
    rng = np.random.default_rng(3)
    Q, eta, replicates = 64, 1e-5, 20_000
    x, total = np.zeros(replicates), np.zeros(replicates)
    for _ in range(Q):
        total += x
        x = x - eta * (x + rng.choice([-1.0, 1.0], replicates))
    assert np.mean((eta * total) ** 2) > 1.5 * 10 * eta**4 * Q**2


def test_the_counterexamples_of_20_21_and_the_theorem() -> None:
    """Two clients L (x +- 1)^2/2 at x = 0, one takes part: f grows by L (eta_g eta_l L)^2/2."""
    for L, eta, eta_g, allowed in (
        (100.0, 1e-6, 1.0, lambda L, e, g, s: 15 * g * e**3 * L**2 * s + 12 * e**2 * g**2 * (15 * L**2 * e**2 + 1) * s),
        (1.0, 1e-3, 20.0, lambda L, e, g, s: 2.5 * g * e**3 * (1 + 12 * e * g) * L**2 * 6 * s),
    ):
        assert L / 2 * (eta_g * eta * L) ** 2 > 2 * allowed(L, eta, eta_g, L**2)
        assert eta_g * eta <= 1 / 48
        assert eta <= 1 / (math.sqrt(60) * L)
    a, V, total = 0.02, 0.0, 0.0
    for _ in range(3):
        total, V = total + V / 3, (1 - a) ** 2 * V + a**2
    assert total == pytest.approx(3.95e-4, rel=2e-3)
    assert total > 5 * 75 * 1e-6


def test_the_theorem_fails_in_simulation_of_algorithm_3() -> None:
    """The counterexample run with two step sizes, sampling with and without replacement."""
    problem = make("huber-scalar", minimisers=[-0.5, 0.5], thresholds=[1.0, 1.0])
    for scheme in ("fixed", "with-replacement"):
        algorithm = two_sided(1e-3, 20.0, 1, threshold=1e3, cohort=Cohort(scheme, 1))
        run = simulate(algorithm, problem, 300, 512, 1, ["gradient-norm-squared"], start=np.zeros(1), device="cpu")
        mean = run["gradient-norm-squared"].mean
        low = mean.mean() - 6 * mean.std() / math.sqrt(len(mean))  # false alarm 1e-9 by the central limit theorem
        assert low > 10 * 75 * 1e-6 * 0.25  # sigma_g = 1/2


@pytest.mark.parametrize("threshold", [0.3, 1e6])
def test_fedavg_with_scaled_parameters_is_algorithm_3(threshold: float) -> None:
    problem = make("huber", clients=4, dimension=3, records=5, seed=3)
    eta, eta_g, Q, rounds = 0.05, 1.7, 3, 5
    start = np.full(3, 0.7)
    two = two_sided(eta, eta_g, Q, threshold=threshold * eta)
    one = fedavg(eta, Q, eta_g * eta, clip(threshold))
    ends = [simulate(a, problem, rounds, 2, 1, [], start=start, device="cpu").final for a in (two, one)]
    assert np.allclose(*ends, rtol=1e-12, atol=0)


def _with(statement: Statement, **rhs: Callable[[Any], Any]) -> Statement:
    """The statement with some terms of its right side changed."""
    assert statement.sides is not None
    sides = sides_of(statement)
    assert set(rhs) <= {name.replace(" ", "_") for name in sides.rhs}
    changed = {k: rhs.get(k.replace(" ", "_"), lambda term: term)(term) for k, term in sides.rhs.items()}
    return replace(statement, sides=lambda _: Sides(sides.lhs, changed))


FAULTS: dict[str, tuple[str, dict[str, Callable[[Any], Any]]]] = {
    "sign of a bias in (13)": ("zhang2021.eq13", {"clients": lambda t: -t}),
    "sign in (14)": ("zhang2021.eq14.repaired", {"distance": lambda t: -t}),
    "a tenth of (15)": ("zhang2021.eq15.sharpened", {"noise": lambda t: t / 10, "gradient": lambda t: t / 10}),
    "no factor 3 in (16)": ("zhang2021.eq16", {"common_factor": lambda t: t / 4, "noise": lambda t: t / 4}),
    "half the noise in (17)": ("zhang2021.eq17", {"noise": lambda t: t / 4, "gradients": lambda t: t / 4}),
    "no pairs in (18)": ("zhang2021.eq18.repaired", {"pairs": lambda t: 0 * t}),
    "no sampling in (20)": ("zhang2021.eq20.repaired", {"sampling,_gradients": lambda t: t / 100}),
    "no sampling in (21)": ("zhang2021.eq21.repaired", {"sampling": lambda t: t / 100}),
    "no sampling in (22)": ("zhang2021.eq22.repaired", {"sampling": lambda t: t / 100}),
    "no sampling in the theorem": ("zhang2021.theorem3.1.repaired", {"sampling": lambda t: t / 1000}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_wrong_constant_is_noticed(name: str) -> None:
    """The exact checks of the wrong statement find a case that fails; those of the right one do not."""
    id_, changes = FAULTS[name]
    right = get(id_)
    wrong = _with(right, **changes)
    found = [c for c in right.checks if c.method == "exact" and c.expected == "holds"]
    checked = [c for c in found if isinstance(c.instance.get("Q"), int)]

    def verdicts(statement: Statement) -> Iterator[str]:
        return (exact.run(statement, c, Settings()).verdict for c in checked)

    assert set(verdicts(right)) == {"holds"}
    assert "violated" in verdicts(wrong)  # no check is run after the first that fails


def _worst(statement: Statement, build: Callable[[Any, Mapping[str, Any]], Any], instance: Mapping[str, Any]) -> str:
    check = Check("worst-case", "planted", build, instance)
    return worst_case.run(statement, check, Settings()).verdict


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("middle", [False, True])
def test_a_tenth_of_the_drift_is_refuted_in_the_worst_case(middle: bool) -> None:
    statement = get("zhang2021.eq15.sharpened")
    instance = {"Q": 3, "clients": 1, "noisy": True, "eta Q L": "129/1000", "middle": middle}
    tenth = _with(statement, noise=lambda t: t / 10, gradient=lambda t: t / 10)
    assert _worst(statement, local_steps, instance) == "holds"
    assert _worst(tenth, local_steps, instance) == "violated"


def test_a_fifth_of_the_squared_updates_is_refuted_in_the_worst_case() -> None:
    statement, instance = get("zhang2021.eq19.repaired"), {"Q": 2, "eta Q L": "129/1000"}
    fifth = _with(statement, gradients=lambda t: t / 5)
    assert _worst(statement, local_steps, instance) == "holds"
    assert _worst(fifth, local_steps, instance) == "violated"


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    ("id_", "limits", "Q", "divisor"),
    [
        ("zhang2021.eq21.repaired", repaired_limits, 1, 70),
        ("zhang2021.theorem3.1.repaired.sharpened", sharpened_limits, 2, 10),
    ],
)
def test_a_round_without_the_sampling_term_is_refuted_in_the_worst_case(
    id_: str, limits: StepLimits, Q: int, divisor: int
) -> None:
    statement = get(id_)
    instance = {"class": "convex", "P": 1, "Q": Q, **at_limit(limits, 1, "1/100")}
    assert _worst(statement, worst_round, instance) == "holds"
    assert _worst(_with(statement, sampling=lambda t: t / divisor), worst_round, instance) == "violated"


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("P", [1, 2])
def test_a_sharpened_round_with_a_fifth_of_the_start_fails(P: int) -> None:
    """The step is at its limit for both P, and the worst case reads the term of the start."""
    statement = get("zhang2021.theorem3.1.repaired.sharpened")
    instance = {"class": "convex", "P": P, "Q": 2, **at_limit(sharpened_limits, P, "1/100")}
    assert Fraction(instance["eta_g"]) == 5 * P  # at the limit, for both
    less = _with(statement, initialisation=lambda t: t / 5)
    assert _worst(statement, worst_round, instance) == "holds"
    assert _worst(less, worst_round, instance) != "holds"


def test_the_middle_line_of_15_is_larger_than_its_left_end() -> None:
    """Two clients (x +- 50)^2/2 from x_t = 0: their drifts cancel in A_1, and do not in the clients' mean square."""
    for Q, due in ((2, 10.4), (5, 47.0), (40, 487.0)):
        eta, y, found = 0.129 / Q, 0.0, 0.0
        for _ in range(Q):
            found += y**2
            y -= eta * (y - 50.0)
        assert found == pytest.approx(due, rel=0.01)
        instance = {"q": ["1", "1"], "m": ["-50", "50"], "x": "0", "P": 1, "Q": Q, "eta Q L": "129/1000"}
        values = ScalarRound(instance).values()
        assert values["drift_square"] == 0
        assert float(values["drift_mean"]) == pytest.approx(found, rel=1e-9)


@pytest.mark.parametrize("Q", [1, 3, 4])
def test_the_middle_line_with_noise_is_what_enumeration_says(Q: int) -> None:
    q, m, x, s = [2.0, -1.0, 0.5], [1.0, 4.0, -3.0], 5 / 3, 3.0
    instance = {"q": ["2", "-1", "1/2"], "m": ["1", "4", "-3"], "x": "5/3", "P": 1, "noise": "3", "eta Q L": "1/10"}
    eta, total = 0.1 / (2 * Q), 0.0
    for h, centre in zip(q, m):
        for signs in itertools.product((1.0, -1.0), repeat=Q):
            y = x
            for sign in signs:
                total += (h * (y - x)) ** 2 / 2**Q / 3
                y -= eta * (h * (y - centre) + s * sign)
    assert float(ScalarRound({**instance, "Q": Q}).values()["drift_mean"]) == pytest.approx(total, rel=1e-9, abs=1e-15)


def test_runs_outside_the_limits_are_not_compared() -> None:
    broken = TREES["broken"]["one of two clients, one round from the optimum"]
    long = {"q": ["1"], "m": ["0"], "x": ["1"], "Q": 2, "P": 1, "eta Q L": "1/7"}
    for id_, build, instance in (
        ("zhang2021.theorem3.1.repaired", _runs.tree, broken),
        ("zhang2021.eq15", rounds, long),
    ):
        evidence = exact.run(get(id_), Check("exact", "planted", build, instance), Settings())
        assert evidence.verdict == "not-applicable"
        assert "exceeds" in evidence.reason


def test_clipping_in_the_simulated_runs() -> None:
    """The instances called clipped do clip, so that the bias terms of the bound are active."""
    statement = get("zhang2021.theorem3.1.repaired")
    name = "Huber, two of six clients, clipped to the median"
    (check,) = (c for c in statement.checks if c.name == name)
    evidence = monte_carlo.run(statement, replace(check, instance={**check.instance, "replicates": 128}), Settings())
    assert evidence.verdict == "holds"
    assert evidence.notes["means"]["clipping-factor"] < 0.95
    assert evidence.terms["clipping bias"] > 0


def test_the_slip_at_equation_17() -> None:
    """A client that is drawn twice and runs once: concave clients break (17)."""
    N = P = 10
    Q, eta = 5, 0.129 / 5
    r = 1 + eta  # f_i = -x^2/2
    drawn, kept = (sum((r**j - lost) ** 2 for j in range(Q)) for lost in (0, 1))
    counts = (1 + (P - 1) / N) / P  # E sum of the squared counts over P^2
    assert drawn * counts / (2 * kept * counts + 2 / P * Q) == pytest.approx(1.046, abs=1e-3)


def test_no_reading_of_the_sampling_makes_17_and_18_true() -> None:
    """(18) is an equality only if a client that is drawn twice runs once, and then (17) fails for concave clients."""
    concave = {"q": ["-1"] * 4, "m": ["0"] * 4, "x": "0", "Q": 4, "P": 4, "eta Q L": "129/1000", "noise": "1"}
    for sampling, equal, bounded in (("without", False, True), ("anew", False, True), ("shared", True, False)):
        values = ScalarRound({**concave, "sampling": sampling, "Q": 6, "P": 4}).values()
        (case,) = [exact.compared(get("zhang2021.eq18.algorithm3"), Values(values))]
        assert (case.excess == 0) == equal, sampling
        if bounded:
            assert exact.compared(get("zhang2021.eq17"), Values(values)).excess <= 0
        assert exact.compared(get("zhang2021.eq18.repaired"), Values(values)).excess <= 0


def test_the_counterexample_of_18_with_replacement() -> None:
    """Identical clients x^2/2 at 0, Q = N = P = 2, noise +-1, a run for every draw: by enumeration of the noises."""
    eta = Fraction(1, 20)
    # From 0 the second gradient is -eta n, n the first noise: the update is eta^2 n, whichever client is drawn.
    left = sum((eta**2 * (a + b) / 2) ** 2 for a in (-1, 1) for b in (-1, 1)) / 4
    mean = left  # of two independent clients
    right = (2 * eta**4 + 2 * mean) / 4
    assert (left, right) == (eta**4 / 2, 3 * eta**4 / 4)
    values = ScalarRound(
        {"q": ["1", "1"], "m": ["0", "0"], "x": "0", "Q": 2, "P": 2, "eta_l": "1/20", "noise": "1", "sampling": "anew"}
    ).values()
    case = exact.compared(get("zhang2021.eq18.algorithm3"), Values(values))
    assert (case.lhs, case.rhs) == (left, right)
