"""Atomic output: files are written in one step, through links, and into streams where the path names a stream."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from dpfl_theory.encoding import ESCAPED
from dpfl_theory.errors import InputError

_DESCRIPTORS = re.compile(r"/proc/\d+/fd")
_LINKS = 40
"""A longer chain of links is treated as circular."""


def writable(path: str | Path, folder: bool = False, reads: tuple[str | Path | None, ...] = ()) -> Path:
    """Return the path if a file (or a folder of files) can be written there, so that faults appear before the work.

    Missing parent folders are created when the file is written. Writable devices and FIFOs are accepted. So is the
    target of a link, where its folder exists. reads: files that the command reads, which are not overwritten.
    Raises InputError otherwise.
    """
    if path == "":
        raise InputError(f"the name of the {'folder' if folder else 'file'} to write is empty: give one")
    path, wrong = Path(path), None
    try:
        if not folder and _stream(path) is not None:
            return path
        apart(path, reads)
        place = path if folder else _end_of(path)
        if folder and path.exists() and not path.is_dir():
            wrong = "it is a file, but a folder is needed"
        elif not folder and place.is_dir():
            wrong = "it is a folder, but a file name is needed"
        else:
            nearest = place if folder else place.parent
            if not folder and path.is_symlink() and not nearest.is_dir():
                wrong = f"it is a link, and there is no folder {str(nearest)!r}; make it first"
            while not nearest.exists():
                nearest = nearest.parent
            if wrong is None and not nearest.is_dir():
                wrong = f"{str(nearest)!r} is a file, not a folder"
            elif wrong is None and not os.access(nearest, os.W_OK | os.X_OK):
                wrong = f"{str(nearest)!r} is not writable"
    except (OSError, ValueError) as error:  # a name that is too long, or has a zero byte
        wrong = str(getattr(error, "strerror", None) or error)
    if wrong is not None:
        raise InputError(f"cannot write {str(path)!r}: {wrong}")
    return path


def apart(path: Path, reads: tuple[str | Path | None, ...]) -> None:
    """Raise InputError where the path is that of a file which the command reads."""
    for name in reads:
        if name and path.exists() and Path(name).exists() and path.samefile(name):
            raise InputError(f"{str(path)!r} is an input of the command and would be overwritten: give another name")


def write(path: Path, content: str | bytes) -> Path:
    """Write a file in one step: readers see the old content or the new, and a failure leaves the old.

    Text is written as UTF-8 in every locale. Missing parent folders are created, and removed again where the file
    cannot be written. Of a link the target is written; a file keeps its permissions. A stream (a FIFO, a terminal,
    ``/dev/stdout``, ``/dev/null``) receives the content unchanged and is never replaced. Raises InputError.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(Path(folder) / "a.txt", "done").read_text()
    'done'
    """
    data = content.encode(errors=ESCAPED) if isinstance(content, str) else content
    try:
        stream = _stream(path)
        if stream is not None:
            sys.stdout.flush()
            with open(stream, "wb", closefd=isinstance(stream, str)) as file:
                file.write(data)
        else:
            with contextlib.nullcontext() if path.is_symlink() else _folders(path.parent):
                _replace(_end_of(path), data)
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or error
        raise InputError(f"cannot write {str(path)!r}: {cause}; choose another place") from error
    return path


@contextlib.contextmanager
def _folders(place: Path) -> Iterator[None]:
    """Create a folder for the time of a write; newly created folders are removed again where the write fails."""
    missing = [folder for folder in (place, *place.parents) if not folder.exists()]
    try:
        place.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for folder in missing:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


def _replace(path: Path, data: bytes) -> None:
    """Replace the file as a whole: a temporary file in the same folder is renamed to it."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, _mode(path))
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _mode(path: Path) -> int:
    """The permissions of an existing file, or the default ones of a new one (a temporary file's are private)."""
    with contextlib.suppress(OSError):
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _end_of(path: Path) -> Path:
    """The target of a path through all links, whether it exists or not."""
    for _ in range(_LINKS):
        if not path.is_symlink():
            return path
        path = path.parent / os.readlink(path)
    raise OSError("its links are circular")


def _stream(path: Path) -> str | int | None:
    """How to open a path that is a stream, or None where it is a regular file or does not exist.

    It is a name, or a descriptor of this process, so that earlier content of the stream is not truncated. Raises
    OSError where the stream cannot be written.
    """
    for _ in range(_LINKS):
        if path.name.isdigit() and _DESCRIPTORS.fullmatch(os.path.realpath(path.parent)):
            return int(path.name)
        if not path.is_symlink():
            break
        path = Path(os.path.normpath(path.parent / os.readlink(path)))
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        mode = path.stat().st_mode
        if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
            if not os.access(path, os.W_OK):
                raise OSError("it is not writable")
            return str(path)
        if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
            raise OSError("it is a disk" if stat.S_ISBLK(mode) else "it is a socket")
    return None


@contextlib.contextmanager
def printed_aside() -> Iterator[None]:
    """Redirect everything that is printed inside to stderr, also by compiled code: stdout is for data.

    >>> with printed_aside():
    ...     print("by the way")
    """
    with contextlib.redirect_stdout(sys.stderr), contextlib.ExitStack() as stack:
        try:
            sys.__stdout__.flush()  # type: ignore[union-attr]
            kept = os.dup(1)
            stack.callback(os.close, kept)
            os.dup2(2, 1)
        except (AttributeError, OSError, ValueError):  # no such streams
            yield
            return
        stack.callback(os.dup2, kept, 1)
        yield
