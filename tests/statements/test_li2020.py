"""li2020: second transcriptions of its bounds, FedAvg by enumeration, and planted changes that its checks detect."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as F
from functools import cache
from typing import Any

import numpy as np
import pytest

from dpfl_theory.checks.runner import run_one
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Sides, Statement
from dpfl_theory.core.evidence import Evidence
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import prescription_of, sides_of, symbols_of, total
from dpfl_theory.statements import get, select
from dpfl_theory.statements.li2020._instances import TABLE
from dpfl_theory.statements.li2020._runs import exact
from dpfl_theory.statements.paper import known

NAMES = ("T", "E", "N", "K", "P", "L", "mu", "beta", "gamma", "S", "Gamma", "G", "M", "D", "gap")
VALUES = {name: F(n + 2, 3) for n, name in enumerate(NAMES)}


def bound(v: dict[str, F], C: F) -> F:
    """kappa/(gamma + T - 1) (2 (B + C)/mu + mu gamma/2 D^2), typed from the notes."""
    B = v["S"] + 6 * v["L"] * v["Gamma"] + 8 * (v["E"] - 1) ** 2 * v["G"] ** 2
    kappa = v["L"] / v["mu"]
    return kappa / (v["gamma"] + v["T"] - 1) * (2 * (B + C) / v["mu"] + v["mu"] * v["gamma"] / 2 * v["D"] ** 2)


SAMPLING: dict[str, Callable[[dict[str, F]], F]] = {
    "theorem1": lambda v: F(0),
    "theorem2": lambda v: 4 / v["K"] * v["E"] ** 2 * v["G"] ** 2,
    "theorem3": lambda v: (v["N"] - v["K"]) / (v["N"] - 1) * 4 / v["K"] * v["E"] ** 2 * v["G"] ** 2,
}


@pytest.mark.parametrize("name", SAMPLING)
def test_the_bounds_against_a_second_transcription(name: str) -> None:
    statement = get(f"li2020.{name}")
    assert evaluate(total(statement, "rhs"), VALUES, name) == bound(VALUES, SAMPLING[name](VALUES))
    assert evaluate(total(statement, "lhs"), VALUES, name) == VALUES["gap"]
    steps = prescription_of(statement)
    for L, E, gamma in ((F(3), F(2), F(48)), (F(1), F(64), F(64))):
        given = {"L": L, "mu": F(1, 2), "E": E}
        assert {n: evaluate(e, given, name) for n, e in steps.items()} == {"beta": 4, "gamma": gamma}


def gap_of(i: dict[str, Any]) -> F:
    """E F(w_T) - F* of FedAvg without noise: every sequence of draws, its steps as the notes print them."""
    a, m = ([F(x) for x in i[key]] for key in ("curvatures", "minimisers"))
    N, K, E = len(a), i["K"], i["E"]
    p = [F(x) for x in i.get("weights", [F(1, N)] * N)]
    mu, L = min(a), max(a)
    curvature = sum(x * y for x, y in zip(p, a, strict=True))
    star = sum(x * y * z for x, y, z in zip(p, a, m, strict=True)) / curvature
    met = [t + 1 for t in range(1, i["T"]) if (t + 1) % E == 0]
    replaced = i["scheme"] == "with"
    draws = list(itertools.product(range(N), repeat=K) if replaced else itertools.combinations(range(N), K))
    mean = F(0)
    for path in itertools.product(draws, repeat=len(met)):
        w, chance, cohorts = [F(i["start"])] * N, F(1), iter(path)
        for t in range(1, i["T"]):
            eta = 2 / (mu * (max(8 * L / mu, F(E)) + t))
            w = [x - eta * c * (x - centre) for x, c, centre in zip(w, a, m, strict=True)]
            if (t + 1) % E == 0:
                cohort = next(cohorts)
                if replaced:
                    server = sum((w[k] for k in cohort), F(0)) / K
                    chance *= np.prod([p[k] for k in cohort])
                else:
                    server = sum((p[k] * w[k] for k in cohort), F(0)) * N / K
                    chance /= len(draws)
                w = [server] * N
        mean += chance * curvature / 2 * (sum(x * y for x, y in zip(p, w, strict=True)) - star) ** 2
    return mean


TWO = {"curvatures": [1, "1/4"], "minimisers": [1, -4], "start": 3, "E": 2, "T": 7}


@pytest.mark.parametrize(
    ("name", "instance"),
    [
        ("theorem2", {**TWO, "scheme": "with", "K": 2}),
        ("theorem2", {**TWO, "scheme": "with", "K": 1, "weights": ["1/5", "4/5"]}),
        ("theorem3", {**TWO, "scheme": "without", "K": 1}),
        ("theorem3", {**TWO, "scheme": "without", "K": 2, "T": 8}),
        ("theorem3", {**TWO, "curvatures": [1, 1, "1/2"], "minimisers": [0, 1, 4], "scheme": "without", "K": 2}),
    ],
)
def test_the_moments_are_those_of_all_draws(name: str, instance: dict[str, Any]) -> None:
    assert exact(get(f"li2020.{name}"), instance).symbol_values["gap"] == gap_of(instance)


def test_the_moments_of_the_noise() -> None:
    """One client, E = 1: E (w_t - w*)^2 is multiplied by (1 - eta_t)^2 and gets eta_t^2 sigma^2 in each step."""
    found = exact(get("li2020.theorem1"), TABLE["exact"]["one client, from w*"]).symbol_values
    square, M = F(0), F(0)
    for t in range(1, 60):
        M, eta = max(M, square + 1), F(2, 8 + t)
        square = (1 - eta) ** 2 * square + eta**2
    assert (found["gap"], found["M"], found["S"], found["Gamma"]) == (square / 2, M, 1, 0)


def test_heterogeneity_is_the_difference_of_minima() -> None:
    """F = (w - 1)^2/4 + (w + 4)^2/16 has its minimum 5/4 at 0; both F_k have minimum 0."""
    assert exact(get("li2020.theorem1"), TABLE["exact"]["two clients, E = 3"]).symbol_values["Gamma"] == F(5, 4)


def with_terms(id_: str, **factors: Any) -> Statement:
    """The statement with terms of its right side multiplied."""
    made = sides_of(statement := get(f"li2020.{id_}"))
    rhs = {name: factors.get(name, 1) * term for name, term in made.rhs.items()}
    return replace(statement, sides=lambda s: Sides(made.lhs, rhs))


def found(statement: Statement, name: str, method: str = "exact") -> Evidence:
    (check,) = (c for c in statement.checks if (c.method, c.name) == (method, name))
    return run_one(statement, check, Settings(device="cpu"))


@pytest.mark.parametrize(
    ("id_", "term", "factor", "name"),
    [
        ("theorem1", "start", F(999, 1000), "T = 1, attained"),
        ("theorem1", "noise", F(1, 4), "one client, from w*"),
        ("theorem1", "drift", 0, "E = 512 above 8 kappa"),
        ("theorem2", "start", F(999, 1000), "one client, T = 1, attained"),
        ("theorem2", "noise", F(1, 5), "one client, drawn 40 times"),
        ("theorem2", "sampling", 0, "one of six noisy clients, replaced"),
        ("theorem3", "start", F(999, 1000), "T = 1, attained"),
        ("theorem3", "noise", F(1, 4), "two of two noisy clients, from w*"),
        ("theorem3", "sampling", 0, "one of six noisy clients"),
    ],
)
def test_a_smaller_term_is_refuted(id_: str, term: str, factor: Any, name: str) -> None:
    assert found(get(f"li2020.{id_}"), name).verdict == "holds"
    assert found(with_terms(id_, **{term: factor}), name).verdict == "violated"


@pytest.mark.parametrize("id_", ["theorem2", "theorem3"])
@pytest.mark.parametrize("term", ["noise", "heterogeneity", "drift", "start"])
def test_a_term_that_differs_from_theorem_1_is_noticed(id_: str, term: str) -> None:
    statement = with_terms(id_, **{term: F(1, 2)})
    (name,) = (c.name for c in statement.checks if c.method == "algebra" and c.name.endswith("Theorem 1"))
    assert found(get(f"li2020.{id_}"), name, "algebra").verdict == "holds"
    assert found(statement, name, "algebra").verdict == "violated"


def test_the_number_of_the_last_iterate_counts() -> None:
    """With T in place of T - 1 the bound fails at the start, where it is attained for L > mu too."""
    statement = get("li2020.theorem1")
    T = symbols_of(statement)["T"]
    made = sides_of(statement)
    later = replace(statement, sides=lambda s: Sides(made.lhs, {n: e.subs(T, T + 1) for n, e in made.rhs.items()}))
    assert found(later, "T = 1, attained").verdict == "violated"


@pytest.mark.parametrize("kappa", [1.0, 3.0, 7.75])
def test_heterogeneity_is_not_needed_for_small_condition_numbers(kappa: float) -> None:
    """The note: below kappa = 31/4 the bound holds without 6 L Gamma. Random clients, at every t."""
    rng = np.random.default_rng(round(10 * kappa))
    worst = 0.0
    for _ in range(200):
        n, E = int(rng.integers(2, 4)), int(2 ** rng.uniform(0, 7))
        a = kappa ** -np.concatenate([[0.0, 1.0], rng.random(n - 2)])
        m, p = rng.standard_normal(n) * 10.0, rng.dirichlet(np.ones(n))
        gamma, star = max(8 * kappa, E), (p * a * m).sum() / (p * a).sum()
        start = star + rng.standard_normal() * int(rng.integers(2))
        w, M = np.full(n, start), 0.0
        for t in range(1, 100):
            slope = a * (w - m)
            M, w = max(M, (slope**2).max()), w - 2 * kappa / (gamma + t) * slope
            w = np.full(n, (p * w).sum()) if (t + 1) % E == 0 else w
            gap = (p * a).sum() / 2 * ((p * w).sum() - star) ** 2
            rest = kappa / (gamma + t) * (16 * kappa * (E - 1) ** 2 * M + gamma / kappa / 2 * (start - star) ** 2)
            worst = max(worst, gap / (rest + 1e-12))
    assert 0.0 < worst < 1.0


@cache
def limit(E: int, eta: float) -> float:
    """Where FedAvg with a fixed step ends for two clients with curvatures 1, 1/4 and minimisers 1, -2; w* is 2/5."""
    w = 5.0
    for _ in range(20000):
        points = [w, w]
        for _ in range(E):
            points = [points[0] - eta * (points[0] - 1), points[1] - eta / 4 * (points[1] + 2)]
        if abs(w - sum(points) / 2) < 1e-15:
            break
        w = sum(points) / 2
    return w


@pytest.mark.parametrize(("E", "eta"), [(2, 0.5), (8, 0.125), (256, 0.125)])
def test_the_limit_of_a_fixed_step_is_where_its_rounds_end(E: int, eta: float) -> None:
    statement = get("li2020.theorem4.universal")
    of = {(c.instance["E"], F(c.instance["eta"])): c for c in statement.checks if c.name.startswith("E = ")}
    check = of[E, F(eta)]
    values = check.build(statement, check.instance).symbol_values
    assert float(values["bias"]) == pytest.approx(abs(limit(E, eta) - 0.4), abs=1e-12)
    assert values["W"] == F(2, 5)


def test_the_constant_of_the_fixed_step_is_nearly_the_largest() -> None:
    """c = 7/16; for E eta L <= 1 the largest constant that these clients allow is .4442, as the note says."""
    least = np.inf
    for E in (2, 3, 8, 64, 1024):
        for x in np.linspace(1e-3, 1.0, 500):
            shares = 1 - (1 - x / E * np.array([1.0, 0.25])) ** E
            bias = abs((shares * [1.0, -2.0]).sum() / shares.sum() - 0.4)
            least = min(least, bias / ((E - 1) * x / E * 0.4))
    assert 7 / 16 < least
    assert round(least, 3) == 0.444


def test_one_local_step_and_equal_curvatures_leave_no_distance() -> None:
    statement = get("li2020.theorem4.universal")
    for name in ("E = 1", "equal curvatures"):
        (check,) = (c for c in statement.checks if c.name == name)
        assert check.build(statement, check.instance).symbol_values["bias"] == 0


def test_the_paper_lists_its_statements() -> None:
    names = [name for chapter in known()["li2020"].contents.values() for name in chapter.split()]
    assert {s.id for s in select((), "li2020")} == {f"li2020.{n}" for n in (*names, "theorem4.universal")}
    for name in names[:3]:
        assert {"algebra", "exact", "monte-carlo"} <= {*get(f"li2020.{name}").methods}
