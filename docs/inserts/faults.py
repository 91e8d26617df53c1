"""The faults that ``conform`` knows: each with its description, its algorithms, and the code in which it was seen."""

from __future__ import annotations

from collections.abc import Iterator

from docs.inserts import plain, table
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
    """Faults by the part of a round, and by name and sentence: algorithms, origin, and whether privacy breaks."""
    found: dict[str, dict[tuple[str, str], dict[str, object]]] = {}
    for name, reference in references().items():
        for fault in reference.faults():
            reported = found.setdefault(fault.role, {}).setdefault(
                (fault.name, fault.description), {"algorithms": {}, "seen": fault.seen, "private": fault.private}
            )
            algorithms = reported["algorithms"]
            assert isinstance(algorithms, dict)
            algorithms[name] = None  # a set in order
    return found


def insert() -> str:
    """A table for each part of a round."""
    return "\n".join(_parts())


def _parts() -> Iterator[str]:
    for role, faults in known().items():
        yield f"### {NAMES[role]}\n"
        rows = []
        for (name, sentence), more in faults.items():
            algorithms = list(more["algorithms"]) if isinstance(more["algorithms"], dict) else []
            seen = f" Reported in {plain(more['seen'])}." if more["seen"] else ""
            rows.append(
                [
                    plain(name) + (" **(breaks privacy)**" if more["private"] else ""),
                    plain(f"{sentence[:1].upper()}{sentence[1:]}.") + seen,
                    "all" if len(algorithms) == len(references()) else ", ".join(algorithms),
                ]
            )
        yield table(("mistake", "what is wrong, and what it should be", "algorithms"), rows)
