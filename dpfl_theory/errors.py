"""The errors that a user can cause or meet, each one sentence that names value, cause and remedy."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from dpfl_theory.related import instead

__all__ = [
    "CheckError",
    "DpflError",
    "EnvironmentFault",
    "InputError",
    "InstanceError",
    "WorkLimitError",
    "format_error",
    "nearest",
    "place",
    "unknown_name",
]


class DpflError(Exception):
    """Base of every error that is reported as one sentence; `exit_code` is the command's exit status."""

    exit_code = 70


class InputError(DpflError, ValueError):
    """The user's input cannot be used: exit code 2."""

    exit_code = 2


class WorkLimitError(InputError):
    """Work beyond any limit, counted before it starts: exit code 2, or an undecided check."""


class InstanceError(InputError):
    """An instance that its statement cannot use: exit code 2, and the sentence points at the instance."""


class CheckError(InputError):
    """A check that cannot be run: exit code 2, and the sentence names the check."""


class EnvironmentFault(DpflError, RuntimeError):
    """The machine lacks something the request needs (a GPU, an optional package): exit code 5."""

    exit_code = 5


def place(error: BaseException) -> str:
    """File and line of an exception's innermost frame that belongs to this package or to the user's own code."""
    import sysconfig
    import traceback

    root = Path(__file__).parent
    libraries = [Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")]
    frames = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    own = [(p, n) for p, n in frames if root in p.parents or not any(at in p.parents for at in libraries)]
    for file, line in reversed(own or frames):
        return f"{file.relative_to(root.parent) if root in file.parents else file}, line {line}"
    return "an unknown place"


_LONGEST = 800
"""Characters of a message that are reported, since it is to be one sentence."""


def format_error(error: BaseException) -> str:
    """An unforeseen exception in one sentence: its type and its message or, where it has none, its place.

    Its first note takes precedence over the place: it has the place in another process.

    >>> try:
    ...     raise AssertionError
    ... except AssertionError as error:
    ...     print(format_error(error).split(" in ")[0])
    AssertionError without a message
    >>> format_error(ValueError("no such\\n  file."))
    'ValueError: no such file'
    """
    kind, message = type(error).__name__, re.sub(r"\s+", " ", str(error)).strip().rstrip(".")
    if len(message) > _LONGEST:
        message = f"{message[: _LONGEST - 4]} ..."
    if message:
        return f"{kind}: {message}"
    return f"{kind} without a message in {next(iter(getattr(error, '__notes__', ())), None) or place(error)}"


def unknown_name(label: str, name: str, known: Iterable[str]) -> InputError:
    """The error for a name that is not in a catalogue; it suggests names that start with it, or else the nearest one.

    For algorithms see `related.instead`.

    >>> print(unknown_name("statement", "das2022.theorem4", ["das2022.theorem4a", "das2022.eq4"]))
    unknown statement 'das2022.theorem4': did you mean 'das2022.theorem4a'?
    >>> print(unknown_name("class of functions", "nonconvex", ["convex"]))
    unknown class of functions 'nonconvex': choose from convex
    """
    names = sorted(known)
    if label == "algorithm":
        return InputError(f"unknown algorithm {name!r}: {instead(name, names)}")
    if near := nearest(name, names):
        return InputError(f"unknown {label} {name!r}: did you mean {' or '.join(map(repr, near))}?")
    shown = ", ".join(names) if len(names) <= 12 else ", ".join(names[:12]) + ", ..."
    return InputError(f"unknown {label} {name!r}: choose from {shown or '(none is known)'}")


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """The known names that this one may stand for: those that start with it, or else the nearest one, if any."""
    names = sorted(known)
    near = _begin_with(name, names) or difflib.get_close_matches(name, names, n=1, cutoff=0.55)
    return [other for other in near if re.sub("^non-?", "", name) != other]  # the opposite is not another spelling


def _begin_with(name: str, names: Sequence[str]) -> list[str]:
    """At most three names that start with this one; names below another of them, after a dot, are left out."""
    longer = [known for known in names if known.startswith(name)] if len(name) > 2 else []
    roots = [known for known in longer if not any(known.startswith(f"{other}.") for other in longer)]
    return roots if len(roots) <= 3 else []
