"""Worst cases of zhang2021's proof: any dimension, all smooth functions, noise and client sampling as finite sums.

`performance` is for the steps (13), (14) and (16) to (18). The noise of every stochastic gradient takes the values n
and -n with equal probability, n being a separate vector for each client and local step. So a step is one inequality
between quadratic forms; clipping factors are numbers of the instance. `one_round` is for (21) and its consequences: a
whole round without noise and clipping, one inequality between linear forms in function values and inner products.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpfl_theory.algorithms.two_step_sizes import TwoSidedFedAvg
from dpfl_theory.core import Check, Statement, WorstCase, checks
from dpfl_theory.core.formula import total
from dpfl_theory.semantics.base import Vector, average, expected
from dpfl_theory.semantics.operations import run_round
from dpfl_theory.semantics.performance import FunctionClass
from dpfl_theory.statements.zhang2021._round import Phases
from dpfl_theory.statements.zhang2021._symbols import StepLimits

__all__ = ["PHASES", "at_limit", "one_round", "performance", "round_checks", "step_checks"]

_SHIFT = 2
"""A factor of a bound of the inner products. The product is added to both sides of an equality between them, so that
they are positive."""


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
    symbols = {symbol.name for symbol in statement.quantities}
    products = bool({"cohort_product", "common_product"} & symbols)
    variance: Any = 0.0
    if noisy:
        # sigma_l^2, at least every noise's square. The steps without it hold for noises of any size; a scalar that is
        # on no side would only burden the solver.
        first, *rest = noises.values()
        spoken = products or "sigma_l" in symbols
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
    values = phases.symbols(P, str(instance["sampling"]))
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
"""Factors that perhaps no single function gives: the steps hold for all of them."""


def step_checks(
    samplings: Sequence[str] = ("without",),
    verdict: Callable[[str, Mapping[str, Any]], str] = lambda direction, instance: "holds",
    directions: Sequence[str] = ("<=",),
    clipped: bool = False,
) -> tuple[Check, ...]:
    """A worst-case check for every phase, sampling and direction; ``verdict`` gives the known verdict of each."""
    found, known = {}, {}
    for (name, phase), sampling, direction in itertools.product(PHASES.items(), samplings, directions):
        instance: dict[str, Any] = {**phase, "sampling": sampling, "direction": direction}
        if clipped:
            instance |= {"factors": CLIPPED["factors"], "known": CLIPPED["known"][: phase["N"]]}
        title = f"{name}, {sampling}" + (f", {direction}" if len(directions) > 1 else "")
        found[title], known[title] = instance, verdict(direction, instance)
    return checks("worst-case", performance, found, known)


# A whole round.


def one_round(statement: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """The statement, (21) or the theorem with T = 1, for two clients with L = 1, without stochastic gradients, privacy
    noise and clipping.

    instance: P (1 or 2, without replacement), Q, ``eta Q L``, eta_g, class (``convex`` or ``non-convex``). A minimiser
    of f is the origin, where the gradients sum to zero; values of f are relative to the value there. In the theorem
    f(x^0) - E f(x^1) replaces f(x^0) - f*, which is larger, and the amount by which it may be below zero is added to
    both sides.
    """
    from PEPit import PEP, Expression
    from PEPit.functions import SmoothConvexFunction, SmoothFunction

    P, Q, eta_g = int(instance["P"]), int(instance["Q"]), float(Fraction(instance["eta_g"]))
    eta = float(Fraction(instance["eta Q L"])) / Q
    problem = PEP()
    kind = SmoothConvexFunction if instance["class"] == "convex" else SmoothFunction
    functions = [problem.declare_function(kind, L=1.0) for _ in range(2)]
    world = FunctionClass(problem, functions)
    origin = world.zero
    functions[1].add_point((origin.known, -1 * world.gradient(0, origin).known, Expression()))
    least = (world.value(0, origin) + world.value(1, origin)) / 2

    def excess(y: Vector) -> Any:
        """f(y) - f*. Functions that are not convex need the condition that f is not below f*."""
        above = (world.value(0, y) + world.value(1, y)) / 2 - least
        if instance["class"] != "convex":
            problem.add_constraint(world.square(average([world.gradient(i, y) for i in range(2)])) / 2 <= above)
        return above

    x, algorithm = Vector(problem.set_initial_point()), TwoSidedFedAvg(eta_l=eta, eta_g=eta_g, Q=Q)
    following = expected(world, lambda: {"next": excess(run_round(algorithm, world, x, size=P, unseen=True).x)})["next"]
    first = [world.gradient(i, x) for i in range(2)]
    mean, apart = average(first).known, world.square((first[0] - first[1]) / 2)
    now = excess(x)
    ones = dict.fromkeys(("L", "d", "T", "alpha", "gamma_1", "gamma_2"), 1.0)
    zeros = dict.fromkeys(("sigma_l", "noise_variance", "G", "E_deviation", "E_square_deviation", *_BIASES), 0.0)
    values = {**ones, **zeros, "N": 2.0, "P": float(P), "Q": float(Q), "eta_l": eta, "eta_g": eta_g}
    if statement.kind == "step":
        values |= {"square": mean**2, "sigma_g^2": apart, "f_now": now, "E_next": following}
        return WorstCase(problem, values, f"{statement.id}, from f*, L = 1")
    unit = eta_g * eta * Q / 4  # every quantity is multiplied by it, so that the start has the factor 1
    values |= {"E_aligned": unit * mean**2, "sigma_g^2": unit * apart, "gap": unit * (now - following)}
    return WorstCase(problem, values, f"{statement.id}, from f*, L = 1", shift=following)


_BIASES = ("first_bias", "second_bias", "first_spread", "second_spread")
_LIMIT = {"eta Q L": "91/1000", "eta_g": "1/11"}
_SHORT = {"eta Q L": "1/100", "eta_g": "25/12"}
"""The largest eta_g for this local step when one client takes part: eta_g eta_l = 1/(48Q)."""


def at_limit(limits: StepLimits, P: int, product: str) -> dict[str, str]:
    """The step eta_l with this eta_l QL, and the largest eta_g for it."""
    least = min(Fraction(P, limits.product), Fraction(P, limits.pairs * (P - 1)) if P > 1 else Fraction(P))
    return {"eta Q L": product, "eta_g": str(least / Fraction(product))}


def round_checks(limits: StepLimits | None = None, products: Sequence[str] = ()) -> tuple[Check, ...]:
    """The round for both classes, one or both clients taking part, and one or two local steps; for each of the products
    eta_l QL with the largest eta_g of these limits. None: (21) as printed, at two steps inside the printed limits.

    As printed it fails where one client takes part and the local step is small, so that the drift hides nothing.
    """
    found, known = {}, {}
    for kind, P, Q, name in itertools.product(("convex", "non-convex"), (1, 2), (1, 2), ("large", "small")):
        if limits is None:
            step = _LIMIT if name == "large" else _SHORT
        else:
            step = at_limit(limits, P, products[0 if name == "large" else 1])
        title = f"one round, {kind}, {P} of 2 clients, Q = {Q}, {name} local step"
        found[title] = {"class": kind, "P": P, "Q": Q, **step}
        if limits is None and P == 1 and name == "small":
            known[title] = "violated"
    return checks("worst-case", one_round, found, known)
