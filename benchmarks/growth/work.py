"""The work as pieces with their seconds on one core: checks from the evidence of a whole run, validations from their
scripts' estimates and requests, sweeps of any size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.growth.model import Job
from dpfl_theory.runtime.cached_calls import CallResult, MissingCalls, RequestedCall, Reuse
from dpfl_theory.runtime.sources import sources
from dpfl_theory.runtime.time_limits import TimeoutExceeded, at_most
from dpfl_theory.validation import Context, Script, available, load
from dpfl_theory.validation.script import folder
from dpfl_theory.validation.tasks import seconds_of

__all__ = ["checks", "replicates_of", "sweep", "validations"]

_ASK_SECONDS = 60.0
"""Seconds within which a script that has points has requested the first ones."""
_BEGIN = 1.0
"""Seconds of a script until it knows its requests."""


def replicates_of(evidence: Sequence[Mapping[str, Any]]) -> list[int]:
    """The replicates of the checks that simulate."""
    return [e["replicates"] for e in evidence if e["replicates"]]


def checks(evidence: Sequence[Mapping[str, Any]], replicates: int | None = None) -> list[Job]:
    """Each check's seconds; checks that simulate fewer replicates than ``replicates`` count as if they simulated
    ``replicates``."""

    def seconds(e: Mapping[str, Any]) -> float:
        more = max(1.0, replicates / e["replicates"]) if replicates and e["replicates"] else 1.0
        return float(e["seconds"]) * more

    return [Job(s) for s in sorted(map(seconds, evidence), reverse=True)]


def sweep(cells: int, seconds: float, pack: int) -> list[Job]:
    """Cells of the given seconds each, in packs."""
    return [Job(seconds * min(pack, cells - k)) for k in range(0, cells, pack)]


def validations(profile: str, points: bool = True) -> tuple[list[Job], int]:
    """The scripts and their points, with their dependencies, and the number of points. Without ``points``, only
    scripts, and those that share their runs one after the other."""
    scripts = [load(path) for path in available().values()]
    jobs, known = list[Job](), dict[str, Job]()
    if not points:
        groups: dict[str, list[Script]] = {}
        for script in scripts:
            groups.setdefault(script.shares or script.name, []).append(script)
        return [Job(seconds_of(group, profile)) for group in groups.values()], 0
    for script in scripts:
        levels = _asked(script, profile)
        whole = script.budget[profile]
        if not levels:
            jobs.append(Job(whole))
            continue
        weights = [[_weight(asked.call) for asked in level] for level in levels]
        per = whole / sum(map(sum, weights))
        attempt = Job(_BEGIN)
        jobs.append(attempt)
        for level, weight in zip(levels, weights):
            again = Job(_BEGIN)
            for asked, own in zip(level, weight):
                if asked.name not in known:
                    known[asked.name] = Job(own * per)
                    attempt.before(known[asked.name])
                    jobs.append(known[asked.name])
                known[asked.name].before(again)
            jobs.append(again)
            attempt = again
    return jobs, len(known)


def _asked(script: Script, profile: str) -> list[list[RequestedCall]]:
    """The points of a script, by their dependencies; the first ones have artificial results."""
    if not any(".each(" in file.read_text() for file in _files(script)):
        return []
    found, given = list[list[RequestedCall]](), dict[str, CallResult]()
    made_up = {"eta_0": 0.1, "at_edge": False, "scores": []}
    while len(found) < 2:
        try:
            with at_most(_ASK_SECONDS):
                script.compute(replace(Context(profile), reuse=Reuse(given=given)))
        except TimeoutExceeded:
            break
        except MissingCalls as wanted:
            found.append(list({asked.name: asked for asked in wanted.asked}.values()))
            if found[-1][0].call.func.__name__ != "tuned":
                break
            given |= {asked.name: CallResult(made_up, 0.0) for asked in wanted.asked}
        else:
            break
    return found


def _files(script: Script) -> list[Path]:
    """The script and the helpers that it imports."""
    graph = sources().graph
    return [file for file in graph.closure([script.path.resolve()]) if file.is_relative_to(folder())]


def _weight(call: partial[Any]) -> float:
    """The relative time of a point among those of its script: local steps of all users in all rounds and replicates."""
    if call.func.__name__ not in ("tuned", "measured", "accuracies"):
        return 1.0
    name, setting, *others = call.args
    steps = 1.0 if "FedSGD" in name else setting.local_steps * setting.record_rate
    if call.func.__name__ != "tuned":
        return float(setting.rounds * setting.replicates * steps)
    folds, grid = others[1], others[3] if len(others) > 3 else range(10)
    rounds = min(setting.rounds, others[4] if len(others) > 4 else 100)
    tried = others[5] if len(others) > 5 else grid
    return float(rounds * len(tried) * folds * steps)
