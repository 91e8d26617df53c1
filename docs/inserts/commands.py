"""The command line: each command with its arguments, options and examples, from the application itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from docs.inserts import plain
from dpfl_theory.cli import application

__all__ = ["insert"]


def insert() -> str:
    """A section for each command."""
    return "\n".join(_parts(application(), None, "dpfl-theory"))


def _parts(command: Any, parent: Any, name: str) -> Iterator[str]:
    context = command.context_class(command, info_name=name, parent=parent, **command.context_settings)
    yield f"## {context.command_path}\n"
    yield _text(command.help or "")
    yield f"```text\n{' '.join(context.get_usage().split())}\n```\n"
    yield f"```{{program}} {context.command_path}\n```\n"
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None:
            continue
        written, meaning = record
        if parameter.param_type_name == "argument":
            yield f"`{written}`\n: {plain(meaning)}\n"
        else:
            yield f"````{{option}} {written}\n{plain(meaning)}\n````\n"
    for inner in command.list_commands(context) if hasattr(command, "list_commands") else ():
        yield from _parts(command.get_command(context, inner), context, inner)


def _text(text: str) -> str:
    """A help text: paragraphs, and the examples that follow a mark ``\\b``."""
    parts = []
    for block in re.split(r"\n{2,}", text.strip()):
        if block.startswith("\b"):
            lines = [line.strip() for line in block.splitlines()[1:]]
            if not lines[0].startswith("dpfl-theory"):
                parts.append(plain(lines.pop(0)))
            parts.append("```console\n" + "".join(f"$ {line}\n" for line in lines) + "```")
        else:
            parts.append(plain(block))
    return "\n\n".join(parts) + "\n"
