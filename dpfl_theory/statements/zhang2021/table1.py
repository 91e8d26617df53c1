"""zhang2021 Table 1: the stationary points of problem (8), printed and true, for each reading of the clipped
quantity."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from dpfl_theory.core import Case, Check, Statement, battery
from dpfl_theory.statements.relations import exact
from dpfl_theory.statements.zhang2021 import _symbols as zhang

Cell = tuple[str | None, int | None]
"""(c, Q), each None for infinity."""

PRINTED: dict[Cell, Fraction] = dict(
    zip(((None, 1), (None, None), ("1", 1), ("1", None)), map(Fraction, ("0", "13/9", "1/2", "2/3")))
)
GRADIENTS = {**PRINTED, ("1", None): Fraction(13, 9)}
"""The true values when every local gradient is clipped."""
UPDATES = {**PRINTED, ("1", 1): Fraction(0)}
"""The true values when updates are clipped, at every step with which the unclipped method is stable."""
STABLE_BELOW = Fraction(6, 41)
"""One unclipped round with Q = 1 multiplies x by 1 - 41 eta_l/3."""


def one_step(eta: Fraction) -> Fraction:
    """The stationary point for c = 1, Q = 1 with clipped updates, as a function of the local step.

    f_3's update, 6 eta at x = 0, is clipped from eta = 1/6 on, f_1's from 2/7 on; then only f_2, (2x - 1)^2/2, has a
    slope left.

    >>> [str(one_step(Fraction(eta))) for eta in ("1/7", "1/5", "1")]
    ['0', '1/5', '1/2']
    """
    return max(Fraction(0), min(Fraction(1, 2), (6 * eta - 1) / (5 * eta)))


def _attracting(clipping: str, step: Fraction, Q: float, c: Fraction | None) -> Fraction:
    """The one stationary point, which attracts."""
    from dpfl_theory.problems.scalar import equation_8

    (found,) = equation_8().stationary(clipping, step=step, steps=Q, threshold=c)
    if found.point is None or found.stability != "attracting":
        raise ValueError(f"the stationary point at eta_l = {step}, Q = {Q} does not attract")
    return found.point


def entry_cases(_: Statement, instance: Mapping[str, Any], table: Mapping[Cell, Fraction]) -> Iterator[Case]:
    """The stationary point of one entry at each local step, compared with the table's.

    instance: clipping, ``gradient`` or ``difference``; c and Q, None for infinity; eta_l, local steps. With Q = inf the
    local steps end at the clients' minimisers, whatever the step. The point must be unique and attract.
    """
    c, Q = instance["c"], instance["Q"]
    clipping, threshold = ("none", None) if c is None else (instance["clipping"], Fraction(c))
    for step in map(Fraction, instance["eta_l"]):
        if step >= STABLE_BELOW:
            raise ValueError(f"the unclipped method is not stable at eta_l = {step}")
        point = _attracting(clipping, step, math.inf if Q is None else Q, threshold)
        values = {"c": "inf" if c is None else c, "Q": "inf" if Q is None else Q, "eta_l": step}
        yield Case(values, point, table[c, Q])


def longer_cases(_: Statement, instance: Mapping[str, Any]) -> list[Case]:
    """c = 1, Q = 1, updates clipped, at steps with which the unclipped method is not stable: the one stationary point,
    which attracts, against `one_step`."""
    return [
        Case({"c": "1", "Q": 1, "eta_l": step}, _attracting("difference", step, 1, Fraction(1)), one_step(step))
        for step in map(Fraction, instance["eta_l"])
    ]


_STEPS = ["1/1000", "1/50", "1/20", "1/10", "1/7"]


@exact(
    "c = 1, at every step that was tried", eta_l={"1": [*_STEPS, "1/5", "1/2", "1"], "inf": ["1/1000", "1/50", "1/20"]}
)
def _at_any_step(_: Statement, instance: Mapping[str, Any]) -> list[Case]:
    """c = 1 as Section 2.1 has it: for Q = 1 an update is the mini-batch's gradient, which is clipped to 1, and for Q =
    inf the update is clipped to 1. The stationary points at each step, against the table's."""
    return [
        Case({"Q": str(Q), "eta_l": step}, _attracting(clipping, step, Q, Fraction(1)), PRINTED["1", column])
        for Q, clipping, column in ((1, "gradient", 1), (math.inf, "difference", None))
        for step in map(Fraction, instance["eta_l"][str(Q)])
    ]


def _entries(
    clipping: str, table: Mapping[Cell, Fraction], columns: tuple[int | None, ...] = (1, None)
) -> Iterator[Check]:
    """A check of each entry of these columns."""
    for c, Q in (cell for cell in PRINTED if cell[1] in columns):
        truth = (GRADIENTS if clipping == "gradient" else UPDATES)[c, Q]
        name = f"{'no clipping' if c is None else f'c = {c}'}, Q = {'inf' if Q is None else Q}"
        instance = {"clipping": clipping, "c": c, "Q": Q, "eta_l": _STEPS if Q == 1 else ["1/50"]}
        verdict = "holds" if table[c, Q] == truth else "violated"
        yield Check("exact", name, partial(entry_cases, table=table), instance, verdict)


def _endless(table: Mapping[Cell, Fraction], expected: str) -> Check:
    @exact("c = 1, Q = 1000 steps of 1/50", expected=expected, eta_l="1/50", Q=1000, x="13/9")
    def check(_: Statement, instance: Mapping[str, Any]) -> Case:
        """With c = 1 and endless local steps: the point where the runs with Q = 1000 steps become stationary, rounded
        to six digits.

        Local gradients are clipped, which does not keep a client from its minimiser: (4 + 1/2 - 1/6)/3 = 13/9.
        """
        from dpfl_theory.problems.scalar import equation_8

        clients, step, Q = equation_8(), Fraction(instance["eta_l"]), instance["Q"]
        total = Fraction(0)
        for q, m in zip(clients.curvatures, clients.minimisers):
            x = Fraction(instance["x"])
            for _step in range(Q):
                g = q * (x - m)
                x -= step * max(Fraction(-1), min(Fraction(1), g))
                x = Fraction(round(x * 10**15), 10**15)  # six digits are requested: long fractions only cost time
            total += x
        values = {"Q": Q, "eta_l": step, "from x": instance["x"]}
        return Case(values, round(total / 3, 6), round(table["1", None], 6))

    return check


def _table(id_: str, where: str = "", provenance: str = "read", **more: Any) -> Statement:
    source = zhang.source(f"Table 1, Section 2.1{where}", provenance=provenance)
    return Statement(id=id_, kind="table", source=source, relation="==", **more)


GRADIENT: Statement = _table(
    "zhang2021.table1",
    checks=battery(_entries("gradient", PRINTED), _endless(PRINTED, "violated")),
)

GRADIENT_REPAIRED: Statement = _table(
    "zhang2021.table1.repaired", checks=battery(_entries("gradient", GRADIENTS), _endless(GRADIENTS, "holds"))
)

UPDATE: Statement = _table(
    "zhang2021.table1.update-clipping",
    where=", with Section 2.1",
    checks=battery(_entries("gradient", PRINTED, (1,)), _entries("difference", PRINTED, (None,)), _at_any_step),
    reading_of="zhang2021.table1",
)

ONE_THRESHOLD: Statement = _table(
    "zhang2021.table1.one-threshold",
    where=", with Algorithm 2",
    provenance="derived",
    checks=battery(
        _entries("difference", UPDATES),
        exact(
            "c = 1, Q = 1, steps below 6/41, and from 1/6 to 3/2",
            eta_l=["1/1000", "1/7", "1/6", "1/5", "1/4", "2/7", "1/2", "1", "29/20"],
        )(longer_cases),
    ),
    reading_of="zhang2021.table1",
)

STATEMENTS = (GRADIENT, GRADIENT_REPAIRED, UPDATE, ONE_THRESHOLD)
