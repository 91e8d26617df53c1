"""The power of each statement's checks: the errors that they would detect, from the table of what was measured.

`dpfl_theory.checks.power` measures it from evidence and from planted changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from dpfl_theory.runtime.evidence_table import section


@dataclass(frozen=True)
class Power:
    """The errors that the checks of one statement would detect.

    ratio: the largest left/right over the checks inside the hypotheses that are not vacuous and read the statement's
    formula (of statements without one: over its checks' own sides), None where no check has a ratio; ratio_by: that
    check. reading: for each method, how many of its checks read the formula, and the number of its checks. A check
    reads the formula if another right side changes its evidence. idle: whether an algorithm that never moves would pass
    all runs; None without runs. least: for each method, the smallest detected share, of those tried, and the check that
    detects it; None and no name if no check detects any. By this share the right side, or the value that a privacy
    check claims, is made smaller; detected means that the check gives another verdict. terms: for each term of a right
    side with several, the check that detects its absence, or "" if no check does. fingerprint: of the formula and the
    checks that this was measured with.

    >>> Power(0.9, "exact: x", {"exact": (1, 2)}, None, {"exact": (0.5, "x")}, "0").smallest_detected
    0.5
    """

    ratio: float | None
    ratio_by: str
    reading: Mapping[str, tuple[int, int]]
    idle: bool | None
    least: Mapping[str, tuple[float | None, str]]
    fingerprint: str
    terms: Mapping[str, str] = field(default_factory=dict)

    @property
    def smallest_detected(self) -> float | None:
        """The smallest share that some check detects."""
        return min((share for share, _ in self.least.values() if share is not None), default=None)

    @property
    def detecting_check(self) -> str:
        """The method and the name of that check."""
        found = [(share, f"{method}: {name}") for method, (share, name) in self.least.items() if share is not None]
        return min(found, default=(0.0, ""))[1]

    @property
    def simulated(self) -> bool:
        """Whether the ratio is the mean of simulated runs."""
        return self.ratio_by.startswith("monte-carlo: ")

    @property
    def shown_ratio(self) -> str:
        """The ratio, to two digits where runs were simulated, since a check stops at as few as 128 of them.

        >>> Power(1.9077, "monte-carlo: x", {}, None, {}, "0").shown_ratio
        '1.9'
        >>> Power(0.9977, "exact: x", {}, None, {}, "0").shown_ratio
        '0.998'
        """
        if self.ratio is None:
            return "-"
        return f"{self.ratio:.2g}" if self.simulated else f"{self.ratio:.3g}"

    def to_json(self) -> dict[str, Any]:
        """Plain data, as in the table."""
        return asdict(self)

    def sentence(self, refuted: bool = False) -> str:
        """The power in words. A refuted statement stays refuted with a smaller right side, so shares are left out for
        it."""
        parts = []
        if self.ratio is not None:
            about = "about " if self.simulated else ""
            parts.append(f"left/right reaches {about}{self.shown_ratio} ({self.ratio_by})")
        if refuted:
            pass
        elif self.smallest_detected is None:
            parts.append("no change of the right side that was tried is detected")
        else:
            parts.append(
                f"a right side smaller by {100 * self.smallest_detected:.3g} % is detected ({self.detecting_check})"
            )
            others = [f"{m} from {100 * share:.3g} %" for m, (share, _) in self.least.items() if share is not None]
            if len(others) > 1:
                parts.append(f"by method: {', '.join(others)}")
        read, total = (sum(counts[i] for counts in self.reading.values()) for i in (0, 1))
        parts.append(f"{read} of {total} checks read the formula")
        if silent := [name for name, by in self.terms.items() if not by and not refuted]:
            parts.append(f"no check detects the absence of the term {' or '.join(map(repr, silent))}")
        if self.idle:
            parts.append("an algorithm that never moves would pass every run")
        return "; ".join(parts)


def of_json(data: Mapping[str, Any]) -> Power:
    """The power from plain data."""
    pairs = {key: {method: tuple(pair) for method, pair in data[key].items()} for key in ("reading", "least")}
    return Power(**{**data, **pairs})


def recorded(id_: str) -> Power | None:
    """The power of a catalogue statement's checks; None for statements without a measurement."""
    data = section("power").get(id_)
    return None if data is None else of_json(data)
