"""What has ended when a command is interrupted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dpfl_theory.console import Progress, emit, say

if TYPE_CHECKING:
    from dpfl_theory.checks.evidence import Evidence

__all__ = ["Partial"]


class Partial:
    """The evidence of checks so far, in the order in which they are planned, and what is said of it on Ctrl-C.

    render: how evidence is shown on stdout; None where only a whole document would be given, for a part of one could be
    taken for the whole. kept: whether a store has what has ended.
    """

    def __init__(
        self,
        pairs: Sequence[Any],
        render: Callable[[Sequence[Evidence]], str] | None,
        kept: bool,
        progress: Progress,
    ) -> None:
        self.planned = len(pairs)
        self.render = render
        self.kept = kept
        self.progress = progress
        self.found: dict[int, Evidence] = {}

    def add(self, number: int, evidence: Evidence) -> None:
        """A check has ended."""
        self.found[number] = evidence

    def tell(self) -> None:
        """Show what there is, if it is shown in parts, and say how many there are and how it goes on."""
        self.progress.stop()
        found = dict(self.found)
        count = f"{len(found)} of {self.planned} checks"
        if found and self.render is not None:
            evidence = [found[i] for i in sorted(found)]
            emit(f"{self.render(evidence)}\n\nnot whole: {count}, since it was interrupted")
        if not found:
            return
        if self.kept:
            left = self.planned - len(found)
            say(f"{count} have ended, and are kept: the same command goes on with the other {left}")
        else:
            say(f"{count} have ended; the store is off, so that the same command begins anew")
