"""Correct rounds conform, and planted faults get their names. (`python -m benchmarks.conform` has the full counts.)"""

from __future__ import annotations

import pytest

from benchmarks.conform.equivalent import drawing, plan_of
from benchmarks.conform.planted import BUILT_IN, CONSEQUENCES, CORRECT, PLANTED, Plant, function_of
from dpfl_theory.conform.fault_search import candidate
from dpfl_theory.conform.references import references
from dpfl_theory.conform.run import conform
from dpfl_theory.conform.traces import chosen


def identified(plant: Plant) -> str:
    return f"{plant.of}: {plant.named}"


LONG = {"dp_scaffold"}
"""Rounds whose comparison takes seven seconds."""


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CORRECT)
def test_correct_rounds_conform(name: str) -> None:
    found = conform(function_of(name), CORRECT[name], runs=300, **BUILT_IN.get(name, {}))
    assert found.verdict == "conforms", str(found)
    if found.privacy.get("epsilon") is not None:
        claimed = found.privacy["epsilon_claimed"]
        assert found.privacy["epsilon"] <= claimed * (1.0 + 1e-3)
        if CORRECT[name] not in (
            "dp-scaffold",
            "dp-fedavg-local",
        ):  # there the claim is of one client's messages, and averages tell less
            assert found.privacy["epsilon"] >= claimed * (1.0 - 1e-3)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    "plant", [pytest.param(p, marks=[pytest.mark.slow] * (p.of in LONG), id=identified(p)) for p in PLANTED]
)
def test_planted_faults_are_named(plant: Plant) -> None:
    found = conform(function_of(plant.of, plant), CORRECT[plant.of], runs=0, **BUILT_IN.get(plant.of, {}))
    assert found.verdict == "differs"
    said = {fault.name for fault in found.faults}
    assert plant.named in said, str(found)
    assert said <= {plant.named, *plant.beside, *CONSEQUENCES}, str(found)
    named = next(fault for fault in found.faults if fault.name == plant.named)
    assert named.evidence or named.lines
    text = {line for fault in found.faults for line in fault.lines}
    assert all(file.startswith(plant.of) for file, _ in text)  # lines of the round, not of what it calls


def test_there_are_thirty_faults() -> None:
    assert len({(plant.of, plant.new) for plant in PLANTED}) >= 30


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # divisions by zero and negative roots are some of the faults
@pytest.mark.parametrize("name", references())
def test_known_faults_can_be_played(name: str) -> None:
    """The search leaves out a fault whose parts raise an exception, so that it would never be named."""
    reference = references()[name]
    for path in plan_of(reference).paths:
        choices = chosen(drawing(reference.round), path)
        for fault in reference.faults():
            for variant in fault.variants():
                path.outcome(candidate(reference, reference.readings[0], (variant,)).player, choices)
