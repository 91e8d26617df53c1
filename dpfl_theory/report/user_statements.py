"""Statements of the user's own in documents of evidence: written with their formula, so that a page can show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpfl_theory.checks.evidence import Evidence
from dpfl_theory.checks.user_statements import left_out, noticed
from dpfl_theory.report.formulas import RELATIONS, Line, lines
from dpfl_theory.statements.model import Statement

__all__ = ["described", "shown_lines"]


def described(
    statements: Sequence[Statement],
    evidence: Sequence[Evidence],
    planted: bool = False,
    file: str | Path | None = None,
) -> dict[str, Any]:
    """Of each statement, as plain data: its file, its words, its formula, a line of LaTeX for each term, its letters,
    its hypotheses, and what its checks could notice (null for one that is refuted, or has no sides); with ``planted``
    also which terms of the right side could be left out unnoticed, for which its checks are run again. file: where they
    are defined, which the command that repeats their evidence names."""
    from dpfl_theory.statements.units import format_unit

    found: dict[str, Any] = {}
    for s in statements:
        power = noticed(s, evidence)
        found[s.id] = {
            "kind": s.kind,
            "title": s.title,
            "where": s.source.where,
            "file": "" if file is None else str(file),
            "text": s.text,
            "relation": s.relation,
            "terms": [{"side": x.side, "name": x.name, "sign": x.sign, "latex": x.latex} for x in lines(s)],
            "letters": [
                {"name": x.name, "latex": x.latex or x.name, "meaning": x.meaning, "unit": format_unit(x.unit)}
                for x in s.letters
            ],
            "hypotheses": [a.text for a in s.assumptions],
            "noticed": power and {**power.to_json(), "left_out": left_out(s, evidence) if planted else None},
        }
    return found


def shown_lines(own: Mapping[str, Any]) -> list[Line]:
    """The displayed formula of what `described` wrote; empty where it cannot be read as one."""
    found: list[Line] = []
    signs = {"", "+", "-", *RELATIONS.values()}
    for term in own.get("terms", ()):
        side, name, sign, latex = (term.get(key) for key in ("side", "name", "sign", "latex"))
        if side not in ("lhs", "rhs") or sign not in signs or not isinstance(name, str) or not isinstance(latex, str):
            return []
        found.append(Line(sign, latex, name, side, sum(line.side == side for line in found)))
    return found
