"""The document that ``falsify --format json`` writes: schema ``dpfl-theory/falsify/1``.

Within a version keys are added and never changed or removed.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from dpfl_theory.checks.document import CheckRecord, OfStatement
from dpfl_theory.schemas.models import Table, described_field, published, unstable_field

__all__ = ["SCHEMA", "SearchDocument", "schema"]

SCHEMA = "dpfl-theory/falsify/1"


class SearchDocument(Table):
    """What `falsify --format json` writes."""

    model_config = ConfigDict(title=SCHEMA)
    schema_: Literal["dpfl-theory/falsify/1"] = Field(alias="schema", description="the version of this schema")
    statement: str = described_field("the statement's id")
    recorded_verdict: OfStatement = described_field("the verdict that is recorded for it")
    tried: int = described_field("instances that were tried")
    variations: int = described_field("the number of these that were variations of recorded ones")
    inside: int = described_field("the number of instances inside the hypotheses")
    outside: dict[str, int] = unstable_field("the number of excluded instances, by reason")
    reasons: dict[str, str] = unstable_field("why the first instance that could not be run could not, by reason", {})
    other_methods: list[str] = described_field(
        "the other methods by which the statement is checked, whose instances are not searched", []
    )
    recorded: float = described_field("the largest excess, (left - right)/(|left| + |right|), of the recorded runs")
    largest: float = described_field("the largest excess of all; being the largest of many, it is not evidence")
    evidence: CheckRecord = described_field("of the best instance with fresh seeds, which counts")
    certifiable: bool = described_field(
        "whether such a run can be violated: whether limits are valid at finite sample size"
    )
    suspicious: bool = described_field("undecided, but asymptotic limits exclude the right side; exit code 3")
    seconds: float = described_field("the total time")


def schema() -> dict[str, Any]:
    """The JSON schema of the document.

    >>> schema()["title"]
    'dpfl-theory/falsify/1'
    """
    return published(SearchDocument)
