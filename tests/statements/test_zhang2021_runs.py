"""zhang2021's simulated runs: their inputs against plain NumPy, and faults that they must detect."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp
from scipy import optimize
from short_forms import two_sided

from dpfl_theory.algorithms.scaffnew import ScaffNew
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, Experiment, Statement
from dpfl_theory.errors import InputError
from dpfl_theory.problems.quadratic import from_matrices
from dpfl_theory.simulation import Cohort, NoisyGradient, Simulation, simulate
from dpfl_theory.statements import get
from dpfl_theory.statements.zhang2021 import _runs, theorem3_2
from dpfl_theory.statements.zhang2021._instances import PRIVATE, RUNS, SAMPLES, TREES
from dpfl_theory.statements.zhang2021._round import ScalarRound

Array = np.ndarray
CPU = Settings(device="cpu")


def check_of(statement: Statement, name: str, method: str = "monte-carlo") -> Check:
    (found,) = (c for c in statement.checks if (c.method, c.name) == (method, name))
    return found


# The corollary's counterexample.


def test_the_terms_of_9_vanish_faster_than_the_gradient() -> None:
    """For v, delta, epsilon and rounds of any size, at numbers: escape's two sides, times Q, as Q grows."""
    s = theorem3_2.symbols()
    for v, delta, epsilon, rounds in ((4, "1e-5", 1, 1), (1000, "1e-30", "1/2", 500)):
        at = {s["v"]: v, s["delta"]: sp.Rational(delta), s["epsilon"]: sp.Rational(epsilon), s["rounds"]: rounds}
        sums = []
        for Q in (10**7, 10**8, 10**9):
            with mpmath.workdps(40):
                allowed, reached = (side.subs({**at, s["Q"]: Q}).evalf(30) for side in theorem3_2.escape(s))
            assert reached > sp.Rational(1, 97)
            sums.append(float(allowed))
        assert sums[0] > 9 * sums[1] > 81 * sums[2]


@pytest.mark.slow
def test_with_q_in_its_third_term_9_is_not_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    check = theorem3_2.no_constant
    assert not check.make(get("zhang2021.corollary3.2.1")).true
    printed = theorem3_2.printed_terms

    def mended(s: Mapping[str, Any]) -> list[Any]:
        first, second, third, fourth = printed(s)
        return [first, second, s["Q"] * third, fourth]

    monkeypatch.setattr(theorem3_2, "printed_terms", mended)
    assert check.make(get("zhang2021.corollary3.2.1")).true


@pytest.mark.slow
def test_the_counterexample_stays_where_all_losses_are_quadratic() -> None:
    """Huber losses with threshold 3, half of N = Q^2 around -1, half around 1, P = Q = 32, T = Q^2, v = 4, epsilon = u
    = 1, delta = 1e-5, in 400 replicates of plain NumPy.

    No replicate leaves [-2, 2], no gradient exceeds G = 3, and the mean squared gradient is at least the bound of
    `escape`.
    """
    Q, replicates, rng = 32, 400, np.random.default_rng(11)
    N, P, T, G, delta, epsilon = Q**2, Q, Q**2, 3.0, 1e-5, 1.0
    eta, eta_g = 1 / Q**2, Q / 48
    c = eta * Q * G
    sigma = math.sqrt(4 * c**2 * P * T * math.log(1 / delta) / (N**2 * epsilon**2))
    x, farthest, longest, total = np.zeros(replicates), 0.0, 0.0, np.zeros(replicates)
    for _ in range(T):
        slopes = [np.clip(x + 1, -3, 3), np.clip(x - 1, -3, 3)]
        total += (np.mean(slopes, axis=0) ** 2) / T
        share = rng.hypergeometric(N // 2, N // 2, P, replicates) / P  # of the cohort around 1
        sent = np.zeros(replicates)
        for centre, of in ((-1.0, 1 - share), (1.0, share)):
            y = x.copy()
            for _ in range(Q):
                g = np.clip(y - centre, -3, 3)
                longest = max(longest, float(np.abs(g).max()))
                y -= eta * g
            assert np.abs(y - x).max() <= c  # nothing is clipped
            sent += of * (y - x)
        x = x + eta_g * (sent + sigma / math.sqrt(P) * rng.standard_normal(replicates))
        farthest = max(farthest, float(np.abs(x).max()))
    assert farthest < 2
    assert longest <= G
    s = theorem3_2.symbols()
    at = {s["v"]: 4, s["delta"]: sp.Rational(1, 10**5), s["epsilon"]: 1, s["rounds"]: 1, s["Q"]: Q}
    reached = float(theorem3_2.escape(s)[1].subs(at).evalf(30)) / Q
    mean, error = total.mean(), total.std() / math.sqrt(replicates)
    assert 0 < reached <= mean + 5 * error  # false alarm 3e-7 if the mean is the bound
    a = eta_g * (1 - (1 - eta) ** Q)
    variance = (N - P) / (P * (N - 1)) * a / (2 - a) + (eta_g * sigma) ** 2 / (P * a * (2 - a))
    assert mean - 5 * error <= variance


# The inputs of the runs.


def plain_problem(description: Mapping[str, Any], experiment: Experiment) -> tuple[Callable[[Array], Array], Any]:
    """The clients' gradients (n, d) at their own parameters (n, d), and f, from the records only."""
    problem: Any = experiment.problem
    if description["family"] == "huber-scalar":
        centres, bounds = (np.array(description["parameters"][k]) for k in ("minimisers", "thresholds"))

        def gradients(w: Array) -> Array:
            return np.clip(w[:, 0] - centres, -bounds, bounds)[:, None]

        def f(w: Array) -> float:
            r = np.abs(w[0] - centres)
            return float(np.where(r <= bounds, r**2 / 2, bounds * (r - bounds / 2)).mean())

        return gradients, f
    data, threshold = problem.data, float(description["parameters"].get("threshold", 1.0))
    spans = list(itertools.pairwise(data.offsets))

    def huber_gradients(w: Array) -> Array:
        return np.array(
            [
                np.clip(data.x[a:b] @ v - data.y[a:b], -threshold, threshold) @ data.x[a:b] / (b - a)
                for v, (a, b) in zip(w, spans)
            ]
        )

    def huber(w: Array) -> float:
        r = np.abs(data.x @ w - data.y)
        loss = np.where(r <= threshold, r**2 / 2, threshold * (r - threshold / 2))
        return float(np.mean([loss[a:b].mean() for a, b in spans]))

    return huber_gradients, huber


SIMULATED = [
    *(("zhang2021.theorem3.1.repaired", name) for name in RUNS["repaired"]),
    *(("zhang2021.theorem3.1", name) for name in RUNS["printed"]),
    *(("zhang2021.corollary3.2.1.repaired", name) for name in PRIVATE["private"]),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("id_", "name"), SIMULATED)
def test_the_constants_of_a_run_are_right(id_: str, name: str) -> None:
    """G bounds every gradient that the run meets and sigma_g every deviation, on a run of Algorithm 3 in plain NumPy
    and at points all around; L bounds the gradients' change; f(x^0) - f* is that of an independent minimiser; sigma_l
    is 0 since gradients are full.
    """
    statement = get(id_)
    check = check_of(statement, name)
    experiment = check.make(statement)
    values, problem, algorithm = experiment.values, experiment.problem, experiment.algorithm
    gradients, f = plain_problem(check.instance["problem"], experiment)
    n, d, G = problem.n, problem.d, problem.constants.G_max
    assert values["G"] in (0.0, G)
    if values["G"] == 0.0:
        assert algorithm.run.threshold >= values["Q"] * G  # nothing can be clipped
    if "c_prime" in values:
        assert values["c_prime"] >= values["G"] == G
    assert (values["N"], values["d"], values["sigma_l"]) == (n, d, 0.0)
    rng = np.random.default_rng(8)
    eta, Q, P = values["eta_l"], int(values["Q"]), int(values["P"])
    met, apart, x = [0.0], [0.0], experiment.start.copy()
    for t in range(min(experiment.rounds, 200)):
        before = gradients(np.tile(x, (n, 1)))
        apart.append(np.linalg.norm(before - before.mean(axis=0), axis=1).max())
        y = np.tile(x, (n, 1))
        for _ in range(Q):
            g = gradients(y)
            met.append(np.linalg.norm(g, axis=1).max())
            y = y - eta * g
        moved = y - x
        length = np.linalg.norm(moved, axis=1, keepdims=True)
        moved = moved * np.minimum(1.0, eta * algorithm.run.threshold / np.maximum(length, 1e-300))
        members = rng.choice(n, P, replace=False)
        noise = rng.standard_normal((P, d)) * math.sqrt(values["noise_variance"])
        x = x + values["eta_g"] * (moved[members] + noise).mean(axis=0)
        if t == 0:
            assert np.linalg.norm(x - experiment.start) > 0
    for scale in (0.1, 1.0, 10.0, 1e3):
        for _ in range(20):
            a = experiment.start + scale * rng.standard_normal(d)
            b = a + 0.1 * scale * rng.standard_normal(d)
            at_a, at_b = (gradients(np.tile(v, (n, 1))) for v in (a, b))
            met.append(np.linalg.norm(at_a, axis=1).max())
            apart.append(np.linalg.norm(at_a - at_a.mean(axis=0), axis=1).max())
            change = np.linalg.norm(at_a - at_b, axis=1).max()
            assert change <= values["L"] * np.linalg.norm(a - b) * (1 + 1e-9)
    assert max(met) <= G * (1 + 1e-12)
    assert max(met) > 0.5 * G  # and is not much larger than it must be
    assert max(apart) <= values["sigma_g"] + 1e-12
    way: dict[str, Any] = {"method": "Nelder-Mead", "options": {"xatol": 1e-10, "fatol": 1e-14}}
    if d > 5:
        way = {"method": "BFGS", "options": {"gtol": 1e-9}, "jac": lambda w: gradients(np.tile(w, (n, 1))).mean(axis=0)}
    found = min(optimize.minimize(f, experiment.start + shift, **way).fun for shift in (np.zeros(d), np.ones(d)))
    assert values["gap"] == pytest.approx(f(experiment.start) - found, abs=1e-7)


@pytest.mark.parametrize("name", [n for n, i in TREES["allowed"].items() if not i.get("sigma")])
def test_the_constants_of_a_tree_of_runs_are_right(name: str) -> None:
    """G is the longest stochastic gradient of the run, sigma_g its largest deviation, the gap that to the minimum: in
    floating point, along every way that the run can go."""
    instance = {**TREES["allowed"][name], "sampling": "without"}
    found = _runs.run_values(instance)
    q, m = (np.array([float(Fraction(v)) for v in instance[k]]) for k in ("q", "m"))
    eta, eta_g, c = (float(Fraction(instance.get(k, "1000000"))) for k in ("eta_l", "eta_g", "c"))
    s = float(Fraction(instance.get("noise", 0)))
    law = {"even": [1.0, -1.0], "skew": [-0.5, 2.0]}[instance.get("law", "even")] if s else [0.0]
    longest = apart = 0.0
    states = {float(Fraction(instance["x"]))}
    for _ in range(instance["T"]):
        following = set()
        for x in states:
            slopes = q * (x - m)
            apart = max(apart, float(np.abs(slopes - slopes.mean()).max()))
            sent = []
            for h, centre in zip(q, m):
                own = []
                for drawn in itertools.product(law, repeat=instance["Q"]):
                    y = x
                    for n in drawn:
                        g = h * (y - centre) + s * n
                        longest = max(longest, abs(g))
                        y -= eta * g
                    own.append((y - x) * min(1.0, c / max(1e-300, abs(y - x))))
                sent.append(own)
            for members in itertools.combinations(range(len(q)), instance["P"]):
                for moves in itertools.product(*(sent[i] for i in members)):
                    following.add(x + eta_g * sum(moves) / len(members))
        states = following
    assert float(found["G"]) == pytest.approx(longest, rel=1e-12)
    assert float(found["sigma_g"]) == pytest.approx(apart, rel=1e-12)
    best = float(q @ m / q.sum())

    def f(x: float) -> float:
        return float(np.mean(q * (x - m) ** 2 / 2))

    assert float(found["gap"]) == pytest.approx(f(float(Fraction(instance["x"]))) - f(best), rel=1e-9, abs=1e-12)
    assert float(found["L"]) >= np.abs(q).max()


# The symbols of a simulated round.


@pytest.mark.parametrize("P", [1, 2, 3])
@pytest.mark.parametrize(("c", "noise"), [("1/10", "0"), ("1000000", "0"), ("1000000", "2")])
@pytest.mark.parametrize("sampling", ["without", "anew"])
def test_letters_of_a_round_are_those_of_rational_arithmetic(P: int, c: str, noise: str, sampling: str) -> None:
    q, m = ["2", "1", "1/2"], ["1", "4", "-3"]
    clipping = {} if c == "1000000" else {"c": c}
    once = ScalarRound(
        {
            "q": q,
            "m": m,
            "x": "5/3",
            "Q": 3,
            "P": P,
            "eta Q L": "1/10",
            "noise": noise,
            "sampling": sampling,
            **clipping,
        }
    )
    problem = from_matrices(
        np.array([float(Fraction(v)) for v in q])[:, None, None], np.array([float(Fraction(v)) for v in m])[:, None]
    )
    threshold = math.inf if not clipping else float(Fraction(c))
    found = _runs.symbols_of(problem, np.array([5 / 3]), 0.1 / 6, 3, threshold, P, float(Fraction(noise)), sampling)
    exact = once.values()
    for name, value in found.items():
        if name != "f_now":
            assert value == pytest.approx(float(exact[name]), rel=1e-9, abs=1e-15), name
    assert float(problem.value(np.array([5 / 3])) - problem.constants.f_star) == pytest.approx(
        found["f_now"], abs=1e-12
    )


def test_a_simulated_round_has_the_moments_of_its_letters() -> None:
    """Equalities that a limit from simulation cannot decide, in two dimensions with clipping and privacy noise: (13)'s
    first product and (16)'s left side, from the states after a round in 4096 replicates; false alarm 1e-8 each."""
    name = "one round in two dimensions, clipped, privacy noise"
    instance = {**SAMPLES["descents"][name], "sigma": 0.3, "c": 0.1, "distance": 3.0}
    experiment = _runs.one_round(get("zhang2021.eq20.repaired"), instance)
    v, problem, replicates = experiment.values, experiment.problem, 4096
    run = simulate(experiment.algorithm, problem, 1, replicates, 5, [], start=experiment.start, device="cpu")
    moved = (run.final - experiment.start) / v["eta_g"]
    slope = problem.gradient(experiment.start)
    # (13) and (14): eta_g <grad f, E mean> is the bias plus the product of the updates times alpha-bar
    sums = []
    for i in range(problem.n):
        y = experiment.start.copy()
        for _ in range(int(v["Q"])):
            y = y - v["eta_l"] * problem.client_gradient(i, y)
        sums.append(y - experiment.start)
    common = v["alpha"] * float(slope @ np.mean(sums, axis=0))
    products = moved @ slope
    error = products.std() / math.sqrt(replicates)
    assert abs(products.mean() - (v["first_bias"] + v["second_bias"] + common)) < 5.8 * error
    assert abs(v["second_bias"]) > 20 * error  # a lost bias would be detected
    # (12): the mean square of the cohort's update and of the privacy noise over P
    squares = (moved**2).sum(axis=1)
    due = v["cohort_clipped"] + v["noise_variance"] * v["d"] / v["P"]
    assert abs(squares.mean() - due) < 5.8 * squares.std() / math.sqrt(replicates)
    assert v["noise_variance"] * v["d"] / v["P"] > 20 * squares.std() / math.sqrt(replicates)


def test_the_local_steps_have_the_moments_of_rational_arithmetic() -> None:
    """One dimension, different curvatures, 8192 replicates: A_1, the middle line of (15) and the sum of the clients'
    squared updates; false alarm 1e-8 each by the central limit theorem. One of three clients takes part, all are
    measured."""
    q, m = ["2", "1", "1/2"], ["1", "4", "-3"]
    once = ScalarRound({"q": q, "m": m, "x": "5/3", "Q": 6, "P": 1, "eta Q L": "1/10", "noise": "20"})
    exact = once.values()
    problem = from_matrices(
        np.array([float(Fraction(v)) for v in q])[:, None, None], np.array([float(Fraction(v)) for v in m])[:, None]
    )
    algorithm = two_sided(0.1 / 12, local_steps=6, gradient=NoisyGradient(20.0), cohort=Cohort("fixed", 1))
    symbols = {
        "local-mean-drift": "drift_square",
        "local-drifts": "drift_mean",
        "local-updates-squared": "local_squares",
    }
    start, replicates = np.array([5 / 3]), 8192
    run = simulate(algorithm, problem, 1, replicates, 3, list(symbols), start=start, device="cpu")
    for observable, symbol in symbols.items():
        values = run[observable].mean
        error = values.std() / math.sqrt(replicates)
        assert abs(values.mean() - float(exact[symbol])) < 5.8 * error
        assert error < 0.03 * float(exact[symbol])
    quiet = ScalarRound({"q": q, "m": m, "x": "5/3", "Q": 6, "P": 1, "eta Q L": "1/10"}).values()
    assert float(exact["drift_square"]) > 1.5 * float(quiet["drift_square"])  # the noise has an effect
    for other in (two_sided(0.1, threshold=1.0), Simulation(ScaffNew(eta=0.1, p=0.5))):
        with pytest.raises(InputError, match="local steps of FedAvg with two step sizes, without a threshold"):
            simulate(other, problem, 1, 1, 3, ["local-drifts"], start=start, device="cpu")
