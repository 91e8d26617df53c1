"""The papers that have statements: authors, title, and the order of their pages.

A paper is a package here, which holds its `Paper` as ``REFERENCE``.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

__all__ = ["Paper", "known"]


@dataclass(frozen=True)
class Paper:
    """A paper: its id, its authors, its title, where or when it appeared, and which copy was read.

    contents: by chapter, in the order of the pages, the names of its statements (ids without the paper). Forms whose
    name continues a listed one, such as ``theorem3.repaired``, follow it.
    """

    id: str
    authors: str
    title: str
    year: str
    copy: str
    contents: Mapping[str, str]

    @property
    def dated_title(self) -> str:
        """Title and year."""
        return f"{self.title} ({self.year})"

    @property
    def heading(self) -> str:
        """The heading above its statements.

        >>> known()["noble2022"].heading
        'Noble, Bellet, Dieuleveut: Differentially Private Federated Learning on Heterogeneous Data (AISTATS 2022)'
        """
        return f"{self.authors}: {self.dated_title}"

    @cached_property
    def _places(self) -> dict[str, tuple[int, str]]:
        listed = ((name, chapter) for chapter, names in self.contents.items() for name in names.split())
        return {name: (number, chapter) for number, (name, chapter) in enumerate(listed)}

    def place(self, id_: str) -> tuple[int, str]:
        """The place of a statement among the listed ones, and its chapter.

        >>> known()["das2022"].place("das2022.theorem3.repaired"), known()["das2022"].place("das2022.theorem5")
        ((1, 'Section 3'), (34, ''))
        """
        name = id_.removeprefix(f"{self.id}.")
        while name not in self._places and "." in name:
            name = name.rpartition(".")[0]
        return self._places.get(name, (len(self._places), ""))


@cache
def known() -> dict[str, Paper]:
    """Every paper by its id. Imports none of their statements.

    >>> known()["das2022"].title
    'Differentially Private Federated Learning with Normalized Updates'
    """
    package = str(Path(__file__).parent)
    names = [m.name for m in pkgutil.iter_modules([package]) if m.ispkg]
    return {name: importlib.import_module(f"dpfl_theory.statements.{name}").REFERENCE for name in names}
