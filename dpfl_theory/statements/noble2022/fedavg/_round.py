"""The worst case of one round of DP-FedAvg with eta_g = sqrt(lM), for the three classes of `_fedavg_proof`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from dpfl_theory.statements.claims import Performance
from dpfl_theory.statements.model import Check, Statement
from dpfl_theory.statements.noble2022.fedavg._proof import cost
from dpfl_theory.statements.noble2022.fedavg._steps import Round
from dpfl_theory.statements.noble2022.fedavg._sums import kept
from dpfl_theory.statements.noble2022.scaffold._round_performance import declared, local_paths, mean

__all__ = ["checks", "drift", "performance"]


_PART = (
    "Decided is what one round must keep so that T rounds add up to the bound; what remains, that they do, is decided "
    "by the algebra of the step size."
)
_STEP = (
    "Decided is what a step from a free point costs a round at most; what remains is the drift up to that point, which "
    "the proof of the round has, and the sum over T rounds."
)


def performance(statement: Statement, instance: Mapping[str, Any], claim: Round | None = None) -> Performance:
    """What the statement's bound asks of one round (`kept`), for eta~ = step/(8 (1 + B^2) nu), nu = 1.

    Assumption 4 is asked for at x alone; the errors of the local steps are +xi or -xi with xi^2 <= V.
    """
    from PEPit import PEP, Expression

    kind = str(instance["class"])
    stated = claim or kept(statement, kind)
    M, size, K = (int(instance[name]) for name in ("M", "size", "K"))
    B, mu = float(instance["B"]), float(Fraction(str(instance.get("mu", 0))))
    step = float(Fraction(str(instance["step"]))) / (8 * (1 + B**2))
    eta_g = math.sqrt(size)
    problem = PEP()
    functions = declared(problem, kind, M, mu)
    x, V, G2 = problem.set_initial_point(), Expression(), Expression()
    problem.add_constraint(V >= 0)
    problem.add_constraint(G2 >= 0)
    gradients = [f.gradient(x) for f in functions]
    slope = mean(gradients) ** 2
    problem.add_constraint(mean([g**2 for g in gradients]) <= G2 + B**2 * slope)
    ends = _ends(problem, functions, x, step / (K * eta_g), K, V, last=kind == "non-convex")
    share = size / M
    right = step**2 * (float(stated.noise) * V / (K * size) + float(stated.users) * (1 - share) / size * G2)
    right = right + float(stated.drift) * step**3 / size * G2
    sides = _descent if kind == "non-convex" else _distance
    before, after, progress = sides(problem, functions, x, ends, size, V, step, K)
    left = after + float(stated.gain) * step * progress
    return Performance(problem, left, (1 - mu * step / 2) * before + right, f"one round of DP-FedAvg, {kind}")


def _ends(problem: Any, functions: list[Any], x: Any, eta: float, K: int, V: Any, last: bool) -> list[list[Any]]:
    """Each user's y^K for every choice of the errors' signs; without the last step's error, unless asked for."""
    from PEPit import Point

    found = []
    for f in functions:
        errors = [Point() for _ in range(K if last else K - 1)]
        for e in errors:
            problem.add_constraint(e**2 <= V)
        found.append([path[K] for path in local_paths(f, x, eta, K, 0 * x, errors)])
    return found


def _distance(
    problem: Any, functions: list[Any], x: Any, ends: list[list[Any]], size: int, V: Any, step: float, K: int
) -> tuple[Any, Any, Any]:
    """||x - x*||^2, its expectation after the round, and F(x) - F*. The last error only adds its variance."""
    from PEPit import Expression, Point

    star = Point(is_leaf=False, decomposition_dict={})
    rest = star
    for f in functions[:-1]:
        rest = rest - f.gradient(star)
    functions[-1].add_point((star, rest, Expression()))
    factor = math.sqrt(size) / size
    error = (step / (K * math.sqrt(size))) ** 2 * V
    distances = []
    for cohort in combinations(range(len(functions)), size):
        sent = [[y - x for y in ends[i]] for i in cohort]
        means = [mean(leaves) for leaves in sent]
        spread = [mean([v**2 for v in leaves]) - m**2 + error for leaves, m in zip(sent, means)]
        distances.append((x + factor * sum(means[1:], means[0])) ** 2 + factor**2 * sum(spread[1:], spread[0]))
    return x**2, mean(distances), mean([f(x) - f(star) for f in functions])


def _descent(
    problem: Any, functions: list[Any], x: Any, ends: list[list[Any]], size: int, V: Any, step: float, K: int
) -> tuple[Any, Any, Any]:
    """F(x) - F*, its expectation after the round, and ||grad F(x)||^2."""
    from PEPit import Expression

    least = Expression()

    def excess(point: Any) -> Any:
        value = mean([f(point) for f in functions]) - least
        problem.add_constraint(value >= 0)
        return value

    before, after = excess(x), []
    for cohort in combinations(range(len(functions)), size):
        for sent in product(*(ends[i] for i in cohort)):
            after.append(excess(x + math.sqrt(size) * mean([y - x for y in sent])))
    return before, mean(after), mean([f.gradient(x) for f in functions]) ** 2


def drift(statement: Statement, instance: Mapping[str, Any], price: float | None = None) -> Performance:
    """What one local step from anywhere costs: x^t = x - eta~ grad f(y) for a free y, one user, B = 1, no errors.

    The round keeps the gain that the statement's bound needs for ``price`` eta~ ||y - x||^2, by default what the proof
    makes of the drift.
    """
    from PEPit import PEP, Expression, Point

    kind, mu = str(instance["class"]), float(Fraction(str(instance.get("mu", 0))))
    step, claim = float(Fraction(str(instance["step"]))) / 16, kept(statement, kind)
    if price is None:
        price = float(cost(kind, step, mu, float(claim.split)))
    problem = PEP()
    (f,) = declared(problem, kind, 1, mu)
    x, y = problem.set_initial_point(), Point()
    new = x - step * f.gradient(y)
    if kind == "non-convex":
        least = Expression()
        before, after, progress = f(x) - least, f(new) - least, f.gradient(x) ** 2
        problem.add_constraint(before >= 0)
    else:
        star = Point(is_leaf=False, decomposition_dict={})
        f.add_point((star, star, Expression()))
        before, after, progress = x**2, new**2, f(x) - f(star)
    right = (1 - mu * step / 2) * before + price * step * (y - x) ** 2
    left = after + float(claim.gain) * step * progress
    return Performance(problem, left, right, f"one step from a free point, {kind}")


_SIZES: tuple[dict[str, Any], ...] = (
    {"M": 1, "size": 1, "K": 2, "B": 1},
    {"M": 2, "size": 1, "K": 1, "B": 1},
    {"M": 2, "size": 1, "K": 2, "B": 1},
    {"M": 2, "size": 2, "K": 2, "B": 1},
    {"M": 2, "size": 1, "K": 2, "B": 3},
    {"M": 3, "size": 1, "K": 1, "B": 2},
    {"M": 3, "size": 2, "K": 1, "B": 1},
)
_MORE: dict[str, dict[str, Any]] = {"convex": {}, "strongly convex": {"mu": "1/2"}, "non-convex": {}}
_FLAT = {"M": 2, "size": 1, "K": 1, "B": 1, "mu": "1/100"}


def checks(kind: str) -> tuple[Check, ...]:
    """The round for several numbers of users and local steps, at the longest step and at a tenth of it; for smooth
    functions, whose values enter at every end, fewer of them."""
    first = {"class": kind, **_MORE[kind], "step": "1"}
    found = [Check("worst-case", "one step from a free point", drift, first, part=_STEP)]
    smooth = [{"M": 2, "size": 2, "K": 1, "B": 1}] if kind == "non-convex" else []
    flat = [_FLAT] if kind == "strongly convex" else []
    for i in (*_SIZES, *smooth, *flat):
        large = kind == "non-convex" and i["M"] * i["K"] > 2
        if large and (i["B"] > 2 or i["size"] > 1):
            continue
        for step in ("1", "1/10") if i["K"] == 2 and not large else ("1",):
            at = f"M = {i['M']}, lM = {i['size']}, K = {i['K']}, B = {i['B']}, step {step}"
            at += f", mu = {i['mu']}" if "mu" in i else ""
            instance = {"class": kind, **_MORE[kind], **i, "step": step}
            found.append(Check("worst-case", f"one round, {at}", performance, instance, part=_PART))
    return tuple(found)
