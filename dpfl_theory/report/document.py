"""The input of a report: the documents of checks and of validations, in one folder."""

from __future__ import annotations

from typing import Any

from dpfl_theory.checks.document import CheckDocument
from dpfl_theory.schemas.models import published
from dpfl_theory.validation.document import ValidationDocument

__all__ = ["schema"]


def schema() -> dict[str, Any]:
    """The JSON schema of a file that a report reads.

    >>> sorted(schema()["discriminator"]["mapping"])
    ['dpfl-theory/1', 'dpfl-theory/validation/1']
    """
    return published(CheckDocument, ValidationDocument)
