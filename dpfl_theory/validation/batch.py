"""Runs scripts in parallel."""

from __future__ import annotations

import fnmatch
import glob
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpfl_theory.errors import InputError, unknown_name
from dpfl_theory.kernels import DEVICES, select
from dpfl_theory.runtime.atomic_files import writable
from dpfl_theory.runtime.cache import Store, report_reused
from dpfl_theory.runtime.console import Progress, choice, parse_seed, print_message, seconds_left
from dpfl_theory.runtime.executor import several, spread
from dpfl_theory.runtime.forecast import Forecast
from dpfl_theory.runtime.threads import usable_cores
from dpfl_theory.validation.run import RunOptions, ScriptResult, attempt, exit_code, report
from dpfl_theory.validation.script import Context, Script, available, folder, load, profile_of
from dpfl_theory.validation.tasks import Pieces, order_of, together


def run_all(scripts: Sequence[Script], options: RunOptions, jobs: int) -> int:
    """Run the scripts and report the results on stderr; returns the exit code.

    With several jobs there are that many processes with a thread each, and the longest script comes first. Scripts that
    share runs run one after the other in one process, and so do the points that scripts request. With one job the
    scripts run here, one after the other, with all available threads. A script that fails does not stop the others. The
    results are the same. Stored results are used first.
    """
    there = options.reused(scripts)
    endings = [_announce(attempt(script, options), options) for script in there]
    left = [script for script in scripts if script not in there]
    groups = together(left)
    if several(jobs, len(groups)):
        endings += _spread(groups, options, jobs)
    else:
        endings += [_alone(script, options) for script in left]
    report_reused(options.store, len(there), len(scripts), "validations")
    return exit_code(endings)


def _announce(ending: ScriptResult, options: RunOptions) -> ScriptResult:
    report(ending, options)
    return ending


def _alone(script: Script, options: RunOptions) -> ScriptResult:
    budget = script.about(options.context.profile)
    print_message(
        f"{script.name}: {script.title} ({options.context.profile}{f', about {budget:g} s' if budget else ''})"
    )
    with Progress(f"  {script.name}") as progress:
        ending = attempt(script, replace(options, context=replace(options.context, progress=progress)))
    return _announce(ending, options)


def _spread(groups: Sequence[Sequence[Script]], options: RunOptions, jobs: int) -> list[ScriptResult]:
    pieces = Pieces(groups, options)
    with Progress("validate") as progress:

        def waiting(remaining: list[int]) -> None:
            open_, ended = (sum(map(pieces.cost, numbers)) for numbers in (remaining, finished))
            share = ended / max(1.0, open_ + ended + pieces.pending)
            seconds = forecast.remaining_seconds(remaining, pieces.pending)
            status = (None if seconds is None else seconds_left(seconds), f"waiting for {pieces.label(remaining[0])}")
            progress(share, "; ".join(filter(None, status)))

        def done(piece: int, result: Any) -> list[Callable[[], Any]]:
            finished.append(piece)
            forecast.ended(piece)
            return pieces.done(piece, result)

        finished, forecast = list[int](), Forecast(jobs, pieces.cost)
        spread(pieces.begin, jobs, order_of(groups, options.context.profile), done=done, waiting=waiting)
    return pieces.endings


def validate(
    names: Sequence[str],
    *,
    full: bool = False,
    paper: bool = False,
    output: str,
    seed: str,
    device: str,
    data: str | None = None,
    place: Path | None = None,
    jobs: int | None = None,
    store: Store | None = None,
    fresh: bool = False,
) -> int:
    """Run the named scripts (all when none is named) of a folder (``place``; the package's own when it is None) with
    the options of the command line; by default in one process for each core, and one on a GPU."""
    known = available(place)
    if not known:
        raise InputError(f"there is no validation script in {str(place or folder())!r}")
    chosen = _named(names, known)
    context = Context(profile_of(full, paper), parse_seed(seed), choice("device", device, DEVICES), data)
    target = writable(output, folder=True)
    scripts = [load(known[name], place) for name in chosen]
    if data is not None:
        _usable(data, names, scripts)
    return run_all(scripts, RunOptions(context, target, store, fresh), jobs or default_jobs(device))


def _named(names: Sequence[str], known: Collection[str]) -> list[str]:
    """The scripts that these words name, all without words: a name, a pattern of names, or the catalogue's id with its
    dots (das2022.figure2). Raises InputError for a word that names none."""
    chosen = []
    for name in names:
        own = name.replace(".", "_")
        fitting = fnmatch.filter(known, own) if glob.has_magic(own) else [own] if own in known else []
        if not fitting:
            raise unknown_name("validation", name, known)
        chosen += fitting
    return list(dict.fromkeys(chosen)) if names else list(known)


def default_jobs(device: str) -> int:
    """One process for each core, and a single one where a GPU is used."""
    return usable_cores() if select(device).name == "cpu" else 1


def _usable(data: str, names: Sequence[str], scripts: Sequence[Script]) -> None:
    """Raise InputError unless the data file exists and each script, which must be named, takes one."""
    if not names:
        takers = ", ".join(script.name for script in scripts if script.data is not None) or "none here does"
        raise InputError(f"`data` {data!r} is for no particular validation: name one that takes a file ({takers})")
    for script in scripts:
        if script.data is None:
            raise InputError(f"validation {script.name!r} takes no data file: leave out `data` {data!r}")
    if not Path(data).is_file():
        raise InputError(f"data file {data!r} does not exist: give {scripts[0].data}")
