"""Base classes for tables of configurations and documents; numbers in them are finite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from dpfl_theory.core.parameter import LARGEST

DIALECT = "https://json-schema.org/draft/2020-12/schema"
"""The JSON Schema that pydantic writes."""

Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0, le=LARGEST)]
NonNegative = Annotated[float, Field(ge=0, le=LARGEST)]
Probability = Annotated[float, Field(gt=0, lt=1)]
Share = Annotated[float, Field(gt=0, le=1)]


OF_KIND: Mapping[str, Any] = {
    "positive": Positive,
    "nonnegative": NonNegative,
    "count": Count,
    "size": Annotated[int, Field(ge=0)],
    "share": Share,
    "fraction": Annotated[float, Field(ge=0, lt=1)],
    "probability": Probability,
}
"""The types of the kinds of a number (`dpfl_theory.core.parameter.KINDS`)."""


class Model(BaseModel):
    """One table of a configuration: its keys, their types and ranges. Unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Table(BaseModel):
    """A part of a document: unknown keys are ignored, and numbers are finite."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True, allow_inf_nan=False)


def described_field(text: str, default: Any = ...) -> Any:
    """A key with its meaning; without a default it must be given."""
    return Field(default, description=text)


def unstable_field(text: str, default: Any = ...) -> Any:
    """A key that a document always has, but whose content may change within a version: ``x-stable: false``."""
    return Field(default, description=text, json_schema_extra={"x-stable": False})


class GivenWarning(Table):
    """A warning that was given while something ran."""

    kind: str = described_field("class of the warning")
    text: str = unstable_field("text of the warning")
    count: int = described_field("how often it was given")


def published(*models: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a document, or of one of several, which their key ``schema`` distinguishes.

    >>> class One(BaseModel):
    ...     a: int
    >>> published(One)["required"], published(One)["$schema"]
    (['a'], 'https://json-schema.org/draft/2020-12/schema')
    """
    kind: Any = models[0]
    for model in models[1:]:
        kind = kind | model
    several = len(models) > 1
    kind = Annotated[kind, Field(discriminator="schema_")] if several else kind
    return {"$schema": DIALECT, **TypeAdapter(kind).json_schema()}
