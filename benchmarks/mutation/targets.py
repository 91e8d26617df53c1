"""The modules that are mutated, in the order of importance, and the tests that may kill their mutants."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["NOT_YET", "SECONDS", "TARGETS"]

SECONDS = 4.0
"""Tests that take more CPU time than this are left out: a mutant should cost well below two seconds."""

_CHECKS = "dpfl_theory.checks."
_PRIVACY = "dpfl_theory.privacy."
_MECHANISMS = _PRIVACY + "mechanisms."

TARGETS: Mapping[str, tuple[str, ...]] = {
    _CHECKS + "decision": ("tests/checks/test_decision.py", "tests/checks/test_equality.py"),
    _CHECKS + "confidence": ("tests/checks/test_confidence.py",),
    _CHECKS + "evidence": ("tests/test_evidence.py", "tests/checks/test_verdicts.py"),
}
"""A new module of the core is one more line here."""

NOT_YET: tuple[str, ...] = ()
"""Modules of the core for which this has not been run to the end."""
