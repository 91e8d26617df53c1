"""All statements of the catalogue: a section for each paper, with an entry for each statement."""

from __future__ import annotations

from collections.abc import Iterator

from docs.inserts import plain
from dpfl_theory import statements
from dpfl_theory.core import prose
from dpfl_theory.statements import paper

__all__ = ["insert"]


def insert() -> str:
    """A section for each paper, with each statement's kind, place, recorded verdict and methods."""
    return "\n".join(_parts())


def _parts() -> Iterator[str]:
    papers = paper.known()
    for id_ in statements.papers():
        yield f"## {id_}\n\n{plain(papers[id_].heading)}\n"
        for s in statements.select(paper=id_):
            methods = ", ".join(dict.fromkeys(check.method for check in s.checks))
            place = f" in {plain(s.source.where)}" if s.source.where else ""
            yield f"````{{statement}} {s.id}\n{plain(prose.plain(s.title))}. {s.kind.capitalize()}{place}. On record:"
            yield f"**{s.expected}**. Checked by {methods}.\n````\n"
