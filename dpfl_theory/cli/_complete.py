"""What a shell is offered where a command's words are completed: ids, papers, methods, names. Nothing heavy is
imported: a shell that waits is worse than one that does not complete."""

from __future__ import annotations

from collections.abc import Callable, Iterable

__all__ = ["ids", "methods", "of", "papers", "shown", "validations", "words"]


def _begin(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def of(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Completes to one of these names.

    >>> of(("holds", "violated"))("h")
    ['holds']
    """

    def complete(incomplete: str) -> list[str]:
        return _begin(incomplete, names)

    return complete


def papers(incomplete: str) -> list[str]:
    """Papers' ids."""
    from dpfl_theory.statements.paper import known

    return _begin(incomplete, known())


def ids(incomplete: str) -> list[str]:
    """Papers and statements' ids."""
    from dpfl_theory.statements import known_ids

    return [*papers(incomplete), *_begin(incomplete, sorted(known_ids()))]


def methods(incomplete: str) -> list[str]:
    """Methods of checking."""
    from dpfl_theory.methods import known

    return _begin(incomplete, known())


def validations(incomplete: str) -> list[str]:
    """Validation scripts."""
    from dpfl_theory.validation.script import available

    return _begin(incomplete, available())


def words(incomplete: str) -> list[str]:
    """What `list` takes: kinds of things, papers, ids."""
    from dpfl_theory.inventory import kinds

    return [*_begin(incomplete, kinds()), *ids(incomplete)]


def shown(incomplete: str) -> list[str]:
    """What `show` takes: one of a kind of things, ids."""
    from dpfl_theory.inventory import kinds

    return [*_begin(incomplete, (kind.one for kind in kinds().values())), *ids(incomplete)]
