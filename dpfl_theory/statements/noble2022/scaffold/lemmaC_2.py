"""noble2022 Lemma C.2: the gradient of F by its excess. Convexity, which the paper asks for, is not needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Check, Sides, Source, Statement, Symbol, battery, checks
from dpfl_theory.core.check_inputs import Experiment, Values, WorstCase
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.performance import FunctionClass, declared
from dpfl_theory.statements import experiments
from dpfl_theory.statements.instances import Instance, problem
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.relations import Formula, Proof, algebra

_SLOPE = noble.expected("slope", "squared gradient of $F$", latex=r"\mathbb{E}\|\nabla F(x)\|^2")
_GAP = noble.expected("gap", "excess of $F$", latex=r"\mathbb{E}(F(x) - F^*)")


def performance(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """F the mean of M functions of a class, with x* the origin.

    The constraints on x*: the gradients there sum to zero, and F(x*) is not above F at x - grad F(x)/nu.
    """
    from PEPit import PEP

    problem, nu = PEP(), float(Fraction(str(instance["nu"])))
    world = FunctionClass(problem, declared(problem, instance["class"], int(instance["M"]), L=nu))
    star, x = world.minimiser_at_origin(), Vector(problem.set_initial_point())
    slope = world.mean_gradient(x)
    least = world.mean_value(star)
    problem.add_constraint(least <= world.mean_value(x - slope / nu))
    values = {"nu": nu, "slope": world.square(slope), "gap": world.mean_value(x) - least}
    return WorstCase(problem, values, "||grad F||^2 against F - F*")


def quadratics(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """F_i(x) = a_i x^2/2 - b_i x: equality where all a_i = nu; some a_i may be negative as long as F has a minimum."""
    for curvatures, offsets in instance["users"]:
        a, b = ([Fraction(str(v)) for v in values] for values in (curvatures, offsets))
        nu, mean, star = max(abs(v) for v in a), sum(a, Fraction(0)) / len(a), sum(b, Fraction(0)) / sum(a, Fraction(0))
        for x in (Fraction(str(v)) for v in instance["x"]):
            at = {"curvatures": tuple(a), "offsets": tuple(b), "x": x}
            symbols = {"nu": nu, "slope": mean**2 * (x - star) ** 2, "gap": mean / 2 * (x - star) ** 2}
            yield Values(symbols, at)


def experiment(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """Along DP-SCAFFOLD's iterates, which noise spreads over many points; ``claimed`` multiplies nu."""
    import numpy as np

    from dpfl_theory.algorithms.scaffold import Scaffold
    from dpfl_theory.simulation import Cohort, NoisyGradient, Simulation
    from dpfl_theory.simulation.observables import Reach

    problem = experiments.problem_of(instance)
    nu = problem.constants.L_max
    values = {"nu": nu * instance.get("claimed", 1.0)}
    run = Scaffold(eta_l=0.5 / nu, eta_g=1.0, K=2)
    algorithm = Simulation(run, Cohort("fixed", 2), NoisyGradient(instance["noise"]))
    return Experiment(
        problem, algorithm, 20, 3.0 * np.ones(problem.d), values, replicates=512, reach=Reach.anywhere(problem)
    )


@algebra("from the descent of smooth functions")
def descent(s: Formula) -> Proof:
    """F(x*) <= min over t of F(x) - t g^2 + nu t^2 g^2/2, g = ||grad F(x)||: this is what sides() asks for, and no
    less."""
    t, g = sp.Symbol("t"), sp.Symbol("g", positive=True)
    fall = t * g**2 - s.nu * t**2 * g**2 / 2
    (best,) = sp.solve(sp.diff(fall, t), t)
    right = s.rhs.subs(s.gap, fall.subs(t, best))
    return right, g**2, "the right side at the least gap that smoothness allows against ||grad F||^2"


_CONVEX_USERS = [
    [["1", "1"], ["1", "-3"]],
    [["2", "0"], ["1", "1"]],
    [["1/7"], ["5"]],
    [["1", "1", "0"], ["9", "0", "-2"]],
]
_OTHER_USERS = [[["2", "-1"], ["1", "1"]], [["1", "1", "-1"], ["0", "5", "2"]]]
_POINTS = ["-2", "0", "1/3", "100"]
_HUBER: Instance = {"problem": problem("huber", clients=4, dimension=3, seed=2), "noise": 0.5}
_SPREAD = problem("quadratic", clients=4, dimension=3, heterogeneity=5.0, seed=1)


def _worst(kind: str) -> tuple[Check, ...]:
    sizes = ((1, "1"), (2, "1"), (3, "1"), (2, "1/8"))
    found = {f"{kind}, M = {M}, nu = {nu}": {"class": kind, "M": M, "nu": nu} for M, nu in sizes}
    return checks("worst-case", performance, found)


LEMMA: Statement = Statement(
    id="noble2022.lemmaC.2",
    kind="lemma",
    source=Source(noble.PAPER, "Lemma C.2, Appendix C.1"),
    symbols=noble.symbols("nu"),
    expectations=(_SLOPE, _GAP),
    hypotheses=(noble.CONVEX, noble.SMOOTH, noble.MINIMISER),
    sides=lambda s: Sides({"slope": s.slope}, {"gap": 2 * s.nu * s.gap}),
    checks=battery(
        descent,
        _worst("convex"),
        Check("exact", "quadratics", quadratics, {"users": _CONVEX_USERS, "x": _POINTS}),
        Check("monte-carlo", "heterogeneous quadratics", experiment, {"problem": _SPREAD, "noise": 3.0}),
        Check("monte-carlo", "Huber", experiment, _HUBER),
        Check("monte-carlo", "just outside nu-smooth F_i", experiment, {**_HUBER, "claimed": 0.99}, "not-applicable"),
    ),
    smoke=("quadratics", "heterogeneous quadratics"),
)

SHARPENED: Statement = replace(
    LEMMA,
    id="noble2022.lemmaC.2.sharpened",
    hypotheses=(noble.SMOOTH_BY_CLASS, noble.MINIMISER),
    checks=battery(
        descent,
        _worst("non-convex"),
        Check("exact", "quadratics, some of them concave", quadratics, {"users": _OTHER_USERS, "x": _POINTS}),
    ),
    expectations=(),
    symbols=(
        *noble.symbols("nu"),
        Symbol("slope", r"$\|\nabla F(x)\|^2$", (2, -2), "nonnegative", r"\|\nabla F(x)\|^2"),
        Symbol("gap", "$F(x) - F(x^*)$", (1, 0), "nonnegative", r"(F(x) - F^*)"),
    ),
)

STATEMENTS = (LEMMA, SHARPENED)
