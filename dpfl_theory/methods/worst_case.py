"""worst-case: performance estimation gives the largest left side for a right side of 1, with a certificate."""

from dpfl_theory.methods.base import Method

METHOD = Method(
    "worst-case",
    "worst cases over a whole class of functions",
    40,
    "dpfl_theory.checks.worst_case",
    relations=("<=", "==", ">="),
    builds=("WorstCase", "Performance"),
)
