"""Mistakes with a free number: the number is computed, not looked up."""

from __future__ import annotations

import re

import pytest

from benchmarks.conform.planted import BUILT_IN, CORRECT, Plant, function_of
from dpfl_theory.conform import fault_search
from dpfl_theory.conform.references import references
from dpfl_theory.conform.run import conform
from dpfl_theory.core.algorithm import Fault, with_number

AT_HOME = "    return w - beta * average, state"
MOMENTUM = "    state = average if state is None else {} * state + average\n    return w - beta * state, state"
PLANTS = [
    ("scaffold", "- c_i + state.c)", "- c_i + state.c + {} * y)", 0.0333, "weight decay in the local steps"),
    ("scaffold", "- c_i + state.c)", "- c_i + state.c + {} * (y - w))", 0.237, "a proximal term in the local steps"),
    ("clients_add_noise", "eta * client.gradient(y)", "eta * (client.gradient(y) + {} * y)", 3.7e-4, "weight decay"),
    ("clients_add_noise", AT_HOME, MOMENTUM, 0.73, "server momentum"),
    ("clients_add_noise", AT_HOME, "    return w - {} * beta * average, state", 0.83, "a step of another length"),
    ("built_in", "ETA_G * total", "{} * ETA_G * total", 0.83, "a step of another length"),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("of", "old", "new", "number", "name"), PLANTS)
def test_the_number_is_found_and_told(of: str, old: str, new: str, number: float, name: str) -> None:
    plant = Plant(of, old, new.replace("{}", str(number)), name)
    found = conform(function_of(of, plant), CORRECT[of], runs=0, **BUILT_IN.get(of, {}))
    (fault,) = [f for f in found.faults if f.name.startswith(name)]
    assert re.search(rf"(?<![\d.]){number:.4g}(?![\d.])", fault.description), fault.description


def test_every_family_has_usual_numbers_and_one_sentence_without() -> None:
    families = [f for one in references().values() for f in one.faults() if f.sized is not None]
    assert {f.name for f in families} >= {"weight decay in the local steps", "server momentum"}
    for family in families:
        variants = family.variants()
        assert len(variants) == len(family.usual) > 1
        assert {v.name for v in variants} == {family.name}
        assert len({v.description for v in variants} | {family.description}) == len(variants) + 1


def test_a_number_that_explains_nothing_is_none() -> None:
    """And one that leads the search astray, to where nothing is finite."""

    def of(number: float) -> Fault:
        return Fault("x", f"{number}", "step", {"number": number})

    family = with_number("any", (1.0, 2.0), of)
    assert family.variants() == (of(1.0), of(2.0))

    for law, seen, right in (
        (lambda x: x**3, 0.125, 0.5),
        (lambda x: 1.0 + 0.0 * x, 3.0, None),
        (lambda x: x**2 + 1.0, 0.0, None),
        (lambda x: -x, 3.0, None),
    ):
        usual = [(number,) for number in family.usual]
        found = fault_search.nearest(lambda x, law=law, seen=seen: law(x) - seen, usual)  # type: ignore[misc]
        assert found == (None if right is None else pytest.approx(right, rel=1e-8))
