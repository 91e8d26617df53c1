"""Evidence in the store: under which key it is kept, which of it serves, and what is never kept.

A check's key is of all that its evidence rests on but its share of the false-alarm probability: a verdict that was
found with a smaller share serves a larger one as well. Where a smaller one decided nothing a larger one might, so that
undecided evidence serves its own share alone. What a time budget cut short is not kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from dpfl_theory import methods
from dpfl_theory import statements as catalogue
from dpfl_theory.checks.evidence import ENDED, Evidence, Interval
from dpfl_theory.checks.settings import Settings
from dpfl_theory.checks.sources import Sources, sources
from dpfl_theory.kernels import select
from dpfl_theory.statements.model import Check, Statement
from dpfl_theory.store import Ended, Slot, Store, canonical

__all__ = ["Place", "encode", "kept", "places", "read", "taken"]

_BASE = ("dpfl_theory.checks.execute",)
"""What runs every check."""


@dataclass(frozen=True)
class Place:
    """Where the evidence of one check is kept: decided, or undecided with this share of the false-alarm probability
    (None for a check that draws nothing)."""

    decided: Slot
    undecided: Slot
    share: float | None

    def take(self) -> Evidence | None:
        """The evidence that serves, if there is any."""
        found = read(self.decided.take())
        if found is None or found.verdict == "inconclusive" or (found.alpha or 0.0) > (self.share or 0.0):
            found = read(self.undecided.take())
        return found

    def keep(self, evidence: Evidence) -> str:
        """Keep the evidence of a check that nothing cut short; returns why that was not possible, if so."""
        slot = self.undecided if evidence.verdict == "inconclusive" else self.decided
        return slot.keep(encode(evidence))


def places(
    pairs: Sequence[tuple[Statement, Check]], settings: Settings, store: Store | None, file: Path | None = None
) -> list[Place | None]:
    """Where the evidence of each of these checks is kept: of those that the catalogue has, or the user's file. A
    statement that was made up in the running program rests on what no file says, and has no place."""
    if store is None:
        return [None] * len(pairs)
    known = sources()
    users = None if file is None else sources(file.resolve().parent, Path.cwd())
    device = select(settings.device).description
    found: list[Place | None] = []
    for statement, check in pairs:
        name = catalogue.file_of(statement.id)
        own = name is not None and catalogue.get(statement.id) is statement
        place = known if own else users
        module = name if own else None if file is None else str(file.resolve())
        if place is None or module is None:
            found.append(None)
        else:
            found.append(_place(place, module, statement, check, settings, store, device))
    return found


def _place(
    known: Sources, module: str, statement: Statement, check: Check, settings: Settings, store: Store, device: str
) -> Place | None:
    method = methods.get(check.method)
    parts = {
        "statement": statement.id,
        "method": check.method,
        "check": check.name,
        "instance": check.instance,
        "seed": settings.seed,
        "device": device,
    }
    about = f"{statement.id} {check.method} {check.name}"
    try:
        slot = known.slot(store, "check", about, canonical(parts), on=(module, method.runner), base=_BASE)
    except TypeError:  # an instance of a user's that is no plain data
        return None
    share = settings.alpha if method.simulates else None
    return Place(slot, slot.within(share=share), share)


def taken(where: Sequence[Place | None]) -> dict[int, Evidence]:
    """The evidence that is there already, by the check's number."""
    found = {i: place.take() for i, place in enumerate(where) if place is not None}
    return {i: evidence for i, evidence in found.items() if evidence is not None}


def kept(place: Place | None, evidence: Evidence, settings: Settings) -> Ended[Evidence]:
    """The evidence, which is kept unless the time was over when its check ended, or it was ended."""
    cut = settings.out_of_time or ENDED in evidence.notes
    return Ended(evidence, "" if place is None or cut else place.keep(evidence))


def encode(evidence: Evidence) -> dict[str, Any]:
    """Evidence as JSON data that `read` makes evidence with the same document of."""
    made = {f.name: _plain(getattr(evidence, f.name)) for f in fields(evidence)}
    if evidence.lhs is not None:
        made["lhs"] = [float(x) for x in (evidence.lhs.estimate, evidence.lhs.low, evidence.lhs.high)]
    return made


def read(stored: Any) -> Evidence | None:
    """The evidence that was stored; None where it is none that this version can read."""
    try:
        lhs = None if stored["lhs"] is None else Interval(*stored["lhs"])
        return Evidence(**{**stored, "lhs": lhs, "warnings": tuple(stored.get("warnings", ()))})
    except (TypeError, KeyError, ValueError):
        return None


def _plain(value: Any) -> Any:
    """The value as `Evidence.to_json` has it, but with numbers that are not finite."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return None if isinstance(value, Interval) else float(value)
