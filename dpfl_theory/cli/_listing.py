"""What `list` and `show` print: the statements by paper and chapter, as on the pages of the report, and named
items, such as problems and algorithms."""

from __future__ import annotations

import glob
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from dpfl_theory import statements
from dpfl_theory.cli import _layout
from dpfl_theory.cli._options import as_json
from dpfl_theory.core import Statement
from dpfl_theory.core.prose import plain
from dpfl_theory.inventory import Item, Kind, Parameter
from dpfl_theory.runtime.console import emit, print_message
from dpfl_theory.statements import paper
from dpfl_theory.statements.power import recorded

SHORT = 12
"""The most characters of a default in its column."""

WITH: dict[str, Callable[[Statement], bool]] = {
    "erratum": lambda s: s.erratum is not None,
    "remark": lambda s: s.remark is not None,
    "reading": lambda s: bool(s.reading_of) and s.provenance != "derived",
}
"""Properties by which `--with` selects statements."""

LEAST_TITLE = 30
"""Width of the title below which other columns are left out on a terminal."""
OPTIONAL = ("methods", "note", "kind", "power")
"""The columns that are left out on a narrow terminal, in this order."""
_NUMBERS = ("power",)


def _searched(s: Statement) -> str:
    """The text of a statement in which words are searched, ignoring case."""
    heading = paper.known()[s.paper].heading if s.paper in paper.known() else ""
    return plain(" ".join((s.id, s.kind, s.title, s.text, s.source.where, s.reading, heading))).casefold()


def matching(words: Sequence[str]) -> tuple[Statement, ...]:
    """The statements that match these words, in the order of the papers.

    They have any of the ids, patterns and papers among the words. Each of the other words is in the id, title, text,
    authors or the paper's title.

    >>> [s.id for s in matching(["das2022", "fact", "smooth"])]
    ['das2022.fact1']
    """
    everything = statements.all_statements()
    known = {s.id for s in everything} | set(statements.papers())
    named = [word for word in words if word in known or glob.has_magic(word)]
    searched = [part for word in words if word not in named for part in word.casefold().split()]
    found = statements.select(tuple(named)) if named else everything
    return statements.in_order(s for s in found if all(map(_searched(s).__contains__, searched)))


def marks(s: Statement) -> list[str]:
    """The notes on a statement, one word each: its provenance, unless read in the paper, its reading and its remark."""
    entries = [mark for mark in ("reading", "remark") if WITH[mark](s)]
    return [*([s.provenance] if s.provenance != "read" else []), *entries]


def _row(s: Statement) -> dict[str, str]:
    power = recorded(s.id)
    return {
        "id": s.id,
        "kind": s.kind,
        "expected": s.expected,
        "power": "-" if power is None else power.shown_ratio,
        "methods": ",".join(s.methods),
        "note": ",".join(marks(s)),
        "title": plain(s.title),
    }


def lines(found: Sequence[Statement], width: int | None) -> list[_layout.Line]:
    """A table with a heading for each paper and chapter, and at its end the number of each verdict; at most ``width``
    columns wide, if there is one."""
    rows = {s.id: _row(s) for s in found}
    heads = {name: name for name in ("id", "kind", "expected", "power", "methods", "note", "title")}
    sizes = {name: max(len(row[name]) for row in (heads, *rows.values())) for name in heads}
    shown = _fitting(sizes, width)
    made: list[_layout.Line] = [_cells(heads, shown, {}, "bold")] if found else []
    for printed, own in groupby(found, lambda s: paper.known()[s.paper]):
        heading = _layout.cut(f"  {printed.heading}", (width or 10**6) - len(printed.id))
        made += [(), ((printed.id, "bold cyan"), (heading, "cyan"))]
        for chapter, some in groupby(own, lambda s: paper.known()[s.paper].place(s.id)[1]):
            made.append(((f" {chapter}", "bold"),))
            for s in some:
                styles = {"expected": _layout.VERDICT_STYLES.get(s.expected, ""), "id": "", "title": ""}
                made.append(_cells(rows[s.id], shown, styles, "dim"))
    return [*made, *([()] if made else []), ((_summary(found), "bold"),)]


def _fitting(sizes: dict[str, int], width: int | None) -> dict[str, int]:
    """The shown columns and their sizes: the title gets the rest of the width."""
    shown = dict(sizes)
    if width is None:
        return shown

    def left() -> int:
        return width - 2 - sum(size + 2 for name, size in shown.items() if name != "title")

    for name in OPTIONAL:
        if left() < min(LEAST_TITLE, sizes["title"]):
            del shown[name]
    shown["title"] = max(8, left())
    return shown


def _cells(row: dict[str, str], shown: dict[str, int], styles: Mapping[str, str], other: str) -> _layout.Line:
    made = [("  ", "")]
    for name, size in shown.items():
        text = row[name] if name == "title" else row[name].rjust(size) if name in _NUMBERS else row[name].ljust(size)
        made += [(_layout.cut(text, size), styles.get(name, other)), ("  ", "")]
    return made[:-1]


def _summary(found: Iterable[Statement]) -> str:
    """The number of statements, and of each verdict.

    >>> _summary([statements.get("das2022.theorem4a")]), _summary([])
    ('1 statement: 1 holds', 'no statements')
    """
    verdicts = [s.expected for s in found]
    if not verdicts:
        return "no statements"
    words = {"holds": ("holds", "hold"), "violated": ("is violated", "are violated")}
    entries = []
    for verdict in dict.fromkeys(("holds", "violated", *verdicts)):
        if count := verdicts.count(verdict):
            entries.append(f"{count} {words.get(verdict, (verdict, verdict))[count > 1]}")
    return f"{len(verdicts)} statement{'s' if len(verdicts) > 1 else ''}: {', '.join(entries)}"


_INDENT = " " * 6


def list_items(kind: Kind, words: Sequence[str], format_: str) -> None:
    """Write a kind's items to stdout: those with each of the words in their name, description or parameters."""
    found = [item for item in kind.items() if all(_has(item, word) for word in words)]
    as_text = _layout.colored([*_table(kind, found, _layout.width())])
    emit(as_json([item.to_json() for item in found]) if format_ == "json" else as_text)
    if not found and words:
        print_message(f"none of the {kind.name} has {' and '.join(map(repr, words))}: use fewer words")


def _has(item: Item, word: str) -> bool:
    words = (item.name, item.what, *item.facts.values(), *(p.name for p in item.parameters))
    return word.casefold() in " ".join(words).casefold()


def _table(kind: Kind, items: Sequence[Item], width: int | None) -> Iterator[_layout.Line]:
    yield (kind.name, "bold cyan"), (f"  {kind.what}", "cyan")
    names = max((len(item.name) for item in items), default=0)
    for item in items:
        message = "; ".join(f"{fact} {item.facts[fact]}" for fact in kind.brief if fact in item.facts)
        what = item.what + (f"  [{message}]" if message else "")
        given = ", ".join(map(_in_short, item.parameters))
        if width is None:
            yield ("  ", ""), (f"{item.name.ljust(names)}  {what}", ""), (f"  ({given})" if given else "", "")
            continue
        yield ("  ", ""), (item.name.ljust(names), "bold"), (f"  {_layout.cut(what, max(20, width - names - 4))}", "")
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


def _parameter_cells(p: Parameter) -> tuple[str, str, str, str]:
    """The cells of a parameter; a default that is longer than its column follows the meaning."""
    default, meaning = "needed" if p.default is None else p.default, p.meaning
    if len(default) > SHORT:
        default, meaning = "", f"{meaning.rstrip('.')}; by default {default}"
    return p.name, default, f"[{p.unit}]" if p.unit else "", meaning


def show_item(kind: Kind, item: Item, format_: str) -> None:
    """Write the full description of an item to stdout."""
    if format_ == "json":
        emit(as_json(item.to_json()))
        return
    lines: list[_layout.Line] = [((item.name, "bold"), (f"  ({kind.one})", "")), *_plain(_layout.wrapped(item.what))]
    if kind.use:
        lines += [(), (("Used as", "bold"),), ((f"  {kind.use.replace('NAME', item.name)}", ""),)]
    if item.facts:
        size = max(map(len, item.facts))
        lines += [(), (("Facts", "bold"),), *(((f"  {k.ljust(size)}  {v}", ""),) for k, v in item.facts.items())]
    if item.parameters:
        rows = [_parameter_cells(p) for p in item.parameters]
        lines += [(), (("Parameters: name, default, unit, meaning", "bold"),), *_plain(_layout.laid_out(rows, "  "))]
    if item.text:
        lines += [(), (("In full", "bold"),), *(((f"  {line}", ""),) for line in item.text.splitlines())]
    emit(_layout.colored(lines))


def _plain(text: str) -> list[_layout.Line]:
    return [((line, ""),) for line in text.splitlines()]
