"""FedAvg on one-dimensional quadratics F_k(w) = a_k (w - m_k)^2/2, and for all functions of the class.

The steps are t = 1, ..., T - 1. After step t the clients communicate if E divides t + 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from dpfl_theory.core import Experiment, Statement, Symbols, Values, WorstCase
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import prescription_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import Vector, average
from dpfl_theory.semantics.oracle import OnFunctions, OnQuadratics, Oracle


def setting(statement: Statement, i: Mapping[str, Any]) -> Symbols:
    """a_k, m_k, p_k, sigma_k, the start and the scheme of an instance, and the symbols that are known before a run."""
    N = len(i["curvatures"])
    default = {"minimisers": [0] * N, "weights": [Fraction(1, N)] * N, "sigma": [0] * N, **i}
    a, m, p, sigma = (tuple(map(Fraction, default[x])) for x in ("curvatures", "minimisers", "weights", "sigma"))
    found = {"a": a, "m": m, "p": p, "sigma": sigma, "start": Fraction(i.get("start", 1)), "N": N, "P": max(p)}
    found |= {"scheme": i.get("scheme", "full"), "K": i.get("K", N), "E": i["E"], "T": i["T"]}
    found |= {"L": Fraction(i.get("L", max(a))), "mu": Fraction(i.get("mu", min(a)))}
    found["S"] = average([s**2 for s in sigma], [x**2 for x in p])
    return Symbols(found | {n: evaluate(e, found, n) for n, e in prescription_of(statement).items()}, statement.id)


def step(v: Symbols, o: Oracle, points: tuple[Vector, ...]) -> tuple[Vector, ...]:
    """Step t = o.k + 1 of every client, and what the server makes of their points if they communicate."""
    eta = o.number(v.beta / (v.gamma + o.k + 1))
    points = tuple(x - eta * (o.gradient(x, k) + o.error(o.number(v.sigma[k]))) for k, x in enumerate(points))
    if (o.k + 2) % v.E:
        return points
    if v.scheme == "with":  # clients drawn with probabilities p_k, plain mean
        met = o.average([points[o.draw(v.p)] for _ in range(v.K)])
    elif v.scheme == "without":  # distinct clients, weights p_k N/K
        drawn = o.cohort(v.K)
        met = o.average([points[k] for k in drawn], [v.p[k] * v.N / v.K for k in drawn])
    else:
        met = o.average(points, v.p)
    return (met,) * len(points)


def exact(statement: Statement, instance: Mapping[str, Any]) -> Values:
    """All symbols, from the exact second moments of the points."""
    from dpfl_theory.semantics.moments import after_rounds

    v = setting(statement, instance)
    A, b = average(v.a, v.p), [a * m for a, m in zip(v.a, v.m, strict=True)]
    star = average(b, v.p) / A
    o = OnQuadratics(v.a, b, v.start)
    *before, end = after_rounds(o, (o.start,) * v.N, partial(step, v), v.T - 1)
    slopes = (now.square(o.gradient(x, k)) + v.sigma[k] ** 2 for now in before for k, x in enumerate(now.state))
    M = max(slopes, default=Fraction(0))
    values = {
        **v,
        "Gamma": average([a * (star - m) ** 2 / 2 for a, m in zip(v.a, v.m, strict=True)], v.p),
        "G": sp.sqrt(sp.Rational(M.numerator, M.denominator)),
        "M": M,
        "D": abs(v.start - star),
        "gap": A / 2 * end.square(average(end.state, v.p) - Vector(star)),
    }
    return Values({name: x for name, x in values.items() if name in statement.units}, dict(instance))


def runs(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    """Runs for equal weights p_k, whose gap is known exactly."""
    import numpy as np

    from dpfl_theory.problems.quadratic import from_matrices
    from dpfl_theory.semantics.replicates import Iterated
    from dpfl_theory.simulation.observables import Reach

    v = setting(statement, instance)
    values = {n: float(x) for n, x in exact(statement, instance).symbol_values.items()}
    problem = from_matrices(np.array(v.a, float)[:, None, None], np.array(v.m, float)[:, None])
    algorithm = Iterated(lambda o: (o.start,) * problem.n, partial(step, v), average, "", "fedavg", values)
    known, random = {"suboptimality (end)": values.pop("gap")}, any(v.sigma) or v.scheme != "full"
    replicates, start, reach = instance.get("replicates", 512), np.array([float(v.start)]), Reach.anywhere(problem)
    return Experiment(problem, algorithm, v.T - 1, start, values, replicates, reach, random=random, known=known)


def worst(statement: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """The same steps over all functions, without noise and for equal p_k; the gradients of the run are bounded by G."""
    from PEPit import PEP, Point

    from dpfl_theory.semantics.performance import declared

    v, problem = setting(statement, instance), PEP()
    functions, G = declared(problem, "strongly convex", v.N, float(v.mu), float(v.L)), Point()
    optima = [f(f.stationary_point()) for f in functions]
    o = OnFunctions(problem, functions)
    *before, end = o.path((o.start,) * v.N, partial(step, v), v.T - 1)
    for points in before:
        for i, x in enumerate(points):
            problem.add_constraint(o.world.square(o.gradient(x, i)) <= G**2)
    moving = {"Gamma": o.world.mean_value(o.zero) - average(optima), "G^2": G**2, "D^2": o.world.square(o.start)}
    numbers = {n: v[n] for n in ("T", "E", "L", "mu", "beta", "gamma", "S")}
    return WorstCase(problem, {**numbers, **moving, "M": G**2, "gap": o.world.suboptimality(average(end))})
