"""Files of --output: complete files through links, bytes into streams, and only files are replaced."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dpfl_theory.cli import main
from dpfl_theory.errors import InputError
from dpfl_theory.runtime import atomic_files
from dpfl_theory.runtime.atomic_files import writable, write

SWEEP = ["sweep", "--set", "problem.name=quadratic", "--set", "algorithm.name=fedavg", "--set", "rounds=2"]
CHECK = ["check", "das2022.lemma9", "--method", "algebra", "--format", "json"]
CONSTANTS = (
    "--clients 10 --dim 20 --smoothness 1 --strong-convexity .05 --distance 300 --clip 1 --epsilon 8 --delta 1e-5"
)
CONSTANTS += " --delta 1e-5 --gradient-norm-at-optimum 0"
COMMANDS = {
    "check": CHECK,
    "sweep": [*SWEEP, "--set", "grid.seed=[1,2]"],
    "simulate": ["simulate", *SWEEP[1:]],
    "store export": ["store", "export"],
    "recommend": f"recommend --algorithm dp-scaffnew --rule printed {CONSTANTS} --format json".split(),
}  # fmt: skip


def read_of(fifo: Path) -> tuple[threading.Thread, list[bytes]]:
    """A reader of a FIFO, and the data that it has read."""
    found: list[bytes] = []
    thread = threading.Thread(target=lambda: found.append(fifo.read_bytes()), daemon=True)
    thread.start()
    return thread, found


@pytest.mark.parametrize("links", [1, 3])
def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path: Path, links: int) -> None:
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "file"
    target.write_text("old")
    target.chmod(0o640)
    link = target
    for k in range(links):
        next_ = tmp_path / f"link{k}"
        next_.symlink_to(os.path.relpath(link, tmp_path))
        link = next_
    assert writable(link) == link
    assert write(link, "new") == link
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o640, "its permissions are kept"
    assert list((tmp_path / "real").iterdir()) == [target]


def test_a_link_to_nothing_yet_makes_its_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "later")
    write(writable(tmp_path / "link"), b"x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "later").read_bytes() == b"x"
    (tmp_path / "far").symlink_to(tmp_path / "missing" / "later")
    with pytest.raises(InputError, match=r"it is a link, and there is no folder '.*missing'; make it first"):
        writable(tmp_path / "far")


def test_missing_folders_are_made_when_something_is_put_into_them(tmp_path: Path) -> None:
    path = tmp_path / "reports" / "evidence" / "check.json"
    assert writable(path) == path
    assert list(tmp_path.iterdir()) == [], "nothing is made before there is something to write"
    write(path, "x")
    assert path.read_text() == "x"
    with pytest.raises(InputError, match=r"check\.json' is a file, not a folder"):
        writable(path / "below.json")


def test_folders_of_a_file_that_cannot_be_written_go_again(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(InputError, match="cannot write"):
        write(tmp_path / "there" / "new" / "newer" / ("n" * 300), "x")
    assert list(tmp_path.rglob("*")) == [tmp_path / "there"]


def test_links_in_a_circle_are_told(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    for use in (lambda p: writable(p), lambda p: write(p, "x")):
        with pytest.raises(InputError, match=r"cannot write .*(circle|symbolic links)"):
            use(tmp_path / "a")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_streams_to_a_fifo(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fifo = tmp_path / "fifo.csv"
    os.mkfifo(fifo)
    thread, found = read_of(fifo)
    option = [str(fifo)] if name == "store export" else ["--output", str(fifo)]
    if name == "store export":
        monkeypatch.setenv("DPFL_THEORY_STORE", str(tmp_path / "kept.sqlite"))
        assert main(CHECK) == 0
    code = main([*COMMANDS[name], *option])
    thread.join(20)
    assert code in (0, 3), capsys.readouterr().err
    assert found[0]
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".fifo")], "a temporary file is left"


def test_a_device_is_never_replaced(tmp_path: Path) -> None:
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        device = Path("/dev/null")
    before = device.stat().st_rdev
    write(writable(device), "gone")
    assert stat.S_ISCHR(device.stat().st_mode)
    assert device.stat().st_rdev == before
    full = Path("/dev/full")
    if full.exists():
        with pytest.raises(InputError, match="cannot write '/dev/full': No space left on device"):
            write(writable(full), "x")


@pytest.mark.slow
def test_standard_output_may_be_named(tmp_path: Path) -> None:
    """This holds also where the shell appends it to a file: earlier content stays."""
    command = [sys.executable, "-m", "dpfl_theory", *CHECK, "--output", "/dev/stdout"]
    piped = subprocess.run(command, capture_output=True, check=True)
    assert piped.stdout.startswith(b"{")
    assert b"as expected" in piped.stderr
    log = tmp_path / "log"
    log.write_text("before\n")
    with log.open("a") as stream:
        subprocess.run(command, stdout=stream, stderr=subprocess.DEVNULL, check=True)
    assert log.read_text().startswith('before\n{\n "schema"')
    assert list(tmp_path.iterdir()) == [log]


def test_a_failure_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "file"
    target.write_text("old")
    for error in (OSError(28, "No space left on device"), KeyboardInterrupt()):

        def fails(*_: object, error: BaseException = error) -> None:
            raise error

        monkeypatch.setattr(atomic_files.os, "replace", fails)
        with pytest.raises((InputError, KeyboardInterrupt)):
            write(target, "new")
        assert target.read_text() == "old"
        assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("name", ["", "a" * 300, "a\0b", "."])
def test_names_that_cannot_be_are_told_first(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot write"):
        writable(tmp_path / name)


@pytest.mark.parametrize("command", [CHECK, ["report"], ["new", "examples"], COMMANDS["simulate"]])
def test_an_empty_name_is_told(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A shell passes it for a variable that is not set; it does not mean the working directory."""
    assert main([*command, "--output", ""]) == 2
    assert "to write is empty: give one" in capsys.readouterr().err


def test_a_disk_is_refused(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    try:
        os.mknod(disk, stat.S_IFBLK | 0o600, os.makedev(7, 250))
    except PermissionError:
        pytest.skip("only root makes device nodes")
    for use in (lambda p: writable(p), lambda p: write(p, "x")):
        with pytest.raises(InputError, match="it is a disk"):
            use(disk)
    assert stat.S_ISBLK(disk.stat().st_mode)
