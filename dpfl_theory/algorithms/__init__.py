"""Server loops written once over the engines, and the loop that runs them on lanes."""

from dpfl_theory.algorithms.base import Algorithm
from dpfl_theory.algorithms.cohort import Cohort
from dpfl_theory.algorithms.fedavg import FedAvg
from dpfl_theory.algorithms.hyperparameters import Schedule, Tabulated
from dpfl_theory.algorithms.scaffnew import ScaffNew
from dpfl_theory.algorithms.simulate import Run, Stream, simulate

__all__ = ["Algorithm", "Cohort", "FedAvg", "Run", "ScaffNew", "Schedule", "Stream", "Tabulated", "simulate"]
