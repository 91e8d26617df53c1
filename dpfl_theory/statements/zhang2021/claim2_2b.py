"""zhang2021 Claim 2.2, second sentence: clipping updates can end nearer to the optimum than not clipping."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.statements.claims import Case, Experiment
from dpfl_theory.statements.formula import letters_of
from dpfl_theory.statements.model import Check, Sides, Source, Statement
from dpfl_theory.statements.zhang2021 import _letters as zhang

__all__ = ["BETTER", "better_cases"]


def better_cases(instance: Mapping[str, Any]) -> list[Case]:
    """f at the stationary point with clipped updates, and without, less a thousandth of it so that equality is no
    success; both points are unique and attract."""
    from dpfl_theory.problems.scalar import ScalarQuadratics

    clients, cases = ScalarQuadratics(instance["a"], instance["b"]), []
    for step, Q, c in ((Fraction(e), math.inf if q is None else q, Fraction(c)) for e, q, c in instance["runs"]):
        found = []
        for clipping, bound in (("difference", c), ("none", None)):
            (point,) = clients.stationary(clipping, step=step, steps=Q, threshold=bound)
            if point.point is None or point.stability != "attracting":
                raise ValueError(f"the stationary point of {clipping} at eta_l = {step}, Q = {Q} does not attract")
            found.append(point.point)
        clipped, plain = found
        values = {"eta_l": step, "Q": Q, "c": c, "clipped": clipped, "unclipped": plain}
        loss = clients.value(plain)
        cases.append(Case(values, clients.value(clipped), loss - loss / 1000))
    return cases


def _second_sides() -> Sides:
    s = letters_of(BETTER)
    return Sides(lhs={"clipped": s["E_clipped_end"]}, rhs={"original": s["E_plain_end"]})


def _both_runs(instance: Mapping[str, Any]) -> Experiment:
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
            better_cases,
            {**_EIGHT, "runs": [["1/50", None, "1"], ["1/50", 20, "1"], ["1/50", 100, "1"], ["1/100", 100, "1"]]},
        ),
        *(
            Check("monte-carlo", f"problem (8), run, Q = {Q}", _both_runs, {"eta_l": "1/50", "Q": Q, **more})
            for Q, more in ((20, {"start": 3, "rounds": 400}), (1000, {"start": -3, "rounds": 60}))
        ),
    ),
)

STATEMENTS = (BETTER,)
