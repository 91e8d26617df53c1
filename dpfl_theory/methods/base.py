"""What a method of checking is, to everything that plans, runs, reads or shows checks."""

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

    name: as checks, evidence and the command line call it. what: what it does, in a few words. order: the cost of a
    usual check, by rank; cheap methods run first. runner: the module whose ``run(statement, check, settings)`` gives
    the evidence, imported when it is needed.

    decisive: whether what it finds makes a statement true. A method that looks at formulas alone does not where
    another one compares the sides. simulates: whether its verdict is drawn, from runs of algorithms: its checks share
    the false-alarm probability, need compiled kernels, and can be varied in search of a failing instance. threads:
    whether it calls kernels or linear algebra that have threads of their own. limits: whether its evidence has limits
    on both sides, which tell by how much the right side might shrink; of the others that is found by planting.
    relations: by which it can compare the sides of a statement; None where it does not compare them itself.
    builds: what a check's ``build`` returns, by name in `dpfl_theory.statements.claims`.
    """

    name: str
    what: str
    order: int
    runner: str
    decisive: bool = True
    simulates: bool = False
    threads: bool = True
    limits: bool = False
    relations: tuple[str, ...] | None = None
    builds: tuple[str, ...] = ()

    def compares_by(self, relation: str) -> bool:
        """Whether statements with this relation can be checked by it."""
        return self.relations is None or relation in self.relations

    def run(self, statement: Statement, check: Check, settings: Settings) -> Evidence:
        """The evidence of a check by this method."""
        evidence: Evidence = pkgutil.resolve_name(f"{self.runner}:run")(statement, check, settings)
        return evidence
