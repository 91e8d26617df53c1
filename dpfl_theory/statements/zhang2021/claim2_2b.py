"""zhang2021 Claim 2.2, second sentence: clipping updates can end nearer to the optimum than not clipping."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.statements.claims import Experiment, Values
from dpfl_theory.statements.formula import Letters
from dpfl_theory.statements.model import Check, Sides, Source, Statement, checks
from dpfl_theory.statements.zhang2021 import _letters as zhang

__all__ = ["BETTER", "better"]


def better(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """f - f* at the stationary point with clipped updates, and without, less a thousandth of it so that equality is no
    success; both points are unique and attract."""
    from dpfl_theory.problems.scalar import ScalarQuadratics

    clients, values = ScalarQuadratics(instance["a"], instance["b"]), []
    for step, Q, c in ((Fraction(e), math.inf if q is None else q, Fraction(c)) for e, q, c in instance["runs"]):
        found = []
        for clipping, bound in (("difference", c), ("none", None)):
            (point,) = clients.stationary(clipping, step=step, steps=Q, threshold=bound)
            if point.point is None or point.stability != "attracting":
                raise ValueError(f"the stationary point of {clipping} at eta_l = {step}, Q = {Q} does not attract")
            found.append(point.point)
        clipped, plain = found
        at = {"eta_l": step, "Q": Q, "c": c, "clipped": clipped, "unclipped": plain}
        ends = [clients.value(x) - clients.value(clients.optimum) for x in found]
        values.append(Values({"E_clipped_end": ends[0], "E_plain_end": ends[1] - ends[1] / 1000}, at))
    return values


def _second_sides(s: Letters) -> Sides:
    return Sides(lhs={"clipped": s.E_clipped_end}, rhs={"original": s.E_plain_end})


def _both_runs(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    import numpy as np

    from dpfl_theory.algorithms import TwoSidedFedAvg
    from dpfl_theory.algorithms.observables import Reach
    from dpfl_theory.problems.scalar import equation_8_problem

    problem, step, Q = equation_8_problem(), float(Fraction(instance["eta_l"])), int(instance["Q"])
    start, reach, rounds = np.array([float(instance["start"])]), Reach.anywhere(problem), int(instance["rounds"])
    clipped, plain = (
        Experiment(problem, TwoSidedFedAvg(step, local_steps=Q, threshold=c), rounds, start, {}, 2, reach, random=False)
        for c in (1.0, None)
    )
    return Experiment(problem, clipped.algorithm, rounds, start, {}, 2, reach, random=False, rival=plain)


_EIGHT = {"a": ["1", "2", "6"], "b": ["4", "1", "-1"]}

_RUNS: dict[str, dict[str, Any]] = {
    "problem (8), run, Q = 20": {"eta_l": "1/50", "Q": 20, "start": 3, "rounds": 400},
    "problem (8), run, Q = 1000": {"eta_l": "1/50", "Q": 1000, "start": -3, "rounds": 60},
}

BETTER: Statement = Statement(
    id="zhang2021.claim2.2b",
    kind="corollary",
    title="Clipping updates can end with a smaller loss than not clipping",
    source=Source(
        zhang.PAPER,
        f"Claim 2.2, Section 2.1, second sentence ({zhang.VERSION})",
        "8",
        "on problem (8) with c = 1; all clients, no noise, eta_g = 1; updates are clipped, as in Algorithm 2",
    ),
    text=(
        "There exist a linear regression problem such that under the same c, eta_l and Q, FedAvg with difference "
        "clipping converges to a better solution with smaller loss than the original FedAvg."
    ),
    expectations=zhang.expected("E_clipped_end", "E_plain_end"),
    sides=_second_sides,
    universal=False,
    checks=(
        Check(
            "exact",
            "problem (8), losses at the stationary points",
            better,
            {**_EIGHT, "runs": [["1/50", None, "1"], ["1/50", 20, "1"], ["1/50", 100, "1"], ["1/100", 100, "1"]]},
        ),
        *checks("monte-carlo", _both_runs, _RUNS),
    ),
)

STATEMENTS = (BETTER,)
