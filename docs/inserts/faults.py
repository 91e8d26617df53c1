"""The mistakes that ``conform`` knows, each with its sentence, the algorithms, and the code in which it was seen."""

from __future__ import annotations

from docs.inserts import rendered
from dpfl_theory.conform.references import references

__all__ = ["NAMES", "insert", "known"]

NAMES = {
    "average": "The average",
    "clip": "Clipping and normalising",
    "cohort": "Who takes part",
    "control": "Control variates and memories",
    "local": "Local steps",
    "noise": "Noise",
    "step": "The server's step",
}
"""The parts of a round in words; a role that is missing here fails the build."""


def known() -> dict[str, dict[tuple[str, str], dict[str, object]]]:
    """By the part of a round, and by name and sentence: the algorithms, where it was seen, whether privacy breaks."""
    found: dict[str, dict[tuple[str, str], dict[str, object]]] = {}
    for name, reference in references().items():
        for fault in reference.faults():
            told = found.setdefault(fault.role, {}).setdefault(
                (fault.name, fault.told), {"algorithms": {}, "seen": fault.seen, "private": fault.private}
            )
            algorithms = told["algorithms"]
            assert isinstance(algorithms, dict)
            algorithms[name] = None  # a set in order
    return found


def insert() -> str:
    """A table for each part of a round."""
    return rendered("faults.html.j2", roles=known(), names=NAMES, count=len(references()))
