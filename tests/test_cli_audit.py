"""The command `privacy audit`: its output, its refusals, and its exit code."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dpfl_theory.audit import registry
from dpfl_theory.audit.registry import AUDITS
from dpfl_theory.cli import main
from dpfl_theory.privacy.mechanisms import get

NAME = "dp-fedavg, server noise"


def test_the_sound_code_is_consistent(capsys: pytest.CaptureFixture[str]) -> None:
    """False-alarm probability 1e-6; the seed is fixed."""
    assert main(["privacy", "audit", NAME, "--replicates", "20000", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    found = document["audits"]
    assert [row["verdict"] for row in found] == ["consistent", "consistent"]
    assert all(0.3 * row["claimed"] < row["epsilon_low"] < row["claimed"] for row in found)
    assert all(row["claimed"] == pytest.approx(3.1387, abs=1e-3) for row in found)
    assert document["confidence"] == 1 - 1e-6


def test_a_claim_that_promises_too_much_is_refuted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = AUDITS[NAME]
    better = registry.Audit(line.algorithm, get("dp-fedavg")(clients=3, noise_multiplier=2.0))
    monkeypatch.setitem(AUDITS, NAME, better)
    assert main(["privacy", "audit", NAME, "--replicates", "50000"]) == 1
    text = capsys.readouterr().out.splitlines()
    assert text[0].split()[0] == "verdict"
    assert all(line.startswith("violated") for line in text[1:3])
    assert text[3] == f"{NAME}:  unit: one client, with all of its data", "what the certified epsilon is about"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["dp-fedavg, server nois"], "did you mean 'dp-fedavg, server noise'"),
        ([NAME, "--replicates", "10"], "whole number of at least 1000"),
        ([NAME, "--replicates", "1e3.5"], "--replicates is"),
        ([NAME, "--delta", "0"], "must lie in (0, 1)"),
        ([NAME, "--output", "/dev/null/at/all.json"], "/dev/null"),
    ],
)
def test_what_cannot_be_audited_is_one_sentence(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["privacy", "audit", *arguments]) == 2
    captured: Any = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert captured.err.count("\n") == 1
