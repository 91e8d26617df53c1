"""Worst cases of the steps (13), (14) and (16) to (18) of zhang2021's proof: any dimension, all smooth functions,
noise and client sampling as finite sums.

The noise of every stochastic gradient takes the values n and -n with equal probability, n a vector of its own for each
client and local step; a client's local phase is then a tree with 2^Q ends, and its messages have a mean and a mean
square. Clipping factors are numbers of the instance, so a step is one inequality between quadratic forms.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpfl_theory.statements import model
from dpfl_theory.statements.claims import WorstCase
from dpfl_theory.statements.formula import total
from dpfl_theory.statements.model import Check, Statement

__all__ = ["PHASES", "checks", "performance"]

_SHIFT = 2
"""Times a bound of the inner products: what is added to both sides of an equality between them, so that they are
positive."""


def _added(items: Iterable[Any]) -> Any:
    """The sum of PEPit objects, which cannot be added to the number 0."""
    return functools.reduce(operator.add, items)


class _Messages:
    """A client's messages: mean and mean square over the ends of its tree."""

    def __init__(self, ends: Sequence[tuple[float, Any]]) -> None:
        self.first = _added(p * m for p, m in ends)
        self.second = _added(p * m**2 for p, m in ends)

    @property
    def spread(self) -> Any:
        return self.second - self.first**2


def _cohorts(N: int, P: int, sampling: str) -> list[tuple[int, ...]]:
    """All cohorts, equally likely; samplings as in `_round.ScalarRound`."""
    without = sampling == "without"
    return list(itertools.combinations(range(N), P) if without else itertools.product(range(N), repeat=P))


def _cohort_square(messages: Sequence[_Messages], P: int, sampling: str) -> Any:
    """E||(1/P) sum over the cohort||^2."""
    cohorts = _cohorts(len(messages), P, sampling)
    found: Any = 0.0
    for members in cohorts:
        first = _added(messages[i].first for i in members)
        once = first**2
        for i in sorted(set(members)):
            k = members.count(i)
            once += (k * k if sampling == "shared" else k) * messages[i].spread
        found += once / (len(cohorts) * P * P)
    return found


def _cohort_mean(messages: Sequence[_Messages], P: int, sampling: str) -> Any:
    """E (1/P) sum over the cohort."""
    cohorts = _cohorts(len(messages), P, sampling)
    return _added(messages[i].first / (P * len(cohorts)) for members in cohorts for i in members)


def performance(statement: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """lhs <= rhs, or rhs <= lhs for ``direction`` ``>=``, of the statement in one round, L = 1.

    instance: N, P, Q, ``eta Q L``; sampling; noisy; factors: the clipping factors alpha_i of a client's ends, in turn
    (1 where there are none); known: the factors alpha~_i.
    """
    from PEPit import PEP, Expression, Point
    from PEPit.functions import SmoothFunction

    N, P, Q = (int(instance[name]) for name in ("N", "P", "Q"))
    eta = float(Fraction(instance["eta Q L"])) / Q
    problem = PEP()
    functions = [problem.declare_function(SmoothFunction, L=1.0) for _ in range(N)]
    origin = Point(is_leaf=False, decomposition_dict={})
    first = [f.gradient(origin) for f in functions]
    slope = _added(first) / N
    noises = [[Point() for _ in range(Q)] for _ in functions] if instance["noisy"] else []
    factors = [float(Fraction(v)) for v in instance.get("factors", ["1"])]
    known = [float(Fraction(v)) for v in instance.get("known", ["1"] * N)]
    alpha = sum(known) / N
    kinds: dict[str, list[_Messages]] = {
        k: [] for k in ("clipped", "first", "second", "known", "common", "local", "sum")
    }
    turn = itertools.cycle(factors)

    def scales(kind: str, i: int, a: float) -> tuple[float, float]:
        """What a message has of the sums of the stochastic gradients, and of the gradients."""
        if kind in ("local", "sum"):
            return 0.0, -eta * alpha if kind == "local" else 1.0
        of = {"clipped": a, "first": a - known[i], "second": known[i] - alpha, "known": known[i], "common": alpha}
        return -eta * of[kind], 0.0

    for i, f in enumerate(functions):
        ends = [(1.0, origin, origin, origin)]  # probability, point, stochastic gradients and gradients so far
        for q in range(Q):
            grown = []
            for weight, x, noisy, plain in ends:
                g = first[i] if q == 0 else f.gradient(x)
                for sign in (1.0, -1.0) if noises else (0.0,):
                    seen = g + sign * noises[i][q] if noises else g
                    grown.append((weight / (2 if noises else 1), x - eta * seen, noisy + seen, plain + g))
            ends = grown
        own = [next(turn) for _ in ends]
        for kind in kinds:
            weights = [scales(kind, i, a) for a in own]
            kinds[kind].append(_Messages([(e[0], u * e[2] + v * e[3]) for e, (u, v) in zip(ends, weights)]))
    letters = {letter.name for letter in statement.letters}
    products = bool({"cohort_product", "common_product"} & letters)
    variance: Any = 0.0
    if noises:
        # sigma_l^2, at least every noise's square. The steps that do not speak of it hold for noises of any size; a
        # scalar that is in no side would only trouble the solver.
        variance = Expression() if products or "sigma_l" in letters else noises[0][0] ** 2
        for n in (n for own in noises for n in own):
            if variance.get_is_leaf() or n is not noises[0][0]:
                problem.add_constraint(n**2 <= variance)

    def mean(kind: str) -> Any:
        return _added(m.first for m in kinds[kind]) / N

    def everyone(kind: str, by: float = 0.0) -> Any:
        return (by * slope + mean(kind)) ** 2 + _added(m.spread for m in kinds[kind]) / N**2

    values = {
        "N": float(N),
        "P": float(P),
        "Q": float(Q),
        "L": 1.0,
        "eta_l": eta,
        "alpha": alpha,
        "sigma_l^2": variance,
        "square": slope**2,
        "cohort_product": slope * _cohort_mean(kinds["clipped"], P, str(instance["sampling"])),
        "first_bias": slope * (mean("clipped") - mean("known")),
        "second_bias": slope * (mean("known") - mean("common")),
        "common_product": slope * mean("common"),
        "local_square": everyone("local"),
        "local_squares": _added(m.second for m in kinds["local"]),
        "far_square": everyone("sum", float(Q)) / Q,
        "drift_square": everyone("sum", -float(Q)) / Q,
        **{
            name: _cohort_square(kinds[kind], P, str(instance["sampling"]))
            for name, kind in (
                ("cohort_clipped", "clipped"),
                ("cohort_common", "common"),
                ("cohort_local", "local"),
                ("first_spread", "first"),
                ("second_spread", "second"),
            )
        },
    }
    direction = instance.get("direction", "<=")
    what = f"{statement.id} in one round, L = 1"
    if not products:
        return WorstCase(problem, values, what, direction=direction)
    shift = _SHIFT * eta * (Q * slope**2 + _added(m.second for m in kinds["sum"]) / Q + Q * variance)
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
