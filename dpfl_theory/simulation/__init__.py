"""Batched simulation of algorithms: rounds of a description on many replicates at once, and what is observed."""

from dpfl_theory.simulation.average import WeightedAverage
from dpfl_theory.simulation.base import Algorithm
from dpfl_theory.simulation.batched import Simulation
from dpfl_theory.simulation.cohort import Cohort
from dpfl_theory.simulation.divergence import DivergenceWarning
from dpfl_theory.simulation.gradients import FullGradient, Gradient, NoisyGradient, RecordGradient
from dpfl_theory.simulation.hyperparameters import Schedule, Tabulated
from dpfl_theory.simulation.simulate import Run, Stream, simulate

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
