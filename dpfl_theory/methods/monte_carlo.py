"""monte-carlo: a bound is compared with runs of the algorithm."""

from dpfl_theory.methods.base import Method

METHOD = Method(
    "monte-carlo",
    "simulation with confidence limits",
    50,
    "dpfl_theory.checks.monte_carlo",
    simulates=True,
    limits=True,
    relations=("<=", "=="),
    builds=("Experiment",),
)
