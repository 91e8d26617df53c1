"""The known faults of implementations. A fault's role in the round, by which a finding chooses lines, is in the name of
the function that declares it."""

from functools import partial
from typing import Any

from dpfl_theory.core.algorithm import Fault, fault

average_fault = partial(fault, role="average")
clip_fault = partial(fault, role="clip")
cohort_fault = partial(fault, role="cohort")
control_fault = partial(fault, role="control")
local_fault = partial(fault, role="local")
noise_fault = partial(fault, role="noise")
step_fault = partial(fault, role="step")


def known(*faults: Fault) -> Any:
    """The method `faults` of an algorithm that has these."""
    return classmethod(lambda cls: faults)
