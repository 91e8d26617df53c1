"""Parts that every command shares: its exit codes, its messages and its progress."""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from dpfl_theory.encoding import tolerant
from dpfl_theory.errors import DpflError, EnvironmentFault, InputError, format_error, unknown_name
from dpfl_theory.numerals import number_of
from dpfl_theory.runtime.interrupts import interruptible

if TYPE_CHECKING:
    from multiprocessing.synchronize import Lock

PROGRAM = "dpfl-theory"
INTERRUPTED = 130
CLOSED_PIPE = 141
INTERNAL = 70
QUIET_SECONDS = 2.0
SPARSE_SECONDS = 10.0


class _ClosedPipe(Exception):
    """The reader of stdout is gone. (Not an OSError, which the command-line library turns into exit code 1.)"""


def emit(text: str) -> None:
    """Write data to stdout, in full, and flush it."""
    try:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    except BrokenPipeError as error:
        raise _ClosedPipe from error
    except OSError as error:
        with contextlib.suppress(OSError):  # the interpreter flushes stdout once more when it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        why = error.strerror or type(error).__name__
        raise EnvironmentFault(f"the output cannot be written: {why}; make room, or name another place") from error


def print_message(text: str) -> None:
    """Print a message to the user on stderr."""
    with contextlib.suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


@tolerant()
def run_app(app: Callable[..., Any], arguments: Sequence[str] | None = None) -> int:
    """Run a typer application and return its exit code; every error is reported in one sentence on stderr.

    Characters that the encoding of stdout or stderr lacks are written as escapes. The environment variable
    DPFL_DEBUG=1 adds the traceback.
    """
    try:
        with interruptible(lambda: print_message(f"{PROGRAM}: interrupted"), INTERRUPTED):
            code = app(args=None if arguments is None else list(arguments), prog_name=PROGRAM, standalone_mode=False)
        if code == INTERRUPTED:  # how the command-line library reports Ctrl-C
            return _fail("interrupted", INTERRUPTED)
        return code if isinstance(code, int) else 0
    except _ClosedPipe:
        with contextlib.suppress(OSError):  # the interpreter flushes stdout once more when it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    except DpflError as error:
        return _fail(as_options(str(error)), error.exit_code)
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    except MemoryError:
        sentence = "this needs more memory than is available: use fewer replicates, records or features"
        return _fail(sentence, EnvironmentFault.exit_code)
    except Exception as error:
        if type(error).__name__ == "Abort":
            return _fail("interrupted", INTERRUPTED)
        if type(error).__name__ == "NoArgsIsHelpError":
            print_message(error.ctx.get_help())  # type: ignore[attr-defined]
            return 2
        if isinstance(error, OSError) and error.filename is not None:
            why = error.strerror or type(error).__name__
            sentence = f"cannot use {os.fspath(error.filename)!r}: {why}; check the path"
            return _fail(sentence, InputError.exit_code)
        message = getattr(error, "format_message", None)  # a usage error of the command-line library
        if message is not None:
            return _fail(f"{' '.join(message().split()).rstrip('.')}; see '{PROGRAM} --help'", 2)
        return _fail(f"internal error: {format_error(error)} (DPFL_DEBUG=1 shows the traceback)", INTERNAL)


def _fail(sentence: str, code: int) -> int:
    if os.environ.get("DPFL_DEBUG") == "1" and code != INTERRUPTED:
        traceback.print_exc()
    print_message(f"{PROGRAM}: {sentence}")
    return code


def option(name: str) -> str:
    """The command-line option for an argument of the library.

    >>> option("noise_multiplier")
    '--noise-multiplier'
    """
    return "--" + name.replace("_", "-")


def as_options(text: str) -> str:
    """A message of the library with its arguments, which are in backquotes, written as command-line options.

    >>> as_options("`cohort` is 3 of `clients=2`: use `noise_multiplier`")
    '--cohort is 3 of --clients 2: use --noise-multiplier'
    """
    return re.sub(r"`([a-z][a-z0-9_]*)(?:=([^`\s]+))?`", lambda m: option(m[1]) + (f" {m[2]}" if m[2] else ""), text)


def choice(label: str, value: str, known: Sequence[str]) -> str:
    """The value, if it is a known one; otherwise raise InputError, which suggests the nearest."""
    if value not in known:
        raise unknown_name(label, value, known)
    return value


def parse_budget(text: str | None, label: str = "budget") -> float | None:
    """Seconds from ``60s``, ``2m``, ``1h`` or a plain number of seconds.

    >>> parse_budget("60s"), parse_budget("2m"), parse_budget("90"), parse_budget(None)
    (60.0, 120.0, 90.0, None)
    """
    if text is None:
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([smh]?)\s*", text)
    seconds = float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]] if match else 0.0
    if not 0.0 < seconds < 1e9:
        raise InputError(f"the {label} {text!r} is not a positive time: write it like 60s, 2m or 90")
    return seconds


def parse_seed(text: str) -> int:
    """A seed: a whole number from 0 to 2^64 - 1."""
    if not re.fullmatch(r"[0-9]{1,20}", text) or int(text) >= 2**64:
        raise InputError(f"the seed {text!r} is not a whole number from 0 to 2^64 - 1: write it like --seed 7")
    return int(text)


def parse_alpha(text: str) -> float:
    """A false-alarm probability in (0, 1)."""
    value = number_of("the false-alarm probability", text)
    if not 0.0 < value < 1.0:
        raise InputError(f"the false-alarm probability {text!r} does not lie in (0, 1): write it like --alpha 1e-6")
    return value


def time_left(share: float, seconds: float) -> str:
    """The estimated time left, in words, where this share took ``seconds``; empty where it is not known.

    >>> time_left(0.25, 10.0), time_left(0.25, 100.0), time_left(0.0, 10.0)
    ('about 30 s left', 'about 5 min left', '')
    """
    return "" if share <= 0.0 else seconds_left(seconds * (1.0 - share) / share)


def seconds_left(seconds: float) -> str:
    """The time left, in words.

    >>> seconds_left(61.0), seconds_left(600.0)
    ('about 61 s left', 'about 10 min left')
    """
    return f"about {seconds:.0f} s left" if seconds < 90.0 else f"about {seconds / 60.0:.0f} min left"


class Progress:
    """Progress on stderr: a bar on a terminal, elsewhere an occasional line, and nothing for work under two seconds.

    >>> with Progress("counting") as progress:
    ...     progress(0.5, "half way")
    """

    def __init__(self, title: str, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.title = title
        self.stream = sys.stderr if stream is None else stream
        self.clock = clock
        self.begun = clock()
        self.told = self.begun - SPARSE_SECONDS + QUIET_SECONDS
        self.bar: Any = None
        self.done = 0.0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Restore the terminal."""
        if self.bar is not None:
            self.bar.stop()

    def __call__(self, share: float, label: str = "") -> None:
        """Report the finished share of the work and the current step; a share never decreases."""
        now = self.clock()
        self.done = share = max(self.done, min(share, 1.0))
        if now - self.begun < QUIET_SECONDS:
            return
        if self.stream.isatty():
            self._draw(share, label)
        elif now - self.told >= SPARSE_SECONDS:
            self.told = now
            with contextlib.suppress(OSError, ValueError):
                print(
                    f"{self.title}: {share:4.0%} after {now - self.begun:.0f} s  {label}".rstrip(),
                    file=self.stream,
                    flush=True,
                )

    def _draw(self, share: float, label: str) -> None:
        if self.bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar
            from rich.table import Column

            label_column = TextColumn("{task.fields[label]}", markup=False, table_column=Column(no_wrap=True, ratio=1))
            columns = (TextColumn("{task.description}"), BarColumn(24), TaskProgressColumn(), TimeElapsedColumn())
            self.bar = Bar(*columns, label_column, console=Console(file=self.stream), transient=True, expand=True)
            self.bar.add_task(self.title, total=1.0, label="")
            self.bar.start()
        self.bar.update(self.bar.task_ids[0], completed=share, label=label)


_said = mmap.mmap(-1, 1)
"""Not 0 where it was printed in this process, or in one that is a copy of it."""
_turns: list[Lock] = []
"""Locks that the first process to print takes, and never releases."""


def share(turn: Lock) -> None:
    """Of all processes that share this lock, only the first one prints."""
    _turns.append(turn)


def claim_announcement() -> bool:
    """Whether this process may print, which is then its last time.

    >>> _said[0] = 0
    >>> claim_announcement(), claim_announcement()
    (True, False)
    """
    if _said[0] or not all(turn.acquire(block=False) for turn in _turns):
        return False
    _said[0] = 1
    return True
