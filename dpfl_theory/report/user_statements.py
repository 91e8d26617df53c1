"""The user's own statements in documents of evidence: written with their formula, so that a page can show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpfl_theory.checks.power import detected_by_checks, undetected_terms
from dpfl_theory.core import Statement
from dpfl_theory.core.evidence import Evidence
from dpfl_theory.core.prose import plain
from dpfl_theory.report.formulas import RELATIONS, FormulaLine, hypotheses, lines


def described(
    statements: Sequence[Statement],
    evidence: Sequence[Evidence],
    planted: bool = False,
    file: str | Path | None = None,
    limit: float | None = None,
) -> dict[str, Any]:
    """Each statement as plain data: its file, its text, its formula, its symbols, hypotheses and power.

    The formula has a line of LaTeX for each term. The power is what its checks could detect (null for a statement that
    is refuted, or has no sides). With ``planted`` it includes the terms of the right side that could be left out
    without being detected. For these the checks run again, each for at most ``limit`` seconds. file: the file that
    defines the statements, which the command that repeats their evidence names."""
    from dpfl_theory.statements.units import format_unit

    found: dict[str, Any] = {}
    for s in statements:
        power = detected_by_checks(s, evidence)
        found[s.id] = {
            "kind": s.kind,
            "title": plain(s.title),
            "where": s.source.where,
            "file": "" if file is None else str(file),
            "text": plain(s.text),
            "text_markdown": s.text,
            "relation": s.relation,
            "terms": [{"side": x.side, "name": x.name, "sign": x.sign, "latex": x.latex} for x in lines(s)],
            "letters": [
                {"name": x.name, "latex": x.latex or x.name, "meaning": plain(x.meaning), "unit": format_unit(x.unit)}
                for x in s.quantities
            ],
            "hypotheses": [a.text for a in s.hypotheses],
            "hypotheses_markdown": hypotheses(s),
            "noticed": power
            and {**power.to_json(), "left_out": undetected_terms(s, evidence, limit) if planted else None},
        }
    return found


def shown_lines(own: Mapping[str, Any]) -> list[FormulaLine]:
    """The displayed formula in the output of `described`; empty where it cannot be read as one."""
    found: list[FormulaLine] = []
    signs = {"", "+", "-", *RELATIONS.values()}
    for term in own.get("terms", ()):
        side, name, sign, latex = (term.get(key) for key in ("side", "name", "sign", "latex"))
        if side not in ("lhs", "rhs") or sign not in signs or not isinstance(name, str) or not isinstance(latex, str):
            return []
        found.append(FormulaLine(sign, latex, name, side, sum(line.side == side for line in found)))
    return found
