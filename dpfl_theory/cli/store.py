"""`store`: the content of the evidence store, and its export and import."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpfl_theory.cli._layout import table
from dpfl_theory.cli._options import Kept
from dpfl_theory.errors import InputError
from dpfl_theory.runtime.atomic_files import writable, write
from dpfl_theory.runtime.console import choice, emit, print_message

if TYPE_CHECKING:
    from dpfl_theory.runtime.cache import Entry, Store

app = typer.Typer()
group = typer.Typer(no_args_is_help=True, help="Show, check, move and clear the evidence store.")
app.add_typer(group, name="store")

Kind = Annotated[
    str | None, typer.Option(metavar="K", help="Only check, validation, point, figures, recommend or cell.")
]
About = Annotated[str | None, typer.Option(metavar="GLOB", help="Only entries with such a name, like 'das2022.*'.")]


@group.command()
def ls(kind: Kind = None, about: About = None, store: Kept = None) -> int:
    """List the entries: time, kind, size, name, and the first digits of the key."""
    rows = [("stored", "kind", "bytes", "key", "about")]
    with _existing(store) as kept:
        for e in kept.entries(_kind(kind), about):
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(e.stored))
            rows.append((when, e.kind, str(len(e.text.encode("utf-8", "replace"))), e.key[:12], e.about))
    emit(table(rows, right=(2,)))
    print_message(f"{len(rows) - 1} {'entry' if len(rows) == 2 else 'entries'} in {kept.path}")
    return 0


@group.command()
def export(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file.")],
    kind: Kind = None,
    about: About = None,
    store: Kept = None,
) -> int:
    """Write entries as lines of JSON, for a merge elsewhere; altered entries are left out."""
    from dpfl_theory.runtime.cache import to_lines

    with _existing(store) as kept:
        target = writable(Path(file), reads=(kept.path,))
        found = list(kept.entries(_kind(kind), about))
    sound = [e for e in found if e.sound]
    write(target, "".join(f"{line}\n" for line in to_lines(sound)))
    left = f", {len(found) - len(sound)} that were altered are left out" if len(sound) < len(found) else ""
    print_message(f"{len(sound)} entries of {kept.path}{left}: {target}")
    return 0


@group.command()
def merge(
    file: Annotated[str, typer.Argument(metavar="FILE|STORE", help="An exported file, or another store.")],
    store: Kept = None,
) -> int:
    """Add the entries of an exported file or of another store; of two with the same key, the later one is kept."""
    from dpfl_theory.runtime.cache import Store, from_lines, place

    source, own = Path(file), place(store)
    if own is None:
        raise InputError("there is no store to merge into: name one by --store")
    if not source.is_file():
        raise InputError(f"there is no file {file!r} to merge: give an exported file or a store")
    try:
        with source.open("rb") as beginning:
            is_store = beginning.read(16).startswith(b"SQLite format 3")
        if is_store:
            with Store(source, given=True) as other:
                found = list(other.entries())
        else:
            found = list(from_lines(source.read_text(encoding="utf-8", errors="replace").splitlines(), file))
    except OSError as error:
        raise InputError(f"{file!r} cannot be read: {error.strerror}") from error
    sound = [e for e in found if e.sound]
    with Store(own) as kept:
        new = kept.merge(sound)
        if kept.trouble:
            return 5
    left = f", {len(found) - len(sound)} were altered and are left out" if len(sound) < len(found) else ""
    print_message(f"{new} of {len(found)} entries are new{left}: {own}")
    return 0


@group.command()
def verify(store: Kept = None) -> int:
    """Check that every entry is unaltered and belongs to the present code.

    Exit code 1 where one was altered.
    """
    from dpfl_theory.runtime.cache import KINDS

    with _existing(store) as kept:
        states = _states(kept)
    words = ("current", "old", "altered")
    rows: list[tuple[str, ...]] = [("kind", *words)]
    for kind in dict.fromkeys((*KINDS, *(e.kind for e, _ in states))):
        own = [state for e, state in states if e.kind == kind]
        if own:
            rows.append((kind, *(str(own.count(word)) for word in words)))
    bad = [e for e, state in states if state == "altered"]
    emit("\n".join([table(rows, right=(1, 2, 3)), *(f"altered: {e.kind} {e.about} {e.key[:12]}" for e in bad)]))
    return 1 if bad else 0


@group.command()
def prune(
    older_than: Annotated[
        str | None, typer.Option(metavar="30d", help="Also entries that are at least this old.")
    ] = None,
    store: Kept = None,
) -> int:
    """Remove entries that no command would use: those of other code or versions, and altered ones."""
    before = _before(older_than)
    with _existing(store) as kept:
        states = _states(kept)
        gone = [e.key for e, state in states if state != "current" or e.stored <= before]
        kept.remove(gone)
    print_message(f"{len(gone)} of {len(states)} entries deleted: {kept.path}")
    return 0


def _existing(store: str | None) -> Store:
    """The requested store, which must exist; a damaged one stays unchanged."""
    from dpfl_theory.runtime.cache import Store, place

    path = place(store)
    if path is None:
        raise InputError("there is no store to show: name one by --store")
    return Store(path, given=True)


def _kind(kind: str | None) -> str | None:
    from dpfl_theory.runtime.cache import KINDS

    return None if kind is None else choice("kind", kind, KINDS)


def _states(store: Store) -> list[tuple[Entry, str]]:
    """Every entry with its state: ``current``, ``old`` or ``altered``.

    It is current where the present code would give its key, and old otherwise. It is altered where its checksum
    differs, or where its key does not belong to its parts.
    """
    import json

    from dpfl_theory.runtime.keys import key
    from dpfl_theory.runtime.sources import CurrentSources

    now = CurrentSources()

    def state(entry: Entry) -> str:
        try:
            made = json.loads(entry.text)
            if key(entry.kind, made["parts"]) != entry.key:
                return "altered"
            return "current" if now.unchanged(made["basis"], made["parts"]) else "old"
        except (ValueError, KeyError, TypeError):
            return "old"  # stored by another program, which manages its own keys

    return [(entry, state(entry) if entry.sound else "altered") for entry in store.entries()]


def _before(text: str | None) -> float:
    """The time a number of days ago [s since 1970]; a time before all others where none is given."""
    if text is None:
        return float("-inf")
    match = re.fullmatch(r"([0-9]{1,5})d?", text)
    if match is None:
        raise InputError(f"the age {text!r} is not a number of days: write it like --older-than 30d")
    return time.time() - 86400.0 * int(match[1])
