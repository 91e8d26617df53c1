"""The description of a method of checking, for all code that plans, runs, reads or shows checks."""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpfl_theory.checks.evidence import Evidence
    from dpfl_theory.checks.settings import Settings
    from dpfl_theory.statements.model import Check, Statement

__all__ = ["Method"]


@dataclass(frozen=True)
class Method:
    """One way of checking a statement.

    name: the name in checks, evidence and the command line. description: what it does, in a few words. order: the cost
    of a usual check, by rank; cheap methods run first. runner: the module whose ``run(statement, check, settings)``
    returns the evidence, imported when it is needed.

    decisive: whether its result can decide a statement. A method that checks only formulas does not where another one
    compares the sides. simulates: whether its verdict is random, from runs of algorithms. Such checks share the
    false-alarm probability, need compiled kernels, and can be varied in search of a failing instance. threads: whether
    it calls kernels or linear algebra with their own threads. limits: whether its evidence has limits on both sides,
    which show by how much the right side might shrink; for other methods that is found by planted errors. relations:
    those by which it can compare the sides of a statement; None where it does not compare them itself. builds: what a
    check's ``build`` returns, by name in `dpfl_theory.statements.claims`.
    """

    name: str
    description: str
    order: int
    runner: str
    decisive: bool = True
    simulates: bool = False
    threads: bool = True
    limits: bool = False
    relations: tuple[str, ...] | None = None
    builds: tuple[str, ...] = ()

    def compares_by(self, relation: str) -> bool:
        """Whether this method can check statements with this relation."""
        return self.relations is None or relation in self.relations

    def run(self, statement: Statement, check: Check, settings: Settings) -> Evidence:
        """The evidence of a check by this method."""
        evidence: Evidence = pkgutil.resolve_name(f"{self.runner}:run")(statement, check, settings)
        return evidence
