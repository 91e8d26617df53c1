"""Scripts as tasks for other processes, and their expected time.

Other processes compute the calls of ``context.each``, and then the script runs again, with the results. A script is run
until it requests calls whose results are missing. These are separate tasks for any process, and are computed once for
all scripts that request them. When all results of a script are available it is run again, and gets further: it ends
when nothing is missing. So a script can use as many processes as it has points, not only one.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from dpfl_theory.runtime.cached_calls import CallResult, MissingCalls, RequestedCall
from dpfl_theory.runtime.evidence_table import validation_seconds
from dpfl_theory.runtime.executor import one_thread
from dpfl_theory.runtime.recorded_warnings import counted, recorded
from dpfl_theory.runtime.slots import StoredResult
from dpfl_theory.validation.run import RunOptions, ScriptResult, attempt, failure, report
from dpfl_theory.validation.script import Script, known_to_python, load

File = tuple[Path, Path | None]
"""A script's file, and the folder of scripts that it is found in."""


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


@dataclass(frozen=True)
class PointResult:
    """The result of a point by its key, why it could not be stored, and why it failed, if so."""

    key: str
    result: CallResult
    trouble: str = ""
    failure: ScriptResult | None = None


@dataclass(frozen=True)
class Point:
    """A call of a script, for another process: its key in this run, its name for people, the folder of scripts whose
    functions it may call, and itself, pickled."""

    key: str
    about: str
    folder: Path
    content: bytes

    def __call__(self) -> PointResult:
        """Make the call, and store the result; a failure is reported and not raised."""
        started = time.perf_counter()
        try:
            known_to_python(self.folder)
            with one_thread(), recorded() as warned:
                ended: StoredResult[Any] = pickle.loads(self.content)()
        except Exception as error:
            return PointResult(self.key, CallResult(None, 0.0), failure=failure(self.about, error))
        seconds = time.perf_counter() - started
        return PointResult(self.key, CallResult(ended.result, seconds, counted(warned)), ended.trouble)


@dataclass(frozen=True)
class Waiting:
    """A script that cannot continue before these points are computed; ``share`` of its work is done then, as it
    says."""

    file: File
    name: str
    points: tuple[Point, ...]
    share: float


def _run_scripts(
    files: Sequence[File], options: RunOptions, results: Mapping[str, CallResult]
) -> list[ScriptResult | Waiting]:
    """Run scripts one after the other, on one thread, as far as they get with these results of their requests."""
    with one_thread():
        return [_run_script(load(*file), options, results) for file in files]


def _run_script(script: Script, options: RunOptions, results: Mapping[str, CallResult]) -> ScriptResult | Waiting:
    shares = [0.0]
    folder = script.path.parent if script.folder is None else script.folder

    def point(call: RequestedCall) -> Point:
        return Point(call.name, call.slot.about, folder, pickle.dumps(call))

    try:
        return attempt(script, replace(options, context=replace(options.context, progress=shares.append)), results)
    except MissingCalls as wanted:
        return Waiting((script.path, script.folder), script.name, tuple(map(point, wanted.asked)), shares[-1])


class Pieces:
    """Scripts as tasks for other processes.

    The tasks are each group that shares its runs, then the calls that they request, and then the waiting scripts
    again. ``labels`` and ``costs`` [s] are of all tasks so far.

    first: the number of the first task, where there are others before.
    """

    def __init__(self, groups: Sequence[Sequence[Script]], options: RunOptions, first: int = 0) -> None:
        self.how, self.first = options, first
        self.endings: list[ScriptResult] = []
        self.begin = [self._task([(script.path, script.folder) for script in group], {}) for group in groups]
        self.labels = [", ".join(script.name for script in group) for group in groups]
        self.costs = [max(1.0, seconds_of(group, options.context.profile)) for group in groups]
        self._whole = {script.name: cost / len(group) for group, cost in zip(groups, self.costs) for script in group}
        """The expected seconds of each script."""
        self._left = dict(self._whole)
        """The remaining ones, without its points."""
        self._made: dict[str, PointResult] = {}
        self._first: dict[str, str] = {}
        """The script that requested a point first, which its seconds count for."""
        self._open: dict[str, Waiting] = {}
        self._asked: dict[str, set[str]] = {}

    def take(self, ending: ScriptResult) -> None:
        """A script ended."""
        self.endings.append(ending)
        report(ending, self.how)

    def done(self, piece: int, result: PointResult | Sequence[ScriptResult | Waiting]) -> list[Callable[[], Any]]:
        """Registers the result of a task; returns the tasks that this makes possible."""
        new = list[tuple[Callable[[], Any], str, float]]()
        if isinstance(result, PointResult):
            self._made[result.key] = result
            if self.how.store is not None:
                self.how.store.report_problem(result.trouble)
        else:
            for one in result:
                if isinstance(one, Waiting):
                    new += self._points(one, piece - self.first)
                else:
                    self.take(one)
        new += self._again()
        self.labels += [label for _, label, _ in new]
        self.costs += [cost for _, _, cost in new]
        return [work for work, _, _ in new]

    def label(self, piece: int) -> str:
        """The name of a task for people."""
        return self.labels[piece - self.first]

    def cost(self, piece: int) -> float:
        """The expected seconds of a task."""
        return self.costs[piece - self.first]

    @property
    def pending(self) -> float:
        """The expected seconds of scripts that wait for points, without these."""
        return sum(self._left[name] for name in self._open)

    def _points(self, found: Waiting, here: int) -> Iterator[tuple[Callable[[], Any], str, float]]:
        """The points of a waiting script that no process has started. The script's costs until then count for them."""
        name, before = found.name, self._left[found.name]
        self._open[name] = found
        self._asked.setdefault(name, set()).update(point.key for point in found.points)
        new = {
            p.key: p for p in found.points if self._first.setdefault(p.key, name) == name and p.key not in self._made
        }
        self.costs[here] = max(0.0, self.costs[here] - before)
        self._left[name] = rest = min(before, self._whole[name] * (1.0 - min(1.0, found.share)))
        for point in new.values():
            yield point, f"{name}: {point.about}", (before - rest) / len(new)

    def _again(self) -> Iterator[tuple[Callable[[], Any], str, float]]:
        """Scripts that can continue; those that no longer can end."""
        for name, waiting in list(self._open.items()):
            points = {key: self._made[key] for key in self._asked[name] & self._made.keys()}
            failed = next((point.failure for point in points.values() if point.failure is not None), None)
            if failed is not None:
                self.take(replace(failed, name=name, failure=f"{failed.name}: {failed.failure}"))
            elif len(points) == len(self._asked[name]):
                given = {
                    key: p.result if self._first[key] == name else replace(p.result, seconds=0.0)
                    for key, p in points.items()
                }
                yield self._task([waiting.file], given), name, self._left[name]
            else:
                continue
            del self._open[name]

    def _task(self, files: Sequence[File], results: Mapping[str, CallResult]) -> Callable[[], Any]:
        return partial(_run_scripts, files, self.how.fit(), results)
