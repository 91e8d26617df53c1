"""The law of privacy: no audit of an algorithm exceeds the claimed privacy loss.

An algorithm with noise needs one line in dpfl_theory.audit.registry; without one, a test fails. All audits
together raise a false alarm with probability at most 1e-5; tests/mutants shows what they can detect.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dpfl_theory import algorithms
from dpfl_theory.algorithms.user_files import from_handle
from dpfl_theory.audit.registry import AUDITS, described
from dpfl_theory.simulation import Cohort, Simulation

EXAMPLES = Path(__file__).parents[2] / "examples" / "algorithms"
DELTA, REPLICATES, FAMILY_ALPHA = 1e-3, 60_000, 1e-5


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", AUDITS)
def test_no_audit_finds_more_than_is_claimed(name: str) -> None:
    """The best of its canaries also finds at least a quarter of the claim, so the audit can detect losses."""
    found = AUDITS[name].run(delta=DELTA, replicates=REPLICATES, seed=3, confidence=1.0 - FAMILY_ALPHA / len(AUDITS))
    assert [result.reason for result in found if result.verdict != "consistent"] == []
    assert max(result.epsilon_low / result.claimed for result in found) > 1 / 4


def test_every_algorithm_with_noise_is_audited() -> None:
    names = {line.algorithm.run.name for line in AUDITS.values() if isinstance(line.algorithm, Simulation)}
    private = {name for name, one in algorithms.algorithms().items() if one.protects}
    assert names == private | {"fedavg-model-clipping", "dp-norm-sgd"}


def test_mechanism_and_noise_follow_from_the_description() -> None:
    """An algorithm of a user's file is audited with its values alone; less noise than the multiplier is exposed."""
    with_description = from_handle(f"{EXAMPLES / 'fedprox.py'}:dp-fedprox").name
    try:
        values = {"eta": 0.5, "mu": 0.1, "E": 2, "beta": 1.0, "C": 1.0}
        line = described(with_description, 2.0, values, cohort=Cohort("poisson", 1.5))
        assert (line.mechanism.name, line.mechanism.sampling) == (with_description, "poisson")
        assert {found.verdict for found in line.run(delta=DELTA, replicates=20_000)} == {"consistent"}
        assert isinstance(line.algorithm, Simulation)
        less = line.algorithm.run.with_values(sigma=0.3 * line.algorithm.run.sigma)
        found = line.run(delta=DELTA, replicates=20_000, algorithm=Simulation(less, line.algorithm.cohort))
        assert "violated" in {one.verdict for one in found}
    finally:
        algorithms.REGISTERED.clear()
