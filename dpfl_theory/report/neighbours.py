"""The neighbours of a statement in the proofs: its premises, its conclusions, and its other forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpfl_theory.report.entries import natural
from dpfl_theory.report.proof_map import RefutedPremise, refuted_premises

__all__ = ["LinkedStatement", "Neighbours", "neighbours"]


@dataclass(frozen=True)
class LinkedStatement:
    """Another statement, with its state in the proof map."""

    id: str
    title: str
    state: str


@dataclass(frozen=True)
class Neighbours:
    """The premises of a statement, its conclusions, its other forms (readings, repaired or sharpened ones), and the
    paths by which it depends on refuted steps."""

    premises: tuple[LinkedStatement, ...]
    conclusions: tuple[LinkedStatement, ...]
    forms: tuple[LinkedStatement, ...]
    rests: tuple[RefutedPremise, ...]


def neighbours(id_: str, graph: Any, main_forms: Mapping[str, str]) -> Neighbours:
    """The neighbours of a statement in the graph of proofs; ``main_forms`` gives for each other form the statement that
    it belongs to."""
    first = main_forms.get(id_, id_)
    forms = [i for i in (first, *(i for i, of in main_forms.items() if of == first)) if i != id_]
    return Neighbours(
        _shown(graph.predecessors(id_), graph),
        _shown(graph.successors(id_), graph),
        _shown(forms, graph),
        refuted_premises(graph, id_),
    )


def _shown(ids: Any, graph: Any) -> tuple[LinkedStatement, ...]:
    found = []
    for i in sorted(set(ids), key=natural):
        entry, state = graph.nodes[i]["entry"], graph.nodes[i]["state"]
        found.append(LinkedStatement(i, "not in the catalogue" if entry is None else entry.title, state))
    return tuple(found)
