"""monte-carlo: a bound against the running algorithm."""

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
