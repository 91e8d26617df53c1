"""Constants of your own: one client a step, drawn with unequal probabilities p_k, and a bound G of its gradients.

    w_{t+1} = w_t - grad F_k(w_t)/(mu t),  k drawn:   E ||w_T - w*||^2  <=  4 G^2/(mu^2 T)

Run it with 'dpfl-theory check --file examples/drawn_clients.py'.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp
from PEPit import PEP, Point
from PEPit.functions import SmoothStronglyConvexFunction as Class

from dpfl_theory.core import Expected, Experiment, Sides, Source, Statement, Symbol, Values, WorstCase, checks
from dpfl_theory.problems.quadratic import from_matrices
from dpfl_theory.semantics.base import Vector, average, expected
from dpfl_theory.semantics.moments import after_rounds
from dpfl_theory.semantics.oracle import OnFunctions, OnQuadratics, Oracle
from dpfl_theory.semantics.replicates import Iterated
from dpfl_theory.simulation.observables import Reach

MU, P = Fraction(1, 2), (Fraction(1, 4), Fraction(3, 4))
SCALES = [2 * p for p in P]  # the mean of all clients weighs them equally, so that each is n p_k F_k
A, M = [s * a for s, a in zip(SCALES, (2 * MU, MU))], (1, -1)  # n p_k F_k(w) = a_k (w - m_k)^2/2


def step(o: Oracle, w: Vector) -> Any:
    k = o.draw(P)
    return w - o.number(1 / (SCALES[k] * MU * (o.k + 1))) * o.gradient(w, k)


def exact(_: Statement, i: Any) -> Values:
    o = OnQuadratics(A, [a * m for a, m in zip(A, M)], start=i["start"])
    *before, end = after_rounds(o, o.start, step, i["T"] - 1)
    squares = [[now.square(o.gradient(now.state, k) / SCALES[k]) for k in o.clients] for now in before]
    G = sp.sqrt(max(average(of_clients, P) for of_clients in squares))
    return Values({"T": i["T"], "mu": MU, "G": G, "distance": end.square(end.state - o.world.minimiser)}, i)


def runs(statement: Statement, i: Any) -> Experiment:
    values = {name: float(value) for name, value in exact(statement, i).symbol_values.items()}
    known = {"distance-squared (end)": values.pop("distance")}
    problem = from_matrices(np.array(A, float)[:, None, None], np.array(M, float)[:, None])
    algorithm, start = Iterated(lambda o: o.start, step, lambda w: w), np.array([float(i["start"])])
    return Experiment(problem, algorithm, i["T"] - 1, start, values, 2048, Reach.anywhere(problem), known=known)


def worst(_: Statement, i: Any) -> WorstCase:
    problem, G = PEP(), Point()
    o = OnFunctions(problem, [problem.declare_function(Class, mu=float(MU * s), L=float(s)) for s in SCALES])

    def run() -> dict[Any, Any]:  # for one outcome of the draws
        *before, end = o.path(o.start, step, i["T"] - 1)
        of = [[o.world.square(o.gradient(w, k)) / float(SCALES[k]) for k in o.clients] for w in before]
        return {"distance": o.world.square(end), **dict(enumerate(map(average, of)))}

    distance, *squares = expected(o.world, run).values()
    for square in squares:
        problem.add_constraint(square <= G**2)
    return WorstCase(problem, {"T": i["T"], "mu": MU, "G^2": G**2, "distance": distance})


T, CONVEXITY = Symbol("T", "number of the last point", domain="integer"), Symbol("mu", "strong convexity", (1, -2))
BOUND = Symbol("G", r"root of the bound of $\mathbb{E} \|g_t\|^2$", (1, -1))
DISTANCE = Expected("distance", (("distance-squared", 1),), (0, 2), r"\mathbb{E} \|w_T - w^*\|^2", "at the end", "end")
MANY, FEW = {"from afar": {"start": 9, "T": 40}}, {"T = 2": {"T": 2}, "T = 3": {"T": 3}}
THEOREM = Statement(
    id="mine.drawn-clients",
    kind="theorem",
    title="Steps of drawn clients, strongly convex",
    source=Source("mine", "after Rakhlin, Shamir, Sridharan (2012), Lemma 1", provenance="derived"),
    text=r"With $\mathbb{E} \|g_t\|^2 \le G^2$ in every step and $\mu$-strongly convex $F_k$, the bound holds.",
    symbols=(T, CONVEXITY, BOUND),
    expectations=(DISTANCE,),
    sides=lambda s: Sides({"distance": s.distance}, {"gradients": 4 * s.G**2 / (s.mu**2 * s.T)}),
    checks=checks("exact", exact, MANY) + checks("monte-carlo", runs, MANY) + checks("worst-case", worst, FEW),
)
STATEMENTS = (THEOREM,)
