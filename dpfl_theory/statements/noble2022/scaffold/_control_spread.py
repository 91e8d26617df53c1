"""Corollary C.1's displays over rounds of DP-SCAFFOLD, given the cohort, x^{t-1} and the past: on quadratics, over all
draws of users' records, and one user in the worst case."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any

from dpfl_theory.algorithms.scaffold import Scaffold
from dpfl_theory.core import Statement, Values, WorstCase
from dpfl_theory.semantics.base import Vector, World, average, expected
from dpfl_theory.semantics.operations import RoundResult, run_round
from dpfl_theory.semantics.performance import FunctionClass, declared
from dpfl_theory.semantics.rational import Quadratics
from dpfl_theory.statements.noble2022.scaffold._round_instances import noise
from dpfl_theory.statements.noble2022.scaffold._round_performance import sizes
from dpfl_theory.statements.noble2022.scaffold._user_performance import AnyGradients
from dpfl_theory.statements.noble2022.scaffold._user_records import records_of

__all__ = ["errors_of_steps", "on_quadratics", "over_records", "performance", "spreads"]


def spreads(
    world: World, previous: RoundResult, eta: Any, K: int, size: int, part: str = "second"
) -> dict[tuple[int, ...], Any]:
    """The left side of a display after one round, for each cohort of this size.

    part: ``first``, the mean square of the cohort's average of c_i^t - (1/K) sum_k grad F_i(y_i^{k-1}); ``second``, the
    variance of the mean of its c_i^t; ``third``, that of c^t.

    >>> start = RoundResult(Vector(Fraction(1)))
    >>> spreads(Quadratics([-1], [0], {"error": 1}), start, Fraction(1, 2), 2, 1)
    {(0,): Fraction(13, 16)}
    """
    algorithm = Scaffold(eta_l=eta, eta_g=world.one, K=K)

    def observed() -> Mapping[tuple[tuple[int, ...], str], Any]:
        after = run_round(algorithm, world, *previous.following, size=size, errors=True)
        cohort, (seen, own) = after.cohort, after.state
        if part != "third":
            seen = average([own[i] for i in cohort])
        if part == "first":
            seen = seen - average([world.gradient(i, y) for i in cohort for y in after.paths[i][:K]])
        mean = world.substitute_known(seen).known
        return {(cohort, "share"): 1, (cohort, "mean"): mean, (cohort, "square"): world.square(seen)}

    found, out = expected(world, observed), {}
    for cohort in dict.fromkeys(cohort for cohort, _ in found):
        share, mean, square = (found[cohort, name] for name in ("share", "mean", "square"))
        share = world.one * share
        out[cohort] = square / share if part == "first" else square / share - world.inner(mean / share, mean / share)
    return out


def on_quadratics(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """A display on quadratics with V = 1, for every cohort; the control variates before the round differ."""
    out = []
    for curvatures, K, step in product(*(instance[name] for name in ("curvatures", "K", "eta_l nu"))):
        a, part = [Fraction(str(v)) for v in curvatures], instance["part"]
        M, nu = len(a), max(abs(v) for v in a)
        world, eta = Quadratics(a, [0] * M, {"error": 1}), Fraction(str(step)) / nu
        own = tuple(Vector(Fraction(i)) for i in range(M))
        for size in range(1, M + 1):
            symbols = {"K": K, "M": M, "l": Fraction(size, M), "eta_l": eta, "nu": nu, **noise(Fraction(1))}
            at = {"curvatures": tuple(a), "K": K, "eta_l nu": step, "lM": size}
            found = spreads(world, RoundResult(Vector(Fraction(1)), (average(own), own)), eta, K, size, part)
            out += [Values({**symbols, "spread": v}, {**at, "cohort": cohort}) for cohort, v in found.items()]
    return out


def over_records(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """A display over all draws of each cohort's steps. ``corrections``: c^{t-1} - c_i^{t-1} of each user."""
    world, K, part = records_of(instance), int(instance["K"]), instance["part"]
    M, eta = world.clients, Fraction(instance["eta_l nu"]) / world.smoothness
    own = tuple(Vector(-Fraction(q)) for q in instance["corrections"])
    before, symbols = RoundResult(Vector(Fraction(instance["start"])), (world.zero, own)), world.symbols
    symbols |= {"M": M, "K": K, "eta_l": eta, "nu": world.smoothness}
    out = []
    for size in range(1, M + 1):
        at = {"K": K, "lM": size, "cohort": (), "sR": world.drawn, "tau": world.noise, "V": world.variance_bound}
        for cohort, spread in spreads(world, before, eta, K, size, part).items():
            out.append(Values({**symbols, "l": Fraction(size, M), "spread": spread}, {**at, "cohort": cohort}))
    return out


def performance(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """Var c_i^t for one user over all functions of a class, from any point and any control variate; errors are +-xi."""
    from PEPit import PEP, Expression, Point

    problem, V = PEP(), Expression()
    problem.add_constraint(V >= 0)
    world = FunctionClass(problem, declared(problem, instance["class"], 1), V)
    before = RoundResult(Vector(problem.set_initial_point()), (world.zero, (Vector(Point()),)))
    return _of_one_user(world, before, instance, "second", "variance of a control variate of {} steps against V/K")


def errors_of_steps(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """First display for one user: E||c_i^t - (1/K) sum_k g_k||^2 for all vectors g_k in place of the gradients, which
    may depend on all errors before, as may the errors' lengths."""
    from PEPit import PEP, Expression, Point

    problem, V = PEP(), Expression()
    problem.add_constraint(V >= 0)
    world = AnyGradients(problem, V)
    before = RoundResult(Vector(problem.set_initial_point()), (Vector(Point()), (world.zero,)))
    return _of_one_user(world, before, instance, "first", "the errors of {} steps of a user against V/K")


def _of_one_user(
    world: FunctionClass, previous: RoundResult, instance: Mapping[str, Any], part: str, label: str
) -> WorstCase:
    K, eta = int(instance["K"]), float(Fraction(str(instance["eta_l nu"])))
    (spread,) = spreads(world, previous, eta, K, 1, part).values()
    V = world.variance("error")
    return WorstCase(world.problem, {**sizes(1, 1, K, V), "nu": 1, "eta_l": eta, "spread": spread}, label.format(K))
