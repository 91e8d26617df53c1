"""li2020 Theorem 1: FedAvg with decaying steps, all clients take part."""

from __future__ import annotations

from dpfl_theory.core import Source, battery
from dpfl_theory.statements.instances import Runs
from dpfl_theory.statements.li2020 import _symbols as li
from dpfl_theory.statements.li2020._instances import TABLE
from dpfl_theory.statements.li2020._runs import exact, runs, worst

EXACT = Runs(TABLE, exact, "exact", edges=False)
WORST = Runs(TABLE, worst, "worst-case", edges=False)
RUNS = Runs(TABLE, runs)

THEOREM1 = li.statement(
    id="li2020.theorem1",
    kind="theorem",
    source=Source(li.PAPER, "Theorem 1", provenance="restored"),
    hypotheses=li.HYPOTHESES,
    sides=li.sides,
    prescription=li.prescription,
    checks=battery(EXACT("exact"), WORST("worst"), RUNS("runs")),
    smoke=("units", "T = 1, attained", "one client, E = 2, T = 3", "one noisy client, E = 1"),
    unnoticed={"heterogeneity": "for kappa <= 31/4 the bound holds without it, and no run for larger ones needs it"},
)

STATEMENTS = (THEOREM1,)
