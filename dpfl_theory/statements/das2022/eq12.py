"""das2022 eq. (12): the second moment of the cohort's average update, as printed and repaired."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

from dpfl_theory.core import Check, Sides, Statement, battery
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.das2022 import _sampling_moments as exact
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022._runs import CLIP, experiment
from dpfl_theory.statements.experiments import without_noise
from dpfl_theory.statements.relations import Formula, Proof, algebra, of

FAMILIES = ("equal", "opposite", "orthogonal", "one-hot", "drawn")
_BROKEN = ("equal", "drawn")
"""Those for which (12) fails."""
_OUT = "not-applicable"


@algebra("slack, independent sampling")
def _independent_proof(s: Formula) -> Proof:
    """With S = mean square and m = ||mean||^2: independent clients of probability p = r/n have

    E||sum_S g_i||^2 = p(1 - p) n S + p^2 n^2 m, and the slack of the repaired bound is S - m, a variance.
    """
    n, r, S, m = s.n, s.r, s.mean_square, sp.Symbol("m", positive=True)
    p = r / n
    moment = (p * (1 - p) * n * S + p**2 * n**2 * m) / r**2
    entered = of(s.statement, second_moment=moment).slack
    return entered, S - m, "the slack of the repaired bound against the clients' variance"


def slack(sampling: str) -> Check:
    """(12) at the exact second moment, with S the mean square and m the squared norm of the mean: right less left.

    Independent clients: (S - m) - (1/r)(1 - r/n) S, which is negative for equal vectors (m = S) unless r = n, where it
    is the variance S - m. For r clients without replacement it is n(r - 1)/(r(n - 1)) (S - m).
    """

    @algebra(f"slack, {sampling} sampling", sampling=sampling)
    def check(s: Formula, sampling: str) -> Proof:
        n, r, S, m = s.n, s.r, s.mean_square, sp.Symbol("m", positive=True)
        excess = (1 - r / n) / r
        moment, left = {
            "independent": (excess * S + m, S - m - excess * S),
            "full": (m, S - m),
            "fixed": (((n - r) * S + n * (r - 1) * m) / (r * (n - 1)), n * (r - 1) / (r * (n - 1)) * (S - m)),
        }[sampling]
        return of(s.statement, second_moment=moment).slack, left, f"(12), right less left, {sampling} sampling"

    return check


def _variance(n: int) -> Check:
    """S - m = (1/n^2) sum over pairs of ||g_i - g_j||^2: the slack is never negative, and 0 if all vectors agree."""

    @algebra(
        f"variance as squared differences, n = {n}",
        part="It decides that S - m is never negative; the first check decides that the bound's slack is S - m.",
        n=n,
    )
    def check(_: Formula, n: int) -> Proof:
        g = sp.symbols(f"g1:{n + 1}", real=True)
        left = sum(x**2 for x in g) / sp.Integer(n) - (sum(g) / sp.Integer(n)) ** 2
        right = sum((a - b) ** 2 for a, b in combinations(g, 2)) / sp.Integer(n) ** 2
        label = f"the variance of {n} vectors against the squared differences of all pairs"
        return sp.expand(left), sp.expand(right), label

    return check


COHORTS = CLIP.by(lambda statement, instance: without_noise(experiment(statement, instance)))
"""Algorithm 1 without noise and with a threshold above every update, so that the g_i are the updates."""


def _vectors(family: str, sampling: str, **more: Any) -> dict[str, Any]:
    seed = {"seed": 1} if family == "drawn" else {}
    return {"vectors": family, "sampling": sampling, "n": [2, 3, 4, 5, 6, 7, 8], **seed, **more}


def moments(name: str, family: str, sampling: str, expected: str = "holds", **more: Any) -> Check:
    """The exact second moment for a family of vectors, for all n up to 8 and all r unless ``more`` has others."""
    return Check("exact", name, exact.moments, _vectors(family, sampling, **more), expected)


def agreement(sampling: str) -> Check:
    """The closed form of the second moment against the count over all cohorts."""
    return Check(
        "exact",
        "closed form, and (12) to (13)",
        exact.agreement,
        _vectors("drawn", sampling),
        part="The closed form of the left side, and the equality from (12) to (13); whether the left side exceeds the "
        "right one is left to the other checks.",
    )


_ATTAINED = Check(
    "exact",
    "the factor is attained",
    exact.attained,
    _vectors("equal", "independent"),
    part="The other half for equal vectors, right side at most left side: no smaller factor is enough; the other "
    "checks decide that this one is.",
)
_BELOW_ONE = (
    moments("independent sampling, half a client expected", "one-hot", "independent", _OUT, r=["1/2"]),
    moments("just outside r >= 1", "one-hot", "independent", _OUT, r=["99/100"]),
)


EQ12: Statement = das.step(
    "das2022.eq12",
    "Appendix C.1, proof of Theorem 6, step from (11) through (12) to (13)",
    symbols=das.NOTATION.also("n"),
    hypotheses=(das.COHORT,),
    sides=lambda s: Sides(lhs={"cohort": s.second_moment}, rhs={"clients": s.mean_square}),
    checks=battery(
        (
            moments(f"independent sampling, {f} vectors", f, "independent", "violated" if f in _BROKEN else "holds")
            for f in FAMILIES
        ),
        (Check("exact", f"full participation, {f} vectors", exact.full, _vectors(f, "independent")) for f in FAMILIES),
        _BELOW_ONE,
        slack("independent"),
        slack("full"),
        agreement("independent"),
        COHORTS("cohorts", violated="cohorts-fail", cohorts="poisson"),
    ),
    smoke=("independent sampling, half a client expected",),
    uses=("das2022.fact2",),
)

REPAIRED: Statement = replace(
    EQ12,
    id="das2022.eq12.repaired",
    sides=lambda s: Sides(
        lhs={"cohort": s.second_moment},
        rhs={"clients": s.mean_square, "cohort size": (1 - s.r / s.n) / s.r * s.mean_square},
    ),
    checks=battery(
        _independent_proof,
        map(_variance, (2, 3, 4)),
        (moments(f"independent sampling, {f} vectors", f, "independent") for f in FAMILIES),
        _BELOW_ONE,
        _ATTAINED,
        # where (12) fails the repaired form is an equality, which samples cannot decide
        COHORTS("cohorts", cohorts="poisson"),
    ),
)

STATEMENTS = (EQ12, REPAIRED)
