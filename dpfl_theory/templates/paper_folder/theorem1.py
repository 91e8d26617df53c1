"""paper-name Theorem 1: gradient descent on convex functions."""

from __future__ import annotations

from typing import Any

from dpfl_theory.core import Sides, Source, Statement, Symbols, battery
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.oracle import Oracle
from dpfl_theory.statements.instances import Runs
from dpfl_theory.statements.iteration import Iteration
from dpfl_theory.templates.paper_folder import _symbols as paper
from dpfl_theory.templates.paper_folder._instances import TABLE


def _sides(s: Symbols) -> Sides:
    return Sides({"gap": s.gap}, {"start": s.L * s.D**2 / (4 * s.K * s.eta * s.L + 2)})  # <- exactly as printed


def _step(o: Oracle, x: Vector, s: Symbols) -> Any:
    return x - s.eta * o.gradient(x)  # <-


DESCENT = Iteration(_step, {"L": "smoothness", "D": "start-distance"})  # <- 'dpfl-theory list constants'

THEOREM1 = Statement(
    id="paper-name.theorem1",
    kind="theorem",
    source=Source(paper.PAPER, "Theorem 1, Section 3"),
    symbols=paper.NOTATION,
    hypotheses=(paper.SHORT,),
    sides=_sides,
    checks=battery(
        Runs(TABLE, DESCENT.build("worst-case"), "worst-case")("few"),
        Runs(TABLE, DESCENT.build("exact"), "exact")("few many"),
        Runs(TABLE, DESCENT.build("monte-carlo"), "monte-carlo", edges=False)("many"),
    ),
)

STATEMENTS = (THEOREM1,)
