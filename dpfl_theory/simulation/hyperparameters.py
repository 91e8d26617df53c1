"""Hyper-parameters: numbers, one number for each replicate, and step sizes that change from round to round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfl_theory.errors import InputError

PerReplicate = float | Sequence[float]
"""A hyper-parameter: one number for all replicates, or one for each replicate."""


@dataclass(frozen=True)
class Schedule:
    """A step size that shrinks geometrically: ``initial * decay^k`` in round k (das2022 Appendix H uses decay 0.99).

    >>> Schedule(0.1, decay=0.5).step_size(2)
    0.025
    """

    initial: PerReplicate
    decay: float = 1.0

    def step_size(self, k: int) -> Any:
        """The step size of round k: a number, or an array with one number for each replicate."""
        initial = np.asarray(self.initial, dtype=np.float64)
        value = initial * self.decay**k
        return float(value) if value.ndim == 0 else value


@dataclass(frozen=True)
class Tabulated:
    """Step sizes given one by one: ``steps[k]`` in round k, for any schedule that a paper may prescribe.

    >>> Tabulated([0.3, 0.2, 0.1]).step_size(1)
    0.2
    """

    steps: Sequence[float]

    def step_size(self, k: int) -> float:
        """The step size of round k; raises InputError when the list ends before."""
        if k >= len(self.steps):
            raise InputError(f"the step sizes end before round {k}: give one for each round, not {len(self.steps)}")
        return float(self.steps[k])


StepSize = PerReplicate | Schedule | Tabulated
"""A step size: constant, or different from round to round."""


def changes(value: Any) -> bool:
    """Whether a hyper-parameter differs from round to round."""
    return isinstance(value, (Schedule, Tabulated))


def step_at(step: StepSize, k: int) -> Any:
    """The step size of round k: a number, or one for each replicate."""
    return step.step_size(k) if isinstance(step, (Schedule, Tabulated)) else step


def to_json(value: Any) -> Any:
    """A hyper-parameter as JSON data: a number, a list with one for each replicate, a schedule's fields, or None."""
    if isinstance(value, (Schedule, Tabulated)):
        return {key: to_json(field) for key, field in vars(value).items()}
    if value is None or isinstance(value, (int, float)):
        return value
    return float(value) if np.ndim(value) == 0 else [float(v) for v in value]  # NumPy's integers are not JSON


def noisy(level: Any) -> bool:
    """Whether a noise level is above zero in some replicate."""
    if isinstance(level, float):  # asked in every local step, where NumPy would take longer than the step itself
        return level != 0.0
    return bool(np.any(np.asarray(level) != 0.0))


def positive(name: str, value: Any, zero: bool = False) -> None:
    """Raise InputError unless every entry of ``value`` is a finite positive number (or zero where allowed)."""
    try:
        entries = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} is {value!r}: a number, or one number for each replicate, is needed") from None
    for entry in entries.ravel():
        if not math.isfinite(entry) or entry < 0 or (entry == 0 and not zero):
            need = "a finite number that is not negative" if zero else "a finite positive number"
            raise InputError(f"{name} is {entry:g}: {need} is needed")


def positive_steps(name: str, value: Any) -> None:
    """Raise InputError unless ``value`` is positive, or a schedule of positive numbers."""
    if isinstance(value, Schedule):
        positive(f"{name}'s initial value", value.initial)
        positive(f"{name}'s decay", value.decay)
    elif isinstance(value, Tabulated):
        positive(f"an entry of {name}", value.steps)
    else:
        positive(name, value)


def fits_replicates(name: str, value: Any, replicates: int) -> None:
    """Raise InputError when ``value`` has one number per replicate for another number of replicates."""
    given = value.initial if isinstance(value, Schedule) else value
    shape = np.shape(given) if isinstance(given, (list, tuple, np.ndarray)) else ()
    if shape not in ((), (replicates,)):
        what = f"{shape[0]} values for {replicates} replicates" if len(shape) == 1 else f"shape {shape}"
        raise InputError(f"{name} has {what}: give one number, or one for each replicate")
