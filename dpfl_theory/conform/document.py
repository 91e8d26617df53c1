"""The document that ``conform --format json`` writes: schema ``dpfl-theory/conform/1``.

Within a version keys may be added, but never changed or removed. More faults may get a name.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from dpfl_theory.conform.result import SCHEMA
from dpfl_theory.schemas.models import GivenWarning, Table, open_, published, told

__all__ = ["ConformDocument", "schema"]


class CodeLine(Table):
    """A line of the user's code."""

    file: str = told("the file")
    line: int = told("the number of the line")
    text: str = told("the text of the line")


class Fault(Table):
    """A deviation from the algorithm."""

    name: str = told("a few words, the same for the same fault")
    evidence: str = open_("where it was seen, with numbers")
    lines: list[CodeLine] = told("lines to look at")
    seen: str | None = open_("code in which it was reported before")
    breaks_privacy: bool = told("whether it breaks the privacy that is claimed")
    told: str = open_("what it is and how to fix it")


class ConformDocument(Table):
    """The document that `conform --format json` writes."""

    model_config = ConfigDict(title=SCHEMA)
    schema_: Literal["dpfl-theory/conform/1"] = Field(alias="schema", description="the version of this schema")
    algorithm: str = told("the algorithm that the function was compared with")
    source: str = told("where it is printed")
    function: str = told("the function's name")
    verdict: Literal["conforms", "differs", "undecided"] = told("the verdict; exit codes 0, 1 and 3")
    reading: str | None = told("which of the algorithm's readings it is, if it conforms to one of several")
    faults: list[Fault] = told("what is wrong")
    notes: list[str] = open_("what was not compared, and other remarks")
    settings: list[dict[str, Any]] = told("the values of the hyper-parameters that were used")
    assumed: dict[str, Any] = told(
        "hyper-parameters that are neither arguments of the function nor given, with their assumed values"
    )
    privacy: dict[str, Any] = open_(
        "of one round: the neighbours' distance, the sensitivity, epsilon and what is claimed"
    )
    compared: dict[str, int] = open_("how many probes of each kind")
    seconds: float = told("how long it took")
    seed: int = told("the seed of its randomness")
    alpha: float = Field(gt=0, lt=1, description="error probability of all tests on samples")
    versions: dict[str, str] = told("versions of Python and of the packages that numbers depend on")
    warnings: list[GivenWarning] = told("warnings that were given when the function's module was imported", [])


def schema() -> dict[str, Any]:
    """The JSON schema of the document.

    >>> schema()["title"]
    'dpfl-theory/conform/1'
    """
    return published(ConformDocument)
