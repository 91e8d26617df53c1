"""Evidence in the store: its keys, when it is reused, and what is never stored.

A check's key covers everything that its evidence depends on, except its share of the false-alarm probability. A verdict
found with a smaller share is also valid for a larger one. A check left undecided with a smaller share might be decided
with a larger one, so undecided evidence is reused only for the same share. Evidence that a time budget cut short is not
stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from dpfl_theory import statements as catalogue
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, Statement, methods
from dpfl_theory.core.evidence import ENDED, Evidence, Interval
from dpfl_theory.kernels import select
from dpfl_theory.runtime.cache import Store
from dpfl_theory.runtime.keys import canonical
from dpfl_theory.runtime.slots import Slot, StoredResult
from dpfl_theory.runtime.sources import Sources, sources

_BASE = ("dpfl_theory.checks.execute",)
"""The module that runs every check."""


@dataclass(frozen=True)
class Place:
    """The place of one check's evidence: decided, or undecided with this share of the false-alarm probability
    (None for a check without randomness)."""

    decided: Slot
    undecided: Slot
    share: float | None

    def take(self) -> Evidence | None:
        """The evidence that can be reused, if there is any."""
        found = read(self.decided.take())
        if found is None or found.verdict == "inconclusive" or (found.alpha or 0.0) > (self.share or 0.0):
            found = read(self.undecided.take())
        return found

    def keep(self, evidence: Evidence) -> str:
        """Store the evidence of a check that was not cut short; returns the reason if that was not possible."""
        slot = self.undecided if evidence.verdict == "inconclusive" else self.decided
        return slot.keep(encode(evidence))


def places(
    pairs: Sequence[tuple[Statement, Check]], settings: Settings, store: Store | None, file: Path | None = None
) -> list[Place | None]:
    """The place of the evidence of each of these checks, for statements of the catalogue or of the user's file. A
    statement that was built in the running program depends on no file, so it has no place."""
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
    except TypeError:  # an instance of a user's statement that is not plain data
        return None
    share = settings.alpha if method.simulates else None
    return Place(slot, replace(slot, parts={**slot.parts, "share": share}), share)


def load_stored(where: Sequence[Place | None]) -> dict[int, Evidence]:
    """The stored evidence, by the check's number."""
    found = {i: place.take() for i, place in enumerate(where) if place is not None}
    return {i: evidence for i, evidence in found.items() if evidence is not None}


def store_evidence(place: Place | None, evidence: Evidence, settings: Settings) -> StoredResult[Evidence]:
    """The evidence, which is stored unless the time limit had passed when its check ended, or the check was stopped."""
    cut = settings.out_of_time or ENDED in evidence.notes
    return StoredResult(evidence, "" if place is None or cut else place.keep(evidence))


def encode(evidence: Evidence) -> dict[str, Any]:
    """Evidence as JSON data, from which `read` restores evidence with the same document."""
    made = {f.name: _plain(getattr(evidence, f.name)) for f in fields(evidence)}
    if evidence.lhs is not None:
        made["lhs"] = [float(x) for x in (evidence.lhs.estimate, evidence.lhs.low, evidence.lhs.high)]
    return made


def read(stored: Any) -> Evidence | None:
    """The stored evidence; None where this version cannot read it."""
    try:
        lhs = None if stored["lhs"] is None else Interval(*stored["lhs"])
        return Evidence(**{**stored, "lhs": lhs, "warnings": tuple(stored.get("warnings", ()))})
    except (TypeError, KeyError, ValueError):
        return None


def _plain(value: Any) -> Any:
    """The value as `Evidence.to_json` has it, but with numbers that are not finite kept."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return None if isinstance(value, Interval) else float(value)
