"""li2020 Theorems 2 and 3: FedAvg with decaying steps, K clients are drawn with or without replacement."""

from __future__ import annotations

from dataclasses import replace

from dpfl_theory.core import Source, battery
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.li2020 import _symbols as li
from dpfl_theory.statements.li2020.theorem1 import EXACT, RUNS, THEOREM1
from dpfl_theory.statements.relations import Formula, Proof, algebra, of


@algebra("the number of draws grows: Theorem 1", part="It covers K -> oo; runs and moments cover finite K.")
def _many(s: Formula) -> Proof:
    return sp.limit(s.rhs, s.K, sp.oo), s.like(THEOREM1).rhs, "the limit K -> oo of (2) against (1)"


@algebra("all clients take part: Theorem 1", part="It covers K = N; runs and moments cover the others.")
def _full(s: Formula) -> Proof:
    return of(s.statement, K=s.N).rhs, s.like(THEOREM1).rhs, "(3) with K = N against (1)"


THEOREM2 = replace(
    THEOREM1,
    id="li2020.theorem2",
    source=Source(li.PAPER, "Theorem 2", provenance="restored"),
    sides=lambda s: li.sides(s, 4 * s.E**2 * s.G**2 / s.K),
    checks=battery(_many, EXACT("with"), RUNS("runs-with")),
    unnoticed={},
    uses=("li2020.theorem1",),
)
THEOREM3 = replace(
    THEOREM2,
    id="li2020.theorem3",
    source=Source(li.PAPER, "Theorem 3", provenance="restored"),
    hypotheses=(*li.HYPOTHESES, li.BALANCED, li.TWO),
    sides=lambda s: li.sides(s, (s.N - s.K) / (s.N - 1) * 4 * s.E**2 * s.G**2 / s.K),
    checks=battery(_full, EXACT("without"), RUNS("runs-without")),
)

STATEMENTS = (THEOREM2, THEOREM3)
