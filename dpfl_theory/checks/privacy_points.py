"""privacy, by points: certified limits of the true value against a `PrivacyClaim`, at every point of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dpfl_theory.checks.hypotheses import unmet
from dpfl_theory.core import Check, PrivacyClaim, PrivacyPoint, Statement
from dpfl_theory.core.evidence import Evidence, Interval
from dpfl_theory.lazy import mpmath

__all__ = ["decide", "outside", "rows", "where"]


def decide(claim: PrivacyClaim, statement: Statement, check: Check) -> Evidence:
    """*violated* where the claim fails at some point, *holds* where it is certified at all points, else *inconclusive*.

    lhs is the true value at the worst point, the one with the largest ratio to the claimed value.
    """
    points = tuple(claim.points())
    if not points:
        raise ValueError(f"{statement.id}: the check {check.name!r} built no point")
    reported = next(
        (f"{text} (at {where(p.instance)})" for p in points if (text := outside(statement, p.instance))), None
    )
    if reported is not None:
        return Evidence.of_check(statement, check, "not-applicable", reported)
    equality = claim.relation == "=="
    failing = [p for p in points if _fails(p, equality)]
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
            "worst": {k: to_json(v) for k, v in worst.instance.items()},
        },
        device="cpu",
    )


def outside(statement: Statement, instance: Mapping[str, Any]) -> str | None:
    """The first hypothesis that fails for these symbols, as a sentence, or None when all are met."""
    missing = unmet(statement, instance)
    return None if missing is None else missing[1]


def _fails(point: PrivacyPoint, equality: bool) -> bool:
    return bool(point.low > point.claimed or (equality and point.high < point.claimed))


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
    return [
        {
            **{k: to_json(v) for k, v in p.instance.items()},
            "claimed": to_json(p.claimed),
            "low": to_json(p.low),
            "high": to_json(p.high),
        }
        for p in points
    ]


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
