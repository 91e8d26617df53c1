"""Theorems from outside, in files of their own: short, true, and a planted fault is found by every method."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpfl_theory.cli import main

EXAMPLES = Path(__file__).parents[1] / "examples"

FAULTS = {
    "ef21.py": ("+ 4 * s.q", "+ 3.99 * s.q", {"worst-case"}),
    "nesterov.py": ("2 * s.L * s.D**2", "s.L * s.D**2 / 5", {"exact", "worst-case"}),
    "local_gradient_descent.py": ("4 * s.D**2", "s.D**2 / 9", {"exact", "worst-case"}),
}
"""A part of the formula, what is planted in its place, and the methods that must refute it."""


def evidence(file: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[dict[str, object]]]:
    code = main(["check", "--file", str(file), "--format", "json"])
    return code, json.loads(capsys.readouterr().out)["evidence"]


@pytest.mark.parametrize("name", FAULTS)
def test_it_holds_and_a_planted_fault_is_found(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = (EXAMPLES / name).read_text()
    assert len(text.splitlines()) <= 80
    code, found = evidence(EXAMPLES / name, capsys)
    assert code == 0, found
    right, wrong, methods = FAULTS[name]
    assert text.count(right) == 1
    planted = tmp_path / name
    planted.write_text(text.replace(right, wrong))
    code, found = evidence(planted, capsys)
    assert code == 1
    assert {e["method"] for e in found if e["verdict"] == "violated"} == methods


def test_the_rate_of_ef21_is_attained(capsys: pytest.CaptureFixture[str]) -> None:
    _, found = evidence(EXAMPLES / "ef21.py", capsys)
    ratios = [e["ratio"] for e in found if e["method"] == "worst-case"]
    assert len(ratios) == 6
    assert ratios == pytest.approx([1.0] * 6, abs=1e-5)


def test_a_step_beyond_its_limit_is_outside(capsys: pytest.CaptureFixture[str]) -> None:
    _, found = evidence(EXAMPLES / "local_gradient_descent.py", capsys)
    beyond = [e for e in found if e["verdict"] == "not-applicable"]
    assert [e["method"] for e in beyond] == ["exact", "worst-case"]
    assert all("gamma is 1.016 times its limit" in str(e["reason"]) for e in beyond)
