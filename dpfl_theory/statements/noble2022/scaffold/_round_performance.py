"""Worst cases of one round of DP-SCAFFOLD, over smooth functions, lagged points and errors: Lemmas C.4 to C.7.

The expectation over the cohorts is a finite sum. The error of a local step is +xi or -xi with xi^2 <= V; the last
step's only adds its variance. The errors that the control variates carry from earlier rounds have second moment V/K.
They may depend on x^{t-1} and on the lagged points in any way, which is more than the algorithm allows (a relaxation).
So no independence of the past is assumed where the proof has none. A condition that a worst case is found to need,
Algorithm 1 may not need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpfl_theory.algorithms.scaffold import Scaffold
from dpfl_theory.core import Check, Statement, WorstCase
from dpfl_theory.core import checks as checks_of
from dpfl_theory.semantics.base import Vector, World, average, expected
from dpfl_theory.semantics.operations import RoundResult, run_round
from dpfl_theory.semantics.performance import FunctionClass, declared
from dpfl_theory.statements.noble2022._moments import mean_square


def one_round(statement: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """One round with nu = 1, by the symbols of Lemmas C.4 to C.7. x* is the origin; without ``gap`` among the
    statement's symbols no minimiser is assumed.

    instance: class ``convex``, ``strongly convex`` (with mu) or ``non-convex``; M, size, K, eta_g; ``eta~ nu`` over
    l^power/24 is ``step``; noise: whether gradients err. One half of V is the records', the other the noise's.
    """
    from PEPit import PEP, Expression

    M, size, K = (int(instance[name]) for name in ("M", "size", "K"))
    given = {"eta_g": 1, "mu": 0, **instance}
    eta_g, mu, step, power = (float(Fraction(str(given[name]))) for name in ("eta_g", "mu", "step", "power"))
    share = size / M
    step = step * share**power / 24
    if mu:
        step = min(step, share / (54 * mu))
    eta = step / (K * eta_g)
    problem, star = PEP(), any(symbol.name == "gap" for symbol in statement.symbols)
    functions = declared(problem, instance["class"], M, mu)
    x, V = Vector(problem.set_initial_point()), Expression()
    world = FunctionClass(problem, functions, V)
    if star:
        world.minimiser_at_origin()
    noise, algorithm = bool(instance["noise"]), Scaffold(eta_l=eta, eta_g=eta_g, K=K)
    before, lagged = earlier_rounds(world, x, K, V, noise)

    def observed() -> Mapping[str, Any]:
        after = run_round(algorithm, world, *before.following, size=size, errors=noise, unseen=True)
        return {
            "move": world.square(after.x - x),
            "drift": mean_square(world, [path[1:] for path in after.paths], x),
            "lag_after": lag(world, after, lagged),
            "distance_after": world.square(after.x),
        }

    values = {
        "nu": 1.0, "mu": mu, "eta": step, "eta_g": eta_g, "alpha": Fraction(str(instance["power"])),
        "slope": world.square(world.mean_gradient(x)), "distance": world.square(x),
        "lag": mean_square(world, lagged, x), **sizes(M, size, K, V),
    }  # fmt: skip
    values |= expected(world, observed)
    if star:
        values["gap"] = world.mean_value(x) - world.mean_value(world.zero)
    return WorstCase(problem, values)


Paths = tuple[tuple[Vector, ...], ...]


def earlier_rounds(world: FunctionClass, x: Vector, K: int, V: Any, noise: bool = True) -> tuple[RoundResult, Paths]:
    """The state that earlier rounds may have left at x, and the points where each user's control variate was set; with
    ``noise`` it has an error of its own."""
    from PEPit import Point

    world.problem.add_constraint(V >= 0)
    users = range(world.clients)
    lagged = tuple(tuple(Vector(Point()) for _ in range(K)) for _ in users)
    own = tuple(average([world.gradient(i, p) for p in lagged[i]]) for i in users)
    if noise:
        old = tuple(Vector(Point()) for _ in users)
        for e in old:
            world.problem.add_constraint(K * world.square(e) <= V)
        own = tuple(variate + e for variate, e in zip(own, old))
    return RoundResult(x, (average(own), own)), lagged


def lag(world: World, after: RoundResult, lagged: Sequence[Sequence[Vector]]) -> Any:
    """F_t: how far the points of the users' last local steps are from x^t, K of each."""
    heard = [after.paths[i][: len(old)] if i in after.cohort else old for i, old in enumerate(lagged)]
    return mean_square(world, heard, after.x)


def sizes(M: int, size: int, K: int, V: Any) -> dict[str, Any]:
    """The symbols of V/(KlM), where steps of two of four records make one half of V, and the noise the other."""
    return {"M": M, "l": Fraction(size, M), "K": K, "R": 4, "s": Fraction(1, 2), "varsigma^2": V, "Sigma^2": 0.5 * V}


_SIZES: tuple[dict[str, Any], ...] = (
    {"M": 1, "size": 1, "K": 1},
    {"M": 1, "size": 1, "K": 3},
    {"M": 2, "size": 1, "K": 1},
    {"M": 2, "size": 1, "K": 2},
    {"M": 2, "size": 2, "K": 2},
    {"M": 3, "size": 1, "K": 1},
    {"M": 3, "size": 2, "K": 1, "eta_g": 2},
)


def checks(
    kind: str,
    powers: tuple[str, ...] = ("2/3",),
    of: Callable[[Mapping[str, Any]], bool] = lambda at: True,
    **more: Any,
) -> tuple[Check, ...]:
    """A round's inequality for several numbers of users and local steps, at the largest step size, with errors.

    of: which numbers (M, size, K, perhaps eta_g)."""
    found = {}
    for at in filter(of, _SIZES):
        for power in powers if at["size"] < at["M"] else powers[:1]:
            name = f"one round, {kind}, M = {at['M']}, lM = {at['size']}, K = {at['K']}"
            name += f", step l^({power})" if len(powers) > 1 else ""
            name += f", eta~ nu = {Fraction(more['step']) / 24}" if "step" in more else ""
            found[name] = {"class": kind, **at, "step": "1", "power": power, "noise": at["K"] < 3, **more}
    return checks_of("worst-case", one_round, found)
