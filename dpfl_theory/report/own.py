"""Statements of the user's own in documents of evidence: their formula, as a page shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.report.formulas import RELATIONS, Line

__all__ = ["shown_lines"]


def shown_lines(own: Mapping[str, Any]) -> list[Line]:
    """The displayed formula that a document tells of a statement; empty where it cannot be read as one."""
    found: list[Line] = []
    signs = {"", "+", "-", *RELATIONS.values()}
    for term in own.get("terms", ()):
        side, name, sign, latex = (term.get(key) for key in ("side", "name", "sign", "latex"))
        if side not in ("lhs", "rhs") or sign not in signs or not isinstance(name, str) or not isinstance(latex, str):
            return []
        found.append(Line(sign, latex, name, side, sum(line.side == side for line in found)))
    return found
