"""A round that is written once is the same algorithm in every world: against plain NumPy, fractions and known rates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpfl_theory.checks.exact import compared
from dpfl_theory.checks.runner import plan, run_plan
from dpfl_theory.core import Check, Expected, Hypothesis, Sides, Source, Statement, Symbol, Symbols, battery
from dpfl_theory.errors import InputError
from dpfl_theory.problems import make
from dpfl_theory.semantics.base import Vector, average
from dpfl_theory.semantics.oracle import Oracle
from dpfl_theory.semantics.replicates import Iterated
from dpfl_theory.simulation import simulate
from dpfl_theory.statements.iteration import METHODS, Instances, Iteration, edge, row

SYMBOLS = (
    Symbol("K", "rounds", domain="integer"),
    Symbol("L", "smoothness", (1, -2)),
    Symbol("mu", "strong convexity", (1, -2), "nonnegative"),
    Symbol("n", "clients", domain="integer"),
    Symbol("eta", "step", (-1, 2)),
    Symbol("sigma", "noise", (1, -1), "nonnegative"),
    Symbol("p", "probability", domain="probability"),
    Symbol("D", "distance", (0, 1), "nonnegative"),
)
CONSTANTS = {"L": "smoothness", "mu": "strong-convexity", "n": "clients", "D": "start-distance"}
GIVEN = {"K": 3, "mu": "1/4", "n": 2, "eta": "1/2", "sigma": "1/2", "p": "1/2"}


def stated(checks: tuple[Check, ...], when: str = "end", observable: str = "distance-squared") -> Statement:
    unit = {"distance-squared": (0, 2), "suboptimality": (1, 0)}[observable]
    return Statement(
        id="mine.test",
        kind="lemma",
        title="t",
        source=Source("mine", "here"),
        text="text",
        symbols=SYMBOLS,
        expectations=(Expected("left", ((observable, 1),), unit, "E", "left", when),),
        sides=lambda s: Sides({"left": s.left}, {"right": s.D**2 * (s.L if observable == "suboptimality" else 1)}),
        checks=checks,
    )


def given(iteration: Iteration, instance: Mapping[str, Any], *methods: str) -> tuple[Check, ...]:
    """The checks of one instance, without those that follow from it."""
    return tuple(Check(m, "one", iteration.build(m), instance) for m in methods)


def checked(iteration: Iteration, method: str, when: str = "end", **changes: Any) -> Any:
    """The object that a check of an iteration builds."""
    statement = stated(given(iteration, {**GIVEN, **changes}, method), when)
    return statement.checks[0].make(statement)


def noisy(o: Oracle, x: Vector, s: Symbols) -> Any:
    return x - s.eta * (o.gradient(x) + o.noise(s.sigma))


def test_runs_are_those_of_plain_numpy() -> None:
    """Local steps, clipping and momentum on a state of vectors, replicate by replicate, without noise."""

    @dataclass(frozen=True)
    class State:
        x: Vector
        clients: tuple[Vector, ...]

    def step(o: Oracle, state: State, s: Symbols) -> State:
        moved = tuple(
            y - s.eta * o.clip(o.gradient(y, i) + (y - state.x) * o.k, 0.5) for i, y in enumerate(state.clients)
        )
        return State(average(moved), moved)

    experiment = checked(
        Iteration(step, CONSTANTS, "strongly convex", start=lambda o, _: State(o.start, (o.start,) * len(o.clients))),
        "monte-carlo",
        n=3,
        K=60,
    )
    assert not experiment.random
    problem, eta = experiment.problem, experiment.values["eta"]
    found = simulate(experiment.algorithm, problem, 60, replicates=3, start=experiment.start)
    x, clients = np.zeros(problem.d), [np.zeros(problem.d)] * 3
    for k in range(60):
        moved = []
        for i, y in enumerate(clients):
            g = problem.client_gradient(i, y) + k * (y - x)
            moved.append(y - eta * g * min(1.0, 0.5 / np.linalg.norm(g)))
        clients, x = moved, np.mean(moved, axis=0)
    np.testing.assert_allclose(found.final, np.broadcast_to(x, (3, problem.d)), rtol=1e-9, atol=1e-12)


def test_noise_has_the_stated_size() -> None:
    """20 000 draws of one round from rest: the second moment within 5 standard errors (false alarms below 1e-6)."""
    problem = make("quadratic", clients=1, dimension=4, heterogeneity=0.0)

    def only(ask: str) -> Iterated:
        return Iterated(lambda o: o.start, lambda o, x: x + getattr(o, ask)(3.0), lambda x: x)

    for ask, square in (("noise", 4 * 9.0), ("error", 9.0)):
        run = simulate(only(ask), problem, 1, replicates=20_000, seed=3)
        squares = (run.final**2).sum(axis=1)
        assert abs(squares.mean() - square) < 5 * squares.std() / np.sqrt(20_000)
        assert abs((run.final[:, 0] * run.final[:, 1]).mean()) < 5 * square / 4 / np.sqrt(20_000)


def test_replicates_choose_for_themselves() -> None:
    """Coins of probability 1/4 in two rounds, and cohorts: shares within 5 standard errors (false alarms: 1e-5)."""
    problem = make("quadratic", clients=3, dimension=2, heterogeneity=0.0)

    def step(o: Oracle, state: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
        one = o.zero + Vector(o.world.one * np.array([1.0, 0.0]))
        kept = state[0] + one if o.coin(Fraction(1, 4)) else state[0]
        return kept, state[1] + one * 10.0 ** o.cohort(1)[0]

    algorithm = Iterated(lambda o: (o.zero, o.zero), step, lambda state: state[0] + 100.0 * state[1])
    values = simulate(algorithm, problem, 2, replicates=8000, seed=1).final[:, 0]
    for heads, share in enumerate((9 / 16, 6 / 16, 1 / 16)):
        assert abs((values % 10 == heads).mean() - share) < 5 * np.sqrt(share * (1 - share) / 8000)
    for who in range(3):
        share = np.mean([((values // 10 ** (2 + who)) % 10 == 2).mean()])
        assert abs(share - 1 / 9) < 5 * np.sqrt(1 / 9 * 8 / 9 / 8000)
    again = simulate(algorithm, problem, 2, replicates=5, seed=1, first_replicate=20).final[:, 0]
    assert (again == values[20:25]).all()  # a replicate's choices do not depend on its neighbours


@pytest.mark.parametrize("average_", ["before", "after", ""])
@pytest.mark.parametrize("when", ["mean", "end", "least"])
def test_exact_values_are_those_of_the_recursion(average_: str, when: str) -> None:
    """Noisy gradient descent on a x^2/2, and its averages, as rows of fractions that were written for this test."""
    values = checked(Iteration(noisy, CONSTANTS, "strongly convex", average=average_), "exact", when)
    assert len(values) > 6
    for v in values:
        if len(set(v.instance["curvatures"])) > 1 or any(v.instance["gradients at x*"]):
            continue
        a, eta, sigma = v.instance["curvatures"][0], Fraction(1, 2), Fraction(1, 2)
        # x_k = c_k + sum_j e_kj zeta_j; rows of (c, e_1, ..., e_K)
        rows = [np.array([Fraction(1)] + [Fraction(0)] * 3, dtype=object)]
        for k in range(3):
            x = rows[-1] * (1 - eta * a)
            x[1 + k] -= eta * sigma
            rows.append(x)
        seen = [rows[0]]
        for k in range(1, 4):
            seen.append(
                {"": rows[k], "before": sum(rows[:k]) / Fraction(k), "after": sum(rows[1 : k + 1]) / Fraction(k)}[
                    average_
                ]
            )
        squares = [sum(x * x) for x in seen]
        wanted = {"mean": sum(squares[:3]) / 3, "end": squares[3], "least": min(squares[:3])}[when]
        assert v.symbol_values["left"] == wanted


def test_the_three_methods_agree_where_the_worst_function_is_a_quadratic() -> None:
    """Gradient descent contracts by 1 - eta mu, and by no less: ratio 1 exactly and in the worst case; runs below."""
    iteration = Iteration(lambda o, x, s: x - s.eta * o.gradient(x), CONSTANTS, "strongly convex")
    statement = replace(
        stated(given(iteration, {**GIVEN, "K": 2, "n": 1}, *METHODS)),
        sides=lambda s: Sides({"left": s.left}, {"right": (1 - s.eta * s.mu) ** (2 * s.K) * s.D**2}),
    )
    found = {e.method: e for e in run_plan(plan([statement])).evidence}
    assert {e.verdict for e in found.values()} == {"holds"}
    assert found["exact"].ratio == 1.0
    assert found["worst-case"].ratio == pytest.approx(1.0, abs=1e-6)
    assert 0.0 < found["monte-carlo"].ratio < 1.0  # type: ignore[operator]
    smaller = replace(
        statement,
        sides=lambda s: Sides({"left": s.left}, {"right": (1 - s.eta * s.mu) ** (2 * s.K) * s.D**2 * 99 / 100}),
    )
    again = {e.method: e.verdict for e in run_plan(plan([smaller], ("exact", "worst-case"))).evidence}
    assert again == {"exact": "violated", "worst-case": "violated"}


def test_runs_take_the_constants_of_their_problem_and_its_units() -> None:
    experiment = checked(
        Iteration(noisy, CONSTANTS, "strongly convex"),
        "monte-carlo",
        problem={"name": "logistic-data", "clients": 3, "ridge": 0.01},
    )
    c, v = experiment.problem.constants, experiment.values
    distance = np.linalg.norm(c.w_star)
    assert (v["L"], v["mu"], v["n"], v["D"]) == (c.L_max, c.mu_min, 3, pytest.approx(distance))
    assert v["eta"] * v["L"] == pytest.approx(0.5)
    assert v["sigma"] / (v["L"] * v["D"]) == pytest.approx(0.5)
    assert experiment.random


def test_worst_cases_know_noise_by_its_square() -> None:
    """One noisy step from the minimiser: E ||x_1||^2 = eta^2 d sigma^2 and nothing less is true."""
    iteration = Iteration(noisy, CONSTANTS, "strongly convex")
    for factor, verdict in ((Fraction(1), "holds"), (Fraction(99, 100), "violated")):

        def sides(s: Symbols, factor: Fraction = factor) -> Sides:
            kept = (1 - s.eta * s.mu) ** 2 * s.D**2
            return Sides(
                {"left": s.left}, {"kept": kept, "noise": s.eta**2 * s.sigma**2 * factor.numerator / factor.denominator}
            )

        statement = replace(stated(given(iteration, {**GIVEN, "K": 1, "n": 1}, "worst-case")), sides=sides)
        assert run_plan(plan([statement], ("worst-case",))).evidence[0].verdict == verdict


def proximal(o: Oracle, x: Vector, s: Symbols) -> Vector:
    return o.proximal(x, s.eta)


def test_proximal_steps_are_where_they_should_be() -> None:
    experiment = checked(Iteration(proximal, CONSTANTS, "strongly convex"), "monte-carlo", n=1, K=1)
    y = simulate(experiment.algorithm, experiment.problem, 1, start=experiment.start).final[0]
    slope = experiment.problem.gradient(y)
    np.testing.assert_allclose(y + experiment.values["eta"] * slope, experiment.start, atol=1e-12)
    for v in checked(Iteration(proximal, CONSTANTS, "strongly convex"), "exact", n=1, K=1):
        assert v.symbol_values["left"] == 1 / (1 + v.instance["curvature"] / 2) ** 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"eta": "a half"}, "the instance gives eta = 'a half': write a number, or a fraction as text, '1/8'"),
        ({"etta": 1}, "did you mean 'eta'?"),
        ({"D": 1}, "D is computed from the problem, but the instance gives it: leave it out"),
    ],
)
def test_an_instance_that_cannot_be_used_is_told(changes: Mapping[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=None) as caught:
        checked(Iteration(noisy, CONSTANTS, "strongly convex"), "exact", **changes)
    assert message in str(caught.value)


def test_what_a_description_cannot_do_is_told() -> None:
    clipped = Iteration(lambda o, x, s: x - o.clip(o.gradient(x), s.eta), CONSTANTS, "strongly convex")
    with pytest.raises(InputError, match="clipping and normalising are not linear forms"):
        checked(clipped, "worst-case")
    number = Iteration(lambda o, x, s: (x[0], 3), CONSTANTS, "strongly convex", start=lambda o, _: (o.start, o.zero))
    with pytest.raises(InputError, match="the state of the iteration holds 3, which is not a vector"):
        checked(number, "monte-carlo")
    with pytest.raises(InputError, match="unknown class of functions 'strongly-convex': did you mean"):
        Iteration(noisy, CONSTANTS, "strongly-convex")
    with pytest.raises(InputError, match="did you mean 'smoothness'"):
        Iteration(noisy, {"L": "smoothnes"})
    statement = stated(given(Iteration(noisy, CONSTANTS), GIVEN, "exact"))
    odd = replace(statement, expectations=(Expected("left", (("snr", 1),), (0, 0), "E", "x"),))
    with pytest.raises(InputError, match="the observable 'snr' of left is known for runs only"):
        odd.checks[0].make(odd)


def test_sides_are_compared_at_the_letters_of_the_instance() -> None:
    statement = stated(given(Iteration(noisy, CONSTANTS, "strongly convex"), GIVEN, "exact"))
    cases = [compared(statement, v) for v in statement.checks[0].make(statement)]
    assert {case.rhs for case in cases} == {Fraction(1)}


SHORT = Hypothesis(lambda s: s.eta <= 1 / s.L)
LOW = Hypothesis(lambda s: s.eta * s.sigma <= s.D)  # which the problem decides: no row follows from it
FEW = row("few", "three rounds", GIVEN)
LONG = row("many", "thirty rounds", {**GIVEN, "K": 30})


def in_battery(table: Instances, *arguments: Any, **named: Any) -> dict[tuple[str, str], Check]:
    """The checks of a battery, by method and name."""
    iteration = Iteration(noisy, CONSTANTS, "strongly convex", table=table)
    statement = replace(stated(()), hypotheses=(SHORT, LOW), checks=battery(iteration(*arguments, **named)))
    return {(c.method, c.name): c for c in statement.checks}


def test_a_battery_has_rows_special_cases_and_edges() -> None:
    found = in_battery(Instances((FEW, LONG)))
    assert {m for m, name in in_battery(Instances((FEW,))) if name == "three rounds"} == set(METHODS)
    derived = ("sigma = 0", "p = 0", "just inside eta <= 1/L", "just outside eta <= 1/L")
    rows = {("worst-case", "three rounds"), ("exact", "three rounds"), *((m, "thirty rounds") for m in METHODS[1:])}
    assert set(found) == rows | {("exact", name) for name in derived}
    assert found["exact", "sigma = 0"].instance == {**GIVEN, "sigma": 0}
    assert found["exact", "just inside eta <= 1/L"].instance["eta"] == "63/64"
    outside = found["exact", "just outside eta <= 1/L"]
    assert (outside.instance["eta"], outside.expected) == ("65/64", "not-applicable")
    for check in found.values():
        assert check.make(stated(tuple(found.values())))


def test_a_battery_takes_tags_verdicts_edges_and_reasons() -> None:
    long_edge = edge(SHORT, "eta L = 2", {**GIVEN, "eta": 2})
    table = Instances((FEW, LONG, row("false", "wrong", {**GIVEN, "K": 1}), long_edge))
    found = in_battery(table, "many", violated="false", without={"monte-carlo": "too slow", "p = 0": "no coin"})
    assert {(m, name): c.expected for (m, name), c in found.items()} == {
        ("exact", "thirty rounds"): "holds",
        ("worst-case", "wrong"): "violated",
        ("exact", "wrong"): "violated",
        ("exact", "eta L = 2"): "not-applicable",
        ("exact", "sigma = 0"): "holds",
    }


def test_a_battery_without_few_rounds_has_worst_cases_of_one_and_two() -> None:
    found = in_battery(Instances((row("", "thirty rounds", {**GIVEN, "K": 30}),)))
    assert {name for method, name in found if method == "worst-case"} == {
        "thirty rounds, K = 1",
        "thirty rounds, K = 2",
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"holds": "fwe"}, "no instance has the tag 'fwe': choose among few, many"),
        ({"without": {"runs": "slow"}}, "mine.test has no check 'runs' to leave out"),
    ],
)
def test_what_a_battery_does_not_know_is_told(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        in_battery(Instances((FEW, LONG)), **arguments)


def test_a_boundary_at_the_instance_itself_is_found() -> None:
    ((inside, outside),) = SHORT.near({"eta": 1, "L": 1}, "eta", 1 / 64)
    assert (inside, outside) == pytest.approx((63 / 64, 65 / 64), rel=1e-6)
