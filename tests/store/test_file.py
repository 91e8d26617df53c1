"""The store's file: no entry is lost, no altered entry is returned, and no fault of the file ends the work that uses
it."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from patience import HANGS

from dpfl_theory.errors import InputError
from dpfl_theory.runtime import cache as module
from dpfl_theory.runtime.cache import Store, place
from dpfl_theory.runtime.keys import key

WRITER = """
import sys
from dpfl_theory.runtime.cache import Store
from dpfl_theory.runtime.keys import key
path, name, count, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with Store(path) as store:
    for i in range(count):
        store.put(key("cell", {"writer": name, "i": i}), "cell", f'"{i}' + "x" * size + '"', f"{name} {i}")
        print(i, flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "evidence.sqlite"


def writer(path: Path, name: str, count: int = 200, size: int = 2000, before: str = "") -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", before + WRITER, str(path), name, str(count), str(size)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def filled(path: Path, count: int = 60) -> Path:
    with Store(path) as store:
        for i in range(count):
            store.put(key("cell", {"i": i}), "cell", f'"{"x" * 2000}{i}"', f"cell {i}")
    return path


def others(path: Path) -> list[str]:
    return sorted(p.name for p in path.parent.iterdir() if "damaged" in p.name)


def test_what_is_put_is_got_again_by_everyone(path: Path) -> None:
    with Store(path) as store, Store(path) as other:
        assert store.get("k") is None
        store.put("k", "check", '{"a": 1}', "das2022.lemma8")
        assert store.get("k") == other.get("k") == '{"a": 1}'
        other.put("k", "check", "[]", "das2022.lemma8")
        store.put("l", "cell", "1", "sweep 1")
        assert store.get("k") == "[]"
        assert [e.about for e in store.entries()] == ["sweep 1", "das2022.lemma8"]
        assert [e.key for e in store.entries("check", "das*")] == ["k"]
        assert [e.key for e in store.entries("cell", "das*")] == []
        with pickle.loads(pickle.dumps(store)) as sent:
            assert sent.get("k") == "[]"
        store.remove(["k"])
        assert other.get("k") is None


def test_two_processes_write_at_once(path: Path) -> None:
    processes = [writer(path, name) for name in ("one", "two")]
    for process in processes:
        _, said = process.communicate(timeout=HANGS)
        assert (process.returncode, said) == (0, "")
    with Store(path) as store:
        found = list(store.entries())
    assert len(found) == 400
    assert all(e.sound for e in found)
    assert others(path) == []


@pytest.mark.skipif(os.name != "posix", reason="signals as on POSIX systems")
def test_a_writer_that_is_killed_loses_nothing_that_it_put(path: Path) -> None:
    process = writer(path, "one", 100_000)
    assert process.stdout is not None
    put = [int(process.stdout.readline()) for _ in range(50)]
    process.send_signal(signal.SIGKILL)
    put += map(int, process.stdout.read().split())  # with what was read ahead of the last line, which communicate loses
    process.communicate(timeout=HANGS)
    with Store(path) as store:
        texts = [store.get(key("cell", {"writer": "one", "i": i})) for i in put]
        assert len(list(store.entries())) in (len(put), len(put) + 1)
    assert None not in texts
    assert others(path) == []


DAMAGE = {
    "random bytes": lambda data: os.urandom(len(data)),
    "no SQLite file": lambda data: b"a text of another program\n",
    "truncated": lambda data: data[: len(data) // 2],
    "three bytes": lambda data: data[:3],
    "a page of zeros": lambda data: data[:4096] + bytes(4096) + data[8192:],
    "pages overwritten": lambda data: data[:16384] + os.urandom(32768) + data[49152:],
}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_file_is_set_aside_and_said(path: Path, capsys: pytest.CaptureFixture[str], how: str) -> None:
    data = DAMAGE[how](filled(path).read_bytes())
    path.write_bytes(data)
    with Store(path) as store:
        store.put("k", "cell", "1", "new")
        assert store.get("k") == "1"
        assert [e.key for e in store.entries()] == ["k"]
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "is damaged" in said
    assert "evidence.sqlite.damaged-1" in said
    assert path.with_name("evidence.sqlite.damaged-1").read_bytes() == data
    path.write_bytes(data)
    with Store(path) as store:
        assert store.get("k") is None
    assert [name for name in others(path) if name[-1].isdigit()] == [f"{path.name}.damaged-{i}" for i in (1, 2)]


def test_damage_that_is_met_later_is_set_aside_once(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two stores are open when the file is overwritten in place; the second keeps the first one's new file."""
    stores = [Store(filled(path)), Store(path)]
    for store in stores:
        store.get("k")
    with path.open("r+b") as file:
        file.write(os.urandom(path.stat().st_size))
    for store in stores:
        store._connection.execute("PRAGMA shrink_memory")  # type: ignore[union-attr]
    assert stores[0].get(key("cell", {"i": 3})) is None
    stores[0].put(key("cell", {"i": 3}), "cell", "3", "again")
    assert stores[1].get(key("cell", {"i": 3})) == "3"
    assert [name for name in others(path) if name[-1].isdigit()] == ["evidence.sqlite.damaged-1"]
    assert capsys.readouterr().err.count("is damaged") == 1


def test_a_later_version_is_refused_and_left_alone(path: Path) -> None:
    db = sqlite3.connect(filled(path))
    db.execute("PRAGMA user_version = 99")
    db.close()
    data = path.read_bytes()
    with pytest.raises(InputError, match="has version 99, and this version of dpfl-theory knows 1"), Store(path):
        pass
    assert path.read_bytes() == data
    assert others(path) == []


@pytest.mark.parametrize("version", [0, 1, 99])
def test_the_file_of_another_program_is_refused_and_left_alone(path: Path, version: int) -> None:
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE bookmarks (name TEXT)")
    db.execute(f"PRAGMA user_version = {version}")
    db.commit()
    db.close()
    data = path.read_bytes()
    with pytest.raises(InputError, match="of another program"), Store(path):
        pass
    assert path.read_bytes() == data


def test_an_empty_file_of_sqlite_becomes_a_store(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("VACUUM")
    db.close()
    assert path.stat().st_size > 0
    with Store(path) as store:
        store.put("k", "cell", "1", "one")
        assert store.get("k") == "1"
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA user_version").fetchone() == (1,)
    db.close()


LIMIT = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"


@pytest.mark.skipif(os.name != "posix", reason="limits as on POSIX systems")
def test_a_full_disk_ends_nothing(path: Path) -> None:
    """The system refuses to let files grow: there is one sentence, and the work continues to its end."""
    process = writer(path, "one", before=LIMIT)
    out, said = process.communicate(timeout=HANGS)
    assert process.returncode == 0
    assert len(out.split()) == 200
    assert said.count("\n") == 1, said
    assert "continuing without a store" in said
    lines: list[str] = []
    with Store(path, tell=lines.append) as store:
        found = list(store.entries())
    assert lines == []
    assert 0 < len(found) < 200
    assert all(e.sound for e in found)


def test_no_room_in_the_file_ends_nothing(path: Path) -> None:
    lines: list[str] = []
    with Store(path, tell=lines.append) as store:
        store.put("k", "cell", "1", "one")
        store._connection.execute("PRAGMA max_page_count = 6")  # type: ignore[union-attr]
        for i in range(5):
            store.put(f"l{i}", "cell", "x" * 100_000, "too large")
        assert store.get("k") is None, "it is not used any more"
    assert len(lines) == 1
    assert "full" in lines[0]
    with Store(path) as store:
        assert store.get("k") == "1"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="a folder without write permission, even for root")
def test_a_place_that_cannot_be_written_to_ends_nothing() -> None:
    lines: list[str] = []
    with Store("/proc/self/fdinfo/store/evidence.sqlite", tell=lines.append) as store:
        store.put("k", "cell", "1", "one")
        assert store.get("k") is None
    assert len(lines) == 1
    assert "continuing without a store" in lines[0]


@pytest.mark.parametrize("column", ["text", "about", "kind", "stored", "checksum"])
def test_an_altered_entry_is_never_served(path: Path, column: str) -> None:
    filled(path)
    db = sqlite3.connect(path)
    db.execute(f"UPDATE entries SET {column} = 7 WHERE about = 'cell 3'")
    db.execute("UPDATE entries SET key = 'moved' WHERE about = 'cell 4'")
    db.execute("UPDATE entries SET text = CAST(x'fffe' AS TEXT) WHERE about = 'cell 5'")
    db.commit()
    db.close()
    with Store(path) as store:
        assert [store.get(key("cell", {"i": i})) is None for i in range(2, 7)] == [False, True, True, True, False]
        assert store.get("moved") is None
        assert sum(not e.sound for e in store.entries()) == 3


def test_where_the_store_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPFL_THEORY_STORE", "elsewhere.sqlite")
    assert place() == Path("elsewhere.sqlite")
    assert place("mine.sqlite") == Path("mine.sqlite")
    assert place("off") is None
    monkeypatch.delenv("DPFL_THEORY_STORE")
    assert place() == Path(".dpfl-theory", "evidence.sqlite")
    for wrong in ("", ".", os.devnull, "a\0b"):
        with pytest.raises(InputError, match="is not a file"):
            place(wrong)
    with Store(Path(".dpfl-theory", "evidence.sqlite")) as store:
        store.put("k", "cell", "1", "one")
    assert Path(".dpfl-theory", ".gitignore").read_text() == "*\n"


def test_tests_have_no_store_of_their_own() -> None:
    assert place() is None


def test_a_file_that_another_process_is_making_is_seen_at_one_moment(tmp_path: Path) -> None:
    """The other process starts between two reads of the file."""
    own, other = (sqlite3.connect(tmp_path / "a.sqlite", timeout=0.0, isolation_level=None) for _ in range(2))

    class Between:
        def execute(self, asked: str) -> sqlite3.Cursor:
            if "count" in asked:
                with contextlib.suppress(sqlite3.OperationalError):
                    module.create(other)
            return own.execute(asked)

    with contextlib.closing(own), contextlib.closing(other):
        module.recognise(Between(), tmp_path / "a.sqlite")  # type: ignore[arg-type]
        module.create(own)
        module.recognise(own, tmp_path / "a.sqlite", given=True)


BEGIN_AT_ONCE = """
import sys, time
from pathlib import Path
from dpfl_theory.runtime.cache import Store

folder, own = Path(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
for k in range(40):
    store = Store(folder / f"{k}.sqlite", tell=lambda told: print(told, flush=True))
    store.put(own, "cell", "[1]", own)
    store.close()
"""


def test_two_processes_may_begin_one_store_at_once(tmp_path: Path) -> None:
    """Neither takes the file that the other creates for another program's file."""
    command = [sys.executable, "-c", BEGIN_AT_ONCE, str(tmp_path)]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    both = [subprocess.Popen([*command, own], **pipes) for own in ("one", "two")]
    assert [process.stdout.readline() for process in both] == ["ready\n", "ready\n"]  # type: ignore[union-attr]
    for process in both:
        process.stdin.write("go\n")  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]
    assert [process.communicate(timeout=HANGS)[0] for process in both] == ["", ""]
    for k in range(40):
        with Store(tmp_path / f"{k}.sqlite") as store:
            assert [entry.key for entry in store.entries()] == ["one", "two"]
