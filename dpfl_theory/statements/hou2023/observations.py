"""hou2023 Section 3.1: the four observations, on convex problems where every expectation is a rational number.

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
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

from dpfl_theory.algorithms.scaffnew import DPScaffNew
from dpfl_theory.algorithms.two_step_sizes import DPTwoSidedFedAvg, UnclippedTwoSidedFedAvg
from dpfl_theory.core import Case, Check, Experiment, Sides, Statement, Values, battery
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.moments import Moments
from dpfl_theory.semantics.operations import run_round
from dpfl_theory.semantics.rational import Quadratics
from dpfl_theory.statements import experiments, instances
from dpfl_theory.statements.hou2023 import _symbols as hou
from dpfl_theory.statements.hou2023._runs import expected_parts, fractions, server_moment
from dpfl_theory.statements.relations import Formula, Proof, algebra

ALGORITHMS = ("dp-fedavg", "dp-scaffnew")


@algebra(
    "comparative statics",
    part="It decides why best choices move in one direction at all, by their share of the noise; the other checks "
    "decide the direction.",
)
def _statics(_: Formula) -> Proof:
    """Why the best choices move in one direction: with gap(k) = b(k) + u n(k), choices k at u and k' at u' > u satisfy
    b(k) + u n(k) <= b(k') + u n(k') and b(k') + u' n(k') <= b(k) + u' n(k); their sum is (u' - u)(n(k) - n(k')) >= 0.

    So the noise coefficient n of the best choice does not grow with the noise; a conclusion on the choice itself needs
    n to fall (or rise) with it.
    """
    u, more, n, n_other, b, b_other = sp.symbols("u more n n_other b b_other", real=True)
    first = (b_other + u * n_other) - (b + u * n)
    second = (b + (u + more) * n) - (b_other + (u + more) * n_other)
    return first + second, more * (n - n_other), "the sum of the two optimality conditions"


def _observation(id_: str, *parts: Any, **more: Any) -> Statement:
    return hou.statement(
        **hou.named(id_, "corollary", f"Observation {id_[-1]}, Section 3.1"),
        universal=False,
        sides=lambda s: Sides(lhs={"better choice": s.E_error}, rhs={"other choice": s.E_rival_error}),
        checks=battery(*parts),
        **more,
    )


def _by_clients(id_: str, observation: Statement, *parts: Any) -> Statement:
    """The reading that scores the clients' own vectors."""
    return replace(observation, id=id_, reading_of=observation.id, checks=battery(*parts))


# The best choices, exactly.

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


_PROBLEM: dict[str, Any] = {"q": ["1", "1/4", "1/10"], "c": ["0", "1", "-2"], "x_0": "8"}
UNEQUAL = {"q": ["1", *["1/300"] * 7], "c": ["2/5", *["-120/7"] * 7], "x_0": "1"}
_UNITS = ["0", "1/1000", "1/100", "1/30", "1/10", "1/3", "1", "4", "20"]


def _exist(name: str, sweep: Sweep, algorithms: tuple[str, ...], units: str, **instance: Any) -> Check:
    """The best choice between the two ends of a sweep, and the better one of the two ends."""

    def build(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
        for algorithm in algorithms:
            for unit in map(Fraction, instance["units"]):
                values = sweep(algorithm, instance, unit)
                keys = sorted(values)
                inside, low = best(values, keys[1:-1])
                end, at_end = best(values, [keys[0], keys[-1]])
                at = {"algorithm": algorithm, "C^2 v ln(1/delta)/epsilon^2": unit, "inside": inside, "end": end}
                yield Values({"E_error": low, "E_rival_error": at_end}, at)

    return Check("exact", name, build, {**_PROBLEM, **instance, "units": units.split()})


def _problems(instance: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The instance's own problem, then problems of a seeded sequence: one to three clients, integer centres."""
    yield dict(instance)
    draw = random.Random(int(instance["seed"]))
    for number in range(int(instance["drawn"])):
        n = draw.choice([1, 2, 3])
        q = [str(Fraction(draw.randint(1, 8), 8)) for _ in range(n)]
        c = [str(draw.randint(-6, 6) if number % 3 else 0) for _ in range(n)]
        yield {"q": q, "c": c, "x_0": str(draw.randint(-9, 9))}


def _best(
    name: str, sweep: Sweep, algorithms: tuple[str, ...], *, rising: bool = True, expected: str = "holds", **more: Any
) -> Check:
    """The best choice at a noise level, and that at the next larger one, in the order that ``rising`` says."""

    def build(_: Statement, instance: Mapping[str, Any]) -> Iterator[Case]:
        for problem in _problems(instance):
            for algorithm in algorithms:
                units = instance["units"]
                found = [best(v := sweep(algorithm, problem, Fraction(u)), sorted(v))[0] for u in units]
                for unit, now, after in zip(units, found, found[1:], strict=False):
                    at = {"algorithm": algorithm, **{k: problem[k] for k in ("q", "c", "x_0")}, "unit": unit}
                    small, large = (now, after) if rising else (after, now)
                    yield Case(at, Fraction(small), Fraction(large))

    part = (
        "It decides the claim itself, on the best choices by their exact errors; the two sides are the errors of two "
        "given choices, which the runs compare."
    )
    return Check("exact", name, build, {**_PROBLEM, "units": _UNITS, **more}, expected, part)


_FALLING: dict[str, Any] = {**UNEQUAL, "units": ["1/18000", "1/15000"], "drawn": 0, "seed": 1}
_UNEQUAL_CLIENTS = "best local steps, one client of eight with most of the curvature"
_SCAFFNEW_STAYS = _best(_UNEQUAL_CLIENTS, over_steps, ("dp-scaffnew",), **_FALLING)
_CLIENTS_FALL = _best(_UNEQUAL_CLIENTS, over_steps, (CLIENTS,), **_FALLING, expected="violated")


def _more_problems(seed: int) -> Check:
    name = "best local steps of DP-FedAvg, more problems"
    return _best(name, over_steps, ("dp-fedavg",), drawn=30, seed=seed)


# Two simulated runs.

_SIMULATED = {
    "problem": instances.problem("quadratic", clients=8, dimension=3, condition=20.0, heterogeneity=0.3, seed=3)
}


def duel(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """The run of (tau, T) against that of ``against``; C over ||x_0 - x*||, unit: v ln(1/delta)/epsilon^2.

    eta = 1/L; DP-FedAvg has T/tau rounds, DP-ScaffNew T iterations with p = 1/tau.
    """
    from dpfl_theory.simulation import Simulation

    problem = experiments.problem_of(_SIMULATED)
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


# The settings of the simulations, with C in units of ||x_0 - x*||: at C = 1/4 most updates are clipped at first.
_MODERATE = {"moderate noise": (0.25, 0.3)}
_NOISES = {"less noise": (0.25, 0.1), "more noise": (0.25, 0.3), "much more noise": (0.25, 1.0)}
_THRESHOLDS = {
    "smaller threshold": (0.1, 1.0),
    "larger threshold": (0.25, 1.0),
    "threshold of the first distance": (1.0, 1.0),
}


def _best_steps(settings: Mapping[str, tuple[float, float]]) -> Iterator[Check]:
    """The best of the smaller choices under less noise stays ahead of them under more; the first shows what is best."""
    yield from compared("dp-fedavg", (2, 24), ((1, 24),), settings)
    yield from compared("dp-scaffnew", (3, 24), ((1, 24), (2, 24)), settings)


def _of_both(choice: tuple[int, int], *arguments: Any) -> Iterator[Check]:
    for algorithm in ALGORITHMS:
        yield from compared(algorithm, choice, *arguments)


_HARDLY = "hardly better than one communication"

OBSERVATION1 = _observation(
    "hou2023.observation1",
    _exist("moderate noise", over_steps, ALGORITHMS, "1/400 1/300 1/200"),
    _exist(f"{_HARDLY}, DP-FedAvg", over_steps, ("dp-fedavg",), "1/170"),
    _exist(f"{_HARDLY}, DP-ScaffNew", over_steps, ("dp-scaffnew",), "30"),
    _exist("DP-ScaffNew without noise, unequal clients", over_steps, ("dp-scaffnew",), "0", **UNEQUAL),
    _of_both((4, 24), ((1, 24), (24, 24)), _MODERATE),
    smoke=("dp-scaffnew, moderate noise: (tau, T) = (4, 24) against (24, 24)",),
)

OBSERVATION2 = _observation(
    "hou2023.observation2",
    _exist("moderate noise", over_totals, ALGORITHMS, "1/100 1/30 1/10 1/3"),
    _exist(f"{_HARDLY}, DP-FedAvg", over_totals, ("dp-fedavg",), "18"),
    _exist(f"{_HARDLY}, DP-ScaffNew", over_totals, ("dp-scaffnew",), "35"),
    _of_both((3, 24), ((3, 3), (3, 96)), _MODERATE),
    uses=("hou2023.corollary1",),
)

OBSERVATION3 = _observation(
    "hou2023.observation3",
    _statics,
    _best("best local steps", over_steps, ALGORITHMS, drawn=4, seed=1),
    _more_problems(1),
    _best("best iterations", over_totals, ALGORITHMS, rising=False, drawn=8, seed=2),
    _SCAFFNEW_STAYS,
    _best_steps(_NOISES),
    _of_both((3, 24), ((3, 48), (3, 96)), _NOISES),
    smoke=("dp-fedavg, less noise: (tau, T) = (2, 24) against (1, 24)",),
)

OBSERVATION4 = _observation(
    "hou2023.observation4",
    _statics,
    _best("best local steps", over_steps, ALGORITHMS, drawn=2, seed=3),
    _more_problems(3),
    _SCAFFNEW_STAYS,
    _best_steps(_THRESHOLDS),
    smoke=(
        "dp-fedavg, smaller threshold: (tau, T) = (2, 24) against (1, 24)",
        "dp-scaffnew, larger threshold: (tau, T) = (3, 24) against (2, 24)",
    ),
)

STATEMENTS = (
    OBSERVATION1,
    OBSERVATION2,
    OBSERVATION3,
    _by_clients(
        "hou2023.observation3.clients",
        OBSERVATION3,
        _best("best local steps", over_steps, (CLIENTS,), drawn=4, seed=1),
        _CLIENTS_FALL,
    ),
    OBSERVATION4,
    _by_clients("hou2023.observation4.clients", OBSERVATION4, _CLIENTS_FALL),
)
