"""Partial results of an interrupted command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dpfl_theory.runtime.console import Progress, emit, print_message

if TYPE_CHECKING:
    from dpfl_theory.core.evidence import Evidence

__all__ = ["Partial"]


class Partial:
    """The evidence of checks so far, in the planned order, and the message about it on Ctrl-C.

    render: how evidence is shown on stdout. It is None where only a complete document would be printed, since a part of
    one could be taken for the whole. kept: whether a store has the finished results.
    """

    def __init__(
        self,
        pairs: Sequence[Any],
        render: Callable[[Sequence[Evidence]], str] | None,
        retained: bool,
        progress: Progress,
    ) -> None:
        self.planned = len(pairs)
        self.render = render
        self.kept = retained
        self.progress = progress
        self.found: dict[int, Evidence] = {}

    def add(self, number: int, evidence: Evidence) -> None:
        """Add the evidence of a finished check."""
        self.found[number] = evidence

    def report(self) -> None:
        """Show the available evidence, if parts may be shown, and report its number and how to continue."""
        self.progress.stop()
        found = dict(self.found)
        count = f"{len(found)} of {self.planned} checks"
        if found and self.render is not None:
            evidence = [found[i] for i in sorted(found)]
            emit(f"{self.render(evidence)}\n\nincomplete: {count}, since it was interrupted")
        if not found:
            return
        if self.kept:
            left = self.planned - len(found)
            print_message(f"{count} are finished and stored: the same command continues with the other {left}")
        else:
            print_message(f"{count} are finished; the store is off, so that the same command starts again")
