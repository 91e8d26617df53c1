"""What `dpfl-theory new` writes: each module is a file as it is given away, with a name in it that is replaced.

They are read by the linter, the type checker and the tests like the rest of the package.
"""

from __future__ import annotations

import re
from importlib.resources import files

from dpfl_theory.errors import InputError

__all__ = ["theorem"]

PLACEHOLDER = "theorem-name"
"""What stands in a template for the name."""
_NAME = re.compile(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*")
_LONGEST = 60


def theorem(name: str) -> tuple[str, str]:
    """The name and the text of a statement file: words of small letters and digits, joined by - or _.

    Raises InputError for another name.

    >>> theorem("sharper-rate")[0]
    'sharper_rate.py'
    """
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        told = "write words of small letters and digits, joined by - or _, such as sharper-rate"
        raise InputError(f"{name!r} is no name for a theorem: {told}")
    text = files(__name__).joinpath("statement.py").read_text(encoding="utf-8")
    file = f"{name.replace('-', '_')}.py"
    return file, text.replace(PLACEHOLDER + ".py", file).replace(PLACEHOLDER, name.replace("_", "-"))
