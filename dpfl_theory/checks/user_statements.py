"""What the checks of a statement of the user's own could notice.

The catalogue's power is on record (`dpfl_theory.statements.power`); that of a user's file is read off the evidence at
hand. A check that compares the two sides tells by how much the right side, or one of its terms, could be smaller before
its verdict turned: an exact or worst-case one by its ratio, a simulation by its confidence limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dpfl_theory import methods
from dpfl_theory.checks.evidence import HALF, Evidence
from dpfl_theory.checks.power import margin, noticed_terms
from dpfl_theory.statements.model import Statement

__all__ = ["Noticed", "left_out", "noticed"]

LOOSE = 0.5
"""Where no right side is noticed that is smaller by less than this share, a factor 2 would not be noticed."""


@dataclass(frozen=True)
class Noticed:
    """What the checks of a statement could notice.

    ratio, ratio_by: the largest left/right of a check that compares the sides, is not vacuous and inside the
    hypotheses, and that check; None where there is none. share, share_by: the smallest share by which the right side
    could be smaller so that a check would not hold; None where none would. terms: by how much each term alone could be
    smaller at most, and by which check; only those of which the tightest instance of an exact check, or a run, tells
    that leaving the term out would turn it: of the others nothing is known (see `left_out`).
    """

    ratio: float | None
    ratio_by: str
    share: float | None
    share_by: str
    terms: Mapping[str, tuple[float, str]]

    @property
    def loose(self) -> bool:
        """Whether a factor 2 would be noticed by no check."""
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

        >>> Noticed(0.025, "exact: K = 1", 0.975, "exact: K = 1", {}).sentence()
        'your bound is 40 times larger than anything seen (exact: K = 1): no check here could notice a factor 2'
        """
        if self.ratio is None or self.share is None:
            return "no check here compares both sides of your formula and holds: nothing in it could be noticed"
        if self.loose:
            factor = "far more than 1000" if self.ratio < 1e-3 else f"{1.0 / self.ratio:.3g}"
            told = f"your bound is {factor} times larger than anything seen ({self.ratio_by})"
            found = [f"{told}: no check here could notice a factor 2"]
        else:
            found = [f"a right side smaller by {_percent(self.share)} would be noticed ({self.share_by})"]
        if not self.loose:
            for name, (share, by) in self.terms.items():
                if share < 1.0:
                    found.append(f"the term {name!r} alone smaller by {_percent(share)}, too ({by})")
        return "; ".join(found)


def _percent(share: float) -> str:
    return "any amount" if share < 5e-6 else f"{100 * share:.3g} %"


def noticed(statement: Statement, evidence: Iterable[Evidence]) -> Noticed | None:
    """What these checks of a statement could notice; None for one that has no sides, or that they refute."""
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
    return Noticed(ratio, ratio_by, share, share_by, terms)


def left_out(statement: Statement, evidence: Iterable[Evidence]) -> list[str]:
    """The terms of the right side whose absence no check that compares the sides would notice; empty for a right side
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
    if half == ">=":  # a smaller right side is below the left one all the more
        return None
    return None if e.ratio is None else 0.0 if equality and half is None else max(0.0, 1.0 - e.ratio)


def _of_term(e: Evidence, term: str, equality: bool) -> Iterator[float]:
    """The same share of one of the right side's terms, where leaving it out would be enough."""
    share, value = _share(e, equality), e.terms.get(term)
    if share is not None and value and e.rhs and 0.0 <= share * e.rhs / value <= 1.0:
        yield share * e.rhs / value
