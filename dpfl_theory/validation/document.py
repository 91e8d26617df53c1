"""The document that a validation leaves, as its readers may rely on it: schema ``dpfl-theory/validation/1``.

Within a version keys are added and never changed or taken away; a reader passes over those that it does not know.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from dpfl_theory.schemas.faults import versioned
from dpfl_theory.schemas.models import GivenWarning, Table, open_, published, told
from dpfl_theory.validation.run import SCHEMA

__all__ = ["ValidationDocument", "read", "schema"]


class Claim(Table):
    """One of the paper's claims as a predicate, or a question of our own."""

    claim: str = told("the claim")
    verdict: Literal["reproduced", "not-reproduced", "does-not-carry-over", "inconclusive", "yes", "no", "open"] = told(
        "what was found; yes, no or open where the question is ours"
    )
    expected: str | None = told("the verdict that is recorded, where one is", None)
    ours: bool = told("whether the question is ours and not a claim of the paper", False)
    differs: str | None = told("how data, metric or range differ from the paper's, where they do", None)
    paper: Any = open_("what the paper says")
    measured: Any = open_("what was measured")


class Data(Table):
    """What was computed: all that its figures are drawn from, besides these keys."""

    claims: list[Claim] = told("the paper's claims as predicates, and questions of our own", [])
    configuration: dict[str, Any] = open_("what was run", {})


class ValidationDocument(Table):
    """What a validation leaves in `evidence/NAME.json`."""

    model_config = ConfigDict(title=SCHEMA)
    schema_: Literal["dpfl-theory/validation/1"] = Field(alias="schema", description="the version of this schema")
    name: str = Field(pattern=r"^[A-Za-z0-9._-]+$", description="the script's name")
    title: str = told("what it shows")
    caption: str = told("the figure's caption")
    source: dict[str, str] = told("where in the paper it stands")
    command: str = told("the command that repeats it")
    profile: Literal["standard", "full", "paper"] = told("how much was computed")
    seed: int = told("the seed of all randomness")
    device: str = told("where it ran")
    versions: dict[str, str] = told("versions of Python and of the packages that numbers depend on", {})
    seconds: float = told("how long it took")
    warnings: list[GivenWarning] = told("warnings that were given while it was computed", [])
    data: Data = told("what was computed")


def schema() -> dict[str, Any]:
    """The JSON schema of the document.

    >>> "data" in schema()["required"]
    True
    """
    return published(ValidationDocument)


def read(document: Any, where: str) -> dict[str, Any]:
    """The document, if it is one. InputError, with each key that is wrong, otherwise; ``where`` it comes from."""
    return versioned(ValidationDocument, SCHEMA, document, where)
