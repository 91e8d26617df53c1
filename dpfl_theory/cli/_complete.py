"""Shell completion of a command's words: ids, papers, methods, names. Nothing heavy is imported, since a completion
must not take noticeable time."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def _with_prefix(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def complete_from(names: Iterable[str]) -> Callable[[str], list[str]]:
    """A completion to one of these names.

    >>> complete_from(("holds", "violated"))("h")
    ['holds']
    """

    def complete(incomplete: str) -> list[str]:
        return _with_prefix(incomplete, names)

    return complete


def papers(incomplete: str) -> list[str]:
    """Complete ids of papers."""
    from dpfl_theory.statements.paper import known

    return _with_prefix(incomplete, known())


def ids(incomplete: str) -> list[str]:
    """Complete ids of papers and statements."""
    from dpfl_theory.statements import all_statements

    return [*papers(incomplete), *_with_prefix(incomplete, (statement.id for statement in all_statements()))]


def methods(incomplete: str) -> list[str]:
    """Complete methods of checking."""
    from dpfl_theory.core.methods import known

    return _with_prefix(incomplete, known())


def validations(incomplete: str) -> list[str]:
    """Complete validation scripts."""
    from dpfl_theory.validation.script import available

    return _with_prefix(incomplete, available())


def words(incomplete: str) -> list[str]:
    """Complete arguments of `list`: kinds of items, papers, ids."""
    from dpfl_theory.inventory import kinds

    return [*_with_prefix(incomplete, kinds()), *ids(incomplete)]


def complete_shown(incomplete: str) -> list[str]:
    """Complete arguments of `show`: the singular of a kind of items, ids."""
    from dpfl_theory.inventory import kinds

    return [*_with_prefix(incomplete, (kind.one for kind in kinds().values())), *ids(incomplete)]
