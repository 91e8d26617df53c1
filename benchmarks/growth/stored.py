"""The size and content of the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfl_theory.runtime.cache import Entry

__all__ = ["Kind", "by_replicates", "kinds"]


@dataclass(frozen=True)
class Kind:
    """Entries of one kind: how many, and the bytes of all of them and of the largest."""

    entries: int
    bytes: int
    largest: int


def kinds(entries: Iterable[Entry]) -> dict[str, Kind]:
    """The entries of a store by kind."""
    sizes: dict[str, list[int]] = {}
    for entry in entries:
        sizes.setdefault(entry.kind, []).append(len(entry.text.encode("utf-8", "surrogatepass")))
    return {kind: Kind(len(own), sum(own), max(own)) for kind, own in sorted(sizes.items())}


def by_replicates(evidence: Sequence[Mapping[str, Any]], sizes: Mapping[str, int]) -> dict[str, tuple[int, float]]:
    """Entries of checks that simulate, by their replicates (up to 100, up to 1000, ...): how many, and their median
    bytes; ``sizes`` by the subject of the entries."""
    found: dict[int, list[int]] = {}
    for e in evidence:
        about = f"{e['statement']} {e['method']} {e['check']}"
        if e["replicates"] and about in sizes:
            found.setdefault(len(str(e["replicates"] - 1)), []).append(sizes[about])
    return {f"up to 10^{k}": (len(own), float(np.median(own))) for k, own in sorted(found.items())}
