"""Server loops written once over the engines, and the loop that runs them on replicates."""

from dpfl_theory.algorithms.average import WeightedAverage
from dpfl_theory.algorithms.base import Algorithm
from dpfl_theory.algorithms.batched import Simulation
from dpfl_theory.algorithms.cohort import Cohort
from dpfl_theory.algorithms.divergence import DivergenceWarning
from dpfl_theory.algorithms.gradients import FullGradient, Gradient, NoisyGradient, RecordGradient
from dpfl_theory.algorithms.hyperparameters import Schedule, Tabulated
from dpfl_theory.algorithms.simulate import Run, Stream, simulate

__all__ = [
    "Algorithm",
    "Cohort",
    "DivergenceWarning",
    "FullGradient",
    "Gradient",
    "NoisyGradient",
    "RecordGradient",
    "Run",
    "Schedule",
    "Simulation",
    "Stream",
    "Tabulated",
    "WeightedAverage",
    "simulate",
]
