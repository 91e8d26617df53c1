"""Methods of checking."""

from __future__ import annotations

from dpfl_theory.core import methods
from dpfl_theory.inventory.base import Item, Kind

__all__ = ["KIND"]


def _items() -> list[Item]:
    found = []
    for name, one in methods.known().items():
        facts = {
            "decides": "yes" if one.decisive else "not where another method compares the sides",
            "simulates": "yes" if one.simulates else "no",
        }
        if one.relations is not None:
            facts["relations"] = ", ".join(one.relations)
        found.append(Item(name, one.description, facts=facts))
    return found


USE = "dpfl-theory check --method NAME"
KIND = Kind("methods", "method", "methods of checking, cheap ones first", _items, USE, ("relations",))
