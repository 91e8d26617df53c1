"""The catalogue of statements, collected by a scan of the package.

Each module of a paper's package, or of one of its chapters, holds ``STATEMENTS``, a tuple of `Statement`. No list has
to be maintained. The statements' words are in Markdown files next to the modules (`dpfl_theory.statements.words`).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

from dpfl_theory.core import Statement
from dpfl_theory.errors import InputError, unknown_name
from dpfl_theory.statements import names
from dpfl_theory.statements.words import documented

IMPORT_SECONDS, LEAST_SECONDS = 60.0, 2.0
"""The longest time that the import of a user's file may take, and has even if the time limit is shorter; checks run
later."""

__all__ = ["Statement", "all_statements", "file_of", "get", "in_order", "load_file", "module_of", "papers", "select"]


def _below(package: ModuleType) -> Iterator[ModuleType]:
    """The modules of a paper's package and of its chapters; names that start with ``_`` are helpers."""
    for info in pkgutil.iter_modules(package.__path__):
        if not info.name.startswith("_"):
            module = importlib.import_module(f"{package.__name__}.{info.name}")
            yield from _below(module) if info.ispkg else (module,)


@cache
def _modules() -> dict[str, tuple[Statement, ModuleType]]:
    """Each id's statement, and the module that holds it."""
    found: dict[str, tuple[Statement, ModuleType]] = {}
    for paper in pkgutil.iter_modules(__path__):
        if paper.ispkg:
            for module in _below(importlib.import_module(f"{__name__}.{paper.name}")):
                for statement in getattr(module, "STATEMENTS", ()):
                    if statement.id in found:
                        raise RuntimeError(f"statement {statement.id} is defined twice")
                    found[statement.id] = documented(statement), module
    return dict(sorted(found.items()))


@cache
def _catalogue() -> dict[str, Statement]:
    return {id_: statement for id_, (statement, _) in _modules().items()}


def file_of(id_: str) -> str | None:
    """The path of the file that defines a statement of the catalogue, from the package's folder on; None for other
    statements.

    >>> file_of("das2022.lemma8")
    'dpfl_theory/statements/das2022/lemma8.py'
    """
    name = module_of(id_)
    return None if name is None else f"{name.replace('.', '/')}.py"


def module_of(id_: str) -> str | None:
    """The name of the module that defines a statement of the catalogue; None for other statements."""
    found = _modules().get(id_)
    return None if found is None else found[1].__name__


def all_statements() -> tuple[Statement, ...]:
    """Every statement of the catalogue, by id."""
    return tuple(_catalogue().values())


@cache
def papers() -> tuple[str, ...]:
    """The papers that have statements."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if module.ispkg))


def get(id_: str) -> Statement:
    """The statement with this id; InputError with the nearest id if the catalogue has no such statement.

    >>> get("das2022.theorem4a").kind
    'theorem'
    """
    catalogue = _catalogue()
    if id_ in papers():
        first = next(s.id for s in in_order(select((), id_)))
        raise InputError(f"{id_!r} is a paper: name one of its statements, like {first} (dpfl-theory list {id_})")
    if id_ not in catalogue:
        raise names.unknown_statement(id_, catalogue, papers())
    return catalogue[id_]


def select(words: tuple[str, ...] = (), paper: str | None = None) -> tuple[Statement, ...]:
    """The statements that these words name (ids, patterns of ids such as ``das2022.lemma*``, papers), or all of a
    paper, or all. Raises InputError for a word that names no statement.

    >>> [s.id for s in select(("das2022.fact?",))]
    ['das2022.fact1', 'das2022.fact2']
    """
    if paper is not None and paper not in papers():
        raise unknown_name("paper", paper, papers())
    chosen = tuple(map(get, names.several(words, _catalogue(), papers()))) if words else all_statements()
    return tuple(s for s in chosen if paper is None or s.paper == paper)


def in_order(chosen: Iterable[Statement]) -> tuple[Statement, ...]:
    """The statements in the order of their papers; other forms of a statement follow it, by id.

    >>> [s.id for s in in_order(select(("das2022.lemma8", "das2022.theorem4a")))]
    ['das2022.theorem4a', 'das2022.lemma8']
    """
    from dpfl_theory.statements.paper import known  # here: no statement depends on the packages of all papers

    return tuple(sorted(chosen, key=lambda s: (s.paper, known()[s.paper].place(s.id), s.id)))


def load_file(path: str | Path, *limits: float | None) -> tuple[Statement, ...]:
    """The statements of a user's own Python file, which must define ``STATEMENTS``. A Markdown file of the same name
    next to it may have their words (`dpfl_theory.statements.words`).

    limits: seconds that its import may take at most, in addition to `IMPORT_SECONDS`; None for no such limit. It has
    `LEAST_SECONDS` in any case.

    Raises InputError when the file is missing, cannot be imported, or defines no statement. It also does so for
    statements that cannot be checked, with every fault and its line (`dpfl_theory.statements.validate`).
    """
    from dpfl_theory.statements.user_statements import loaded

    file = Path(path)
    if not file.is_file():
        raise InputError(f"statement file {str(file)!r} does not exist: give the path of a Python file")
    if file.suffix != ".py":
        raise InputError(f"statement file {str(file)!r} is not a Python file: its name must end in .py")
    seconds = min(s for s in (IMPORT_SECONDS, *limits) if s is not None)
    return loaded(file, _catalogue(), min(IMPORT_SECONDS, max(LEAST_SECONDS, seconds)))
