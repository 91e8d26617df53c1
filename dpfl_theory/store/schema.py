"""The schema of the store's file, its version, and the migration from each version to the next."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from dpfl_theory.errors import InputError

__all__ = ["MIGRATIONS", "Damaged", "migrate", "recognise"]

_APPLICATION = 0x6470666C
"""The application id that marks an SQLite file as a store of this package: 'dpfl'."""


class Damaged(Exception):
    """The file is damaged."""


def _first(db: sqlite3.Connection) -> None:
    """Create the table of entries."""
    db.execute(f"PRAGMA application_id = {_APPLICATION}")
    db.execute(
        "CREATE TABLE entries (key TEXT PRIMARY KEY NOT NULL, kind TEXT NOT NULL, about TEXT NOT NULL, "
        "text TEXT NOT NULL, stored REAL NOT NULL, checksum TEXT NOT NULL)"
    )
    db.execute("CREATE INDEX by_name ON entries (kind, about)")


MIGRATIONS: list[Callable[[sqlite3.Connection], None]] = [_first]
"""Step i migrates from version i to version i + 1; a file of version 0 is empty."""


def recognise(db: sqlite3.Connection, path: Path, given: bool = False) -> None:
    """Raise InputError for the file of another program or of a later version, which stays unchanged; given: also for an
    empty one."""
    version, application, tables = _seen(db)
    if version > len(MIGRATIONS) and application == _APPLICATION:
        raise InputError(
            f"the store {str(path)!r} has version {version}, and this version of dpfl-theory knows {len(MIGRATIONS)}: "
            "use a later one, or another store"
        )
    if application != _APPLICATION and given and not tables:
        raise InputError(f"{str(path)!r} is empty: give the path of a store")
    if application != _APPLICATION and (application or version or tables):
        raise InputError(f"{str(path)!r} is an SQLite file of another program: give the path of a store")
    if application == _APPLICATION and version and not tables:
        raise Damaged("it has lost its table")


def _seen(db: sqlite3.Connection) -> tuple[int, int, int]:
    """Version, application and number of tables and indices, read consistently: another process may be creating
    them."""
    db.execute("BEGIN")
    try:
        asked = ("PRAGMA user_version", "PRAGMA application_id", "SELECT count(*) FROM sqlite_master")
        version, application, tables = (int(db.execute(one).fetchone()[0]) for one in asked)
    finally:
        db.execute("COMMIT")
    return version, application, tables


def migrate(db: sqlite3.Connection) -> None:
    """Migrate the file to the present version, all steps or none; another process may be doing the same."""
    if _version(db) == len(MIGRATIONS):
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        for step in MIGRATIONS[_version(db) :]:
            step(db)
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise


def _version(db: sqlite3.Connection) -> int:
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    return version
