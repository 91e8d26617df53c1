"""Scripts as tasks for other processes, and their expected time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from dpfl_theory.runtime.cached_calls import CallResult, MissingCalls
from dpfl_theory.runtime.durations import validation_seconds
from dpfl_theory.runtime.executor import one_thread
from dpfl_theory.validation.run_record import RunOptions, ScriptResult, attempt, report
from dpfl_theory.validation.script import Script, load
from dpfl_theory.validation.series import File, Piece, PointResult, Points, Waiting, waiting_script

__all__ = ["Pieces", "in_process", "order_of", "seconds_of", "together"]


def together(scripts: Sequence[Script]) -> list[list[Script]]:
    """The scripts grouped by shared runs: those of one list run in one process, so that their runs are made once."""
    groups: dict[str, list[Script]] = {}
    for script in scripts:
        groups.setdefault(script.name if script.shares is None else f"shares {script.shares}", []).append(script)
    return list(groups.values())


def seconds_of(group: Sequence[Script], profile: str) -> float:
    """The expected time of a list of scripts on one core. Where that was not measured, it is at least the longest
    budget that one of them declares, which includes its shared runs."""
    usual = validation_seconds([script.name for script in group], profile)
    return max(script.about(profile) or 0.0 for script in group) if usual is None else usual


def order_of(groups: Sequence[Sequence[Script]], profile: str) -> list[int]:
    """The groups' numbers, the longest first, so that the last ones to end are short."""
    return sorted(range(len(groups)), key=lambda i: -seconds_of(groups[i], profile))


def in_process(
    scripts: Sequence[Script], options: RunOptions, results: Mapping[str, CallResult] | None = None
) -> Callable[[], list[ScriptResult | Waiting]]:
    """The function that another process calls to run these scripts one after the other, on one thread. They run as
    far as they get with these results of their requests."""
    files = tuple((script.path, script.folder) for script in scripts)
    return partial(_attempt_here, files, options.fit(), {} if results is None else results)


def _attempt_here(
    files: Sequence[File], options: RunOptions, results: Mapping[str, CallResult]
) -> list[ScriptResult | Waiting]:
    with one_thread():
        return [_as_far(load(*file), options, results) for file in files]


def _as_far(script: Script, options: RunOptions, results: Mapping[str, CallResult]) -> ScriptResult | Waiting:
    shares = [0.0]
    own = replace(options, context=replace(options.context, progress=shares.append))
    try:
        return attempt(script, own, results)
    except MissingCalls as wanted:
        return waiting_script(script, wanted, shares[-1])


class Pieces:
    """Scripts as tasks for other processes.

    The tasks are each group that shares its runs, then the calls that they request, and then the waiting scripts
    again. ``labels`` and ``costs`` [s] are of all tasks so far.

    first: the number of the first task, where there are others before.
    """

    def __init__(self, groups: Sequence[Sequence[Script]], options: RunOptions, first: int = 0) -> None:
        self.how, self.first = options, first
        self.endings: list[ScriptResult] = []
        self.begin: list[Callable[[], Any]] = [in_process(group, options) for group in groups]
        self.labels = [", ".join(script.name for script in group) for group in groups]
        self.costs = [max(1.0, seconds_of(group, options.context.profile)) for group in groups]
        self._points = Points(self._again, self._report_problem)
        for group, cost in zip(groups, self.costs):
            for script in group:
                self._points.costs(script.name, cost / len(group))

    def take(self, ending: ScriptResult) -> None:
        """A script ended."""
        self.endings.append(ending)
        report(ending, self.how)

    def done(self, piece: int, result: Any) -> list[Callable[[], Any]]:
        """Registers the result of a task; returns the tasks that this makes possible."""
        new = list[Piece]()
        for one in self._points.finish(result) if isinstance(result, PointResult) else result:
            if isinstance(one, ScriptResult):
                self.take(one)
            elif isinstance(one, Waiting):
                here = piece - self.first
                # the points have this cost now
                self.costs[here] = max(0.0, self.costs[here] - self._points.own_seconds(one.name))
                for more in self._points.waiting(one):
                    new.append(more) if isinstance(more, Piece) else self.take(more)
            else:
                new.append(one)
        self.labels += [piece.label for piece in new]
        self.costs += [piece.cost for piece in new]
        return [piece.work for piece in new]

    def label(self, piece: int) -> str:
        """The name of a task for people."""
        return self.labels[piece - self.first]

    def cost(self, piece: int) -> float:
        """The expected seconds of a task."""
        return self.costs[piece - self.first]

    @property
    def pending(self) -> float:
        """The expected seconds of scripts that wait for points, without these."""
        return self._points.pending

    def _again(self, file: File, results: Mapping[str, CallResult]) -> Callable[[], Any]:
        return in_process([load(*file)], self.how, results)

    def _report_problem(self, sentence: str) -> None:
        if self.how.store is not None:
            self.how.store.report_problem(sentence)
