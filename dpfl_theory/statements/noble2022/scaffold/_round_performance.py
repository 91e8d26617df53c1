"""Worst cases of one round of DP-SCAFFOLD, over smooth functions, lagged points and errors: Lemmas C.4 to C.7.

The expectation over the cohorts is a finite sum. The error of a local step is +xi or -xi with xi^2 <= V; the last
step's only adds its variance. The errors that the control variates carry from earlier rounds have second moment V/K but
may depend on x^{t-1} and on the lagged points as they like, which is more than the algorithm allows (a relaxation); so
no independence of the past is assumed where the proof has none, and what a worst case is found to need Algorithm 1 may
not need.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.statements.claims import WorstCase
from dpfl_theory.statements.model import Check, Statement
from dpfl_theory.statements.model import checks as checks_of
from dpfl_theory.worlds.base import Vector, average, expected
from dpfl_theory.worlds.performance import FunctionClass, declared
from dpfl_theory.worlds.rounds.scaffold import Scaffold, scaffold

__all__ = ["checks", "one_round", "sizes"]


def one_round(statement: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """One round with nu = 1, by the letters of Lemmas C.4 to C.7. x* is the origin; without ``gap`` among the
    statement's letters no minimiser is known of.

    instance: class ``convex``, ``strongly convex`` (with mu) or ``non-convex``; M, size, K, eta_g; ``eta~ nu`` over
    l^power/24 is ``step``; noise: whether gradients err. One half of V is the records', the other the noise's.
    """
    from PEPit import PEP, Expression, Point

    M, size, K = (int(instance[name]) for name in ("M", "size", "K"))
    share, eta_g, mu = (
        size / M,
        float(Fraction(str(instance.get("eta_g", 1)))),
        float(Fraction(str(instance.get("mu", 0)))),
    )
    step = float(Fraction(str(instance["step"]))) * share ** float(Fraction(str(instance["power"]))) / 24
    if mu:
        step = min(step, share / (54 * mu))
    eta = step / (K * eta_g)
    problem, star = PEP(), any(symbol.name == "gap" for symbol in statement.symbols)
    functions = declared(problem, instance["class"], M, mu)
    x, V = Vector(problem.set_initial_point()), Expression()
    world = FunctionClass(problem, functions, V)
    if star:  # the origin: the gradients there add up to nothing
        rest = world.zero
        for i in range(M - 1):
            rest = rest - world.gradient(i, world.zero)
        functions[-1].add_point((world.zero.known, rest.known, Expression()))
    problem.add_constraint(V >= 0)
    lagged = tuple(tuple(Vector(Point()) for _ in range(K)) for _ in range(M))
    own = tuple(average([world.gradient(i, p) for p in points]) for i, points in enumerate(lagged))
    if instance["noise"]:
        old = tuple(Vector(Point()) for _ in range(M))
        for e in old:
            problem.add_constraint(K * world.square(e) <= V)
        own = tuple(variate + e for variate, e in zip(own, old))
    before = Scaffold(x, average(own), own)

    def observed() -> Mapping[str, Any]:
        after = scaffold(world, before, eta, eta_g, K, size, errors=bool(instance["noise"]), unseen=True)
        points = [after.paths[i][:K] if i in after.cohort else lagged[i] for i in range(M)]
        return {
            "move": world.square(after.x - x),
            "drift": average([world.square(p - x) for path in after.paths for p in path[1:]]),
            "lag_after": average([world.square(p - after.x) for own_points in points for p in own_points]),
            "distance_after": world.square(after.x),
        }

    values = {
        "nu": 1.0, "mu": mu, "eta": step, "eta_g": eta_g, "alpha": Fraction(str(instance["power"])),
        "slope": world.square(average([world.gradient(i, x) for i in range(M)])), "distance": world.square(x),
        "lag": average([world.square(p - x) for points in lagged for p in points]), **sizes(M, size, K, V),
    }  # fmt: skip
    values |= expected(world, observed)
    if star:
        values["gap"] = average([world.value(i, x) - world.value(i, world.zero) for i in range(M)])
    return WorstCase(problem, values)


def sizes(M: int, size: int, K: int, V: Any) -> dict[str, Any]:
    """The letters of V/(KlM), where steps of two of four records make one half of V, and the noise the other."""
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


def checks(kind: str, powers: tuple[str, ...] = ("2/3",), **more: Any) -> tuple[Check, ...]:
    """A round's inequality for several numbers of users and local steps, at the largest step size, with errors."""
    found = {}
    for at in _SIZES:
        for power in powers if at["size"] < at["M"] else powers[:1]:
            name = f"one round, {kind}, M = {at['M']}, lM = {at['size']}, K = {at['K']}"
            name += f", step l^({power})" if len(powers) > 1 else ""
            name += f", eta~ nu = {Fraction(more['step']) / 24}" if "step" in more else ""
            found[name] = {"class": kind, **at, "step": "1", "power": power, "noise": at["K"] < 3, **more}
    return checks_of("worst-case", one_round, found)
