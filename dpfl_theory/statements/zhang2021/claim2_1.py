"""zhang2021 Claim 2.1: FedAvg with model clipping misses the optimum."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from dpfl_theory.algorithms.two_step_sizes import ModelClippedFedAvg
from dpfl_theory.core import Hypothesis, Sides, Statement, battery
from dpfl_theory.core.check_inputs import Case, Experiment, Values
from dpfl_theory.lazy import numpy as np
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.experiments import experiment
from dpfl_theory.statements.instances import Instances, Runs, edge, row
from dpfl_theory.statements.relations import Formula, Proof, algebra, exact
from dpfl_theory.statements.zhang2021 import _symbols as zhang


def stationary_point(ratio: Any, c: Any) -> Any:
    """The printed stationary point, lambda c/(3 - 2 lambda); ratio: lambda = (1 - eta_l)^Q.

    >>> stationary_point(Fraction(3, 5), 1)
    Fraction(1, 3)
    """
    return ratio * c / (3 - 2 * ratio)


def _points(instance: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], Any, tuple[Any, ...]]]:
    """(values, clients, all stationary points) over the instance's grid."""
    from dpfl_theory.problems.scalar import claim_2_1

    axes = (map(Fraction, instance[name]) for name in ("k", "c", "eta_l"))
    for k, c, step, Q in itertools.product(*axes, instance["Q"]):
        clients = claim_2_1(k, c)
        at = {"k": k, "c": c, "eta_l": step, "Q": Q}
        yield at, clients, clients.stationary("model", step=step, steps=Q, threshold=c)


def missed(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """Every stationary point x, or end of an interval of them, and its distance from x*."""
    for at, clients, points in _points(instance):
        for x in {x for p in points for x in (p.low, p.high)}:
            if x is None:
                raise ValueError("the means of clipped models are bounded, so stationary points must be")
            distance = (clients.optimum - x) ** 2
            yield Values({"k": at["k"], "c": at["c"], "E_distance": distance}, {**at, "x": x})


def formula_cases(_: Statement, instance: Mapping[str, Any]) -> Iterator[Case]:
    """x = lambda c/(3 - 2 lambda) is the only stationary point and attracts, each of formula and point at most the
    other."""
    for at, _, points in _points(instance):
        ratio = (1 - at["eta_l"]) ** at["Q"]
        if not 0 < ratio < 1:
            raise ValueError(f"lambda = {ratio} does not lie in (0, 1)")
        printed = stationary_point(ratio, at["c"])
        alone = len(points) == 1 and points[0].stability == "attracting"
        x = points[0].point if alone and points[0].point is not None else printed + 1
        values = {**at, "lambda": ratio, "stationary points": len(points)}
        yield from (Case(values, x, printed), Case(values, printed, x))


_point = partial(
    algebra,
    part="It decides a step of the proof that the printed point is stationary; the other checks decide that every "
    "iterate misses the optimum.",
)


@_point("root of (5)", letters="x lambda c")
def _formula(_: Formula, x: Any, lam: Any, c: Any) -> Proof:
    """With the first two clients unclipped and the third clipped, the fixed-point equation (5) has the printed root."""
    root = sp.solve(sp.Eq((2 * (lam * x - (1 - lam) * c / 2) + c) / 3, x), x)
    return root[0], stationary_point(lam, c), "the root of (5) against the printed stationary point"


@_point("third client clipped", letters="lambda k")
def _third_is_clipped(_: Formula, lam: Any, k: Any) -> Proof:
    """The third client is clipped at that root if and only if k >= (3 + lambda)/(3 - 2 lambda), which is at most 4."""
    sent = lam * stationary_point(lam, 1) + (1 - lam) * k  # of c
    least = (3 + lam) / (3 - 2 * lam)
    return [
        (sent - 1, (1 - lam) * (k - least), "the third client's message less c"),
        (4 - least, 9 * (1 - lam) / (3 - 2 * lam), "4 less the required k"),
    ]


@_point("other clients unclipped", letters="lambda")
def _first_are_not(_: Formula, lam: Any) -> Proof:
    """The other two send lambda x - (1 - lambda) c/2 in (-c, c): its distances to both ends are positive multiples."""
    sent = lam * stationary_point(lam, 1) - (1 - lam) / 2  # of c
    return [
        (sent + 1, (3 + lam) / (2 * (3 - 2 * lam)), "their message less -c"),
        (1 - sent, 9 * (1 - lam) / (2 * (3 - 2 * lam)), "c less their message"),
    ]


@algebra("a round ends below the optimum")
def _bounded(s: Formula) -> Proof:
    """A mean of models clipped to c is at most c, for every Q and eta_l, and x* - c = (k-4)c/3."""
    # x* less c, the largest mean of three clipped models.
    short = (2 * (-s.c / 2) + s.k * s.c) / 3 - s.c
    (least,) = sp.solve(s.slack, s.E_distance)
    return short**2, least, "the squared distance from x* to the largest mean"


def _experiment(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    """A run without noise against a loop over numbers."""
    from dpfl_theory.problems.scalar import claim_2_1
    from dpfl_theory.simulation import NoisyGradient

    k, c, deviation = Fraction(instance["k"]), Fraction(instance["c"]), float(instance.get("deviation", 0.0))
    problem = claim_2_1(k, c).problem()
    eta, Q, rounds = float(Fraction(instance["eta_l"])), int(instance["Q"]), instance["rounds"]
    run = ModelClippedFedAvg(eta_l=eta, Q=Q, c=float(c), sigma=0.0)
    gradient = NoisyGradient(deviation) if deviation else None
    values, known, given = {"k": float(k), "c": float(c)}, {}, {"replicates": 256}
    start = np.array([float(Fraction(instance["start"]))])
    if not deviation:
        x, bound, kept = float(start[0]), values["c"], (1.0 - eta) ** Q
        for _round in range(rounds):
            models = [kept * x + (1.0 - kept) * b for b in (-bound / 2.0, -bound / 2.0, values["k"] * bound)]
            x = sum(min(max(y, -bound), bound) for y in models) / 3.0
        known = {statement.expectations[0].column("distance-squared"): (x - (values["k"] - 1.0) * bound / 3.0) ** 2}
    return experiment(run, problem, start, rounds, values, given, gradient, random=deviation > 0.0, known=known)


FAR = Hypothesis(lambda s: s.k > 4)
_GRID: dict[str, Any] = {"k": ["9/2", "5", "10", "100"], "c": ["1/10", "1", "10"], "Q": [1, 2, 5, 20]}
_SHORT = {**_GRID, "eta_l": ["1/100", "1/10", "1/2", "9/10"]}
_RUN = {"c": "1", "start": "4/3", "rounds": 200}
# fmt: off
TABLE = Instances((
    row("points", "all stationary points, lambda in (0, 1)", _SHORT),
    row("points", "all stationary points, eta_l >= 1", {**_GRID, "eta_l": ["1", "3/2", "2", "5/2"]}),
    row("points", "just inside k > 4", {**_SHORT, "k": ["401/100"]}),
    edge(FAR, "just outside k > 4", {**_SHORT, "k": ["399/100", "4"]}),
    row("run", "k = 5, started at the optimum", {**_RUN, "k": "5", "eta_l": "1/100", "Q": 1}),
    row("run", "k = 9/2, many local steps", {**_RUN, "k": "9/2", "eta_l": "1/10", "Q": 20}),
    row("run", "k = 5, stochastic gradients", {**_RUN, "k": "5", "eta_l": "1/10", "Q": 5, "deviation": 1.0}),
))
# fmt: on

CLAIM: Statement = zhang.statement(
    id="zhang2021.claim2.1",
    kind="corollary",
    source=zhang.source("Claim 2.1, Section 2.1", "5"),
    hypotheses=(FAR,),
    # No iterate after the first round is nearer to x* = (k-1)c/3 than the threshold is.
    sides=lambda s: Sides({"least squared distance": ((s.k - 4) * s.c / 3) ** 2}, {"reached": s.E_distance}),
    checks=battery(
        _formula,
        _third_is_clipped,
        _first_are_not,
        _bounded,
        Runs(TABLE, missed, "exact")("points"),
        exact(
            "printed formula",
            "The printed stationary point is compared with the computed one, which is the only one; the checks of all "
            "stationary points decide that it misses the optimum.",
            **_SHORT,
        )(formula_cases),
        Runs(TABLE, _experiment, edges=False)("run"),
    ),
    smoke=("printed formula", "k = 5, started at the optimum"),
)

STATEMENTS = (CLAIM,)
