"""Worst cases of the steps (13), (14) and (16) to (18) of zhang2021's proof: any dimension, all smooth functions,
noise and client sampling as finite sums.

The noise of every stochastic gradient takes the values n and -n with equal probability, n a vector of its own for each
client and local step, so that a step is one inequality between quadratic forms. Clipping factors are numbers of the
instance.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpfl_theory.statements import model
from dpfl_theory.statements.claims import WorstCase
from dpfl_theory.statements.formula import total
from dpfl_theory.statements.model import Check, Statement
from dpfl_theory.statements.zhang2021._round import Phases
from dpfl_theory.worlds.performance import FunctionClass

__all__ = ["PHASES", "checks", "performance"]

_SHIFT = 2
"""Times a bound of the inner products: what is added to both sides of an equality between them, so that they are
positive."""


def performance(statement: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """lhs <= rhs, or rhs <= lhs for ``direction`` ``>=``, of the statement in one round, L = 1.

    instance: N, P, Q, ``eta Q L``; sampling; noisy; factors: the clipping factors alpha_i of the ways in which a
    client's noises fall, in turn (1 where there are none); known: the factors alpha~_i.
    """
    from PEPit import PEP, Expression, Point
    from PEPit.functions import SmoothFunction

    N, P, Q = (int(instance[name]) for name in ("N", "P", "Q"))
    eta, noisy = float(Fraction(instance["eta Q L"])) / Q, bool(instance["noisy"])
    problem = PEP()
    functions = [problem.declare_function(SmoothFunction, L=1.0) for _ in range(N)]
    noises = {("error", 0, i, q): Point() for i in range(N) for q in range(Q)} if noisy else {}
    letters = {letter.name for letter in statement.letters}
    products = bool({"cohort_product", "common_product"} & letters)
    variance: Any = 0.0
    if noisy:
        # sigma_l^2, at least every noise's square. The steps that do not speak of it hold for noises of any size; a
        # scalar that is in no side would only trouble the solver.
        first, *rest = noises.values()
        spoken = products or "sigma_l" in letters
        variance = Expression() if spoken else first**2
        for n in noises.values() if spoken else rest:
            problem.add_constraint(n**2 <= variance)
    turn = itertools.cycle(float(Fraction(v)) for v in instance["factors"]) if "factors" in instance else None
    ways = list(itertools.product((1.0, -1.0), repeat=Q if noisy else 0))
    world = FunctionClass(problem, functions, sizes=noises)
    phases = Phases(
        *(world, world.zero, eta, Q, [float(Fraction(v)) for v in instance.get("known", ["1"] * N)]),
        noisy=noisy,
        thresholds=None if turn is None else [{way: next(turn) for way in ways} for _ in range(N)],
    )
    values = phases.letters(P, str(instance["sampling"]))
    values |= {"N": float(N), "P": float(P), "Q": float(Q), "L": 1.0, "sigma_l^2": variance}
    direction = instance.get("direction", "<=")
    what = f"{statement.id} in one round, L = 1"
    if not products:
        return WorstCase(problem, values, what, direction=direction)
    sums = sum(world.square(phases.message("sum", i)) for i in range(N))
    shift = _SHIFT * eta * (Q * values["square"] + sums / Q + Q * variance)
    left = tuple(s.name for s in total(statement, "lhs" if direction == "<=" else "rhs").free_symbols)
    return WorstCase(problem, values, what, left, shift, direction)


PHASES: dict[str, dict[str, Any]] = {
    "one of two clients, Q = 2, noise": {"N": 2, "P": 1, "Q": 2, "noisy": True, "eta Q L": "129/1000"},
    "two of three clients, Q = 2": {"N": 3, "P": 2, "Q": 2, "noisy": False, "eta Q L": "129/1000"},
    "both clients, Q = 2, noise": {"N": 2, "P": 2, "Q": 2, "noisy": True, "eta Q L": "1/20"},
}
CLIPPED = {"factors": ["1", "1/2", "1/10"], "known": ["1", "1/3", "1/2"]}
"""Factors that no function gives at once, perhaps: the steps hold for all."""


def checks(
    samplings: Sequence[str] = ("without",),
    verdict: Callable[[str, Mapping[str, Any]], str] = lambda direction, instance: "holds",
    directions: Sequence[str] = ("<=",),
    clipped: bool = False,
) -> tuple[Check, ...]:
    """A worst-case check for every phase, sampling and direction; verdict tells what is known of each."""
    found, known = {}, {}
    for (name, phase), sampling, direction in itertools.product(PHASES.items(), samplings, directions):
        instance: dict[str, Any] = {**phase, "sampling": sampling, "direction": direction}
        if clipped:
            instance |= {"factors": CLIPPED["factors"], "known": CLIPPED["known"][: phase["N"]]}
        title = f"{name}, {sampling}" + (f", {direction}" if len(directions) > 1 else "")
        found[title], known[title] = instance, verdict(direction, instance)
    return model.checks("worst-case", performance, found, known)
