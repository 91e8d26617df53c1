"""Lists of problems, algorithms, observables and other named items, and the description of one item."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence

from dpfl_theory.cli import _color
from dpfl_theory.inventory import Item, Kind, Parameter
from dpfl_theory.runtime.console import emit, print_message

__all__ = ["list_items", "show_item"]

WIDTH = 110
SHORT = 12
"""The most characters of a default in its column; a longer one has a line of its own."""
_INDENT = " " * 6


def list_items(kind: Kind, words: Sequence[str], format_: str) -> None:
    """Write a kind's items to stdout: those with each of the words in their name, description or parameters."""
    found = [item for item in kind.items() if all(_has(item, word) for word in words)]
    if format_ == "json":
        emit(json.dumps([item.to_json() for item in found], indent=1, ensure_ascii=False))
    else:
        emit(_color.colored([*_table(kind, found, _color.width())]))
    if not found and words:
        print_message(f"none of the {kind.name} has {' and '.join(map(repr, words))}: use fewer words")


def _has(item: Item, word: str) -> bool:
    words = (item.name, item.what, *item.facts.values(), *(p.name for p in item.parameters))
    return word.casefold() in " ".join(words).casefold()


def _table(kind: Kind, items: Sequence[Item], width: int | None) -> Iterator[_color.Line]:
    yield (kind.name, "bold cyan"), (f"  {kind.what}", "cyan")
    names = max((len(item.name) for item in items), default=0)
    for item in items:
        message = "; ".join(f"{fact} {item.facts[fact]}" for fact in kind.brief if fact in item.facts)
        what = item.what + (f"  [{message}]" if message else "")
        given = ", ".join(map(_in_short, item.parameters))
        if width is None:
            yield ("  ", ""), (f"{item.name.ljust(names)}  {what}", ""), (f"  ({given})" if given else "", "")
            continue
        yield ("  ", ""), (item.name.ljust(names), "bold"), (f"  {_color.cut(what, max(20, width - names - 4))}", "")
        for line in textwrap.wrap(given, max(40, width), initial_indent=_INDENT, subsequent_indent=_INDENT):
            yield ((line, "dim"),)
    yield ()
    yield ((f"{len(items)} {kind.name if len(items) != 1 else kind.one}", "bold"),)
    if kind.use:
        yield (("used as ", ""), (kind.use, ""))
    yield ((f"dpfl-theory show {kind.one} NAME describes one in full", ""),)


def _in_short(p: Parameter) -> str:
    """A parameter with its default and unit.

    >>> _in_short(Parameter("eta", "0.1", "X^2/F")), _in_short(Parameter("step", None))
    ('eta = 0.1 [X^2/F]', 'step')
    """
    unit = f" [{p.unit}]" if p.unit else ""
    return f"{p.name}{unit}" if p.default is None else f"{p.name} = {p.default}{unit}"


def show_item(kind: Kind, item: Item, format_: str) -> None:
    """Write the full description of an item to stdout."""
    if format_ == "json":
        emit(json.dumps(item.to_json(), indent=1, ensure_ascii=False))
        return
    lines: list[_color.Line] = [((item.name, "bold"), (f"  ({kind.one})", "")), *_wrapped(item.what)]
    if kind.use:
        lines += [(), (("Used as", "bold"),), ((f"  {kind.use.replace('NAME', item.name)}", ""),)]
    if item.facts:
        size = max(map(len, item.facts))
        lines += [(), (("Facts", "bold"),), *(((f"  {k.ljust(size)}  {v}", ""),) for k, v in item.facts.items())]
    if item.parameters:
        rows = [
            (p.name, "needed" if p.default is None else p.default, f"[{p.unit}]" if p.unit else "", p.meaning)
            for p in item.parameters
        ]
        short = [row for row in rows if len(row[1]) <= SHORT]
        sizes = [max((len(row[i]) for row in of), default=0) for i, of in enumerate((rows, short, rows))]
        lines += [(), (("Parameters: name, default, unit, meaning", "bold"),)]
        for name, default, unit, meaning in rows:
            if len(default) > SHORT:
                lines += _wrapped(f"{name.ljust(sizes[0])}  {default}", "  ")
                name = default = ""
            start = "  " + "".join(f"{cell.ljust(size)}  " for cell, size in zip((name, default, unit), sizes))
            lines += _wrapped(meaning, start)
    if item.text:
        lines += [(), (("In full", "bold"),), *(((f"  {line}", ""),) for line in item.text.splitlines())]
    emit(_color.colored(lines))


def _wrapped(text: str, start: str = "") -> list[_color.Line]:
    made = textwrap.wrap(text, WIDTH, initial_indent=start, subsequent_indent=" " * len(start)) or [start.rstrip()]
    return [((line, ""),) for line in made]
