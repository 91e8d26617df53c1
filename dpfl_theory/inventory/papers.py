"""Papers."""

from __future__ import annotations

from dpfl_theory.inventory.base import Item, Kind
from dpfl_theory.statements.paper import known

__all__ = ["KIND"]


def _items() -> list[Item]:
    from dpfl_theory.statements import known_ids

    found = []
    for name, one in sorted(known().items()):
        count = sum(id_.startswith(f"{name}.") for id_ in known_ids())
        facts = {"authors": one.authors, "title": one.title, "appeared": one.year, "statements": str(count)}
        found.append(Item(name, one.heading, facts=facts, text=one.copy))
    return found


KIND = Kind("papers", "paper", "papers whose statements are here", _items, "dpfl-theory list NAME", ("statements",))
