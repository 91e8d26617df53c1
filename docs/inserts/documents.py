"""The keys of a JSON document or configuration, from the schema that a command prints with ``--schema``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from docs import snippets
from docs.inserts import plain, table

__all__ = ["insert"]


def insert(command: str) -> str:
    """A table of the document's keys, then one for each table in it."""
    (ran,) = snippets.commands(f"$ dpfl-theory {command} --schema")
    return "\n".join(_parts(command, json.loads(ran.printed)))


def _parts(command: str, schema: Mapping[str, Any]) -> Iterator[str]:
    if "properties" in schema:
        yield _keys(command, schema)
    for name, part in sorted(schema.get("$defs", {}).items()):
        if "properties" in part:
            yield f"({command}-{name})=\n### {name}\n\n{plain(part.get('description', ''))}\n"
            yield _keys(command, part)


def _keys(command: str, schema: Mapping[str, Any]) -> str:
    required = schema.get("required", ())
    return table(
        ("key", "meaning", "type", "always", "stable"),
        (
            [
                f"`{key}`",
                plain(part.get("description", "")),
                _type(command, part),
                "yes" if key in required else "–",
                "–" if part.get("x-stable") is False else "yes",
            ]
            for key, part in schema["properties"].items()
        ),
    )


def _type(command: str, part: Mapping[str, Any]) -> str:
    """A key's type in words, with a link where it is a table of the same schema."""
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        return f"[{name}](#{command}-{name})"
    for several in ("anyOf", "oneOf"):
        if several in part:
            return " or ".join(dict.fromkeys(_type(command, one) for one in part[several]))
    if "const" in part:
        return f"`{json.dumps(part['const'])}`"
    if "enum" in part:
        return " or ".join(f"`{json.dumps(value)}`" for value in part["enum"])
    if part.get("type") == "array":
        return f"list of {_type(command, part['items'])}" if "items" in part else "list"
    values = part.get("additionalProperties")
    if part.get("type") == "object" and isinstance(values, dict):
        return f"by name: {_type(command, values)}"
    kind = part.get("type", "any")
    return {"object": "table", "null": "null"}.get(kind, kind) if isinstance(kind, str) else " or ".join(kind)
