"""The document that ``falsify --format json`` writes: schema ``dpfl-theory/falsify/1``.

Within a version keys are added and never changed or taken away.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from dpfl_theory.checks.document import Found, OfStatement
from dpfl_theory.schemas.models import Table, open_, published, told

__all__ = ["SCHEMA", "SearchDocument", "schema"]

SCHEMA = "dpfl-theory/falsify/1"


class SearchDocument(Table):
    """What `falsify --format json` writes."""

    model_config = ConfigDict(title=SCHEMA)
    schema_: Literal["dpfl-theory/falsify/1"] = Field(alias="schema", description="the version of this schema")
    statement: str = told("the statement's id")
    recorded_verdict: OfStatement = told("the verdict that is recorded for it")
    tried: int = told("instances that were tried")
    variations: int = told("how many of these were variations of recorded ones")
    inside: int = told("how many were inside the hypotheses")
    outside: dict[str, int] = open_("how many were kept out, by reason")
    reasons: dict[str, str] = open_("why the first of those that could not be run could not, by reason", {})
    other_methods: list[str] = told("by which the statement is checked, too, and whose instances are not searched", [])
    recorded: float = told("the largest excess, (left - right)/(|left| + |right|), of the recorded runs")
    largest: float = told("the largest excess of all; the largest of many, and so no evidence")
    evidence: Found = told("of the best instance with fresh seeds, which counts")
    certifiable: bool = told("whether such a run can be found violated: whether limits are valid at finite sample size")
    suspicious: bool = told("undecided, but asymptotic limits leave the right side out; exit code 3")
    seconds: float = told("how long it took")


def schema() -> dict[str, Any]:
    """The JSON schema of the document.

    >>> schema()["title"]
    'dpfl-theory/falsify/1'
    """
    return published(SearchDocument)
