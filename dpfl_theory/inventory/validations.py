"""Validations: figures and tables of papers that are redone."""

from __future__ import annotations

import ast
from pathlib import Path

from dpfl_theory.inventory.base import Item, Kind

__all__ = ["KIND"]


def _items() -> list[Item]:
    from dpfl_theory.validation.script import available

    return [_of(name, path) for name, path in sorted(available().items())]


def _of(name: str, path: Path) -> Item:
    """A script's own description, as far as it is plain text: nothing is imported, since that takes seconds."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    described = {target.id: node.value for node in tree.body if isinstance(node, ast.Assign) for target in node.targets
            if isinstance(target, ast.Name)}  # fmt: skip
    docs = " ".join((ast.get_docstring(tree) or "").partition("\n\n")[0].split())
    facts = {"file": path.name}
    if "DATA" in described:
        facts["data"] = _text(described["DATA"]) or "takes a file"
    return Item(name, _text(described.get("TITLE")) or docs, facts=facts, text=docs)


def _text(node: ast.expr | None) -> str:
    try:
        return str(ast.literal_eval(node)) if node is not None else ""
    except ValueError:
        return ""


KIND = Kind(
    "validations", "validation", "redone figures and tables of papers", _items, "dpfl-theory validate NAME", ("data",)
)
