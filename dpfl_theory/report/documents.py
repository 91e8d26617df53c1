"""The evidence that pages are made of: the JSON files of a folder, each read completely or not at all."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpfl_theory import validation
from dpfl_theory.checks.document import CheckDocument
from dpfl_theory.checks.document import read as read_checks
from dpfl_theory.core.evidence import SCHEMA
from dpfl_theory.errors import InputError
from dpfl_theory.report.entries import natural
from dpfl_theory.schemas import another, published
from dpfl_theory.validation.document import ValidationDocument
from dpfl_theory.validation.document import read as read_validation

FOLDER = "evidence"


@dataclass(frozen=True)
class Documents:
    """The content of a folder of evidence.

    * evidence: of each check the one that was written last;
    * files: for each statement the name of the file with its evidence;
    * own: the data of the user's own statements, by id;
    * alphas: the false-alarm probabilities of the runs;
    * validations: documents of validations, each with ``file``, the name of its file.
    """

    evidence: tuple[dict[str, Any], ...]
    files: dict[str, tuple[str, ...]]
    own: dict[str, dict[str, Any]]
    alphas: tuple[float, ...]
    validations: tuple[dict[str, Any], ...]
    profile: str = ""
    """The profile that chose the checks of the document written last; empty where they were chosen individually."""


def read(place: Path) -> Documents:
    """The documents of a folder. Raises InputError without documents, or for a file that is not evidence of
    this version."""
    checks: list[tuple[float, str, dict[str, Any]]] = []
    validations: list[dict[str, Any]] = []
    for path in sorted(place.glob("*.json"), key=lambda p: natural(p.stem)):
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            message = f"evidence file {str(path)!r} cannot be read: {error}; remove it or make it again"
            raise InputError(message) from error
        schema = document.get("schema") if isinstance(document, dict) else None
        if schema == SCHEMA:
            checks.append((path.stat().st_mtime, path.name, _whole(read_checks, document, path)))
        elif schema == validation.SCHEMA:
            validations.append({**_whole(read_validation, document, path), "file": path.name})
        else:
            wrong = another(schema, SCHEMA, validation.SCHEMA)
            raise InputError(f"evidence file {str(path)!r} {wrong}; make it again or remove it")
    if not checks and not validations:
        folder, file = (shlex.quote(str(path)) for path in (place.parent, place / "check.json"))
        raise InputError(
            f"there is no evidence in {str(place)!r}: for your own theorems, 'dpfl-theory report --file FILE.py "
            f"--output {folder}' checks them first; for others, first run for example 'dpfl-theory check "
            f"das2022.eq12 --format json --output {file}' or 'dpfl-theory validate --output {folder}'"
        )
    found: dict[tuple[str, str, str], tuple[str, dict[str, Any]]] = {}
    for _, file, document in sorted(checks, key=lambda known: known[0]):
        for e in document["evidence"]:
            found[e["statement"], e["method"], e["check"]] = (file, e)
    files: dict[str, tuple[str, ...]] = {}
    for file, e in found.values():
        files[e["statement"]] = tuple(dict.fromkeys((*files.get(e["statement"], ()), file)))
    return Documents(
        tuple(e for _, e in found.values()),
        files,
        {id_: about for _, _, document in checks for id_, about in _own(document)},
        tuple(sorted({document["summary"]["alpha"] for _, _, document in checks})),
        tuple(validations),
        max(checks, key=lambda known: known[0])[2].get("profile") or "" if checks else "",
    )


def _own(document: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    reported = document.get("own")
    return (
        [(i, about) for i, about in reported.items() if isinstance(about, dict)] if isinstance(reported, dict) else []
    )


def _whole(read: Callable[[Any, str], dict[str, Any]], document: Any, path: Path) -> dict[str, Any]:
    """The document, if it has everything that its schema requires. Otherwise raises InputError with the remedy."""
    try:
        return read(document, f"evidence file {str(path)!r}")
    except InputError as error:
        raise InputError(f"{error}; make it again or remove it") from None


def schema() -> dict[str, Any]:
    """The JSON schema of a file that a report reads.

    >>> sorted(schema()["discriminator"]["mapping"])
    ['dpfl-theory/1', 'dpfl-theory/validation/1']
    """
    return published(CheckDocument, ValidationDocument)
