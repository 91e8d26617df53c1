"""The package's docstrings as reStructuredText. In them stars and bars are formulas, not markup."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

__all__ = ["as_rst"]

_CODE = re.compile(r"``.+?``|:math:`[^`]+`|`[^`]+`", re.DOTALL)
_MARKUP = re.compile(r"([\\*|_`])")
_MEANING = re.compile(r"(?:^|(?<=[;.]  ))((?![A-Z][a-z])[a-zA-Z_]\w*(?:, \w+)*): ")
_ITEM = re.compile(r"^(?:[*-]|\d+\.) ")
_PUBLIC = re.compile(r"^(?:[A-Z]\w*[a-z]\w*|[a-z_]\w*(?:\.\w+)+)(?:\(\))?$")


def as_rst(lines: Sequence[str]) -> list[str]:
    """Convert a docstring's lines: examples and indented formulas stay, everything else is plain text.

    >>> as_rst(["The mean of `Clip` and x*y, with ``code``."])
    ['The mean of :py:obj:`.Clip` and x\\\\*y, with ``code``.', '']

    Lines ``name: meaning`` become a list:

    >>> as_rst(["step: the step", "    of a client.", "sigma: the noise."])
    ['* ``step``: the step of a client.', '* ``sigma``: the noise.', '']
    """
    return [line for block in _blocks(lines) for line in [*_written(block), ""]]


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    block: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            block.append(line.rstrip())
        elif block and block[-1].endswith("math::"):
            block.append("")  # the formula follows
        elif block:
            yield block
            block = []


def _written(block: list[str]) -> list[str]:
    if block[0].startswith(">>>"):
        return block
    if block[0].startswith(" "):
        return ["::", "", *(f"    {line}" for line in block)]
    if block[0].startswith(".. "):
        return block
    if block[0] in ("Args:", "Returns:", "Raises:") and len(block) > 1:
        return [f"**{block[0].rstrip(':')}**", "", *_written([line.removeprefix("    ") for line in block[1:]])]
    if _MEANING.match(block[0]):
        return [f"* ``{name}``: {_plain(text)}" for name, text in _meanings(block)]
    if _ITEM.match(block[0]):
        return [mark + _plain(text) for mark, text in _items(block)]
    return _plain("\n".join(line.strip() for line in block)).split("\n")


def _items(block: list[str]) -> list[tuple[str, str]]:
    """The items of a list: the marker and the text of each."""
    items: list[tuple[str, str]] = []
    for line in block:
        if found := _ITEM.match(line):
            items.append((found[0], line[found.end() :]))
        else:
            mark, text = items[-1]
            items[-1] = (mark, f"{text} {line.strip()}")
    return items


def _meanings(block: list[str]) -> Iterator[tuple[str, str]]:
    """The names of a block and their meanings; several may share a line, with two spaces between them."""
    text = ""
    for line in block:
        text += line if not text else (f";  {line}" if _MEANING.match(line) else f" {line.strip()}")
    parts = _MEANING.split(text)
    for name, meaning in zip(parts[1::2], parts[2::2]):
        yield name, meaning.strip().rstrip(";")


def _plain(text: str) -> str:
    """Text with its backquotes, and all other markup escaped."""
    made, end = "", 0
    for code in _CODE.finditer(text):
        made += _MARKUP.sub(r"\\\1", text[end : code.start()])
        end = code.end()
        if code[0].startswith(":math:"):
            made += code[0]
            continue
        name = code[0].strip("`")
        linked = not code[0].startswith("``") and _PUBLIC.match(name)
        made += f":py:obj:`.{name.removesuffix('()')}`" if linked else f"``{' '.join(name.split())}``"
        if text[code.end() : code.end() + 1].isalnum():
            made += "\\ "
    return made + _MARKUP.sub(r"\\\1", text[end:])
