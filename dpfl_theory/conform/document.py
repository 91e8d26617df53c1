"""The document that ``conform --format json`` writes: schema ``dpfl-theory/conform/1``.

Within a version keys may be added, but never changed or removed. More faults may get a name.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from dpfl_theory.conform.result import SCHEMA
from dpfl_theory.schemas import GivenWarning, Table, described_field, published, unstable_field


class CodeLine(Table):
    """A line of the user's code."""

    file: str = described_field("the file")
    line: int = described_field("the number of the line")
    text: str = described_field("the text of the line")


class Fault(Table):
    """A deviation from the algorithm."""

    name: str = described_field("a few words, the same for the same fault")
    evidence: str = unstable_field("where it was seen, with numbers")
    lines: list[CodeLine] = described_field("lines to look at")
    seen: str | None = unstable_field("code in which it was reported before")
    breaks_privacy: bool = described_field("whether it breaks the privacy that is claimed")
    told: str = unstable_field("what it is and how to fix it")


class ConformDocument(Table):
    """The document that `conform --format json` writes."""

    model_config = ConfigDict(title=SCHEMA)
    schema_: Literal["dpfl-theory/conform/1"] = Field(alias="schema", description="the version of this schema")
    algorithm: str = described_field("the algorithm that the function was compared with")
    source: str = described_field("where it is printed")
    function: str = described_field("the function's name")
    verdict: Literal["conforms", "differs", "undecided"] = described_field("the verdict; exit codes 0, 1 and 3")
    reading: str | None = described_field(
        "which of the algorithm's readings it is, or from which the deviations are counted"
    )
    faults: list[Fault] = described_field("what is wrong")
    notes: list[str] = unstable_field("what was not compared, and other remarks")
    settings: list[dict[str, Any]] = described_field("the values of the hyper-parameters that were used")
    assumed: dict[str, Any] = described_field(
        "hyper-parameters that are neither arguments of the function nor given, with their assumed values"
    )
    declared: list[str] = described_field("the names of declared variations")
    privacy: dict[str, Any] = unstable_field(
        "of one round: the neighbours' distance, the sensitivity, epsilon and what is claimed"
    )
    compared: dict[str, int] = unstable_field("how many probes of each kind")
    seconds: float = described_field("how long it took")
    seed: int = described_field("the seed of its randomness")
    alpha: float = Field(gt=0, lt=1, description="error probability of all tests on samples")
    versions: dict[str, str] = described_field("versions of Python and of the packages that numbers depend on")
    warnings: list[GivenWarning] = described_field(
        "warnings that were given when the function's module was imported", []
    )


def schema() -> dict[str, Any]:
    """The JSON schema of the document.

    >>> schema()["title"]
    'dpfl-theory/conform/1'
    """
    return published(ConformDocument)
