"""Files that are left behind: in one step, through links, and into streams where a stream is named."""

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

__all__ = ["apart", "printed_aside", "writable", "write"]

_DESCRIPTORS = re.compile(r"/proc/\d+/fd")
_LINKS = 40
"""More links one behind the other are a circle."""


def writable(path: str | Path, folder: bool = False, reads: tuple[str | Path | None, ...] = ()) -> Path:
    """The path, if a file (or a folder of files) can be made there: told before the work begins, not after it.

    Folders that are missing on the way are made when it is written. Devices and FIFOs that may be written to can be; so
    can what a link leads to, where its folder is there. reads: files that the command reads, which are not overwritten.
    Raises InputError for the rest.
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
            wrong = "it is a file, and a folder is needed"
        elif not folder and place.is_dir():
            wrong = "it is a folder, and a file name is needed"
        else:
            nearest = place if folder else place.parent
            if not folder and path.is_symlink() and not nearest.is_dir():
                wrong = f"it is a link, and there is no folder {str(nearest)!r}; make it first"
            while not nearest.exists():
                nearest = nearest.parent
            if wrong is None and not nearest.is_dir():
                wrong = f"{str(nearest)!r} is a file, and no folder"
            elif wrong is None and not os.access(nearest, os.W_OK | os.X_OK):
                wrong = f"{str(nearest)!r} may not be written to"
    except (OSError, ValueError) as error:  # a name that is too long, or has a zero byte
        wrong = str(getattr(error, "strerror", None) or error)
    if wrong is not None:
        raise InputError(f"cannot write {str(path)!r}: {wrong}")
    return path


def apart(path: Path, reads: tuple[str | Path | None, ...]) -> None:
    """Raises InputError where the path is that of a file which the command reads."""
    for name in reads:
        if name and path.exists() and Path(name).exists() and path.samefile(name):
            raise InputError(f"{str(path)!r} is what the command reads, and would be overwritten: give another name")


def write(path: Path, content: str | bytes) -> Path:
    """Write a file in one step: readers see the old content or the new, and a failure leaves the old.

    Text is written as UTF-8 in every locale. Folders that are missing on the way are made, and go again where the file
    cannot be written. A link stays, and what it leads to is written; a file keeps its permissions. What is a stream (a
    FIFO, a terminal, ``/dev/stdout``, ``/dev/null``) gets the content as it is, and is never replaced. Raises
    InputError.

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
        told = getattr(error, "strerror", None) or error
        raise InputError(f"cannot write {str(path)!r}: {told}; choose another place") from error
    return path


@contextlib.contextmanager
def _folders(place: Path) -> Iterator[None]:
    """A folder that is there while something is put into it; those that are made for that go again where it fails."""
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
    """The file as a whole: a new one beside it takes its name."""
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
    """The permissions of a file that is there, or those of a new one (a temporary file's are private)."""
    with contextlib.suppress(OSError):
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _end_of(path: Path) -> Path:
    """What a path leads to, through any links, whether it is there or not."""
    for _ in range(_LINKS):
        if not path.is_symlink():
            return path
        path = path.parent / os.readlink(path)
    raise OSError("its links go round in a circle")


def _stream(path: Path) -> str | int | None:
    """What is to be opened where the path is a stream: a descriptor of this process, so that nothing is cut off that
    stands in it, or a name; None where it is a file or nothing. Raises OSError for what cannot be written like that.
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
                raise OSError("it may not be written to")
            return str(path)
        if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
            raise OSError("it is a disk" if stat.S_ISBLK(mode) else "it is a socket")
    return None


@contextlib.contextmanager
def printed_aside() -> Iterator[None]:
    """What is printed inside, by whatever means, goes to stderr: stdout is for data.

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
