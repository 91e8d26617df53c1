"""The algorithms that configurations name, with their hyper-parameters, and what each can be asked."""

from __future__ import annotations

from typing import Any

from docs.inserts import rendered
from dpfl_theory.conform.references import references
from dpfl_theory.inventory.algorithms import KIND
from dpfl_theory.privacy.mechanisms import mechanisms
from dpfl_theory.recommend.algorithms import settings

__all__ = ["insert"]


def insert() -> str:
    """A table of all, and one of each one's hyper-parameters."""
    protected = mechanisms()
    rows: list[dict[str, Any]] = []
    for item in KIND.items():
        if item.name.islower():  # a name for configurations; the others are classes
            held = references().get(item.name)
            unit = protected[item.name].protects if item.name in protected else held.unit if held else ""
            rows.append(
                {"item": item, "unit": unit, "recommended": item.name in settings(), "held": item.name in references()}
            )
    return rendered("algorithms.html.j2", rows=rows)
