"""Templates of `dpfl-theory new`: each module is a file as it is written, with a placeholder for the name.

The linter, the type checker and the tests read them like the rest of the package.
"""

from __future__ import annotations

import re
from importlib.resources import files

from dpfl_theory.errors import InputError

__all__ = ["paper", "theorem"]

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


_PAPER = re.compile(r"[a-z]+[0-9]{4}[a-z]?")


def paper(name: str) -> dict[str, str]:
    """The files of a paper's folder, by name. The paper's id is its first author and the year.

    Raises InputError for another name, and for a paper that the catalogue has.

    >>> sorted(paper("ours2026"))
    ['__init__.py', '_instances.py', '_symbols.py', 'theorem1.md', 'theorem1.py']
    """
    from dpfl_theory.statements import papers

    if not _PAPER.fullmatch(name):
        raise InputError(f"{name!r} is not the id of a paper: write its first author and the year, such as ours2026")
    if name in papers():
        raise InputError(f"the catalogue has the paper {name!r} already: write {name}b")
    folder = files(__name__).joinpath("paper_folder")
    texts = {
        file.name: file.read_text(encoding="utf-8") for file in folder.iterdir() if file.name[-3:] in (".py", ".md")
    }
    package = f"dpfl_theory.statements.{name}"
    return {f: t.replace(f"{__name__}.paper_folder", package).replace("paper-name", name) for f, t in texts.items()}
