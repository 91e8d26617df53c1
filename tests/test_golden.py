"""The recorded results of the whole package come out again; `make test-full` compares all of them."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from golden.parts import COMMANDS, PARTS, compute, differences, read, rounds

TOLERANCE = 1e-6
"""Relative difference of numbers on another processor or with other versions of the numerical libraries.

On the machine that recorded them, `python -m tests.golden compare` shows that none differs in a bit.
"""


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_recorded_results_come_out_again(part: str) -> None:
    assert list(differences(read(part), compute(part), TOLERANCE)) == []


def test_what_is_recorded() -> None:
    commands = COMMANDS.read_text(encoding="utf-8").splitlines()
    assert len({*commands}) == len(commands) == 80
    assert sum(command.startswith("recommend ") for command in commands) == 40
    assert list(read("answers")) == sorted(commands)
    assert len(read("checks")) >= 3444
    assert len(read("validations")) > 100
    assert {*read("conform")} == {*rounds()}
    assert sum(name.startswith("correct") for name in rounds()) >= 16


def test_the_table_of_faults_says_what_is_recorded() -> None:
    """benchmarks/conform/CONFORM.md: each planted fault, the round that has it, and the names that it also gets."""
    table = Path(__file__).parents[1] / "benchmarks" / "conform" / "CONFORM.md"
    lines = table.read_text(encoding="utf-8").partition("| fault |")[2].splitlines()[2:]
    cells = [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)] for line in lines]
    written = [(of, name, {name, *others.split("; ")} - {""}) for _, name, of, _, others, *_ in cells]
    found = read("conform")
    recorded = [(*name.split(" | ")[1:3], {*found[name]}) for name in rounds() if name.startswith("fault")]
    assert written == recorded


@pytest.mark.parametrize(
    ("recorded", "computed", "expected"),
    [
        ({"a": 1.0}, {"a": 1.0}, []),
        ({"a": math.nan}, {"a": math.nan}, []),
        ({"a": 1.0}, {"a": math.nextafter(1.0, 2.0)}, ["a: 1.0 -> 1.0000000000000002 (2.2e-16)"]),
        ({"a": math.nan}, {"a": 1.0}, ["a: nan -> 1.0 (nan)"]),
        ({"a": {"b": [1, "x"]}}, {"a": {"b": [1, "y"]}}, ["a.b[1]: 'x' -> 'y'"]),
        ({"a": [1]}, {"a": [1, 2]}, ["a: [1] -> [1, 2]"]),
        ({"a": True}, {"a": 2}, ["a: True -> 2"]),
        ({"a": None}, {}, ["a: gone"]),
        ({}, {"a": None}, ["a: added"]),
    ],
)
def test_each_difference_is_listed(recorded: object, computed: object, expected: list[str]) -> None:
    assert list(differences(recorded, computed)) == expected


def test_numbers_within_the_tolerance_are_equal() -> None:
    assert list(differences([1.0, 1.0], [1.01, 1.5], 0.02)) == ["[1]: 1.0 -> 1.5 (0.4)"]
    assert list(differences([0.0], [1e-300], 0.02)) == ["[0]: 0.0 -> 1e-300 (2)"]
