"""The document that a validation writes, with the guarantees for its readers: schema ``dpfl-theory/validation/1``.

Within a version keys are added and never changed or removed; readers should ignore unknown keys.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from dpfl_theory.schemas import GivenWarning, Table, described_field, published, unstable_field, versioned
from dpfl_theory.validation.run import SCHEMA


class Claim(Table):
    """One of the paper's claims as a predicate, or a question of our own."""

    claim: str = described_field("the claim")
    verdict: Literal["reproduced", "not-reproduced", "does-not-carry-over", "inconclusive", "yes", "no", "open"] = (
        described_field("the verdict; yes, no or open if the question is ours")
    )
    expected: str | None = described_field("the recorded verdict, if there is one", None)
    ours: bool = described_field("whether the question is ours and not a claim of the paper", False)
    differs: str | None = described_field("how data, metric or range differ from the paper's, if they do", None)
    paper: Any = unstable_field("the paper's claim")
    measured: Any = unstable_field("the measured result")


class Data(Table):
    """The computed data: everything that its figures are drawn from, in addition to these keys."""

    claims: list[Claim] = described_field("the paper's claims as predicates, and questions of our own", [])
    configuration: dict[str, Any] = unstable_field("the configuration of the run", {})


class ValidationDocument(Table):
    """The document that a validation writes to `evidence/NAME.json`."""

    model_config = ConfigDict(title=SCHEMA)
    schema_: Literal["dpfl-theory/validation/1"] = Field(alias="schema", description="the version of this schema")
    name: str = Field(pattern=r"^[A-Za-z0-9._-]+$", description="the script's name")
    title: str = described_field("its title")
    caption: str = described_field("the figure's caption")
    source: dict[str, str] = described_field("its place in the paper")
    command: str = described_field("the command that repeats it")
    profile: Literal["standard", "full", "paper"] = described_field("the profile: how much was computed")
    seed: int = described_field("the seed of all randomness")
    device: str = described_field("the hardware it ran on")
    versions: dict[str, str] = described_field("versions of Python and of the packages that affect the numbers", {})
    seconds: float = described_field("the total time")
    warnings: list[GivenWarning] = described_field("warnings issued while it was computed", [])
    data: Data = described_field("the computed data")


def schema() -> dict[str, Any]:
    """The JSON schema of the document.

    >>> "data" in schema()["required"]
    True
    """
    return published(ValidationDocument)


def read(document: Any, where: str) -> dict[str, Any]:
    """The document, if it is one. Otherwise raises InputError with each wrong key; ``where`` is its origin."""
    return versioned(ValidationDocument, SCHEMA, document, where)
