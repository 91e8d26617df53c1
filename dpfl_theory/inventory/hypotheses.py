"""Hypotheses of the catalogue's statements, and the import of each as a `Hypothesis`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from dpfl_theory.inventory.base import Item, Kind

__all__ = ["KIND"]

_HOME = "dpfl_theory.statements."


def _items() -> list[Item]:
    from dpfl_theory.statements import all_statements

    users: dict[str, list[str]] = {}
    for statement in all_statements():
        for hypothesis in statement.hypotheses:
            users.setdefault(hypothesis.text, []).append(statement.id)
    found = []
    for text, name in _named():
        if ids := users.get(text):
            module, _, constant = name.rpartition(".")
            facts = {
                "statements": f"{len(ids)}, {ids[0]} among them" if len(ids) > 1 else ids[0],
                "use": f"from {_HOME}{module} import {constant}",
            }
            found.append((-len(ids), Item(name, text, facts=facts)))
    return [item for _, item in sorted(found, key=lambda pair: (pair[0], pair[1].name))]


def _named() -> Iterator[tuple[str, str]]:
    """The text of each hypothesis that a module defines under its own name, and the first of these names."""
    from dpfl_theory.core import Hypothesis

    seen = set[str]()
    for module in sorted(name for name in sys.modules if name.startswith(_HOME)):
        for name, value in sorted(vars(sys.modules[module]).items()):
            if isinstance(value, Hypothesis) and not name.startswith("_") and value.text not in seen:
                seen.add(value.text)
                yield value.text, f"{module.removeprefix(_HOME)}.{name}"


KIND = Kind(
    "hypotheses",
    "hypothesis",
    "hypotheses of the catalogue's statements, the most frequent first; each is an Hypothesis to import",
    _items,
    "",
    ("statements",),
)
