"""Observables: the quantities that statements bound and that runs can record."""

from __future__ import annotations

from dpfl_theory.inventory.base import Item, Kind

__all__ = ["KIND"]


def _items() -> list[Item]:
    from dpfl_theory.algorithms.observables import catalogue
    from dpfl_theory.statements.units import format_unit

    found = []
    for name, one in sorted(catalogue().items()):
        when = "every round, and after the last one" if one.of_state else "every round"
        facts = {"unit": format_unit(one.unit), "formula": one.latex, "exists": when}
        found.append(Item(name, one.meaning, facts=facts))
    return found


KIND = Kind(
    "observables",
    "observable",
    "quantities whose mean a statement may bound, and which a run may record",
    _items,
    "Expected(..., parts=(('NAME', 1),), ...) in a statement; observe=['NAME'] in dpfl_theory.simulate",
    ("unit",),
)
