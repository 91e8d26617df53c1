"""Tables of configurations and of JSON documents: their base classes and types, and their faults.

A fault is one sentence for each key, with its value, the cause and the remedy. Numbers in tables are finite.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from dpfl_theory.core.parameter import LARGEST
from dpfl_theory.errors import InputError
from dpfl_theory.related import instead

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


_MOST = 20
"""Faults that are reported one by one."""

_NEEDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "greater_than": lambda c: f"it must be above {c['gt']:g}; give a larger number",
    "greater_than_equal": lambda c: f"it must be at least {c['ge']:g}; give a larger number",
    "less_than": lambda c: f"it must be below {c['lt']:g}; give a smaller number",
    "less_than_equal": lambda c: f"it must be at most {c['le']:g}; give a smaller number",
    "finite_number": lambda c: "it is not finite; give a finite number",
    "int_type": lambda c: "it is not a whole number; give one, without a fraction",
    "int_from_float": lambda c: "it is not a whole number; give one, without a fraction",
    "float_type": lambda c: "it is not a number; give one",
    "bool_type": lambda c: "it is neither true nor false; give one of them",
    "string_type": lambda c: "it is not a text; put it in quotes",
    "dict_type": lambda c: "it is not a table; give keys and values",
    "model_type": lambda c: "it is not a table; give keys and values",
    "list_type": lambda c: "it is not a list; put it in brackets",
    "literal_error": lambda c: f"it is unknown; give one of {c['expected']}",
}


def shorten(value: Any) -> str:
    """A value for a sentence, truncated where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def unknown(key: str, name: Any, known: Iterable[str]) -> str:
    """The sentence for an unknown name.

    >>> unknown("algorithm.name", "dp-fedvag", ["dp-fedavg", "scaffold"])
    "algorithm.name is 'dp-fedvag', which is unknown: did you mean 'dp-fedavg'?"
    """
    remedy = instead(str(name), known) if key == "algorithm.name" else near(str(name), known)
    return f"{key} is {shorten(name)}, which is unknown: {remedy}"


def near(name: str, known: Iterable[str]) -> str:
    """The advice for an unknown name: the nearest one, or the known ones."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    few = ", ".join(names) if len(names) <= 16 else ", ".join(names[:16]) + ", ..."
    return f"did you mean {close[0]!r}?" if close else f"give one of {few or 'nothing'}"


def known_name(name: str, known: Iterable[str]) -> str:
    """Return the name, for a model's validator; raise an error with the remedy where it is unknown."""
    if name not in known:
        raise PydanticCustomError("unknown", "{remedy}", {"remedy": near(name, known)})
    return name


class Faults:
    """A collection of sentences about faults, each once."""

    def __init__(self) -> None:
        self.found: dict[str, None] = {}

    def add(self, *sentences: str) -> None:
        """Add sentences."""
        self.found.update(dict.fromkeys(sentences))

    def end(self, label: str) -> None:
        """Raise InputError with all of them, if there are any."""
        lines = list(self.found)
        if len(lines) == 1:
            raise InputError(f"{label}: {lines[0]}")
        if lines:
            more = [f"and {len(lines) - _MOST} more"] if len(lines) > _MOST else []
            raise InputError("\n  ".join([f"{label} has {len(lines)} faults:", *lines[:_MOST], *more]))


def validated(
    model: type[BaseModel], table: Any, at: str, faults: Faults, named: Mapping[str, str] | None = None
) -> Any:
    """The table as an instance of the model; None where it is not valid, and its faults are added.

    at: the path of the table; named: the paths of keys that were set elsewhere.
    """
    try:
        return model.model_validate(table)
    except ValidationError as error:
        described: dict[Any, str] = {}
        for fault in error.errors():  # keep one for each key: a union has one for each of its branches
            steps = tuple(step for step in fault["loc"] if isinstance(step, int) or not _branch(step))
            described.setdefault(steps, _sentence(model, fault, steps, at, named or {}))
        faults.add(*described.values())
    return None


def versioned(model: type[BaseModel], schema: str, document: Any, where: str) -> dict[str, Any]:
    """The document, if it is valid by this schema; ``where`` names its origin in messages.

    Otherwise raise InputError, with each wrong key, or because the document has another version.
    """
    if isinstance(document, Mapping) and document.get("schema") != schema:
        raise InputError(f"{where} {another(document.get('schema'), schema)}")
    faults = Faults()
    validated(model, document, "", faults)
    faults.end(where)
    return dict(document)


def another(found: Any, *known: str) -> str:
    """The fault of a document whose schema is unknown.

    >>> another("dpfl-theory/2", "dpfl-theory/1")
    "has the schema 'dpfl-theory/2', of a later version than 'dpfl-theory/1': read it with a newer dpfl-theory"
    >>> another("dpfl-theory/0", "dpfl-theory/1")
    "has the schema 'dpfl-theory/0', of an earlier version than 'dpfl-theory/1'"
    """
    names = " or ".join(map(repr, known))
    name, _, version = str(found).rpartition("/")
    mine = next((k for k in known if k.rpartition("/")[0] == name), None)
    if mine is None or not version.isdecimal():
        return f"has the schema {shorten(found)}, not {names}"
    later = int(version) > int(mine.rpartition("/")[2])
    remedy = ": read it with a newer dpfl-theory" if later else ""
    return f"has the schema {found!r}, of {'a later' if later else 'an earlier'} version than {mine!r}{remedy}"


def _sentence(model: type[BaseModel], fault: Any, steps: Sequence[Any], at: str, named: Mapping[str, str]) -> str:
    key = str(steps[0]) if steps else ""
    path = named.get(key) or ".".join(filter(None, (at, key)))
    path += _path(steps[1:])
    value = fault["input"]
    if fault["type"] == "extra_forbidden":
        whose = _owner(model, steps[:-1])
        return f"{path} is {shorten(value)}: there is no such key; {near(str(steps[-1]), whose)}"
    if fault["type"] == "unknown":
        return f"{path} is {shorten(value)}, which is unknown: {fault['msg']}"
    if fault["type"] == "missing":
        return f"{path} is missing: give {_meaning(model, key)}"
    if fault["type"] in _NEEDS:
        return f"{path} is {shorten(value)}: {_NEEDS[fault['type']](fault.get('ctx', {}))}"
    return f"{path} is {shorten(value)}: {fault['msg'][:1].lower()}{fault['msg'][1:]}; give another value"


def _branch(step: str) -> bool:
    """Whether a step of pydantic's path is a branch of a union, not a key."""
    return "[" in step or step in ("float", "int", "str", "bool", "none", "tuple", "list")


def _path(steps: Sequence[Any]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


def _owner(model: Any, steps: Sequence[Any]) -> list[str]:
    """The keys of the table that contains an unknown key."""
    for step in steps:
        field = model.model_fields.get(step) if hasattr(model, "model_fields") else None
        if field is None:
            return []
        inner = [
            a for a in (field.annotation, *getattr(field.annotation, "__args__", ())) if hasattr(a, "model_fields")
        ]
        model = inner[0] if inner else None
    return list(model.model_fields) if model is not None else []


def _meaning(model: type[BaseModel], key: str) -> str:
    field = model.model_fields.get(key)
    return (field.description if field is not None else None) or "it"
