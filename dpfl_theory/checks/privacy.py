"""privacy: does a prescribed noise give the stated (epsilon, delta)?

A check's ``build(instance)`` returns a claim, whose type says how it is decided:

* a `GaussianClaim`, about one release with noise s(delta)/epsilon, by closed forms and cells;
* a `PrivacyClaim` by certified limits of the true value at points;
* a `ConstantClaim` by the constant that is needed and by instances at which every candidate fails.

A point at which the true delta exceeds the claimed one refutes the claim. A grid proves nothing, so *holds* depends on
cells that cover the whole range (see `covered`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any

from dpfl_theory.checks.hypotheses import unmet
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, ConstantClaim, Escape, GaussianClaim, PrivacyClaim, PrivacyPoint, Statement
from dpfl_theory.core.evidence import Evidence, Interval
from dpfl_theory.lazy import mpmath
from dpfl_theory.privacy.gaussian import gaussian_delta, smallest_failing_epsilon

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


@decide.register(GaussianClaim)
def _gaussian(claim: GaussianClaim, statement: Statement, check: Check) -> Evidence:
    found = []
    for delta in claim.deltas:
        with mpmath.workdps(65):
            claimed = mpmath.mpf(delta)
            for epsilon in claim.epsilons:
                low, high = gaussian_delta(epsilon, claim.noise_multiplier(epsilon, delta))
                found.append((low / claimed, low, high, epsilon, delta))
    excess, low, high, epsilon, delta = max(found, key=lambda row: row[0])
    at = f"epsilon = {epsilon}, delta = {delta}"
    checked = _agreement(claim, epsilon, delta, low)
    thresholds = {}
    cells = None
    if checked["difference"] > AGREEMENT:
        verdict = "inconclusive"
        reason = f"the closed form and dp-accounting differ by {checked['difference']:.2g} (relative) at {at}"
    elif excess > 1:
        verdict = "violated"
        thresholds = {
            d: float(mpmath.nstr(smallest_failing_epsilon(claim.scale(d), d), 8))
            for d in claim.deltas
            if mpmath.mpf(d) < 1
        }
        first = min(thresholds, key=lambda d: thresholds[d])
        reason = (
            f"at {at} the mechanism needs delta = {mpmath.nstr(low, 8)}, {mpmath.nstr(excess, 6)} times the claimed "
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
                f"is at most {mpmath.nstr(excess, 6)} times the claimed one ({at})"
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
            "grid_points": len(found),
            "failing": sum(row[0] > 1 for row in found),
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


@decide.register(PrivacyClaim)
def _points(claim: PrivacyClaim, statement: Statement, check: Check) -> Evidence:
    """*violated* where the claim fails at some point, *holds* where it is certified at all points, else *inconclusive*.

    lhs is the true value at the worst point, the one with the largest ratio to the claimed value.
    """
    points = tuple(claim.points())
    if not points:
        raise ValueError(f"{statement.id}: the check {check.name!r} built no point")
    for p in points:
        if (text := outside(statement, p.instance)) is not None:
            return Evidence.of_check(statement, check, "not-applicable", f"{text} (at {where(p.instance)})")
    equality = claim.relation == "=="
    failing = [p for p in points if p.low > p.claimed or (equality and p.high < p.claimed)]
    certified = [p for p in points if _certified(p, equality, claim.width)]
    if failing:
        worst = max(failing, key=lambda p: _violation(p, equality))
    elif equality:
        worst = max(points, key=lambda p: p.high - p.low)
    else:
        worst = max(points, key=lambda p: ratio(p.high, p.claimed))
    verdict = "violated" if failing else "holds" if len(certified) == len(points) else "inconclusive"
    return Evidence.of_check(
        statement,
        check,
        verdict,
        _reason(claim, points, failing, certified, worst),
        lhs=Interval(
            float(worst.low if worst.low > worst.claimed else (worst.low + worst.high) / 2),  # no more than is certain
            float(worst.low),
            float(worst.high),
        ),
        rhs=float(worst.claimed),
        detectable=float(max(ratio(p.high, p.low) for p in points)),
        notes={
            "quantity": claim.quantity,
            "argument": claim.proof if verdict == "holds" else None,
            "points": rows(points),
            "failing": len(failing),
            "worst": _plain(worst.instance),
        },
        device="cpu",
    )


def outside(statement: Statement, instance: Mapping[str, Any]) -> str | None:
    """The first hypothesis that fails for these symbols, as a sentence, or None when all are met."""
    missing = unmet(statement, instance)
    return None if missing is None else missing[1]


def _certified(point: PrivacyPoint, equality: bool, width: float) -> bool:
    if not equality:
        return bool(point.high <= point.claimed)
    inside = point.low <= point.claimed <= point.high
    return bool(inside and point.high - point.low <= width * point.claimed)


def _violation(point: PrivacyPoint, equality: bool) -> Any:
    above = ratio(point.low, point.claimed)
    return max(above, ratio(point.claimed, point.high)) if equality else above


def _reason(
    claim: PrivacyClaim,
    points: Sequence[PrivacyPoint],
    failing: Sequence[PrivacyPoint],
    certified: Sequence[PrivacyPoint],
    worst: PrivacyPoint,
) -> str:
    values = f"between {show(worst.low)} and {show(worst.high)}" if worst.low < worst.high else f"{show(worst.low)}"
    at = f"{claim.quantity} is {values} at {where(worst.instance)}, where {show(worst.claimed)} is claimed"
    if failing:
        return f"{len(failing)} of {len(points)} points fail; at the worst {at}"
    if len(certified) < len(points):
        open_ = len(points) - len(certified)
        return f"no point fails, but {open_} of {len(points)} are not decided by the limits: {at}"
    tightest = f"at the tightest, {at}"
    if claim.proof is None:
        return f"holds at these {len(points)} points only, without a proof for the range between them; {tightest}"
    return f"certified at all {len(points)} points; {tightest}; beyond them by argument, not computed: {claim.proof}"


def ratio(value: Any, reference: Any) -> Any:
    """value/reference, with 0/0 = 0 and x/0 = inf."""
    if reference == 0:
        return math.inf if value > 0 else 0.0
    return value / reference


def rows(points: Sequence[PrivacyPoint]) -> list[dict[str, Any]]:
    """Points as plain data for notes; values that a float cannot hold are written out."""
    return [_plain({**p.instance, "claimed": p.claimed, "low": p.low, "high": p.high}) for p in points]


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: to_json(value) for name, value in values.items()}


def to_json(value: Any) -> Any:
    """A value as JSON holds it: numbers that a float would turn into 0 or infinity become text.

    >>> import mpmath
    >>> to_json(mpmath.mpf(10) ** -1000), to_json(mpmath.mpf("0.5")), to_json("poisson")
    ('1.0e-1000', 0.5, 'poisson')
    """
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    number = float(value)
    return show(value) if (number == 0) != (value == 0) or math.isinf(number) else number


def show(value: Any) -> str:
    """A number with six digits, whatever its size; anything else as text.

    >>> show(0.25), show(1920), show(3 * 10**12), show("poisson")
    ('0.25', '1920', '3.0e+12', 'poisson')
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, mpmath.mpf)):
        return str(value)
    number = mpmath.mpf(value)
    if mpmath.isint(number) and abs(number) < 10**9:
        return str(int(number))
    return str(mpmath.nstr(number, 6))


def where(instance: Mapping[str, Any]) -> str:
    """A point in words.

    >>> where({"epsilon": 1.5, "sampling": "full"})
    'epsilon = 1.5, sampling = full'
    """
    return ", ".join(f"{k} = {show(v)}" for k, v in instance.items())


@decide.register(ConstantClaim)
def _constant(claim: ConstantClaim, statement: Statement, check: Check) -> Evidence:
    """*violated* when every candidate fails at an admissible instance and an argument covers the others, or when more
    than a stated constant is needed somewhere; *holds* when an argument and the needed values support it."""
    needed = tuple(claim.needed())
    if claim.escape is None:
        verdict, reason, lhs, rhs = _stated(claim, statement, needed)
        escapes: list[dict[str, Any]] = []
    else:
        verdict, reason, lhs, rhs, escapes = _existence(claim, statement)
    return Evidence.of_check(
        statement,
        check,
        verdict,
        reason,
        lhs=lhs,
        rhs=rhs,
        detectable=1.0,
        notes={
            "constant": claim.constant,
            "needed": rows(needed),
            "candidates": len(claim.candidates),
            "escapes": escapes,
            "argument": claim.argument,
        },
        device="cpu",
    )


def _stated(
    claim: ConstantClaim, statement: Statement, needed: Sequence[PrivacyPoint]
) -> tuple[str, str, Interval | None, float | None]:
    """A stated constant against the needed ones; instances outside the hypotheses decide nothing."""
    inside = [p for p in needed if outside(statement, p.instance) is None]
    if not inside:
        return "not-applicable", "no instance lies inside the hypotheses", None, None
    failing = [p for p in inside if p.low > p.claimed]
    worst = max(failing or inside, key=lambda p: ratio(p.low if failing else p.high, p.claimed))
    found = f"{claim.constant} = {show(worst.low)} is needed at {where(worst.instance)}"
    if failing:
        verdict, reason = "violated", f"{found}, more than the stated {show(worst.claimed)}"
    elif claim.argument and all(p.high <= p.claimed < float("inf") for p in inside):
        verdict = "holds"
        reason = (
            f"certified at all {len(inside)} instances, most demandingly {found}; beyond them by argument, "
            f"not computed: {claim.argument}"
        )
    else:
        why = "the limits do not decide" if claim.argument else "no argument covers the range between them"
        verdict, reason = "inconclusive", f"no instance needs more than the stated value, but {why}; {found}"
    limits = Interval(float((worst.low + worst.high) / 2), float(worst.low), float(worst.high))
    return verdict, reason, limits, float(worst.claimed)


def _existence(
    claim: ConstantClaim, statement: Statement
) -> tuple[str, str, Interval | None, float | None, list[dict[str, Any]]]:
    """The ladder of candidates: each must fail at an instance that the statement's own hypotheses admit."""
    assert claim.escape is not None
    failing: list[tuple[Escape, float, float]] = []
    kept = []
    for u, v in claim.candidates:
        escape = claim.escape(u, v)
        message = outside(statement, escape.instance)
        if message is None and not 0 < escape.claimed < 1:
            message = f"delta = {show(escape.claimed)} does not lie in (0, 1)"
        if message is None and not escape.claimed < escape.low:
            message = f"the true delta is {show(escape.low)} or more, where {show(escape.claimed)} is claimed"
        if message is None:
            failing.append((escape, u, v))
        else:
            kept.append(f"({u:g}, {v:g}): {message} (at {where(escape.instance)})")
    table = [
        {"candidates": [u, v], **_plain({**e.instance, "claimed": e.claimed, "low": e.low})} for e, u, v in failing
    ]
    if kept or not failing:
        message = f"the candidates {kept[0]}" if kept else "there are no candidates"
        return "inconclusive", f"not refuted for all constants: {message}", None, None, table
    least, u, v = min(failing, key=lambda row: row[0].low / row[0].claimed)
    found = (
        f"each of {len(failing)} pairs of constants fails inside the hypotheses, with the smallest margin "
        f"({u:g}, {v:g}): the true delta is at least {show(least.low)}, where {show(least.claimed)} is claimed, at "
        f"{where(least.instance)}"
    )
    limits = Interval(float(least.low), float(least.low), float(least.high))
    if not claim.argument:
        return "inconclusive", f"{found}; no argument covers the other pairs", limits, float(least.claimed), table
    return "violated", f"{found}. {claim.argument}", limits, float(least.claimed), table
