"""noble2022 Theorem 4.2 read for every delta: its logarithms lost factors 2 that no constant gives back there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpfl_theory.statements.model import Assumption, Statement
from dpfl_theory.statements.noble2022.rates import _no_constant as no_constant
from dpfl_theory.statements.noble2022.rates import theorem4_2 as asymptotic

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem


def _defined(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    if not 0 < values["delta"] < 1:
        return f"delta = {values['delta']} does not lie in (0, 1)"
    ratio = values["T"] * values["l"] / values["delta"]
    return None if ratio >= 1 else f"T l/delta = {ratio} is below 1, where its logarithm is negative"


DEFINED = Assumption("0 < delta < 1 and T l >= delta, so that the privacy bound is a number", _defined)
_NOTE = (
    "d = 1, M = l = K = s = R = C = D_0 = 1, F(x) = x^2/2 up to |x| = 1 and linear beyond, T = 1000, epsilon = 1/1000, "
    "1 - delta = 1e-13: for all step sizes and weights the excess is above 0.245, and the right side is 0.00183 c; for "
    "epsilon = 1/T, log(1/delta) = T^(-5) no c serves for all T. A small delta is no way out: with M = T/delta such "
    "users, one a round (Tl = delta), and epsilon = delta/T^2 the privacy bound is 0 and the right side tends to 0, "
    "but the excess stays near 1/4 or more. With log(2Tl/delta) log(2/delta) in the bound c = 51 (DP-SCAFFOLD-warm) "
    "and 12 (DP-FedAvg) serve"
)


def _read_literally(id_: str, statement: Statement) -> Statement:
    return replace(
        statement,
        id=id_,
        title=f"{statement.title}, for every delta",
        source=replace(statement.source, note=_NOTE),
        assumptions=tuple(DEFINED if a is asymptotic.SMALL else a for a in statement.assumptions),
        checks=no_constant.checks(),
        expected="violated",
        remark=None,
        reading="delta is any number in (0, 1) with Tl >= delta, for which the bound is defined.",
        reading_of=statement.id,
        slips=(),
    )


SCAFFOLD = _read_literally("noble2022.theorem4.2.scaffold.every-delta", asymptotic.SCAFFOLD)
FEDAVG = _read_literally("noble2022.theorem4.2.fedavg.every-delta", asymptotic.FEDAVG)
STATEMENTS = (FEDAVG, SCAFFOLD)
