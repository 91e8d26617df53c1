"""A paper: authors, title, the copy that was read, and the order of its pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property


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

        >>> Paper("ours2026", "Us", "A theorem", "2026", "the draft", {}).heading
        'Us: A theorem (2026)'
        """
        return f"{self.authors}: {self.dated_title}"

    @cached_property
    def _places(self) -> dict[str, tuple[int, str]]:
        listed = ((name, chapter) for chapter, names in self.contents.items() for name in names.split())
        return {name: (number, chapter) for number, (name, chapter) in enumerate(listed)}

    def place(self, id_: str) -> tuple[int, str]:
        """The place of a statement among the listed ones, and its chapter.

        >>> ours = Paper("ours2026", "Us", "A theorem", "2026", "the draft", {"Section 1": "lemma1 theorem1"})
        >>> ours.place("ours2026.theorem1.repaired"), ours.place("ours2026.lemma2")
        ((1, 'Section 1'), (2, ''))
        """
        name = id_.removeprefix(f"{self.id}.")
        while name not in self._places and "." in name:
            name = name.rpartition(".")[0]
        return self._places.get(name, (len(self._places), ""))
