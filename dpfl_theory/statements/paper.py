"""The papers that have statements: who wrote them, and what they are called.

A paper is a package here; the first sentence of its docstring is ``AUTHORS: TITLE (YEAR).``.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["Paper", "known"]

_SENTENCE = re.compile(r"(?P<authors>[^:]+): (?P<title>.+?) \((?P<year>[^()]*\d{4})\)\.")


@dataclass(frozen=True)
class Paper:
    """A paper: its id, its authors, its title, where or when it appeared, and which copy was read."""

    id: str
    authors: str
    title: str
    year: str
    copy: str

    @property
    def heading(self) -> str:
        """The heading above its statements.

        >>> known()["noble2022"].heading
        'Noble, Bellet, Dieuleveut: Differentially Private Federated Learning on Heterogeneous Data (AISTATS 2022)'
        """
        return f"{self.authors}: {self.title} ({self.year})"


@cache
def known() -> dict[str, Paper]:
    """Every paper by its id. Imports none of their statements.

    >>> known()["das2022"].title
    'Differentially Private Federated Learning with Normalized Updates'
    """
    package = str(Path(__file__).parent)
    return {m.name: _read(m.name) for m in pkgutil.iter_modules([package]) if m.ispkg}


def _read(id_: str) -> Paper:
    first, _, rest = (importlib.import_module(f"dpfl_theory.statements.{id_}").__doc__ or "").partition("\n\n")
    sentence = _SENTENCE.fullmatch(" ".join(first.split()))
    if sentence is None:
        raise RuntimeError(f"the docstring of dpfl_theory.statements.{id_} does not start with AUTHORS: TITLE (YEAR).")
    return Paper(id_, sentence["authors"], sentence["title"], sentence["year"], " ".join(rest.split()))
