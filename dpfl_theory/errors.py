"""The errors a user can cause or meet, each one sentence naming value, cause and remedy."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["DpflError", "EnvironmentFault", "InputError", "unknown_name"]


class DpflError(Exception):
    """Base of every error that is reported as one sentence; `exit_code` is the command's exit status."""

    exit_code = 70


class InputError(DpflError, ValueError):
    """The user's input cannot be used: exit code 2."""

    exit_code = 2


class EnvironmentFault(DpflError, RuntimeError):
    """The machine lacks something the request needs (a GPU, an optional package): exit code 5."""

    exit_code = 5


def unknown_name(what: str, name: str, known: Iterable[str]) -> InputError:
    """The error for a name that is not in a catalogue; it suggests the nearest known name.

    >>> print(unknown_name("statement", "das2022.theorem4", ["das2022.theorem4a", "das2022.eq4"]))
    unknown statement 'das2022.theorem4': did you mean 'das2022.theorem4a'?
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if near:
        return InputError(f"unknown {what} {name!r}: did you mean {near[0]!r}?")
    shown = ", ".join(names) if len(names) <= 12 else ", ".join(names[:12]) + ", ..."
    return InputError(f"unknown {what} {name!r}: it is none of {shown or '(nothing is known)'}")
