"""The errors that the checks of a user's own statement could detect.

The catalogue's power is on record (`dpfl_theory.statements.power`); that of a user's file is computed from the
available evidence. A check that compares the two sides determines by how much the right side, or one of its terms,
could be smaller before its verdict changes. An exact or worst-case check uses its ratio, a simulation its confidence
limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dpfl_theory.checks.power import margin, noticed_terms
from dpfl_theory.core import Statement, methods
from dpfl_theory.core.evidence import HALF, Evidence

__all__ = ["Detected", "detected_by_checks", "undetected_terms"]

LOOSE = 0.5
"""If no right side that is smaller by less than this share is detected, a factor 2 would not be detected."""


@dataclass(frozen=True)
class Detected:
    """The errors that the checks of a statement could detect.

    * ratio, ratio_by: the largest left/right of a check that compares the sides, is not vacuous and inside the
      hypotheses, and that check; None without one.
    * share, share_by: the smallest share by which the right side could be smaller so that a check would not hold, and
      that check; None without one.
    * terms: the share by which each single term could be smaller at most, and the check.

    A term is listed only where leaving it out would change the verdict of a run or of an exact check's tightest
    instance. Nothing is known of the others (see `undetected_terms`).
    """

    ratio: float | None
    ratio_by: str
    share: float | None
    share_by: str
    terms: Mapping[str, tuple[float, str]]

    @property
    def loose(self) -> bool:
        """Whether no check would detect a factor 2."""
        return self.share is None or self.share > LOOSE

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "ratio": self.ratio,
            "ratio_by": self.ratio_by,
            "share": self.share,
            "share_by": self.share_by,
            "terms": {name: {"share": share, "by": by} for name, (share, by) in self.terms.items()},
            "notices_a_factor_2": not self.loose,
            "sentence": self.sentence(),
        }

    def sentence(self) -> str:
        """All of it in words.

        >>> Detected(0.025, "exact: K = 1", 0.975, "exact: K = 1", {}).sentence()
        'your bound is 40 times larger than any observed value (exact: K = 1): no check here could detect a factor 2'
        """
        if self.ratio is None or self.share is None:
            return "no check here compares both sides of your formula and holds: no error in it could be detected"
        if self.loose:
            factor = "far more than 1000" if self.ratio < 1e-3 else f"{1.0 / self.ratio:.3g}"
            message = f"your bound is {factor} times larger than any observed value ({self.ratio_by})"
            found = [f"{message}: no check here could detect a factor 2"]
        else:
            found = [f"a right side smaller by {_percent(self.share)} would be detected ({self.share_by})"]
        if not self.loose:
            for name, (share, by) in self.terms.items():
                if share < 1.0:
                    found.append(f"the single term {name!r} smaller by {_percent(share)}, too ({by})")
        return "; ".join(found)


def _percent(share: float) -> str:
    return "any amount" if share < 5e-6 else f"{100 * share:.3g} %"


def detected_by_checks(statement: Statement, evidence: Iterable[Evidence]) -> Detected | None:
    """The errors that these checks of a statement could detect; None for one without sides, or that they refute."""
    if statement.sides is None:
        return None
    own = [e for e in evidence if e.statement == statement.id]
    if any(e.verdict == "violated" for e in own):
        return None
    reading = [e for e in own if methods.get(e.method).relations is not None and not e.part and e.verdict == "holds"]
    equality = statement.relation == "=="
    spoken = [(e.ratio, _name(e)) for e in reading if e.ratio is not None and not e.vacuous]
    ratio, ratio_by = max(spoken, default=(None, ""), key=lambda pair: pair[0])
    shares = [(share, _name(e)) for e in reading if (share := _share(e, equality)) is not None and share < 1.0]
    share, share_by = min(shares, default=(None, ""))
    terms = {}
    for term in dict.fromkeys(name for e in reading for name in e.terms):
        turned = [(found, _name(e)) for e in reading for found in _of_term(e, term, equality)]
        if turned:
            terms[term] = min(turned)
    return Detected(ratio, ratio_by, share, share_by, terms)


def undetected_terms(statement: Statement, evidence: Iterable[Evidence]) -> list[str]:
    """The terms of the right side whose absence no check that compares the sides would detect; empty for a right side
    of one term (see `dpfl_theory.checks.power.noticed_terms`).
    """
    own = (e for e in evidence if e.statement == statement.id and e.verdict == "holds" and not e.part)
    compared = {(e.method, e.check): e.to_json() for e in own if methods.get(e.method).relations is not None}
    return [term for term, by in noticed_terms(statement, compared).items() if not by]


def _name(e: Evidence) -> str:
    return f"{e.method}: {e.check}"


def _share(e: Evidence, equality: bool) -> float | None:
    """By which share the right side could be smaller before this check would not hold."""
    if methods.get(e.method).limits:
        return margin(e.to_json(), equality)
    half = e.notes.get(HALF)
    if half == ">=":  # a smaller right side is even further below the left one
        return None
    return None if e.ratio is None else 0.0 if equality and half is None else max(0.0, 1.0 - e.ratio)


def _of_term(e: Evidence, term: str, equality: bool) -> Iterator[float]:
    """The same share of one of the right side's terms, where its absence would be enough."""
    share, value = _share(e, equality), e.terms.get(term)
    if share is not None and value and e.rhs and 0.0 <= share * e.rhs / value <= 1.0:
        yield share * e.rhs / value
