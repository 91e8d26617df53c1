"""das2022 eq. (12): the second moment of the cohort's average update, as printed and repaired."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

from dpfl_theory.core import Check, Experiment, Outcome, Sides, Source, Statement, Symbols
from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.das2022 import _sampling_moments as exact
from dpfl_theory.statements.das2022 import _step_instances as steps
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022._experiments import step_experiment
from dpfl_theory.statements.symbolic import equal


def _independent_proof(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """With S = mean square and m = ||mean||^2: independent clients of probability p = r/n have

    E||sum_S g_i||^2 = p(1 - p) n S + p^2 n^2 m, and the slack of the repaired bound is S - m, a variance.
    """
    s = symbols_of(statement)
    n, r, S, m = s.n, s.r, s.mean_square, sp.Symbol("m", positive=True)
    p = r / n
    moment = (p * (1 - p) * n * S + p**2 * n**2 * m) / r**2
    entered = (total(statement, "rhs") - total(statement, "lhs")).subs(s.second_moment, moment)
    return equal(entered, S - m, "the slack of the repaired bound against the clients' variance")


def slack(sampling: str) -> Check:
    """(12) at the exact second moment, with S the mean square and m the squared norm of the mean: right less left.

    Independent clients: (S - m) - (1/r)(1 - r/n) S, which is negative for equal vectors (m = S) unless r = n, where it
    is the variance S - m. For r clients without replacement it is n(r - 1)/(r(n - 1)) (S - m).
    """

    def build(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
        s = symbols_of(statement)
        n, r, S, m = s.n, s.r, s.mean_square, sp.Symbol("m", positive=True)
        excess = (1 - r / n) / r
        moment, left = {
            "independent": (excess * S + m, S - m - excess * S),
            "full": (m, S - m),
            "fixed": (((n - r) * S + n * (r - 1) * m) / (r * (n - 1)), n * (r - 1) / (r * (n - 1)) * (S - m)),
        }[instance["sampling"]]
        entered = (total(statement, "rhs") - total(statement, "lhs")).subs(s.second_moment, moment)
        return equal(entered, left, f"(12), right less left, {instance['sampling']} sampling")

    return Check("algebra", f"slack, {sampling} sampling", build, {"sampling": sampling})


def _variance(_: Statement, instance: Mapping[str, Any]) -> Outcome:
    """S - m = (1/n^2) sum over pairs of ||g_i - g_j||^2: the slack is never negative, and 0 if all vectors agree."""
    n = int(instance["n"])
    g = sp.symbols(f"g1:{n + 1}", real=True)
    left = sum(x**2 for x in g) / sp.Integer(n) - (sum(g) / sp.Integer(n)) ** 2
    right = sum((a - b) ** 2 for a, b in combinations(g, 2)) / sp.Integer(n) ** 2
    return equal(
        sp.expand(left), sp.expand(right), f"the variance of {n} vectors against the squared differences of all pairs"
    )


def cohort_experiment(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    """Algorithm 1 without noise and with a threshold above every update, so that the g_i are the updates."""
    found = step_experiment(statement, instance, "dp-fedavg")
    return replace(found, algorithm=found.algorithm.with_values(sigma=0.0))  # type: ignore[attr-defined]


def _printed_sides(s: Symbols) -> Sides:
    return Sides(lhs={"cohort": s.second_moment}, rhs={"clients": s.mean_square})


def _repaired_sides(s: Symbols) -> Sides:
    return Sides(
        lhs={"cohort": s.second_moment},
        rhs={"clients": s.mean_square, "cohort size": (1 - s.r / s.n) / s.r * s.mean_square},
    )


AGREEMENT = (
    "The closed form of the left side, and the equality from (12) to (13); whether the left side exceeds the right one "
    "is left to the other checks."
)
_OUT = "not-applicable"
ATTAINED = (
    "The other half for equal vectors, right side at most left side: no smaller factor is enough; the other checks "
    "decide that this one is."
)
_SQUARES = "It decides that S - m is never negative; the first check decides that the bound's slack is S - m."
_SIZES = [2, 3, 4, 5, 6, 7, 8]
FAMILIES = ("equal", "opposite", "orthogonal", "one-hot", "drawn")


def instance(family: str, sampling: str, **more: Any) -> dict[str, Any]:
    return {"vectors": family, "sampling": sampling, "n": _SIZES, **({"seed": 1} if family == "drawn" else {}), **more}


EQ12: Statement = Statement(
    id="das2022.eq12",
    kind="step",
    source=Source(
        das.PAPER,
        "Appendix C.1, proof of Theorem 6, step from (11) through (12) to (13)",
        "12",
    ),
    symbols=das.symbols("r", "n"),
    expectations=das.expected("second_moment", "mean_square"),
    hypotheses=(das.COHORT,),
    sides=_printed_sides,
    checks=(
        *(
            Check(
                "exact",
                f"independent sampling, {family} vectors",
                exact.moments,
                instance(family, "independent"),
                "violated" if family in ("equal", "drawn") else "holds",
            )
            for family in FAMILIES
        ),
        Check(
            "exact",
            "independent sampling, half a client expected",
            exact.moments,
            instance("one-hot", "independent", r=["1/2"]),
            "not-applicable",
        ),
        *(
            Check("exact", f"full participation, {family} vectors", exact.full, instance(family, "independent"))
            for family in FAMILIES
        ),
        Check("exact", "just outside r >= 1", exact.moments, instance("one-hot", "independent", r=["99/100"]), _OUT),
        *(slack(sampling) for sampling in ("independent", "full")),
        Check(
            "exact", "closed form, and (12) to (13)", exact.agreement, instance("drawn", "independent"), part=AGREEMENT
        ),
        *(
            Check("monte-carlo", name, cohort_experiment, i, verdict)
            for name, (i, verdict) in steps.COHORTS.items()
            if i["cohort"]["scheme"] == "poisson"
        ),
    ),
    smoke=("independent sampling, half a client expected",),
    expected="violated",
    uses=("das2022.fact2",),
)

REPAIRED: Statement = Statement(
    id="das2022.eq12.repaired",
    kind="step",
    source=Source(
        das.PAPER,
        "Appendix C.1, proof of Theorem 6, step from (11) through (12) to (13)",
        "12",
    ),
    symbols=EQ12.symbols,
    expectations=EQ12.expectations,
    hypotheses=EQ12.hypotheses,
    sides=_repaired_sides,
    checks=(
        Check("algebra", "slack, independent sampling", _independent_proof),
        *(
            Check("algebra", f"variance as squared differences, n = {n}", _variance, {"n": n}, part=_SQUARES)
            for n in (2, 3, 4)
        ),
        *(
            Check("exact", f"independent sampling, {family} vectors", exact.moments, instance(family, "independent"))
            for family in FAMILIES
        ),
        Check(
            "exact",
            "independent sampling, half a client expected",
            exact.moments,
            instance("one-hot", "independent", r=["1/2"]),
            "not-applicable",
        ),
        Check("exact", "just outside r >= 1", exact.moments, instance("one-hot", "independent", r=["99/100"]), _OUT),
        Check("exact", "the factor is attained", exact.attained, instance("equal", "independent"), part=ATTAINED),
        *(
            Check("monte-carlo", name, cohort_experiment, i)
            for name, (i, verdict) in steps.COHORTS.items()
            # where (12) fails the repaired form is an equality, which samples cannot decide
            if verdict == "holds" and i["cohort"]["scheme"] == "poisson"
        ),
    ),
    uses=("das2022.fact2",),
)

STATEMENTS = (EQ12, REPAIRED)
