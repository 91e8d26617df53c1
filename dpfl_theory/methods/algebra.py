"""algebra: symbolic facts about printed formulas (units, special cases, limits, consistency between two printings)."""

from dpfl_theory.methods.base import Method

UNITS = "units"
"""The check that every displayed formula gets automatically."""

METHOD = Method(
    "algebra",
    "exact algebra",
    10,
    "dpfl_theory.checks.algebra",
    decisive=False,
    threads=False,
    builds=("Outcome",),
)
