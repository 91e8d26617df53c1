"""Verdicts on a paper's claims, and answers to questions of our own.

A claim of the paper is judged in the paper's setting. Where a validation's data, metric or range differ, a failure
does not refute the paper: `elsewhere` turns *not-reproduced* into *does-not-carry-over* and records the difference. A
predicate that the paper does not state is not a claim of the paper: `as_question` turns its verdict into an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CLAIM_VERDICTS = ("reproduced", "not-reproduced", "does-not-carry-over", "inconclusive")
"""Verdicts on a claim of the paper."""

ANSWERS = ("yes", "no", "open")
"""Answers to a question of our own."""

UNDECIDED = frozenset({"inconclusive", "open"})

_ELSEWHERE = {"not-reproduced": "does-not-carry-over"}
_OURS = {"reproduced": "yes", "not-reproduced": "no", "does-not-carry-over": "no", "inconclusive": "open"}
_NEEDED = {"claim", "verdict", "paper", "measured"}


def elsewhere(claim: Mapping[str, Any], differs: str) -> dict[str, Any]:
    """The claim, tested in a setting that is not the paper's. differs: what differs in data, metric or range.

    >>> elsewhere({"claim": "T* is best", "verdict": "not-reproduced"}, "other data")["verdict"]
    'does-not-carry-over'
    """
    return {**_renamed(claim, _ELSEWHERE), "differs": differs}


def as_question(claim: Mapping[str, Any]) -> dict[str, Any]:
    """The predicate as a question of our own: its verdict becomes yes, no or open.

    >>> as_question({"claim": "the cost is at most 2", "verdict": "not-reproduced"})["verdict"]
    'no'
    """
    return {**_renamed(claim, _OURS), "ours": True}


def _renamed(claim: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The claim with its verdict, and the recorded one, under these names."""
    kinds = ("verdict", "expected")
    return {key: names.get(value, value) if key in kinds else value for key, value in claim.items()}


def fault(claim: Mapping[str, Any]) -> str | None:
    """The error in a claim as a script gives it; None for a correct claim."""
    lacking = _NEEDED - set(claim)
    if lacking:
        return f"lacks {', '.join(sorted(lacking))}"
    known = ANSWERS if claim.get("ours", False) else CLAIM_VERDICTS
    for key in ("verdict", "expected"):
        if key in claim and claim[key] not in known:
            what = "the verdict" if key == "verdict" else "the recorded verdict"
            return f"has {what} {claim[key]!r}, not one of {', '.join(known)}"
    if claim["verdict"] == "does-not-carry-over" and not claim.get("differs"):
        return "does not carry over, but its key differs does not say what differs from the paper's setting"
    return None


def counted(claims: list[Mapping[str, Any]]) -> dict[str, int]:
    """The number of claims with each verdict, and of our own questions with each answer; none of these is 0.

    >>> counted([{"verdict": "reproduced"}, {"verdict": "no", "ours": True}])
    {'reproduced': 1, 'no': 1}
    """
    found = [claim["verdict"] for claim in claims]
    return {verdict: n for verdict in (*CLAIM_VERDICTS, *ANSWERS) if (n := found.count(verdict))}
