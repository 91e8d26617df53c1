"""What every table of a configuration shares: keys that nobody knows are refused, and numbers are finite."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Count", "Model", "NonNegative", "Positive", "Probability", "Share", "told"]

Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0, le=1e300)]
NonNegative = Annotated[float, Field(ge=0, le=1e300)]
Probability = Annotated[float, Field(gt=0, lt=1)]
Share = Annotated[float, Field(gt=0, le=1)]


class Model(BaseModel):
    """One table of a configuration: its keys, their types and ranges."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def told(text: str, default: Any = ...) -> Any:
    """A key with what it means; without a default it must be given."""
    return Field(default, description=text)
