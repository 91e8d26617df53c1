"""privacy, by constants: is there a constant, or is the stated one sufficient, for every admissible epsilon and
delta?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpfl_theory.checks.privacy_points import outside, ratio, rows, show, to_json, where
from dpfl_theory.core import Check, ConstantClaim, Escape, PrivacyPoint, Statement
from dpfl_theory.core.evidence import Evidence, Interval

__all__ = ["decide"]


def decide(claim: ConstantClaim, statement: Statement, check: Check) -> Evidence:
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
        {
            "candidates": [u, v],
            **{k: to_json(x) for k, x in e.instance.items()},
            "claimed": to_json(e.claimed),
            "low": to_json(e.low),
        }
        for e, u, v in failing
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
