"""The evidence of a check, by the module that runs its method."""

from __future__ import annotations

import importlib

from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, Statement, methods
from dpfl_theory.core.evidence import Evidence

__all__ = ["run_method"]


def run_method(statement: Statement, check: Check, settings: Settings) -> Evidence:
    """The evidence of a check, from ``run`` of its method's module.

    The module is imported by its name, so that evidence of one method does not depend on the code of the others
    (`dpfl_theory.checks.change_detection`).
    """
    runner = importlib.import_module(methods.get(check.method).runner)
    evidence: Evidence = runner.run(statement, check, settings)
    return evidence
