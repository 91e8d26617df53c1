"""Comparisons of choices of local steps or iterations, for hou2023's observations.

Exact checks: both algorithms on one-dimensional quadratics, in rational arithmetic, over tau, T, epsilon and C. f_i(x)
= q_i (x - c_i)^2/2, no clipping, the noise of Lemma 1: sigma^2 = C^2 unit x (expected rounds) with unit = v
ln(1/delta)/epsilon^2. They compare E f - f* at the end, of the server's vector. Where DP-ScaffNew is named with
``CLIENTS``, it is that of the clients' own vectors, on average.

Simulations: two runs with clipping, of the same problem, threshold and privacy, each with the noise that Lemma 1
prescribes for its own number of communications. The catalogue imports this module to list its statements, so NumPy and
the algorithms are imported where they are used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

from dpfl_theory.algorithms.scaffnew import DPScaffNew
from dpfl_theory.algorithms.two_step_sizes import DPTwoSidedFedAvg, UnclippedTwoSidedFedAvg
from dpfl_theory.core import Check, Experiment, Statement
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.moments import Moments
from dpfl_theory.semantics.operations import run_round
from dpfl_theory.semantics.rational import Quadratics
from dpfl_theory.statements import experiments
from dpfl_theory.statements.hou2023._runs import expected_parts, fractions, server_moment
from dpfl_theory.statements.instances import problem

Numbers = tuple[Fraction, ...]
Sweep = Callable[[str, Mapping[str, Any], Fraction], dict[int, Fraction]]
"""From an algorithm, a problem and a noise level to E f - f* for each choice."""
_ITERATIONS, _STEPS = 24, 3
_TOTALS = (3, 6, 12, 24, 36, 48)
CLIENTS = "dp-scaffnew, clients"
"""DP-ScaffNew scored by its clients' own vectors."""


def divisors(T: int) -> list[int]:
    """All numbers of local steps that divide T.

    >>> divisors(12)
    [1, 2, 3, 4, 6, 12]
    """
    return [tau for tau in range(1, T + 1) if T % tau == 0]


def read(instance: Mapping[str, Any]) -> tuple[Numbers, Numbers, Fraction]:
    """The curvatures q, the centres c and x_0 of an instance."""
    return tuple(fractions(instance["q"])), tuple(fractions(instance["c"])), Fraction(instance["x_0"])


@cache
def gap(algorithm: str, problem: tuple[Numbers, Numbers, Fraction], tau: int, T: int, unit: Fraction) -> Fraction:
    """E f - f* after T iterations with (expected) tau local steps, eta = 1/L; unit = C^2 v ln(1/delta)/epsilon^2.

    >>> one = ((Fraction(1),), (Fraction(0),), Fraction(2))
    >>> gap("dp-fedavg", one, 1, 3, Fraction(0)), gap("dp-fedavg", one, 1, 1, Fraction(4))
    (Fraction(0, 1), Fraction(2, 1))
    """
    q, c, x_0 = problem
    n, eta = len(q), 1 / max(q)
    x_star = sum((a * b for a, b in zip(q, c)), Fraction(0)) / sum(q)
    curvature = sum(q, Fraction(0)) / n
    p, h = Fraction(1, tau), [a * (x_star - b) for a, b in zip(q, c)]
    if algorithm == "dp-scaffnew":
        return curvature / 2 * server_moment(x_0 - x_star, h, q, eta, p, T, p * T * unit)
    if algorithm == CLIENTS:
        shifts, curvatures = [[one] for one in h], [[one] for one in q]
        distance, _ = expected_parts(curvatures, [x_0 - x_star], shifts, eta, p, T, p * T * unit)
        return curvature / 2 * distance / n
    rounds = T // tau
    world = Quadratics(q, [a * b for a, b in zip(q, c)], {"noise": rounds * unit})
    fedavg = UnclippedTwoSidedFedAvg(eta_l=eta, eta_g=1, Q=tau, sigma=1)
    end = Moments.from_state(world, Vector(x_0)).after(lambda x: run_round(fedavg, world, x).x, rounds)
    return curvature / 2 * end.square(end.state - world.minimiser)


def best(values: Mapping[int, Fraction], keys: Sequence[int]) -> tuple[int, Fraction]:
    """The smallest key with the smallest value, and that value."""
    key = min(keys, key=lambda k: (values[k], k))
    return key, values[key]


def over_steps(algorithm: str, instance: Mapping[str, Any], unit: Fraction) -> dict[int, Fraction]:
    """E f - f* for each number of local steps, T fixed."""
    return {tau: gap(algorithm, read(instance), tau, _ITERATIONS, unit) for tau in divisors(_ITERATIONS)}


def over_totals(algorithm: str, instance: Mapping[str, Any], unit: Fraction) -> dict[int, Fraction]:
    """E f - f* for each T, tau fixed."""
    return {T: gap(algorithm, read(instance), _STEPS, T, unit) for T in _TOTALS}


# Two simulated runs.

_PROBLEM = {"problem": problem("quadratic", clients=8, dimension=3, condition=20.0, heterogeneity=0.3, seed=3)}


def duel(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """The run of (tau, T) against that of ``against``; C over ||x_0 - x*||, unit: v ln(1/delta)/epsilon^2.

    eta = 1/L; DP-FedAvg has T/tau rounds, DP-ScaffNew T iterations with p = 1/tau.
    """
    from dpfl_theory.simulation import Simulation

    problem = experiments.problem_of(_PROBLEM)
    start, eta = experiments.start_of(problem, {"distance": 1.0}, 99), 1.0 / problem.constants.L_max
    values = {"C": float(instance["C"]), "unit": float(instance["unit"])}

    def run(tau: int, T: int, rival: Experiment | None = None) -> Experiment:
        noise = {"sigma": values["C"] * math.sqrt(values["unit"] * T / tau)}
        if instance["algorithm"] == "dp-scaffnew":
            algorithm, rounds = Simulation(DPScaffNew(eta=eta, p=1.0 / tau, C=values["C"], **noise)), T
        else:
            fedavg = DPTwoSidedFedAvg(eta_l=eta, eta_g=1.0, Q=tau, c=values["C"], **noise)
            algorithm, rounds = Simulation(fedavg), T // tau
        return Experiment(problem, algorithm, rounds, start, values, int(instance["replicates"]), rival=rival)

    (tau, T), against = instance["choice"], instance["against"]
    return run(tau, T, rival=run(*against))


Choice = tuple[int, int]
"""tau and T."""


def compared(
    algorithm: str, choice: Choice, others: tuple[Choice, ...], settings: Mapping[str, tuple[float, float]]
) -> Iterator[Check]:
    """One check for each of the others and each of the settings, named: (C, unit)."""
    for (named, (C, unit)), other in product(settings.items(), others):
        name = f"{algorithm}, {named}: (tau, T) = {choice} against {other}"
        instance = {"algorithm": algorithm, "choice": choice, "against": other, "C": C, "unit": unit}
        yield Check("monte-carlo", name, duel, {**instance, "replicates": 4096})
