"""das2022's six statements on sampled cohorts, read with exactly r clients in each round: they hold as printed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dpfl_theory.core import Statement, battery
from dpfl_theory.core.check import Part
from dpfl_theory.statements.das2022 import _sampling_moments as exact
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022 import _worst_cases as worst
from dpfl_theory.statements.das2022 import eq12, eq35_to_39, eq47, theorem4, theorem7
from dpfl_theory.statements.das2022._runs import NORMALISE


def _read(id_: str, printed: Statement, uses: Iterable[str], *parts: Part, algebra: bool = True) -> Statement:
    """The printed statement with exactly r clients; its algebra checks are the same under both readings."""
    own = [c for c in printed.checks if c.method == "algebra"] if algebra else []
    return replace(
        printed,
        id=id_,
        reading_of=printed.id,
        hypotheses=(*printed.hypotheses, das.EXACT_COHORT),
        checks=battery(own, *parts),
        uses=tuple(uses),
    )


_OUT = "not-applicable"
_MIXED = {"kappa": "+1/50"}
EQ12 = _read(
    "das2022.eq12.fixed-size",
    eq12.EQ12,
    ["das2022.fact2"],
    eq12.slack("fixed"),
    (eq12.moments(f"fixed size, {family} vectors", family, "fixed") for family in eq12.FAMILIES),
    eq12.moments("outside exactly r clients", "equal", "independent", _OUT, n=[2], r=["1"]),
    eq12.moments("just outside r >= 1", "one-hot", "fixed", _OUT, r=["1"], stated={"r": "99/100"}),
    eq12.moments("just outside exactly r clients", "one-hot", "fixed", _OUT, stated=_MIXED),
    eq12.agreement("fixed"),
    eq12.COHORTS("cohorts", cohorts="fixed"),
    algebra=False,
)
EQ35 = _read(
    "das2022.eq35.fixed-size",
    eq35_to_39.EQ35,
    ["das2022.eq34", EQ12.id],
    exact.same_clients("200 equal clients", "fixed", [1, 4, 8, 20]),
    exact.same_clients("outside exactly r clients", "independent", [4], _OUT),
    exact.same_clients("just outside exactly r clients", "fixed", [4], _OUT, stated=_MIXED),
    worst.round_outside("1/2", 1, "fixed"),
    worst.round_checks("dp-fedavg", ("fixed",)),
    worst.near_threshold("fixed"),
)
EQ47 = _read(
    "das2022.eq47.fixed-size",
    eq47.EQ47,
    ["das2022.eq46", EQ12.id],
    worst.round_checks("dp-normfedavg", ("fixed",)),
    NORMALISE("norm exactly-norm-jumps", cohorts="fixed"),
)
THEOREM7 = _read(
    "das2022.theorem7.fixed-size", theorem7.GENERAL, [EQ47.id], NORMALISE("norm exactly-norm-jumps", cohorts="fixed")
)
THEOREM7_ALPHA = _read(
    "das2022.theorem7.alpha.fixed-size",
    theorem7.ALPHA,
    [THEOREM7.id],
    NORMALISE("alpha-norm exactly-alpha-jumps", cohorts="fixed"),
)
THEOREM4B = _read(
    "das2022.theorem4b.fixed-size",
    theorem4.B,
    [THEOREM7_ALPHA.id],
    NORMALISE("lipschitz exactly-jumps exactly-in-range", cohorts="fixed"),
)

STATEMENTS = (EQ12, EQ35, EQ47, THEOREM7, THEOREM7_ALPHA, THEOREM4B)
