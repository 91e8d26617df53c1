"""Resolution of a command's statement: one of the catalogue's, or of a file."""

from __future__ import annotations

from dpfl_theory import statements
from dpfl_theory.core import Statement
from dpfl_theory.errors import InputError, unknown_name

__all__ = ["one_statement"]


def one_statement(id_: str | None, file: str | None, *limits: float | None) -> Statement:
    """The catalogue's statement with this id or, with a file, the file's; its only one needs no id.

    limits: time limits of the file's import [s]. Raises InputError where no statement or several match.
    """
    if file is None:
        if id_ is None:
            raise InputError("no statement is named: give an ID, as 'dpfl-theory list' shows it, or --file")
        return statements.get(id_)
    own = {s.id: s for s in statements.load_file(file, *limits)}
    if id_ is None and len(own) > 1:
        raise InputError(f"{file!r} has {len(own)} statements: name one of {', '.join(own)}")
    if id_ is not None and id_ not in own:
        raise unknown_name("statement", id_, own)
    return own[id_] if id_ is not None else next(iter(own.values()))
