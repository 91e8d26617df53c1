"""The modules that are mutated, in the order of importance, and the tests that may kill their mutants."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["BUDGET", "NOT_YET", "SECONDS", "TARGETS"]

SECONDS = 2.0
"""Tests that take more CPU time than this are left out: a mutant should cost well below two seconds."""

BUDGET = 8.0
"""CPU seconds of tests, the fastest first, that one mutant has."""

_CHECKS = "dpfl_theory.checks."
_PRIVACY = "dpfl_theory.privacy."
_MECHANISMS = _PRIVACY + "mechanisms."

_PLD = ("tests/privacy/test_certified_limits.py", "tests/privacy/test_seen_messages.py")
_DESCRIBED = (
    "tests/privacy/test_described.py",
    "tests/privacy/test_seen_messages.py",
    "tests/privacy/test_mechanisms.py",
    "tests/privacy/test_said.py",
    "tests/privacy/test_central_mechanisms.py",
)

_CERTIFICATES = ("tests/checks/test_certificate_file.py",)

_ALPHA = (
    "tests/checks/test_alpha.py::test_limits_spend_exactly_their_alpha",
    "tests/checks/test_alpha.py::test_false_alarms_are_counted",
)

TARGETS: Mapping[str, tuple[str, ...]] = {
    _CHECKS + "decision": ("tests/checks/test_decision.py", *_ALPHA),
    _CHECKS + "confidence": ("tests/checks/test_confidence_edges.py", "tests/checks/test_confidence.py"),
    "dpfl_theory.core.evidence": ("tests/test_evidence.py", "tests/checks/test_verdicts.py", "tests/test_notebook.py"),
    _CHECKS + "exact": ("tests/checks/test_exact.py", "tests/checks/test_exact_edges.py"),
    _CHECKS + "hypotheses": (
        "tests/checks/test_unmet.py",
        "tests/checks/test_pep_inequality.py",
        "tests/checks/test_hypothesis_boundaries.py",
    ),
    _CHECKS + "verifier": ("tests/checks/test_verifier.py", *_CERTIFICATES),
    _CHECKS + "interpolation": ("tests/checks/test_interpolation.py", *_CERTIFICATES),
    _CHECKS + "certificate": ("tests/checks/test_certificate.py", "tests/checks/test_estimation.py"),
    _CHECKS + "estimation": ("tests/checks/test_estimation.py",),
    _CHECKS + "worst_case": ("tests/checks/test_worst_case_edges.py", "tests/checks/test_worst_case.py"),
    _PRIVACY + "pld": _PLD,
    _PRIVACY + "gaussian": ("tests/privacy/test_gaussian.py",),
    _PRIVACY + "rdp": ("tests/privacy/test_moments.py",),
    _PRIVACY + "accounting": ("tests/privacy/test_spent.py", "tests/privacy/test_calibration.py"),
    _PRIVACY + "events": (*_PLD, "tests/privacy/test_pld.py::test_simplified_events", "tests/privacy/test_cohorts.py"),
    _PRIVACY + "sampling": ("tests/privacy/test_cohorts.py", "tests/privacy/test_sampling.py"),
    _MECHANISMS + "base": _DESCRIBED,
    _MECHANISMS + "averaged_messages": _DESCRIBED,
    _MECHANISMS + "record_level": _DESCRIBED,
    _MECHANISMS + "coin_messages": _DESCRIBED,
    _MECHANISMS + "error_feedback": _DESCRIBED,
    "dpfl_theory.statements.noise_constants": ("tests/privacy/test_constants.py",),
    _PRIVACY + "tails": ("tests/privacy/test_tails.py", "tests/privacy/test_accounting.py"),
    _PRIVACY + "convolution": ("tests/privacy/test_kept_sums.py", "tests/privacy/test_convolution.py"),
    _PRIVACY + "grid": ("tests/privacy/test_grid.py", "tests/privacy/test_certified_limits.py"),
    "dpfl_theory.runtime.keys": ("tests/store/test_canonical.py", "tests/store/test_keys.py"),
    _CHECKS + "power": ("tests/checks/test_power_edges.py", "tests/checks/test_detected.py"),
}
"""A new module of the core is one more line here."""

NOT_YET: tuple[str, ...] = ()
"""Modules of the core for which this has not been run to the end."""
