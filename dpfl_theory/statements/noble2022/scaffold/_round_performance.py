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
from itertools import combinations, product
from typing import Any

from dpfl_theory.statements.claims import WorstCase
from dpfl_theory.statements.model import Check, Statement
from dpfl_theory.statements.model import checks as checks_of

__all__ = ["checks", "control_variates", "declared", "local_paths", "mean", "one_round", "sizes"]

_NU = 1.0


def mean(items: list[Any]) -> Any:
    return sum(items[1:], items[0]) / len(items)


def declared(problem: Any, kind: str, count: int, mu: float = 0.0) -> list[Any]:
    """Functions with nu = 1 of a class: ``convex``, ``strongly convex`` with mu, or ``non-convex``."""
    from PEPit.functions import SmoothConvexFunction, SmoothFunction, SmoothStronglyConvexFunction

    known: dict[str, tuple[Any, dict[str, float]]] = {
        "convex": (SmoothConvexFunction, {}),
        "non-convex": (SmoothFunction, {}),
        "strongly convex": (SmoothStronglyConvexFunction, {"mu": mu}),
    }
    chosen, more = known[kind]
    return [problem.declare_function(chosen, L=_NU, **more) for _ in range(count)]


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
    nothing = Point(is_leaf=False, decomposition_dict={})
    at_star = nothing
    if star:  # the origin: the gradients there add up to nothing
        for f in functions[:-1]:
            at_star = at_star - f.gradient(nothing)
        functions[-1].add_point((nothing, at_star, Expression()))
    x, V = problem.set_initial_point(), Expression()
    problem.add_constraint(V >= 0)
    lagged = [[Point() for _ in range(K)] for _ in range(M)]
    own = [mean([f.gradient(p) for p in points]) for f, points in zip(functions, lagged)]
    errors: list[list[Any]] = [[] for _ in range(M)]
    if instance["noise"]:
        for i in range(M):
            old = Point()
            problem.add_constraint(K * old**2 <= V)
            own[i] = own[i] + old
            errors[i] = [Point() for _ in range(K - 1)]
            for e in errors[i]:
                problem.add_constraint(e**2 <= V)
    c = mean(own)
    last = eta**2 * V if instance["noise"] else 0.0 * V  # what the last step's error adds to a squared length
    paths = [local_paths(f, x, eta, K, own[i] - c, errors[i]) for i, f in enumerate(functions)]
    drift = mean([(p - x) ** 2 for user in paths for path in user for p in path[1:]]) + last / K
    moves, lags, distances = [], [], []
    factor = eta_g / size
    for cohort in combinations(range(M), size):
        sent = [[path[K] - x for path in paths[i]] for i in cohort]
        means = [mean(leaves) for leaves in sent]
        spread = [mean([v**2 for v in leaves]) - m**2 + last for leaves, m in zip(sent, means)]
        total = sum(means[1:], means[0])
        variance = factor**2 * sum(spread[1:], spread[0])
        moves.append(factor**2 * total**2 + variance)
        distances.append((x + factor * total) ** 2 + variance)
        for i in range(M):
            if i not in cohort:
                lags += [(p - x - factor * total) ** 2 + variance for p in lagged[i]]
                continue
            mine = cohort.index(i)
            others = variance - factor**2 * (spread[mine] - last)
            for k in range(K):
                leaves = [
                    (path[k] - x - factor * (total - means[mine] + path[K] - x)) ** 2 + others for path in paths[i]
                ]
                lags.append(mean(leaves))
    values = {
        "nu": _NU, "mu": mu, "eta": step, "eta_g": eta_g, "alpha": Fraction(str(instance["power"])),
        "move": mean(moves), "drift": drift, "slope": mean([f.gradient(x) for f in functions]) ** 2,
        "lag": mean([(p - x) ** 2 for points in lagged for p in points]), "lag_after": mean(lags),
        "distance": x**2, "distance_after": mean(distances), **sizes(M, size, K, V),
    }  # fmt: skip
    if star:
        values["gap"] = mean([f(x) - f(nothing) for f in functions])
    return WorstCase(problem, values)


def sizes(M: int, size: int, K: int, V: Any) -> dict[str, Any]:
    """The letters of V/(KlM), where steps of two of four records make one half of V, and the noise the other."""
    return {"M": M, "l": Fraction(size, M), "K": K, "R": 4, "s": Fraction(1, 2), "varsigma^2": V, "Sigma^2": 0.5 * V}


def local_paths(f: Any, x: Any, eta: float, steps: int, correction: Any, errors: list[Any]) -> list[list[Any]]:
    """y^0, ..., y^K for every choice of the errors' signs; the last step's error is left out."""
    found = []
    known: dict[tuple[int, ...], Any] = {}
    for signs in product((1, -1), repeat=len(errors)):
        path = [x]
        for k in range(steps):
            if signs[:k] not in known:
                known[signs[:k]] = f.gradient(path[k])
            moved = path[k] - eta * (known[signs[:k]] - correction)
            path.append(moved - eta * signs[k] * errors[k] if k < len(errors) else moved)
        found.append(path)
    return found


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


def control_variates(problem: Any, f: Any, eta: float, steps: int, V: Any) -> list[Any]:
    """(1/K) sum_k H~(y^{k-1}) for every choice of the errors' signs, the last error left out, from an arbitrary point
    and with an arbitrary correction c^{t-1} - c_i^{t-1}; every error is +-xi with xi^2 <= V."""
    from PEPit import Point

    errors = [Point() for _ in range(steps - 1)]
    for e in errors:
        problem.add_constraint(e**2 <= V)
    problem.add_constraint(V >= 0)
    x, correction = problem.set_initial_point(), Point()
    paths = local_paths(f, x, eta, steps, correction, errors)
    return [(x - path[steps]) / (steps * eta) + correction for path in paths]
