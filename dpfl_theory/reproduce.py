"""Run the checks of the catalogue and every validation in parallel, with a report after a minute that is updated later.

Finished work is kept when the rest fails or is interrupted. Each validation writes its own files. The evidence of
checks so far is kept next to that of the last complete run until this run is complete.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from dpfl_theory.checks.cache import load_stored, places
from dpfl_theory.checks.profiles import standard
from dpfl_theory.checks.runner import Pair, expected_seconds, report_of, settings_of, tasks_of
from dpfl_theory.checks.workers import work_of
from dpfl_theory.core import methods
from dpfl_theory.core.evidence import Evidence, exit_code, summary_line
from dpfl_theory.precompile import compile_kernels
from dpfl_theory.report.build import build
from dpfl_theory.runtime.atomic_files import write
from dpfl_theory.runtime.cache import report_reused
from dpfl_theory.runtime.console import Progress, as_options, print_message, seconds_left
from dpfl_theory.runtime.executor import spread
from dpfl_theory.runtime.forecast import Forecast
from dpfl_theory.runtime.slots import StoredResult
from dpfl_theory.validation import Script
from dpfl_theory.validation.run import RunOptions, ScriptResult, attempt, subfolder
from dpfl_theory.validation.run import exit_code as code_of
from dpfl_theory.validation.tasks import Pieces, PointResult, Waiting, together

FIRST_PAGE_SECONDS = 40.0
RENEWAL_SECONDS = 120.0
"""The pages are rebuilt no more often, because that takes several seconds of a core."""
Result = StoredResult[Evidence] | list[ScriptResult | Waiting] | PointResult | None
"""The results of pieces of work: of checks, scripts, their points, and the one that compiles kernels."""


def reproduce(pairs: Sequence[Pair], scripts: Sequence[Script], options: RunOptions, *, alpha: float, jobs: int) -> int:
    """Run the checks that the profile selects, and these validations, in ``jobs`` processes.

    Evidence, figures and pages are written to the output folder, and a summary to stderr. Results in the store are
    reused, and new ones are stored at once. All profiles split alpha over the same checks, so that a check has the same
    result in each.

    Returns the exit code of the first script that failed. Otherwise it is 1 where a decided result differs from its
    record, 3 where only undecided results do, and 0 in all other cases.
    """
    work = _Work(pairs, scripts, options, alpha, jobs)
    with Progress("reproduce") as progress:
        work.progress = progress
        try:
            work.take()
            if work.order:
                spread(work.pieces, jobs, work.order, done=work.done, waiting=work.waiting)
        except BaseException:
            work.keep_finished()
            raise
    return work.finish()


def order_of(pairs: Sequence[Pair], cost: Sequence[float]) -> list[int]:
    """The order in which pieces start.

    The first is the piece numbered after the checks, which compiles kernels. Checks without a simulation follow, which
    need no kernels and fill the first page; then all others. In each group the longest start first, so that no process
    is idle at the end.
    """
    compiling = len(pairs)
    others = [i for i in range(len(cost)) if i != compiling]
    symbolic = {i for i, (_, c) in enumerate(pairs) if not methods.get(c.method).simulates}
    return [compiling, *sorted(others, key=lambda i: (i not in symbolic, -cost[i]))]


class _Work:
    """The pieces of work (checks, then scripts, then the compilation of kernels) with the results of the finished
    ones."""

    def __init__(
        self, pairs: Sequence[Pair], scripts: Sequence[Script], options: RunOptions, alpha: float, jobs: int
    ) -> None:
        self.all, self.scripts, self.how, self.alpha = pairs, scripts, options, alpha
        self.profile = "standard" if options.context.profile == "standard" else "full"
        self.pairs = standard(pairs) if self.profile == "standard" else pairs
        self.output = options.output
        self.settings = settings_of(pairs, alpha, options.context.seed, options.context.device)
        self.places = places(self.pairs, self.settings, options.store)
        self.compiling = len(self.pairs)
        """The number of the piece that compiles the kernels; checks have lower numbers, scripts higher ones."""
        self.figures = Pieces((), options, len(self.pairs) + 1)
        self.pieces: Sequence[Callable[[], Result]] = ()
        self.usual: list[float] = []
        self.order: list[int] = []
        self.ended: set[int] = set()
        self.evidence: dict[int, Evidence] = {}
        self.begun = time.monotonic()
        self.forecast = Forecast(jobs, self.cost)
        self.next_page = self.begun + FIRST_PAGE_SECONDS
        self.progress: Progress | None = None

    def take(self) -> None:
        """Take the results in the store; all others become pieces of work."""
        self.evidence = {} if self.how.fresh else load_stored(self.places)
        there = self.how.reused(self.scripts)
        left = together([script for script in self.scripts if script not in there])
        self.figures = Pieces(left, self.how, self.compiling + 1)
        for script in there:
            self.figures.take(attempt(script, self.how))
        report_reused(self.how.store, len(self.evidence), len(self.pairs), "checks")
        report_reused(self.how.store, len(there), len(self.scripts), "validations")
        self.pieces = (
            *work_of(tasks_of(self.pairs), self.settings, self.places),
            functools.partial(compile_kernels, self.how.context.device),
            *self.figures.begin,
        )
        self.usual = [*expected_seconds(self.pairs), 1.0]
        order = order_of(self.pairs, [self.cost(i) for i in range(len(self.pieces))])
        self.order = [i for i in order if i not in self.evidence]
        if self.order == [self.compiling]:
            self.order = []

    @property
    def endings(self) -> list[ScriptResult]:
        """The outcomes of the scripts so far."""
        return self.figures.endings

    def cost(self, piece: int) -> float:
        """The expected seconds of a piece of work."""
        return self.usual[piece] if piece <= self.compiling else self.figures.cost(piece)

    def done(self, piece: int, result: Result) -> list[Callable[[], Result]]:
        """Keep the result of a piece of work; return the pieces that it makes possible."""
        self.ended.add(piece)
        if piece == self.compiling:  # its duration depends on the machine's cache and says nothing about the others
            self.forecast = Forecast(self.forecast.jobs, self.cost)
        else:
            self.forecast.ended(piece)
        if isinstance(result, StoredResult):
            self.evidence[piece] = result.result
            if self.how.store is not None:
                self.how.store.report_problem(result.trouble)
        return self.figures.done(piece, result) if isinstance(result, list | PointResult) else []

    def waiting(self, remaining: list[int]) -> None:
        """Report the progress, and update the pages from time to time."""
        open_, ended = (sum(map(self.cost, numbers)) for numbers in (remaining, self.ended))
        share = ended / max(1.0, open_ + ended + self.figures.pending)
        seconds = self.forecast.remaining_seconds(remaining, self.figures.pending)
        rest = "" if seconds is None else seconds_left(seconds)
        if self.progress is not None:
            self.progress(share, "; ".join(filter(None, (rest, self.label(remaining[0])))))
        if time.monotonic() >= self.next_page and (self.evidence or self.endings):
            first = self.next_page == self.begun + FIRST_PAGE_SECONDS
            page = self.page(", ".join(filter(None, (self.unfinished_text(remaining), rest))))
            self.next_page = time.monotonic() + RENEWAL_SECONDS
            if first:
                print_message(f"results so far, updated as more arrive: {page}")

    def label(self, piece: int) -> str:
        """The label of a piece of work."""
        if piece == self.compiling:
            return "kernels are compiled"
        if piece > self.compiling:
            return self.figures.label(piece)
        statement, c = self.pairs[piece]
        return f"{statement.id} {c.method} {c.name}"

    def unfinished_text(self, remaining: Sequence[int]) -> str:
        """The unfinished work, in words."""
        checks = sum(i < len(self.pairs) for i in remaining)
        return f"{checks} checks and {len(self.scripts) - len(self.endings)} figures and tables are still to come"

    def page(self, unfinished: str) -> Path:
        """Write the evidence so far and the pages from it."""
        if self.evidence:
            self.write_evidence("check-so-far")
        return build(self.output, print_message, redraw=False, unfinished=unfinished)

    def write_evidence(self, name: str) -> dict[str, object]:
        """Write the evidence of the finished checks as one document; return its summary."""
        ended = sorted(self.evidence)
        report = report_of(
            [self.pairs[i] for i in ended],
            [self.evidence[i] for i in ended],
            self.alpha,
            time.monotonic() - self.begun,
            self.profile if len(ended) == len(self.pairs) else "",
        )
        document = report.to_json()
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
        write(subfolder(self.output, "evidence") / f"{name}.json", text + "\n")
        summary: dict[str, object] = document["summary"]
        return summary

    def keep_finished(self) -> None:
        """Write the finished results when the rest fails or is interrupted."""
        if self.evidence or self.endings:
            page = self.page("it was stopped before the end")
            checks, scripts = len(self.evidence), len(self.endings)
            print_message(
                f"kept: {checks} of {len(self.pairs)} checks, {scripts} of {len(self.scripts)} validations: {page}"
            )

    def finish(self) -> int:
        """Write all evidence and the pages; return the exit code."""
        codes = [code_of(self.endings)]
        if self.pairs:
            summary = self.write_evidence("check")
            print_message(f"check: {summary_line(summary)}")
            if len(self.pairs) < len(self.all):
                left = len(self.all) - len(self.pairs)
                print_message(as_options(f"{left} of {len(self.all)} checks are left out: `full` runs all"))
            codes.append(exit_code(summary))
        (self.output / "evidence" / "check-so-far.json").unlink(missing_ok=True)
        page = build(self.output, print_message, redraw=False)
        print_message(f"the report is at {page}, made in {time.monotonic() - self.begun:.0f} s")
        return min((c for c in codes if c), key=lambda c: (c in (1, 3), c), default=0)
