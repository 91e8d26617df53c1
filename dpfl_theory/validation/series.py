"""Long validations on many processes: other processes compute the calls of ``context.each``, and then the script runs
again, with the results.

A script is run until it requests calls whose results are missing. These are separate tasks for any process, and are
computed once for all scripts that request them. When all results of a script are available it is run again, and gets
further: it ends when nothing is missing. So a script can use as many processes as it has points, not only one.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpfl_theory.runtime.cached_calls import CallResult, MissingCalls, RequestedCall
from dpfl_theory.runtime.executor import one_thread
from dpfl_theory.runtime.recorded_warnings import counted, recorded
from dpfl_theory.runtime.slots import StoredResult
from dpfl_theory.validation.run_record import ScriptResult, failure
from dpfl_theory.validation.script import Script, known_to_python

__all__ = ["Piece", "Point", "PointResult", "Points", "Waiting", "waiting_script"]

File = tuple[Path, Path | None]
"""A script's file, and the folder of scripts that it is found in."""


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
class PointResult:
    """The result of a point, why it could not be stored, and why it failed, if so."""

    key: str
    result: CallResult
    trouble: str = ""
    failure: ScriptResult | None = None


@dataclass(frozen=True)
class Waiting:
    """A script that cannot continue before these points are computed; ``share`` of its work is done then, as it
    says."""

    file: File
    name: str
    points: tuple[Point, ...]
    share: float


def waiting_script(script: Script, wanted: MissingCalls, share: float) -> Waiting:
    """The state of a waiting script that has requested these calls, and the share of its work that is done with
    them."""
    folder = script.path.parent if script.folder is None else script.folder

    def point(call: RequestedCall) -> Point:
        return Point(call.name, call.slot.about, folder, pickle.dumps(call))

    return Waiting((script.path, script.folder), script.name, tuple(map(point, wanted.asked)), share)


@dataclass(frozen=True)
class Piece:
    """A task for any process, its name for people, and its expected seconds."""

    work: Callable[[], Any]
    label: str
    cost: float


class Points:
    """The scripts that wait for calls, and the results of the calls.

    again: the work of running a script again, with the results that it requested so far. tell: called with an error of
    the store.
    """

    def __init__(
        self, again: Callable[[File, Mapping[str, CallResult]], Callable[[], Any]], tell: Callable[[str], None]
    ) -> None:
        self._again = again
        self._tell = tell
        self._made: dict[str, PointResult] = {}
        self._of: dict[str, str] = {}
        self._open: dict[str, tuple[Waiting, set[str]]] = {}
        self._asked: dict[str, set[str]] = {}
        self._cost: dict[str, float] = {}
        self._left: dict[str, float] = {}

    def costs(self, script: str, seconds: float) -> None:
        """The total expected time of a script, as far as it is known."""
        self._cost[script] = self._left[script] = seconds

    def own_seconds(self, script: str) -> float:
        """The remaining expected time of a script itself, without its points."""
        return self._left.get(script, 0.0)

    @property
    def pending(self) -> float:
        """The remaining expected time of the waiting scripts, without their points."""
        return sum(map(self.own_seconds, self._open))

    def waiting(self, found: Waiting) -> list[Piece | ScriptResult]:
        """Registers a waiting script; returns the points that no process has started yet. The script's costs until then
        are attributed to them."""
        name, points = found.name, {p.key: p for p in found.points}
        self._asked.setdefault(name, set()).update(points)
        self._open[name] = found, points.keys() - self._made.keys()
        new = [p for key, p in points.items() if self._of.setdefault(key, name) == name and key not in self._made]
        before, after = self.own_seconds(name), self._cost.get(name, 1.0) * (1.0 - min(1.0, found.share))
        self._left[name] = rest = min(before, after)
        pieces = [Piece(p, f"{name}: {p.about}", (before - rest) / len(new)) for p in new]
        return [*pieces, *self._ready_scripts()]

    def finish(self, found: PointResult) -> list[Piece | ScriptResult]:
        """Registers a computed or failed point; returns the scripts that waited only for it, or that end with it."""
        self._tell(found.trouble)
        self._made[found.key] = found
        for _, missing in self._open.values():
            missing.discard(found.key)
        return self._ready_scripts()

    def _ready_scripts(self) -> list[Piece | ScriptResult]:
        """Scripts that can continue, and those that no longer can."""
        found = list[Piece | ScriptResult]()
        for name, (waiting, missing) in list(self._open.items()):
            points = {key: self._made[key] for key in self._asked[name] & self._made.keys()}
            failed = next((point.failure for point in points.values() if point.failure is not None), None)
            if failed is not None:
                found.append(replace(failed, name=name, failure=f"{failed.name}: {failed.failure}"))
            elif not missing:
                none = 0.0  # shared points count for the first script that requested them
                given = {
                    k: p.result if self._of[k] == name else replace(p.result, seconds=none) for k, p in points.items()
                }
                found.append(Piece(self._again(waiting.file, given), name, self._left[name]))
            else:
                continue
            del self._open[name]
        return found
