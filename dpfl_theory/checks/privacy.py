"""privacy: does a prescribed noise give the stated (epsilon, delta)?

A check's ``build(instance)`` returns a claim, whose type says how it is decided:

* a `PrivacyClaim` by certified values at points;
* a `ConstantClaim` by the constant that is needed and by instances at which every candidate fails (both in
  `dpfl_theory.checks.privacy_claims`);
* a `GaussianClaim`, about one release with noise s(delta)/epsilon, here.

A point at which the true delta exceeds the claimed one refutes the claim. A grid proves nothing, so *holds* depends on
cells that cover the whole range (see `covered`).
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import singledispatch
from typing import Any

from dpfl_theory.checks.privacy_claims import decide_constant, decide_points
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, ConstantClaim, GaussianClaim, PrivacyClaim, Statement
from dpfl_theory.core.evidence import Evidence, Interval
from dpfl_theory.lazy import mpmath
from dpfl_theory.privacy.gaussian import gaussian_delta, smallest_failing_epsilon

__all__ = ["ConstantClaim", "GaussianClaim", "PrivacyClaim", "covered", "run"]

AGREEMENT = 1e-9
"""Relative difference from dp-accounting's double-precision value above which neither is trusted."""

ROUNDING = 1e-13
"""Absolute rounding of dp-accounting's delta, a difference of two double-precision probabilities of at most 1."""


def covered(claim: GaussianClaim, limit: int = 4000) -> int | None:
    """The number of cells with which the claim is proved over its whole box, or None when no such proof was found.

    Two facts reduce the box to finitely many values. For a fixed delta the true delta grows with epsilon, so the
    largest epsilon decides. (The derivative is e^epsilon (phi(a)/s - Phi(-a)) with a = epsilon/(2s) + s >= s; it is
    positive by Mills' ratio.) On a cell [a, b] of deltas the noise is smallest at b and the claimed delta is smallest
    at a: if the true delta with the noise of b is at most a, the whole cell holds. Cells that fail are halved
    (geometrically) until they hold."""
    with mpmath.workdps(65):
        largest = mpmath.mpf(claim.epsilons[-1])
        waiting = [(mpmath.mpf(claim.deltas[0]), mpmath.mpf(claim.deltas[-1]))]
        done = 0
        while waiting:
            a, b = waiting.pop()
            if claim.scale(b) > claim.scale(a):
                raise ValueError(
                    f"the scale grows from delta = {mpmath.nstr(a, 6)} to {mpmath.nstr(b, 6)}: no cell is valid"
                )
            if gaussian_delta(largest, claim.scale(b) / largest)[1] <= a:
                done += 1
            elif done + len(waiting) >= limit or b < a * (1 + mpmath.mpf("1e-6")):
                return None
            else:
                middle = mpmath.sqrt(a * b)
                waiting += [(middle, b), (a, middle)]
        return done


def run(statement: Statement, check: Check, settings: Settings) -> Evidence:
    """The evidence of one check; lhs is the true value where it is largest relative to the claimed one, the rhs."""
    started = time.perf_counter()
    evidence = decide(check.make(statement), statement, check)
    return replace(evidence, seconds=time.perf_counter() - started)


@singledispatch
def decide(claim: Any, statement: Statement, check: Check) -> Evidence:
    """The evidence for a claim of some type; one function is registered for each."""
    raise TypeError(f"the check {check.name!r} of {statement.id} built a {type(claim).__name__}, which is not a claim")


decide.register(PrivacyClaim, decide_points)
decide.register(ConstantClaim, decide_constant)


@decide.register(GaussianClaim)
def _gaussian(claim: GaussianClaim, statement: Statement, check: Check) -> Evidence:
    rows = []
    for delta in claim.deltas:
        with mpmath.workdps(65):
            claimed = mpmath.mpf(delta)
            for epsilon in claim.epsilons:
                low, high = gaussian_delta(epsilon, claim.noise_multiplier(epsilon, delta))
                rows.append((low / claimed, low, high, epsilon, delta))
    ratio, low, high, epsilon, delta = max(rows, key=lambda row: row[0])
    at = f"epsilon = {epsilon}, delta = {delta}"
    checked = _agreement(claim, epsilon, delta, low)
    thresholds = {}
    cells = None
    if checked["difference"] > AGREEMENT:
        verdict = "inconclusive"
        reason = f"the closed form and dp-accounting differ by {checked['difference']:.2g} (relative) at {at}"
    elif ratio > 1:
        verdict = "violated"
        thresholds = {
            d: float(mpmath.nstr(smallest_failing_epsilon(claim.scale(d), d), 8))
            for d in claim.deltas
            if mpmath.mpf(d) < 1
        }
        first = min(thresholds, key=lambda d: thresholds[d])
        reason = (
            f"at {at} the mechanism needs delta = {mpmath.nstr(low, 8)}, {mpmath.nstr(ratio, 6)} times the claimed "
            f"one; the claim fails from epsilon = {thresholds[first]:.4g} on (at delta = {first})"
        )
    else:
        cells = covered(claim)
        verdict = "inconclusive" if cells is None else "holds"
        box = f"0 < epsilon <= {claim.epsilons[-1]}, {claim.deltas[0]} <= delta <= {claim.deltas[-1]}"
        if cells is None:
            reason = f"no grid point fails, but the cells that would prove the claim for {box} did not close"
        else:
            reason = (
                f"proved for {box} by monotonicity in epsilon and {cells} cells of delta; on the grid the true delta "
                f"is at most {mpmath.nstr(ratio, 6)} times the claimed one ({at})"
            )
    return Evidence.of_check(
        statement,
        check,
        verdict,
        reason,
        lhs=Interval(float(low), float(low), float(high)),
        rhs=float(delta),
        detectable=1.0,
        notes={
            "worst": {
                "epsilon": epsilon,
                "delta": delta,
                "noise_multiplier": float(claim.noise_multiplier(epsilon, delta)),
            },
            "grid_points": len(rows),
            "failing": sum(row[0] > 1 for row in rows),
            "dp_accounting": checked,
            "cells": cells,
            "smallest_failing_epsilon": thresholds,
        },
        device="cpu (mpmath, 50 digits)",
    )


def _agreement(claim: GaussianClaim, epsilon: str, delta: str, value: Any) -> dict[str, float]:
    """dp-accounting's value at the same point, and its relative difference beyond double-precision errors."""
    from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss

    deviation = float(claim.noise_multiplier(epsilon, delta))
    other = float(GaussianPrivacyLoss(standard_deviation=deviation).get_delta_for_epsilon(float(epsilon)))
    away = max(0.0, abs(other - float(value)) - ROUNDING)
    return {"delta": other, "difference": away / max(float(value), 1e-300)}
