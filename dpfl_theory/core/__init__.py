"""What a statement is written with: symbols, hypotheses, sides, checks and their inputs, errata.

`formula` evaluates its sides, `methods` lists the ways of checking it, and `evidence` holds what a check found.
"""

from dpfl_theory.core.check import Check, battery, checks
from dpfl_theory.core.check_inputs import (
    Case,
    ConstantClaim,
    Escape,
    Experiment,
    GaussianClaim,
    Outcome,
    Performance,
    PrivacyClaim,
    PrivacyPoint,
    Values,
    WorstCase,
    claim,
)
from dpfl_theory.core.errata import Cause, Effect, Erratum, Remark, Typo
from dpfl_theory.core.expressions import Symbols
from dpfl_theory.core.hypothesis import Hypothesis, by_construction, whole
from dpfl_theory.core.notation import Expected, Notation, Symbol
from dpfl_theory.core.statement import Sides, Source, Statement

__all__ = [
    "Case",
    "Cause",
    "Check",
    "ConstantClaim",
    "Effect",
    "Erratum",
    "Escape",
    "Expected",
    "Experiment",
    "GaussianClaim",
    "Hypothesis",
    "Notation",
    "Outcome",
    "Performance",
    "PrivacyClaim",
    "PrivacyPoint",
    "Remark",
    "Sides",
    "Source",
    "Statement",
    "Symbol",
    "Symbols",
    "Typo",
    "Values",
    "WorstCase",
    "battery",
    "by_construction",
    "checks",
    "claim",
    "whole",
]
