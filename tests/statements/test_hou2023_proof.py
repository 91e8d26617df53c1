"""hou2023's proof steps and observations: against simulation and plain NumPy, and faults that must be noticed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy as sp
from short_forms import two_sided

from dpfl_theory.algorithms import scaffnew
from dpfl_theory.algorithms.scaffnew import UnclippedScaffNew
from dpfl_theory.checks import exact, monte_carlo, worst_case
from dpfl_theory.checks.runner import run_one
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Case, Check, Sides, Statement
from dpfl_theory.core.formula import sides_of, with_sides
from dpfl_theory.errors import InputError
from dpfl_theory.problems.quadratic import from_matrices
from dpfl_theory.simulation import Simulation, simulate
from dpfl_theory.statements import all_statements
from dpfl_theory.statements.hou2023 import (
    appendixB1,
    clip_inactive,
    observations,
    overparameterised,
    theorem1,
)
from dpfl_theory.statements.hou2023._instances import TABLE
from dpfl_theory.statements.hou2023._runs import CONTRACTS, moments, server_moment
from dpfl_theory.statements.hou2023.observations import CLIENTS, best, divisors, gap, read
from dpfl_theory.statements.power import recorded

PROBLEM = {"q": ["1", "1/4", "1/10"], "c": ["0", "1", "-2"], "x_0": "8"}


def worst_ratio(instance: dict[str, Any], statement: Statement = appendixB1.CONTRACTION) -> float:
    case = appendixB1.contraction(statement, instance)
    return worst_case.solve(worst_case.inequality(statement, case)).dual


def test_the_contraction_is_tight_and_smaller_factors_fail() -> None:
    tight = {"N": 2, "mu": "1/4", "p": "1/2", "eta L": "1"}
    assert worst_ratio(tight) == pytest.approx(1.0, abs=1e-6)
    # mu stated too large by a fifth: theta = 0.7 with functions that are only 1/4-strongly convex.
    alone = {"N": 1, "mu": "1/4", "p": "1", "eta L": "1"}
    assert worst_ratio(alone, appendixB1.SHARPENED) == pytest.approx(1.0, abs=1e-6)
    up_to = {**alone, "eta L": "3/2"}  # 2/(L + mu)
    assert worst_ratio(up_to, appendixB1.SHARPENED) == pytest.approx(1.0, abs=1e-5)
    assert worst_ratio({**alone, "eta L": "17/10"}, appendixB1.SHARPENED) > 1.1


def plant(monkeypatch: pytest.MonkeyPatch, fault: Callable[[Any], Any]) -> None:
    """Every round communicates with the faulty gain in place of Algorithm 2's p/eta."""
    right = scaffnew.ScaffNew.control

    def wrong(a: Any, o: Any, h: Any, t: Any, i: Any) -> Any:
        gain = fault(a.gain(o))
        return right(a.replaced(gain=lambda a, o: gain), o, h, t, i)

    monkeypatch.setattr(scaffnew.ScaffNew, "control", wrong)


def test_the_identity_of_a_communication_needs_the_factor_of_the_shifts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its worst case is 1 in both directions; with control variates that move half as far it is not."""

    def ratio(reverse: bool) -> Any:
        case = appendixB1.performance(appendixB1.NONEXPANSIVE, {"N": 3, "eta/p": "2", "reverse": reverse})
        return worst_case.solve(worst_case.inequality(appendixB1.NONEXPANSIVE, case))

    for reverse in (False, True):
        assert ratio(reverse).guarantee == pytest.approx(1.0, abs=1e-6)
    plant(monkeypatch, lambda gain: gain / 2)
    for reverse in (False, True):
        assert ratio(reverse).dual > 1.2


def verdicts(statement: Statement, method: str, name: str) -> set[str]:
    """The results of the checks whose names start like this, without those outside of the hypotheses."""
    found = [c for c in statement.checks if c.method == method and c.name.startswith(name)]
    return {run_one(statement, c, Settings(device="cpu")).verdict for c in found} - {"not-applicable"}


@pytest.mark.parametrize(
    ("statement", "method", "name"),
    [
        (appendixB1.CONTRACTION, "exact", "quadratics, three"),
        (appendixB1.CONTRACTION, "worst-case", "N = 2, mu = 1/4, p = 1/2"),
        (appendixB1.NONEXPANSIVE, "exact", "quadratics, three"),
        (theorem1.THEOREM1, "exact", "quadratics, opposite gradients"),
    ],
)
def test_control_variates_that_move_too_far_in_the_round_turn_verdicts(
    statement: Statement, method: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One fault in the one description: 2p/eta in place of p/eta, seen by exact moments and over all functions."""
    assert verdicts(statement, method, name) == {"holds"}
    plant(monkeypatch, lambda gain: 2 * gain)
    assert verdicts(statement, method, name) == {"violated"}


def test_a_mean_that_the_control_variates_lose_breaks_equation_3(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(a: Any, o: Any, h: Any, t: Any, i: Any) -> Any:
        return h - a.gain(o) * t.sent[i]

    assert verdicts(appendixB1.EQ3, "exact", "") == {"holds"}
    monkeypatch.setattr(scaffnew.ScaffNew, "control", lost)
    assert verdicts(appendixB1.EQ3, "exact", "") == {"violated"}


def test_control_variates_that_forget_p_break_the_contraction() -> None:
    """Exact: h_{t+1} = h_t + (1/eta)(A Delta - Delta), without the factor p, is not contracted on the three clients."""
    clients = TABLE["contracts"]["quadratics, three clients"]
    cases = CONTRACTS.build(appendixB1.CONTRACTION, clients)
    assert all(exact.compared(appendixB1.CONTRACTION, c).excess <= 0 for c in cases)
    q, a, b = ([Fraction(v) for v in clients[k]] for k in ("q", "a", "b"))
    eta, p = 1 / max(q), Fraction(1, 9)
    moved = [(1 - eta * qi) * ai + eta * bi for qi, ai, bi in zip(q, a, b)]
    mean = sum(moved, Fraction(0)) / 3
    sent = 3 * mean**2 + (eta / p) ** 2 * sum((bi + (mean - m) / eta) ** 2 for bi, m in zip(b, moved))
    shifts = (eta / p) ** 2 * sum(bi * bi for bi in b)
    silent = sum(m * m for m in moved) + shifts
    start = sum(ai * ai for ai in a) + shifts
    assert p * sent + (1 - p) * silent > max(1 - min(q) * eta, 1 - p * p) * start


def test_a_lost_mean_breaks_equation_3() -> None:
    cases = list(appendixB1.clipped_run(appendixB1.EQ3, appendixB1.CLIPPED_RUN))
    assert len(cases) == 5
    assert all(c.symbol_values["mean_shift"] == 0 for c in cases)
    with pytest.raises(ValueError, match="add up to 1, not to 0"):
        next(appendixB1.clipped_run(appendixB1.EQ3, {**appendixB1.CLIPPED_RUN, "h_0": ["1", "2", "-2"]}))


@pytest.mark.parametrize("algorithm", [*observations.ALGORITHMS, CLIENTS])
@pytest.mark.parametrize("tau", [1, 3, 6])
def test_exact_gaps_are_those_of_simulation(algorithm: str, tau: int) -> None:
    """Mean of 4000 replicates within 5 standard errors: false-alarm rate 9 x 6e-7."""
    unit, T, replicates = Fraction(1, 10), 12, 4000
    q, c, x_0 = read(PROBLEM)
    problem = from_matrices(np.array([[[float(v)]] for v in q]), np.array([[float(v)] for v in c]))
    expected = float(gap(algorithm, (q, c, x_0), tau, T, unit))
    start = np.array([float(x_0)])
    star, curvature = float(problem.constants.w_star[0]), float(sum(q)) / 3
    if algorithm == "dp-fedavg":
        sigma = math.sqrt(float(unit) * T / tau)
        run = simulate(
            two_sided(1.0, local_steps=tau, sigma=sigma),
            problem,
            T // tau,
            replicates,
            3,
            start=start,
            device="cpu",
        )
        values = curvature / 2 * (run.final[:, 0] - star) ** 2
    else:
        sigma = math.sqrt(float(unit) * T / tau)
        from dpfl_theory.simulation.observables import Observable, get

        mean_client = Observable(
            "mean-client",
            (0, 2),
            "",
            "mean squared distance of the clients",
            lambda h: ((h.state.inner[0] - star) ** 2).mean(axis=(0, 2)),
            of_state=True,
        )
        assert get(mean_client) is mean_client
        scaffnew = Simulation(UnclippedScaffNew(eta=1.0, p=1.0 / tau, sigma=sigma))
        run = simulate(scaffnew, problem, T, replicates, 3, [mean_client], start=start, device="cpu")
        server = (run.final[:, 0] - star) ** 2
        values = curvature / 2 * (run["mean-client"].last if algorithm == CLIENTS else server)
    error = values.std(ddof=1) / math.sqrt(replicates)
    assert abs(values.mean() - expected) < 5.0 * error + 1e-12


def test_the_second_message_of_one_client_is_its_first_noise() -> None:
    """The smallest counterexample in NumPy: f = x^2/2, eta = p = 1, x_0 = 0: message 2 is -e_1, of variance 2 C^2."""
    rng = np.random.default_rng(1)
    noise = math.sqrt(2.0) * rng.standard_normal(100_000)
    x = noise  # after the first communication from 0
    message = (x - x) - x  # xhat - x = -eta x
    assert np.mean(message**2) == pytest.approx(2.0, rel=0.03)
    instance = {"q": ["1"], "d": 1, "v ln(1/delta)/epsilon^2": ["1"]}
    (found,) = clip_inactive.second_messages(clip_inactive.INACTIVE, instance)
    case = exact.compared(clip_inactive.INACTIVE, found)
    assert (case.lhs, case.rhs) == (2, 1)


def test_noise_keeps_the_control_variates_alive() -> None:
    def cases(unit: str) -> list[Case]:
        instance = {"q": [["1"], ["1"]], "start": ["0"], "noise": [unit]}
        found = moments(overparameterised.PRINTED, instance)
        return [exact.compared(overparameterised.PRINTED, values) for values in found]

    first = next(c for c in cases("1") if c.values["p"] == 1 and c.values["T"] == 1)
    assert (first.lhs, first.rhs) == (1, 0)  # (1 - 1/2) 2 sigma^2 with sigma^2 = 1
    assert exact.worst(cases("0")).excess <= 0


def test_best_choices_by_brute_force() -> None:
    values = {tau: gap("dp-fedavg", read(PROBLEM), tau, 24, Fraction(1, 200)) for tau in divisors(24)}
    assert best(values, sorted(values))[0] == 6
    tie = {1: Fraction(1), 2: Fraction(1)}
    assert best(tie, [2, 1]) == (1, Fraction(1))


def test_a_rival_runs_over_its_own_iterations() -> None:
    """Both errors of a comparison are those of separate simulations with their own rounds and noise."""
    instance = {
        "algorithm": "dp-fedavg",
        "choice": (3, 24),
        "against": (3, 96),
        "C": 0.25,
        "unit": 0.3,
        "replicates": 256,
    }
    evidence = monte_carlo.run(observations.OBSERVATION2, _duel(instance), Settings(device="cpu"))
    experiment = observations.duel(observations.OBSERVATION2, instance)
    assert experiment.rival is not None
    assert (experiment.rounds, experiment.rival.rounds) == (8, 32)
    replicates = evidence.replicates
    columns = [e.column(e.parts[0][0]) for e in observations.OBSERVATION2.expectations]
    for run, name in zip((experiment, experiment.rival), columns, strict=True):
        alone = simulate(run.algorithm, run.problem, run.rounds, replicates, 0, ["suboptimality"], start=run.start)
        assert evidence.notes["means"][name] == pytest.approx(float(alone["suboptimality"].last.mean()), rel=1e-12)


def _duel(instance: dict[str, Any]) -> Check:
    return Check("monte-carlo", "test", observations.duel, instance)


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_no_comparison_of_the_observations_holds_the_other_way_round(number: int) -> None:
    found = {s.id: s for s in observations.STATEMENTS}[f"hou2023.observation{number}"]
    duels = [c for c in found.checks if c.method == "monte-carlo"]
    assert len(duels) >= 4
    for check in duels[:4]:
        swapped = {**check.instance, "choice": check.instance["against"], "against": check.instance["choice"]}
        assert monte_carlo.run(found, _duel(swapped), Settings(device="cpu")).verdict != "holds"


def test_dp_scaffnew_ends_farther_from_x_star_than_dp_fedavg_with_the_same_coins() -> None:
    """The recursion's 1.907 in plain NumPy, 40000 runs in two batches of paired noise: within 4 standard errors
    (false alarms: about 1e-4)."""
    q, p, T, replicates = np.array([1.0, 0.25]), 0.2, 40, 40000
    rng = np.random.default_rng(5)
    found = {}
    for gain in (p, 0.0):
        x, h = np.ones((replicates, 2)), np.zeros((replicates, 2))
        server = np.ones((replicates, 1))
        for _ in range(T):
            moved = x - (q * x - h)
            sent = moved - server + math.sqrt(p * T) * rng.standard_normal((replicates, 2))
            mean = sent.mean(axis=1, keepdims=True)
            coin = rng.random((replicates, 1)) < p
            h = np.where(coin, h + gain * (mean - sent), h)
            server = np.where(coin, server + mean, server)
            x = np.where(coin, server, moved)
        found[gain] = (x * x).sum(axis=1)
    exact_values = list(overparameterised.against_fedavg.make(overparameterised.PRINTED))[-1]
    assert float(exact_values.lhs / exact_values.rhs) == pytest.approx(1.907, abs=1e-3)
    for gain, value in ((p, exact_values.lhs), (0.0, exact_values.rhs)):
        error = found[gain].std(ddof=1) / math.sqrt(replicates)
        assert abs(found[gain].mean() - float(value)) < 4 * error


def test_the_servers_vectors_of_both_are_nearly_as_far_from_x_star() -> None:
    """The factor between the two algorithms depends on the scored vectors: 1.91 by the clients' vectors, 1.06 by the
    server's."""
    q, p, T = [Fraction(1), Fraction(1, 4)], Fraction(1, 5), 40
    ours, fedavg = (
        server_moment(Fraction(1), [Fraction(0)] * 2, q, Fraction(1), p, T, p * T, gain=gain)
        for gain in (None, Fraction(0))
    )
    assert float(ours / fedavg) == pytest.approx(1.0617, abs=1e-3)


def test_dp_scaffnew_s_best_local_steps_by_its_clients_and_by_its_server() -> None:
    """From 1/18000 to 1/15000 they fall from 2 to 1 by the clients' vectors, and stay by the server's."""
    problem = read(observations.UNEQUAL)
    found = {
        name: [
            best(v := {tau: gap(name, problem, tau, 24, Fraction(1, unit)) for tau in (1, 2, 3)}, sorted(v))[0]
            for unit in (18000, 15000)
        ]
        for name in (CLIENTS, "dp-scaffnew")
    }
    assert found == {CLIENTS: [2, 1], "dp-scaffnew": [2, 2]}


def test_noise_keeps_clipping_active_to_the_end_of_a_run() -> None:
    """The last of a hundred messages has a mean square of 100 C^2; with a hundredth of the noise, of C^2."""
    instance = {"q": ["1"], "d": 1, "T": 100, "v ln(1/delta)/epsilon^2": ["1", "1/100"]}
    cases = clip_inactive.second_messages(clip_inactive.INACTIVE, instance)
    assert [case.symbol_values["E_messages"] for case in cases] == [100, 100, 1, 1]


def test_theorem_1s_bound_for_dp_fedavg_notices_a_lost_noise_term() -> None:
    cases = list(overparameterised.fedavg_by_theorem1.make(overparameterised.REPAIRED))
    assert all(c.excess <= 0 for c in cases)
    noisy = next(c for c in cases if c.values["T"] == 40 and c.values["p"] == 1 and c.values["sigma^2"] == 3)
    assert noisy.lhs > noisy.rhs / 8


def planted(statement: Statement, factor: Fraction, more: int = 0) -> Statement:
    """With every term of the right side multiplied, and something added."""
    made = sides_of(statement)
    return replace(
        statement, sides=lambda s: Sides(made.lhs, {"more": more, **{k: factor * v for k, v in made.rhs.items()}})
    )


def test_equalities_notice_a_right_side_that_is_too_large() -> None:
    (check,) = (c for c in appendixB1.EQ3.checks if c.method == "exact")
    assert exact.run(planted(appendixB1.EQ3, Fraction(1), 1), check, Settings()).verdict == "violated"
    halves = [c for c in appendixB1.NONEXPANSIVE.checks if c.name.startswith("at least")]
    assert len(halves) == 3
    for check in halves:
        wrong = planted(appendixB1.NONEXPANSIVE, Fraction(1001, 1000))
        assert worst_case.run(wrong, check, Settings()).verdict == "violated"


def outside() -> list[tuple[Statement, Check]]:
    papers = ("hou2023", "shulgin2025")
    return [(s, c) for s in all_statements() if s.paper in papers for c in s.checks if c.expected == "not-applicable"]


@pytest.mark.exhaustive(keep=12)
@pytest.mark.parametrize(("statement", "check"), outside(), ids=lambda x: getattr(x, "id", None) or x.name)
def test_an_instance_just_outside_meets_all_hypotheses_but_those_it_names(statement: Statement, check: Check) -> None:
    """Without the hypothesis that it fails, and those that follow from it, it is decided. So a relaxed hypothesis
    changes the verdict."""
    assert run_one(statement, check, Settings(device="cpu")).verdict == "not-applicable"
    try:
        found = run_one(replace(statement, hypotheses=()), check, Settings(device="cpu")).verdict
    except (InputError, ValueError, ZeroDivisionError):
        found = "refused"
    assert found != "not-applicable"


BY_RUNS = {"hou2023.observation3", "hou2023.observation4"}
"""Their two sides are compared by simulations only; the errors that these detect are on record."""
TERMS = [
    (s, name)
    for s in all_statements()
    if s.paper == "hou2023" and s.expected == "holds" and s.sides is not None and s.id != "hou2023.eq3"
    for name in sides_of(s).rhs
]


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize(("statement", "term"), TERMS, ids=[f"{s.id} {name}" for s, name in TERMS])
def test_each_term_of_a_bound_decides_somewhere(statement: Statement, term: str) -> None:
    """Some check notices that a term of the right side is left out. That of eq3 is 0, and has no term to leave out."""
    if statement.id in BY_RUNS:
        power = recorded(statement.id)
        assert power is not None
        assert power.least["monte-carlo"][0] is not None
        return
    made = sides_of(statement)
    wrong = with_sides(statement, Sides(made.lhs, {**made.rhs, term: sp.Integer(0)}))
    inside = [c for c in statement.checks if c.method in ("algebra", "exact") and c.expected != "not-applicable"]
    assert any(run_one(wrong, check, Settings()).verdict == "violated" for check in inside)
