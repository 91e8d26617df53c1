"""li2020 Theorem 4: with full gradients and a fixed step, more than one local step leaves FedAvg away from w*."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.core import Sides, Source, Statement, Values, battery
from dpfl_theory.semantics.base import average
from dpfl_theory.statements.instances import Runs
from dpfl_theory.statements.li2020 import _symbols as li
from dpfl_theory.statements.li2020._instances import TABLE


def _limit(statement: Statement, i: Mapping[str, Any]) -> Values:
    """Clients a_k (w - m_k)^2/2: E steps take client k the share 1 - (1 - eta a_k)^E of the way to m_k. The fixed point
    of a round is the mean of the m_k with these weights; that with weights a_k is w*."""
    a, m = tuple(map(Fraction, i["curvatures"])), tuple(map(Fraction, i["minimisers"]))
    eta, E = Fraction(i["eta"]), i["E"]
    shares = [1 - (1 - eta * x) ** E for x in a]
    star, end = average(m, a) / sum(a), average(m, shares) / sum(shares)
    values = {"E": E, "eta": eta, "L": max(a), "c": Fraction(i["c"]), "W": abs(star), "bias": abs(end - star)}
    return Values({name: v for name, v in values.items() if name in statement.units}, dict(i))


LIMITS = Runs(TABLE, _limit, "exact")
THEOREM4 = li.statement(
    id="li2020.theorem4",
    kind="theorem",
    source=Source(li.PAPER, "Theorem 4", provenance="restored"),
    hypotheses=(li.MORE, li.SHORT),
    sides=lambda s: Sides({"local steps": s.c * (s.E - 1) * s.eta * s.W}, {"bias": s.bias}),
    checks=battery(LIMITS("fixed")),
    universal=False,
)
UNIVERSAL = replace(
    THEOREM4,
    id="li2020.theorem4.universal",
    reading_of="li2020.theorem4",
    hypotheses=(li.MORE,),
    checks=battery(LIMITS("fixed", violated="long equal")),
    expected="violated",
    universal=True,
)

STATEMENTS = (THEOREM4, UNIVERSAL)
