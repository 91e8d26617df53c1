"""The law of privacy: no audit of an algorithm exceeds the claimed privacy loss.

An algorithm with noise needs one line in dpfl_theory.privacy.audit.registry, or in its own module; without one, a test
fails. All audits together raise a false alarm with probability at most 1e-5; tests/mutants shows what they can detect.
"""

from __future__ import annotations

import dataclasses

import pytest
from laws.test_algorithm_laws import algorithms

import dpfl_theory.algorithms.fedavg as module
from dpfl_theory.algorithms import FedAvg, FullGradient
from dpfl_theory.algorithms.bounding import Clip
from dpfl_theory.errors import InputError
from dpfl_theory.privacy.audit.registry import AUDITS, audits

DELTA, REPLICATES, FAMILY_ALPHA = 1e-3, 60_000, 1e-5
AUDITED = audits()


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", AUDITED)
def test_no_audit_finds_more_than_is_claimed(name: str) -> None:
    """The best of its canaries also finds at least a quarter of the claim, so the audit can detect losses."""
    found = AUDITED[name].run(delta=DELTA, replicates=REPLICATES, seed=3, confidence=1.0 - FAMILY_ALPHA / len(AUDITED))
    assert [result.reason for result in found if result.verdict != "consistent"] == []
    assert max(result.epsilon_low / result.claimed for result in found) > 1 / 4


def test_every_algorithm_with_noise_is_audited() -> None:
    """Algorithms whose noise comes only from their gradients are included."""
    fields = {cls.__name__: {f.name for f in dataclasses.fields(cls)} for cls in algorithms()}
    private = {name for name, own in fields.items() if any(f.startswith(("sigma", "noise")) for f in own)}
    by_gradient = {name for name, own in fields.items() if "gradient" in own} - private
    assert {"FedAvg", "ScaffNew", "EF21"} <= private
    assert by_gradient == {"Scaffold"}
    missing = private - {type(line.algorithm).__name__ for line in AUDITED.values()}
    noisy = [line.algorithm for line in AUDITED.values() if getattr(line.algorithm, "gradient", FullGradient()).private]
    missing |= by_gradient - {type(algorithm).__name__ for algorithm in noisy}
    assert missing == set(), "give each a line in AUDITS (dpfl_theory.privacy.audit.registry)"


def test_an_algorithm_joins_by_one_line_in_its_own_module(monkeypatch: pytest.MonkeyPatch) -> None:
    described = {"algorithm": "dp-fedavg", "clients": 3, "noise_multiplier": 3.0}
    mine = FedAvg(0.5, bounding=Clip(1.0), sigma=1.0)
    monkeypatch.setattr(module, "AUDITS", {"mine": {"algorithm": mine, "mechanism": described}}, raising=False)
    audits.cache_clear()
    try:
        assert [r.verdict for r in audits()["mine"].run(delta=DELTA, replicates=20_000)] == ["consistent"] * 2
        monkeypatch.setattr(module, "AUDITS", {next(iter(AUDITS)): {"algorithm": mine, "mechanism": described}})
        audits.cache_clear()
        with pytest.raises(InputError, match="two audits are called 'FedAvg, clip, average'"):
            audits()
    finally:
        audits.cache_clear()
