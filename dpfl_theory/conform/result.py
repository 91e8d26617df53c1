"""The result of a conformance test."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpfl_theory.conform.source_location import Line, short_name
from dpfl_theory.notebook import Tabular, intervals
from dpfl_theory.runtime.recorded_warnings import Warned, in_words, total

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCHEMA = "dpfl-theory/conform/1"
CONFORMS, DIFFERS, UNDECIDED = "conforms", "differs", "undecided"
WIDTH = 110
"""Characters of a line of a report; lines of code are as long as they are."""


@dataclass(frozen=True)
class Finding:
    """A deviation from the algorithm.

    name: a few words;  ``description``: a sentence on what it is and how to fix it;  evidence: where it was seen, with
    numbers; lines: lines of the user's code to look at;  seen: code in which it was reported before;  private: whether
    it breaks the claimed privacy;  about: the ``round``, the ``cohorts`` that a sampler draws, or the ``claim`` of a
    noise multiplier;  unaccounted: whether it leaves no known epsilon of a round.
    """

    name: str
    description: str
    evidence: str = ""
    lines: tuple[Line, ...] = ()
    seen: str = ""
    private: bool = False
    about: str = "round"
    unaccounted: bool = False

    def describe(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "name": self.name,
            "told": self.description,
            "evidence": self.evidence,
            "lines": [
                {"file": file, "line": line, "text": linecache.getline(file, line).strip()} for file, line in self.lines
            ],
            "seen": self.seen or None,
            "breaks_privacy": self.private,
        }

    def __str__(self) -> str:
        parts = [_wrapped(f"{self.name}: {self.description}.")]
        if self.evidence:
            parts.append(_wrapped(f"seen: {self.evidence}.", "  "))
        parts += [
            f"  {short_name(file)}, line {line}: {linecache.getline(file, line).strip()}" for file, line in self.lines
        ]
        if self.seen:
            parts.append(_wrapped(f"a report of this kind, whose code was not run here: {self.seen}.", "  "))
        return "\n".join(parts)


@dataclass(frozen=True)
class Conformance(Tabular):
    """The outcome of `dpfl_theory.conform`.

    verdict: ``conforms``, ``differs`` or ``undecided``. ``differs``: the algorithm does not allow some finding, or a
    finding is about what a sampler draws or a noise multiplier claims. ``undecided``: the function's randomness could
    not be recorded, and samples did not decide. reading: which of the algorithm's readings it is, or from which the
    deviations are counted; declared: the names of declared variations; faults: the deviations; notes: what was not
    compared, and other remarks; settings: the values of the hyper-parameters that were used; privacy: of one round,
    see `README`; compared: the number of probes; seconds: the duration; assumed: the hyper-parameters that are
    neither arguments of the function nor given, with the first of their assumed values; warnings: those of the import
    of the function's module (`dpfl_theory.runtime.recorded_warnings`); decided: whether its rounds could be compared.
    """

    algorithm: str
    source: str
    function: str
    verdict: str
    reading: str
    faults: tuple[Finding, ...]
    notes: tuple[str, ...]
    settings: tuple[Mapping[str, Any], ...]
    privacy: Mapping[str, Any]
    compared: Mapping[str, int]
    seconds: float
    seed: int = 0
    alpha: float = 1e-6
    versions: Mapping[str, str] = field(default_factory=dict)
    assumed: Mapping[str, Any] = field(default_factory=dict)
    declared: tuple[str, ...] = ()
    warnings: tuple[Warned, ...] = ()
    decided: bool = True

    @property
    def conforms(self) -> bool:
        """Whether the verdict is ``conforms``."""
        return self.verdict == CONFORMS

    def records(self) -> list[dict[str, Any]]:
        """A row for each deviation; without deviations, one row with the verdict."""
        head = {"function": self.function, "algorithm": self.algorithm, "verdict": self.verdict}
        rows = [
            {
                **head,
                "deviation": fault.name,
                "explanation": fault.description,
                "observed": fault.evidence,
                "line": "; ".join(f"{short_name(file)}:{line}" for file, line in fault.lines),
                "breaks_privacy": fault.private,
            }
            for fault in self.faults
        ]
        return rows or [head]

    def plot(self) -> Figure:
        """How far two data sets that differ in one client move w, and the declared sensitivity as a line. Raises
        ValueError where the algorithm declares none."""
        moved, declared = self.privacy.get("distance"), self.privacy.get("sensitivity")
        if moved is None or not declared:
            raise ValueError(f"{self.algorithm} declares no sensitivity, so there is nothing to plot")
        return intervals(
            [(self.function, moved, moved, moved, "C3" if moved > declared else "C0")],
            declared,
            "distance that one client or record moves w (line: declared sensitivity)",
        )

    def to_json(self) -> dict[str, Any]:
        """As plain data: the document that ``dpfl-theory conform --format json`` prints."""
        return {
            "schema": SCHEMA,
            "algorithm": self.algorithm,
            "source": self.source,
            "function": self.function,
            "verdict": self.verdict,
            "reading": self.reading or None,
            "faults": [fault.describe() for fault in self.faults],
            "notes": list(self.notes),
            "settings": [dict(v) for v in self.settings],
            "assumed": dict(self.assumed),
            "declared": list(self.declared),
            "privacy": dict(self.privacy),
            "compared": dict(self.compared),
            "seconds": self.seconds,
            "seed": self.seed,
            "alpha": self.alpha,
            "versions": dict(self.versions),
            "warnings": list(self.warnings),
        }

    def __str__(self) -> str:
        same_round = self.faults and all(fault.about != "round" for fault in self.faults)
        own = "its round is that of" if self.decided else "it was not decided whether its round is that of"
        words = own if same_round else _words(self.verdict)
        head = f"{self.function} {self.verdict}: {words} {self.algorithm} ({self.source})"
        head += ", but something else is wrong" if same_round else ""
        lines = [f"with declared {joined(self.declared)}"] if self.declared else []
        if self.reading not in ("", "as printed"):
            if self.conforms or same_round:
                head += f", read as: {self.reading}"
            elif self.verdict == DIFFERS:
                lines.append(f"the deviations are those from one reading of the algorithm: {self.reading}")
        lines += [f"tried: {_symbols(v)}" for v in self.settings]
        if self.assumed:
            remedy = "; give the values that it has built in, if they differ" if self.faults else ""
            lines.append(f"assumed (not an argument of the function): {_symbols(self.assumed)}{remedy}")
        if compared := ", ".join(f"{count} {what}" for what, count in self.compared.items() if count):
            lines.append(f"compared: {compared}")
        if self.privacy:
            lines.append(f"privacy of one round: {self.privacy['told']}")
        lines += [f"note: {note}" for note in self.notes]
        lines += filter(None, [in_words(total(self.warnings))])
        below = "\n".join(_wrapped(line) for line in lines)
        return "\n\n".join([_wrapped(head), *map(str, self.faults), below])


def _wrapped(text: str, indent: str = "") -> str:
    """A sentence in lines of `WIDTH` characters; all but the first are indented by two more."""
    further = f"{indent}  "
    return textwrap.fill(
        text, WIDTH, initial_indent=indent, subsequent_indent=further, break_long_words=False, break_on_hyphens=False
    )


def _words(verdict: str) -> str:
    return {CONFORMS: "its round is that of", DIFFERS: "it is not", UNDECIDED: "it may or may not be"}[verdict]


def _symbols(v: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} = {value:.4g}" if isinstance(value, float) else f"{name} = {value}" for name, value in v.items()
    )


def joined(items: Sequence[str]) -> str:
    """Words with commas, the last with "and"."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
