"""Templates of `dpfl-theory new`: each module is a file as it is written, with a placeholder for the name.

The linter, the type checker and the tests read them like the rest of the package.
"""

from __future__ import annotations

import re
from importlib.resources import files

from dpfl_theory.errors import InputError

__all__ = ["theorem"]

PLACEHOLDER = "theorem-name"
"""The placeholder for the name in a template."""
_NAME = re.compile(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*")
_LONGEST = 60


def theorem(name: str) -> tuple[str, str]:
    """The name and the text of a statement file. The given name is words of small letters and digits, joined by - or _.

    Raises InputError for another name.

    >>> theorem("sharper-rate")[0]
    'sharper_rate.py'
    """
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        message = "write words of small letters and digits, joined by - or _, such as sharper-rate"
        raise InputError(f"{name!r} is not a name for a theorem: {message}")
    text = files(__name__).joinpath("statement.py").read_text(encoding="utf-8")
    file = f"{name.replace('-', '_')}.py"
    return file, text.replace(PLACEHOLDER + ".py", file).replace(PLACEHOLDER, name.replace("_", "-"))
