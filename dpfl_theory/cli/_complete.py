"""Shell completion of a command's words: ids, papers, methods, names. Nothing heavy is imported, since a completion
must not take noticeable time."""

from __future__ import annotations

from collections.abc import Callable, Iterable

__all__ = ["ids", "methods", "of", "papers", "shown", "validations", "words"]


def _begin(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def of(names: Iterable[str]) -> Callable[[str], list[str]]:
    """A completion to one of these names.

    >>> of(("holds", "violated"))("h")
    ['holds']
    """

    def complete(incomplete: str) -> list[str]:
        return _begin(incomplete, names)

    return complete


def papers(incomplete: str) -> list[str]:
    """Complete ids of papers."""
    from dpfl_theory.statements.paper import known

    return _begin(incomplete, known())


def ids(incomplete: str) -> list[str]:
    """Complete ids of papers and statements."""
    from dpfl_theory.statements import known_ids

    return [*papers(incomplete), *_begin(incomplete, sorted(known_ids()))]


def methods(incomplete: str) -> list[str]:
    """Complete methods of checking."""
    from dpfl_theory.methods import known

    return _begin(incomplete, known())


def validations(incomplete: str) -> list[str]:
    """Complete validation scripts."""
    from dpfl_theory.validation.script import available

    return _begin(incomplete, available())


def words(incomplete: str) -> list[str]:
    """Complete arguments of `list`: kinds of items, papers, ids."""
    from dpfl_theory.inventory import kinds

    return [*_begin(incomplete, kinds()), *ids(incomplete)]


def shown(incomplete: str) -> list[str]:
    """Complete arguments of `show`: the singular of a kind of items, ids."""
    from dpfl_theory.inventory import kinds

    return [*_begin(incomplete, (kind.one for kind in kinds().values())), *ids(incomplete)]
