"""The store's file: SQLite with a write-ahead log, so that any number of processes read while one writes.

Each put is a separate transaction that is on the disk when it returns, so that a killed process loses nothing that it
had put. A fault of the file (a full disk, a folder without write permission, a damaged file) never ends the work that
uses it. It is reported once, in one sentence.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from dpfl_theory.errors import InputError
from dpfl_theory.runtime.console import as_options, print_message

KINDS = ("check", "validation", "point", "figures", "recommend", "cell")
"""The kinds of results: of a check, a validation's data, a point of them, its figures, a search or confirmation of
`recommend`, a cell of a sweep."""

_HEAD = {"schema": "dpfl-theory/store/1"}


@dataclass(frozen=True)
class Entry:
    """A stored result: ``text``, JSON as Python writes it, under its key.

    ``about`` is its name for people, ``stored`` the time [s since 1970], and ``checksum`` that of all these fields.
    """

    key: str
    kind: str
    about: str
    text: str
    stored: float
    checksum: str = ""

    @property
    def sum(self) -> str:
        """The checksum computed from the fields."""
        message = "\0".join((self.key, self.kind, self.about, repr(self.stored), self.text))
        return hashlib.sha256(message.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def sound(self) -> bool:
        """Whether the entry is unaltered."""
        return self.checksum == self.sum


def to_lines(entries: Iterable[Entry]) -> Iterator[str]:
    """The lines of an exported file: one line of JSON for the format, then one for each entry."""
    yield json.dumps(_HEAD)
    for entry in entries:
        yield json.dumps(asdict(entry), ensure_ascii=False)


def from_lines(lines: Iterable[str], name: str) -> Iterator[Entry]:
    """The entries of an exported file. Raises InputError at the first line that is invalid or altered."""
    wanted = {"key": str, "kind": str, "about": str, "text": str, "stored": float, "checksum": str}
    for number, line in enumerate(lines, 1):
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            data = None
        if number == 1:
            if data != _HEAD:
                message = f"{name!r} is neither a store nor an output of `dpfl-theory store export`: give one of these"
                raise InputError(message)
            continue
        well = isinstance(data, dict) and data.keys() == wanted.keys()
        if not well or not all(isinstance(data[field], kind) for field, kind in wanted.items()):
            raise InputError(f"line {number} of {name!r} is not an entry of a store: export it again")
        entry = Entry(**data)
        if not entry.sound:
            raise InputError(
                f"line {number} of {name!r} was altered or cut short (its checksum differs): export it again"
            )
        yield entry


DEFAULT = Path(".dpfl-theory", "evidence.sqlite")
"""The default path, relative to the working directory."""
VARIABLE = "DPFL_THEORY_STORE"
OFF = "off"
"""The word that is given instead of a path to use no store."""
_BUSY_SECONDS = 30.0
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_APPLICATION = 0x6470666C
"""The application id that marks an SQLite file as a store of this package: 'dpfl'."""
_VERSION = 1
_FIELDS = "key, kind, about, text, stored, checksum"

T = TypeVar("T")


class Damaged(Exception):
    """The file is damaged."""


def recognise(db: sqlite3.Connection, path: Path, given: bool = False) -> None:
    """Raise InputError for the file of another program or of a later version, which stays unchanged; given: also for an
    empty one."""
    db.execute("BEGIN")  # another process may be creating the file: all three are of one moment
    try:
        asked = ("PRAGMA user_version", "PRAGMA application_id", "SELECT count(*) FROM sqlite_master")
        version, application, tables = (int(db.execute(one).fetchone()[0]) for one in asked)
    finally:
        db.execute("COMMIT")
    if version > _VERSION and application == _APPLICATION:
        raise InputError(
            f"the store {str(path)!r} has version {version}, and this version of dpfl-theory knows {_VERSION}: "
            "use a later one, or another store"
        )
    if application != _APPLICATION and given and not tables:
        raise InputError(f"{str(path)!r} is empty: give the path of a store")
    if application != _APPLICATION and (application or version or tables):
        raise InputError(f"{str(path)!r} is an SQLite file of another program: give the path of a store")
    if application == _APPLICATION and version and not tables:
        raise Damaged("it has lost its table")


def create(db: sqlite3.Connection) -> None:
    """Create the table of entries where the file is new; another process may be doing the same."""
    if db.execute("PRAGMA user_version").fetchone()[0]:
        return
    with _transaction(db):
        if not db.execute("PRAGMA user_version").fetchone()[0]:
            db.execute(f"PRAGMA application_id = {_APPLICATION}")
            db.execute(
                "CREATE TABLE entries (key TEXT PRIMARY KEY NOT NULL, kind TEXT NOT NULL, about TEXT NOT NULL, "
                "text TEXT NOT NULL, stored REAL NOT NULL, checksum TEXT NOT NULL)"
            )
            db.execute("CREATE INDEX by_name ON entries (kind, about)")
            db.execute(f"PRAGMA user_version = {_VERSION}")


def place(given: str | None = None) -> Path | None:
    """The store's path: the given one, that of the environment variable DPFL_THEORY_STORE, or the default.

    It is None for ``off``. Raises InputError for a path that cannot be a file.

    >>> place("off") is None, str(place("mine.sqlite"))
    (True, 'mine.sqlite')
    """
    text = given if given is not None else os.environ.get(VARIABLE, "") or str(DEFAULT)
    if text == OFF:
        return None
    path = Path(text)
    if not text or "\0" in text or path.is_dir() or (path.exists() and not path.is_file()):
        raise InputError(f"the store {text!r} is not a file: give the path of one, or {OFF!r} for none")
    return path


def _prepare(path: Path) -> None:
    """Create the folder of a store. A folder created here is ignored by git."""
    made = not path.parent.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    if made:
        (path.parent / ".gitignore").write_text("*\n")


class Store:
    """A store of results by key.

    As a context manager it is opened and examined at the start, otherwise opened at its first use. A missing file is
    created at the first put. A copy in another process is that process's own connection to the same file.

    path: of the file. report_problem: called with the one sentence about a fault. given: whether the file must exist
    and is left unchanged, however damaged; then faults raise InputError.

    Raises InputError for a file of another program, or of a later version of this one.
    """

    def __init__(self, path: Path | str, *, tell: Callable[[str], None] = print_message, given: bool = False) -> None:
        self.path = Path(path)
        self.trouble = ""
        """Why the store is no longer used, in a sentence."""
        self._tell = tell
        self._said: list[str] = []
        self._given = given
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_this_process, (str(self.path),)

    def __enter__(self) -> Store:
        self._try(lambda db: None, None, examine=True)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def get(self, key: str) -> str | None:
        """The text under a key; None where it is missing or altered."""

        def lookup(db: sqlite3.Connection) -> str | None:
            return next((entry.text for entry in map(_entry, _rows(db, key)) if entry.sound), None)

        return self._try(lookup, None)

    def put(self, key: str, kind: str, text: str, about: str) -> None:
        """Store a text under a key, replacing an earlier one. It is on the disk when this returns."""
        self.put_all([Entry(key, kind, about, text, time.time())])

    def put_all(self, entries: Sequence[Entry]) -> None:
        """Store all of these entries, or none; they are on the disk when this returns."""

        def put(db: sqlite3.Connection) -> None:
            with _transaction(db):
                _write(db, entries)

        self._try(put, None, makes=True)

    def entries(self, kind: str | None = None, about: str | None = None) -> Iterator[Entry]:
        """The entries in the order of their names: all, those of a kind, or those whose name matches a pattern such as
        ``das2022.*``."""
        asked = "SELECT key FROM entries WHERE (?1 IS NULL OR kind = ?1) AND (?2 IS NULL OR about GLOB ?2)"
        order = " ORDER BY kind, about, stored, key"
        none: list[tuple[Any, ...]] = []
        for keyed in self._try(lambda db: db.execute(asked + order, (kind, about)).fetchall(), none):
            yield from map(_entry, self._try(partial(_rows, key=keyed[0]), none))

    def merge(self, entries: Iterable[Entry]) -> int:
        """Add all entries, or none where one is refused; of two with one key the later one. Return the number added."""
        taken = list(entries)

        def merged(db: sqlite3.Connection) -> int:
            with _transaction(db):
                known = {k: (s, c) for k, s, c in db.execute("SELECT key, stored, checksum FROM entries")}
                new = [e for e in taken if e.key not in known or known[e.key] < (e.stored, e.checksum)]
                _write(db, new)
                return len(new)

        return self._try(merged, 0, makes=True)

    def remove(self, keys: Iterable[str]) -> None:
        """Delete entries, and free their space on the disk."""
        gone = [(key,) for key in keys]

        def removed(db: sqlite3.Connection) -> None:
            with _transaction(db):
                db.executemany("DELETE FROM entries WHERE key = ?", gone)
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

        self._try(removed, None)

    def report_problem(self, sentence: str) -> None:
        """Report a fault once, whichever process noticed it; do nothing for an empty sentence."""
        if sentence and sentence not in self._said:
            self._said.append(sentence)
            self._tell(sentence)

    @property
    def problems(self) -> tuple[str, ...]:
        """The faults that were reported."""
        return tuple(self._said)

    def _try(
        self, work: Callable[[sqlite3.Connection], T], otherwise: T, examine: bool = False, makes: bool = False
    ) -> T:
        """Do work on the open file and return its result, or ``otherwise`` where the file cannot be used (any more).

        The result is ``otherwise`` also where the file is missing and the work does not create one (``makes``).
        """
        if self._connection is None and not (makes or self._given or self.path.exists()):
            return otherwise
        for again in (True, False):
            if self.trouble:
                break
            try:
                if self._connection is None:
                    self._open(examine)
                assert self._connection is not None
                return work(self._connection)
            except (sqlite3.Error, OSError, Damaged, UnicodeDecodeError) as error:
                self.close()
                damaged = (
                    isinstance(error, Damaged | UnicodeDecodeError)
                    or getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED
                )
                if self._given:
                    what = "is damaged" if damaged else "cannot be used"
                    raise InputError(f"the store {str(self.path)!r} {what} ({error}): give another one") from error
                if not (damaged and again and self._set_aside(error)):
                    self._fail(error)
        return otherwise

    def _fail(self, error: Exception) -> None:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        self.trouble = f"the store {str(self.path)!r} cannot be used ({why}): continuing without a store"
        self.report_problem(self.trouble)

    def _open(self, examine: bool) -> None:
        """Connect, and migrate the file to the present schema; raise its faults."""
        if self._given and not self.path.is_file():
            raise InputError(f"there is no store {str(self.path)!r}: give the path of one")
        if not self._given:
            _prepare(self.path)
        db = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
        self._connection = db
        db.text_factory = lambda found: found.decode("utf-8", "replace")
        now = os.stat(self.path)
        self._file = now.st_dev, now.st_ino
        recognise(db, self.path, self._given)
        if examine:
            problems = [row[0] for row in db.execute("PRAGMA quick_check(1)")]
            if problems != ["ok"]:
                raise Damaged(problems[0].splitlines()[0])
        _configure(db)
        create(db)

    def _set_aside(self, error: Exception) -> bool:
        """Rename the damaged file, unless another process has done so, and report it. Return whether that worked."""
        now = os.stat(self.path) if self.path.exists() else None
        if now is None or (now.st_dev, now.st_ino) != self._file:
            return True
        number = 1
        while (aside := self.path.with_name(f"{self.path.name}.damaged-{number}")).exists():
            number += 1
        try:
            self.path.rename(aside)
            for more in ("-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    self.path.with_name(self.path.name + more).rename(aside.with_name(aside.name + more))
        except OSError:
            return False
        self.report_problem(
            f"the store {str(self.path)!r} is damaged ({error}): renamed to {aside.name!r}, and a new one is started"
        )
        return True


def reused(store: Store, taken: int, of: int, label: str) -> str:
    """How many results were taken from a store, in a sentence.

    >>> reused(Store("mine.sqlite"), 3, 4, "checks")
    '3 of 4 checks come from the store mine.sqlite; `fresh` computes them again'
    """
    come, them = ("comes", "it") if taken == 1 else ("come", "them")
    return f"{taken} of {of} {label} {come} from the store {store.path}; `fresh` computes {them} again"


def report_reused(store: Store | None, taken: int, of: int, label: str) -> None:
    """Report on stderr how many results were taken from a store; do nothing without any."""
    if store is not None and taken:
        print_message(as_options(reused(store, taken, of, label)))


@functools.cache
def _of_this_process(path: str) -> Store:
    """The store in another process, which reports no faults itself: they go back with the results."""
    return Store(path, tell=lambda sentence: None)


def _rows(db: sqlite3.Connection, key: str) -> list[tuple[Any, ...]]:
    return db.execute(f"SELECT {_FIELDS} FROM entries WHERE key = ?", (key,)).fetchall()


def _entry(row: tuple[Any, ...]) -> Entry:
    key, kind, about, text, stored, checksum = row
    when = stored if isinstance(stored, float) else 0.0
    return Entry(str(key), str(kind), str(about), str(text), when, str(checksum))


def _write(db: sqlite3.Connection, entries: Iterable[Entry]) -> None:
    rows = [(e.key, e.kind, e.about, e.text, e.stored, e.sum) for e in entries]
    db.executemany(f"INSERT OR REPLACE INTO entries ({_FIELDS}) VALUES (?, ?, ?, ?, ?, ?)", rows)


@contextlib.contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise


def _configure(db: sqlite3.Connection) -> None:
    """Set journal and durability. Two processes that start at the same time may conflict: the switch does not wait."""
    ends = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > ends:
                raise
            time.sleep(0.02)
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA trusted_schema = OFF")
