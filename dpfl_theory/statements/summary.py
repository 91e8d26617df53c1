"""A statement as plain data: what the catalogue's list, a statement's page and reports show."""

from __future__ import annotations

from typing import Any

from dpfl_theory.core import Statement
from dpfl_theory.core.prose import plain_data
from dpfl_theory.statements.power import recorded


def summary(statement: Statement) -> dict[str, Any]:
    """The statement's line in `list --format json`, its texts as plain text."""
    made: dict[str, Any] = plain_data(in_markdown(statement))
    return made


def in_markdown(statement: Statement) -> dict[str, Any]:
    """The same with the texts of the catalogue as they are."""
    erratum = remark = None
    power = recorded(statement.id)
    if statement.erratum is not None:
        e = statement.erratum
        erratum = {
            "printed": e.printed,
            "corrected": e.corrected,
            "true": e.corrected,  # as the key was called before
            "grade": e.grade,
            "cause": e.cause.id,
            "why": " ".join(filter(None, (e.cause.text, e.why))),
            "counterexample": e.counterexample,
            "effect": {"value": e.effect.value, "text": e.effect.text},
            "repaired": e.repaired or None,
            "affects": list(e.affects),
            "survives": dict(e.survives),
        }
    if statement.remark is not None:
        r = statement.remark
        remark = {"text": r.text, "shown_by": r.shown_by, "repaired": r.repaired or None}
    return {
        "id": statement.id,
        "paper": statement.paper,
        "kind": statement.kind,
        "title": statement.title,
        "methods": list(statement.methods),
        "expected": statement.expected,
        "provenance": statement.provenance,
        "reading": statement.reading or None,
        "reading_of": statement.reading_of or None,
        "grade": None if statement.erratum is None else statement.erratum.grade,
        "cause": None if statement.erratum is None else statement.erratum.cause.id,
        "power": None if power is None else power.to_json(),
        "erratum": erratum,
        "remark": remark,
    }
