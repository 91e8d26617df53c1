"""The keys of a JSON document or configuration, from the schema that a command prints with ``--schema``."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping
from typing import Any

from docs import snippets
from docs.inserts import plain, table

__all__ = ["insert"]

FEW = 3
"""The maximum number of tables that a type names; for more it refers to all tables below."""


def insert(command: str, shared: str = "") -> str:
    """A table of the document's keys, then one for each table in it.

    shared: another command, whose tables are on the same page; they are not repeated.
    """
    schema, others = _schema(command), _schema(shared).get("$defs", {}) if shared else {}
    places = {name: f"{shared if name in others else command}-{name}" for name in schema.get("$defs", {})}
    return "\n".join(_parts(schema, places, others))


def _schema(command: str) -> dict[str, Any]:
    (ran,) = snippets.commands(f"$ dpfl-theory {command} --schema")
    return dict(json.loads(ran.printed))


def _parts(schema: Mapping[str, Any], places: Mapping[str, str], others: Container[str]) -> Iterator[str]:
    document = "schema" in schema["properties"]
    yield _keys(schema, places, document)
    for name, part in sorted(schema.get("$defs", {}).items()):
        if "properties" in part and name not in others:
            called = part["properties"].get("name", {}).get("const")
            title = f"{name}: `{called}`" if called else name
            yield f"({places[name]})=\n### {title}\n\n{plain(part.get('description', ''))}\n"
            yield _keys(part, places, document)


def _keys(schema: Mapping[str, Any], places: Mapping[str, str], document: bool) -> str:
    required = schema.get("required", ())
    rows = (
        [
            f"`{key}`",
            plain(part.get("description", "")),
            _type(part, places),
            "yes" if key in required else "–",
            *(["–" if part.get("x-stable") is False else "yes"] if document else []),
        ]
        for key, part in schema["properties"].items()
    )
    return table(("key", "meaning", "type", "required", *(["stable"] if document else [])), rows)


def _type(part: Mapping[str, Any], places: Mapping[str, str]) -> str:
    """A key's type in words, with a link where it is a table of the same schema."""
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        return f"[{name}](#{places[name]})"
    for several in ("anyOf", "oneOf"):
        if several in part:
            if sum("$ref" in one for one in part[several]) > FEW:
                others = [_type(one, places) for one in part[several] if "$ref" not in one]
                return " or ".join(["one of the tables below", *others])
            return " or ".join(dict.fromkeys(_type(one, places) for one in part[several]))
    if "const" in part:
        return f"`{json.dumps(part['const'])}`"
    if "enum" in part:
        return " or ".join(f"`{json.dumps(value)}`" for value in part["enum"])
    if part.get("type") == "array":
        return f"list of {_type(part['items'], places)}" if "items" in part else "list"
    values = part.get("additionalProperties")
    if part.get("type") == "object" and isinstance(values, dict):
        return f"by name: {_type(values, places)}"
    kind = part.get("type", "any")
    return {"object": "table"}.get(kind, kind) if isinstance(kind, str) else " or ".join(kind)
