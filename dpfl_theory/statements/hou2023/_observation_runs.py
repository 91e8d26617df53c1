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
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from dpfl_theory.algorithms.scaffnew import DPScaffNew
from dpfl_theory.algorithms.two_step_sizes import DPTwoSidedFedAvg, UnclippedTwoSidedFedAvg
from dpfl_theory.core import Check, Expected, Experiment, Sides, Statement, Symbols
from dpfl_theory.problems import make
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.moments import Moments
from dpfl_theory.semantics.operations import run_round
from dpfl_theory.semantics.rational import Quadratics
from dpfl_theory.statements.hou2023._runs import expected_parts, server_moment

if TYPE_CHECKING:
    from dpfl_theory.simulation import Algorithm

__all__ = [
    *("CLIENTS", "ERRORS", "Sweep", "best", "compared", "divisors", "duel", "gap", "interior", "monotone"),
    *("over_steps", "over_totals", "problems", "read", "sides"),
]

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
    q, c = (tuple(Fraction(v) for v in instance[k]) for k in ("q", "c"))
    return q, c, Fraction(instance["x_0"])


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
    if algorithm == "dp-scaffnew":
        p = Fraction(1, tau)
        h = [a * (x_star - b) for a, b in zip(q, c)]
        return curvature / 2 * server_moment(x_0 - x_star, h, q, eta, p, T, p * T * unit)
    if algorithm == CLIENTS:
        p = Fraction(1, tau)
        shifts = [[a * (x_star - b)] for a, b in zip(q, c)]
        curvatures = [[a] for a in q]
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


def interior(
    sweep: Sweep, algorithms: tuple[str, ...], instance: Mapping[str, Any]
) -> Iterator[tuple[dict[str, Any], Fraction, Fraction]]:
    """The setting, the smallest E f - f* between the two ends of a sweep, and the smaller value of the two ends."""
    for algorithm in algorithms:
        for unit in map(Fraction, instance["units"]):
            values = sweep(algorithm, instance, unit)
            keys = sorted(values)
            inside, low = best(values, keys[1:-1])
            end, at_end = best(values, [keys[0], keys[-1]])
            yield (
                {"algorithm": algorithm, "C^2 v ln(1/delta)/epsilon^2": unit, "inside": inside, "end": end},
                low,
                at_end,
            )


def problems(instance: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The instance's own problem, then problems of a seeded sequence: one to three clients, integer centres."""
    yield dict(instance)
    draw = random.Random(int(instance["seed"]))
    for number in range(int(instance["drawn"])):
        n = draw.choice([1, 2, 3])
        q = [str(Fraction(draw.randint(1, 8), 8)) for _ in range(n)]
        c = [str(draw.randint(-6, 6) if number % 3 else 0) for _ in range(n)]
        yield {"q": q, "c": c, "x_0": str(draw.randint(-9, 9))}


def monotone(
    sweep: Sweep, algorithms: tuple[str, ...], rising: bool, instance: Mapping[str, Any]
) -> Iterator[tuple[dict[str, Any], int, int]]:
    """The setting, the best key at a noise level, and that at the next larger one (in the order that ``rising``
    says)."""
    for problem in problems(instance):
        for algorithm in algorithms:
            found = [best(v := sweep(algorithm, problem, Fraction(u)), sorted(v))[0] for u in instance["units"]]
            for unit, now, after in zip(instance["units"], found, found[1:], strict=False):
                at = {"algorithm": algorithm, **{k: problem[k] for k in ("q", "c", "x_0")}, "unit": unit}
                yield (at, now, after) if rising else (at, after, now)


# Two simulated runs.

ERRORS = (
    Expected(
        "E_error",
        (("suboptimality", 1),),
        (1, 0),
        r"\mathbb{E}[f(x_T) - f(x^*)]",
        "expected error at the end of the run with the better choice",
        when="end",
    ),
    Expected(
        "E_rival_error",
        (("suboptimality", 1),),
        (1, 0),
        r"\mathbb{E}[f(x'_{T'}) - f(x^*)]",
        "expected error at the end of the run with the other choice",
        when="end",
        rival=True,
    ),
)

_PROBLEM = {"clients": 8, "dimension": 3, "condition": 20.0, "heterogeneity": 0.3, "seed": 3}


def sides(s: Symbols) -> Sides:
    """The better choice's error against the other one's."""
    return Sides(lhs={"better choice": s.E_error}, rhs={"other choice": s.E_rival_error})


def duel(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """The run of (tau, T) against that of ``against``; C over ||x_0 - x*||, unit: v ln(1/delta)/epsilon^2.

    eta = 1/L; DP-FedAvg has T/tau rounds, DP-ScaffNew T iterations with p = 1/tau.
    """
    import numpy as np

    problem = make("quadratic", **_PROBLEM)
    c = problem.constants
    assert c.w_star is not None
    direction = np.random.default_rng(99).standard_normal(problem.d)
    start = c.w_star + direction / np.linalg.norm(direction)
    values = {"C": float(instance["C"]), "unit": float(instance["unit"])}

    def run(tau: int, T: int, rival: Experiment | None = None) -> Experiment:
        sigma = values["C"] * math.sqrt(values["unit"] * T / tau)
        algorithm, rounds = _algorithm(str(instance["algorithm"]), 1.0 / c.L_max, tau, T, values["C"], sigma)
        return Experiment(problem, algorithm, rounds, start, values, int(instance["replicates"]), rival=rival)

    (tau, T), against = instance["choice"], instance["against"]
    return run(tau, T, rival=run(*against))


def _algorithm(name: str, eta: float, tau: int, T: int, C: float, sigma: float) -> tuple[Algorithm, int]:
    from dpfl_theory.simulation import Simulation

    if name == "dp-scaffnew":
        return Simulation(DPScaffNew(eta=eta, p=1.0 / tau, C=C, sigma=sigma)), T
    return Simulation(DPTwoSidedFedAvg(eta_l=eta, eta_g=1.0, Q=tau, c=C, sigma=sigma)), T // tau


def compared(
    algorithm: str,
    choice: tuple[int, int],
    others: tuple[tuple[int, int], ...],
    settings: Mapping[str, tuple[Any, Any]],
) -> Iterator[Check]:
    """One check for each (tau, T) in ``others`` and each of the settings, named: (C, unit)."""
    for named, (C, unit) in settings.items():
        for other in others:
            yield Check(
                "monte-carlo",
                f"{algorithm}, {named}: (tau, T) = {choice} against {other}",
                duel,
                {"algorithm": algorithm, "choice": choice, "against": other, "C": C, "unit": unit, "replicates": 4096},
            )
