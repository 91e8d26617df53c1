"""The promises of every reader, for any input."""

from __future__ import annotations

import contextlib
import faulthandler
import io
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from dpfl_theory.cli import main
from dpfl_theory.errors import DpflError
from dpfl_theory.runtime import interrupts

__all__ = ["ENOUGH", "MUCH", "PATIENCE", "Fault", "command", "reader"]

MUCH = 10.0
"""Default seconds after which a command is interrupted as by Ctrl-C."""
HANGS = 30.0
"""Seconds after which a reader hangs."""
PATIENCE = "DPFL_FUZZ_PATIENCE"
"""The variable with the seconds within which a command that is interrupted has ended: more where the machine is
busy."""
ENOUGH = float(os.environ.get(PATIENCE, "10"))
HANGS = 3 * ENOUGH
"""Seconds after which a reader hangs."""
CODES = {0: "done", 1: "done", 2: "refused", 3: "undecided", 5: "refused", 130: "interrupted"}


class Fault(AssertionError):
    """A promise that was not kept."""


class _Hangs(BaseException):
    """The time is over."""


@contextlib.contextmanager
def _in_time(seconds: float) -> Iterator[None]:
    """Ctrl-C after ``seconds``, and Fault after `ENOUGH` more."""

    def late(*_: object) -> None:
        signal.signal(signal.SIGALRM, later)
        signal.setitimer(signal.ITIMER_REAL, ENOUGH)
        os.kill(os.getpid(), signal.SIGINT)

    def later(*_: object) -> None:
        raise _Hangs

    def lost(unraisable: Any) -> None:
        if unraisable.exc_type is KeyboardInterrupt:  # it came during garbage collection, which ignores it:
            signal.signal(signal.SIGALRM, late)  # again, when this is over
            signal.setitimer(signal.ITIMER_REAL, 0.05)

    sys.unraisablehook = lost
    patience, interrupts.PATIENCE = interrupts.PATIENCE, seconds + 4 * ENOUGH  # this process has other inputs to try
    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    faulthandler.dump_traceback_later(seconds + 3 * ENOUGH, exit=True, file=2)  # for code that is stuck outside Python
    try:
        yield
    except _Hangs as error:
        where = [f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in traceback.extract_tb(error.__traceback__)[-9:]]
        raise Fault(f"it does not end: {' > '.join(where)}") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        sys.unraisablehook, interrupts.PATIENCE = sys.__unraisablehook__, patience
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, before)


def _kept(folder: Path) -> dict[str, Any]:
    """The files of a folder, except Python's bytecode."""
    found = (path for path in folder.rglob("*") if "__pycache__" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in found}


def command(arguments: Sequence[str], folder: Path, own: Sequence[str] = (), seconds: float = MUCH) -> str:
    """The outcome of a command that is run in a folder. Raises Fault where it ends with a traceback, with an exit code
    that it has not promised (such as 70), or not at all. Also where a refusal is not one sentence, where a refused
    command has changed a file, or where any command has left a part of a file (``own``: prefixes of the names that it
    may change)."""
    before, out, reported = _kept(folder), io.StringIO(), io.StringIO()
    streams = contextlib.redirect_stdout(out), contextlib.redirect_stderr(reported)
    with streams[0], streams[1], contextlib.chdir(folder), _in_time(seconds):
        try:
            code = main(arguments)
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            raise Fault(f"{type(error).__name__} comes out: {error}") from error
    said = reported.getvalue()
    if code not in CODES:
        raise Fault(f"exit code {code}: {said}")
    if "Traceback" in said:
        raise Fault(said)
    if CODES[code] == "refused":
        if "Usage" not in said and not any(line.startswith("dpfl-theory: ") for line in said.splitlines()):
            raise Fault(f"no sentence: {said!r}")
        if out.getvalue() and "Usage" not in out.getvalue():
            raise Fault(f"refused, and yet written: {out.getvalue()[:200]!r}")
    after = _kept(folder)
    changed = {name for name in before.keys() | after.keys() if before.get(name, 0) != after.get(name, 0)}
    strange = {name for name in changed if not name.startswith(tuple(own))} if own else changed
    if strange and code == 2:
        raise Fault(f"refused, and yet changed: {sorted(strange)}")
    if parts := [name for name in after.keys() - before.keys() if ".tmp" in name or Path(name).name.startswith(".tmp")]:
        raise Fault(f"left behind: {parts}")
    return CODES[code]


def reader(read: Callable[[], Any]) -> str:
    """The outcome of a library function that reads a file: a result, or one of the package's errors in one line.
    Raises Fault for all other outcomes."""
    try:
        with _in_time(HANGS):
            read()
    except KeyboardInterrupt:
        raise Fault(f"it takes more than {HANGS:g} s") from None
    except DpflError as error:
        if "\n" in str(error) or not str(error):
            raise Fault(f"no sentence: {str(error)!r}") from error
        return "refused"
    except Fault:
        raise
    except (Exception, SystemExit) as error:
        raise Fault(f"{type(error).__name__} comes out: {error}") from error
    return "done"


if sys.platform == "win32":
    raise ImportError("the time of an input is limited by an alarm, which this system does not have")
