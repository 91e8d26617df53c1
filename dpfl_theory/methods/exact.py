"""exact: both sides as rational numbers, compared without rounding."""

from dpfl_theory.methods.base import Method

METHOD = Method(
    "exact",
    "exact rational arithmetic",
    20,
    "dpfl_theory.checks.exact",
    threads=False,
    relations=("<=", "=="),
    builds=("Values", "Case", "Outcome"),
)
