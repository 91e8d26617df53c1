"""Run a sweep: finished cells come from the store, the others in packs from processes."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeGuard

from dpfl_theory.algorithms.user_files import file_of
from dpfl_theory.errors import InputError
from dpfl_theory.runtime.cache import Store, report_reused
from dpfl_theory.runtime.console import Progress, print_message, time_left
from dpfl_theory.runtime.executor import run_pieces
from dpfl_theory.runtime.keys import canonical, key
from dpfl_theory.runtime.slots import Slot, keep_all
from dpfl_theory.runtime.sources import sources
from dpfl_theory.runtime.versions import libraries
from dpfl_theory.sweep import bounds
from dpfl_theory.sweep.config import read
from dpfl_theory.sweep.design import Cell, Design, designed
from dpfl_theory.sweep.pack import WIDEST, Pack, packed
from dpfl_theory.sweep.problems import fingerprint
from dpfl_theory.sweep.table import Table

KIND = "cell"
Executor = Callable[..., list[list[str]]]
"""A function that runs pieces of work, as `dpfl_theory.runtime.executor.spread` does."""
_REPLICATES = 512
"""The default number of replicates of a pack."""
_ROUNDS = 2 * 10**6
"""The default number of rounds of all replicates of a pack."""
_SMALL = 10**6
"""Rounds of all replicates that take about a second."""
_RESTS_ON = ("dpfl_theory.sweep.pack",)
"""The module that runs cells; results depend on it and all its imports."""


def parts_of(cell: Cell) -> dict[str, Any]:
    """The dependencies of a cell's row, besides the package and its libraries."""
    parts = cell.document()
    varied = {name: value for name, value in cell.varied.items() if not name.endswith(".name")}
    file = file_of(cell.algorithm.kind)
    own = {} if file is None else {"file": file.read_text(encoding="utf-8")}
    return {**parts, "problem": fingerprint(parts["problem"]), "varied": varied, **own}


def _slot(store: Store, cell: Cell, parts: Mapping[str, Any]) -> Slot:
    about = f"{cell.algorithm.name} {dict(cell.varied)}"
    return sources().slot(store, KIND, about, canonical(parts), on=_RESTS_ON, packages=("dp-accounting",))


def usual_pack(cells: Sequence[Cell], jobs: int) -> int:
    """The default number of cells in a pack.

    They fill at least one block. Beyond that a pack has about `_REPLICATES` replicates and takes seconds. Each process
    gets several packs, so that cells are finished and stored from time to time.
    """
    replicates = max((cell.common.replicates for cell in cells), default=1)
    rounds = max((cell.common.rounds for cell in cells), default=1)
    fill = -(-WIDEST // replicates)
    return max(
        fill, min(_REPLICATES // replicates, _ROUNDS // (replicates * rounds), math.ceil(len(cells) / (8 * jobs)))
    )


def needs_processes(cells: Sequence[Cell]) -> bool:
    """Whether the work is worth more than one process, each of which takes seconds to start."""
    return sum(cell.common.replicates * cell.common.rounds for cell in cells) > _SMALL


def planned(config: Mapping[str, Any], label: str = "the configuration", sweep: bool = True) -> Design:
    """The design of a configuration, with its statements checked against its algorithms."""
    design = designed(config, label, sweep)
    names = list(dict.fromkeys(cell.algorithm.name for cell in design.cells))
    lines = {
        why
        for cell in design.cells[:1]
        for id_ in cell.common.statements
        if (why := bounds.refusal(id_, names, cell.common.every)) is not None
    }
    if lines:
        raise InputError(f"{label}: {'; '.join(sorted(lines))}")
    return design


def run(
    design: Design,
    *,
    jobs: int = 1,
    pack: int | None = None,
    limit: float | None = None,
    store: Store | None = None,
    resume: bool = False,
    over: Executor | None = None,
    progress: Progress | None = None,
) -> Table:
    """Run a design and return its table, with rows in the order of the cells.

    pack: maximum number of cells in a call of the kernels; limit: time limit of a cell [s]; store: where finished cells
    are stored; resume: whether they are reused; over: the function that runs the packs, by default `spread` for more
    than one of ``jobs``.
    """
    parts = [parts_of(cell) for cell in design.cells]
    keys = [key(KIND, own) for own in parts]
    slots = {} if store is None else {k: _slot(store, c, own) for k, c, own in zip(keys, design.cells, parts)}
    rows = {k: text for k, slot in slots.items() if resume and _whole(text := slot.take())}
    report_reused(store, sum(k in rows for k in keys), len(keys), "cells")
    left = [cell for cell, k in zip(design.cells, keys) if k not in rows]
    of_cell = {id(cell): k for cell, k in zip(design.cells, keys)}
    packs = packed(left, pack or usual_pack(left, jobs), limit)
    cost = [sum(c.common.replicates * c.common.rounds for c in pack.cells) for pack in packs]
    started, spent, finished = time.monotonic(), 0, 0

    def tell(*_: object) -> None:
        """Report the finished cells, and the time left at the rate so far."""
        if progress is not None and packs:
            share = spent / sum(cost)
            rest = time_left(share, time.monotonic() - started)
            progress(share, ", ".join(filter(None, (f"{finished} of {len(left)} cells", rest))))

    def done(piece: int, found: list[str]) -> None:
        nonlocal spent, finished
        own = {of_cell[id(cell)]: text for cell, text in zip(packs[piece].cells, found, strict=True)}
        rows.update(own)
        if store is not None:
            lasting = {k: text for k, text in own.items() if json.loads(text)["status"] == "done" or not _passing(text)}
            store.report_problem(keep_all([(slots[k], text) for k, text in lasting.items()]))
        spent, finished = spent + cost[piece], finished + len(own)
        tell()

    try:
        (over or run_pieces)(packs, jobs, done=done, waiting=tell)
    except BaseException:
        kept = f" and stored: the same command continues with the other {len(keys) - len(rows)}"
        print_message(f"{len(rows)} of {len(keys)} cells are finished{'' if store is None else kept}")
        raise
    table = [{"cell": i, **json.loads(rows[k])} for i, k in enumerate(keys)]
    every = design.cells[0].common.every if design.cells else 1
    seeds = sorted({cell.common.seed for cell in design.cells})
    metadata = {
        "configuration": design.config,
        "versions": libraries(),
        "axes": design.axes,
        "every": every,
        "seeds": seeds,
    }
    return Table(table, metadata)


def sweep(
    config: Mapping[str, Any] | str | Path,
    *,
    jobs: int = 1,
    pack: int | None = None,
    limit: float | None = None,
    store: Store | None = None,
    resume: bool = False,
    over: Executor | None = None,
) -> Table:
    """Run a sweep and return its table: a row for each cell, in the order of the design.

    Args:
        config: a mapping as in the TOML file (``dpfl-theory sweep --schema``), or the file's path.
        jobs: number of processes.
        pack: maximum number of cells in a call of the kernels. The numbers are the same for any jobs and any pack.
        limit: time limit of a cell [s]; a cell that takes longer is ended and listed.
        store, resume: where finished cells are stored, and whether they are reused.
        over: the function that runs the work, in place of processes (`dpfl_theory.runtime.executor.spread`).

    Returns:
        A `Table`, whose ``rows`` have for each cell ``status`` ("done" or "failed"), ``cause`` and the
        hyper-parameters. For each observable they have the mean over the replicates after the last round, and its
        standard error (``NAME``, ``NAME_error``). They have the same for the mean over rounds (``NAME_average``,
        ``NAME_average_error``). Where noise is added they have the certified ``epsilon``. For each statement they have
        ``ID:bound``, ``ID:measured``, ``ID:ratio``, ``ID:met`` (its hypotheses) and ``ID:hypotheses`` (what fails).

    Raises:
        InputError: with one sentence for each fault of the configuration.

    >>> table = sweep({"problem": {"name": "quadratic", "clients": 3}, "algorithm": {"name": "fedavg"}, "rounds": 5,
    ...                "grid": {"eta": [0.1, 0.5]}})
    >>> table.column("eta"), table.rows[0]["suboptimality"] > table.rows[1]["suboptimality"]
    ([0.1, 0.5], True)
    """
    if isinstance(config, Mapping):
        found, what = config, "the configuration"
    else:
        found, what = read(config), str(config)
    return run(planned(found, what), jobs=jobs, pack=pack, limit=limit, store=store, resume=resume, over=over)


def _whole(text: Any) -> TypeGuard[str]:
    """Whether a stored text is the row of a cell."""
    try:
        found = json.loads(text)
    except (TypeError, ValueError):
        return False
    return isinstance(found, dict) and "status" in found


def _passing(text: str) -> bool:
    """Whether a failure is transient: caused by a time limit or the machine."""
    cause = json.loads(text)["cause"]
    return not cause.startswith("diverged")


def single(design: Design, limit: float | None = None, progress: Callable[[float], None] | None = None) -> Table:
    """The table of a design with one cell, with every round. Failures before the run are raised. progress: called with
    the finished share, if there is no limit."""
    (cell,) = design.cells
    cell = replace(cell, common=cell.common.model_copy(update={"series": True}))
    (text,) = Pack((cell,), limit).run_raising(progress)
    metadata = {"configuration": design.config, "versions": libraries(), "every": cell.common.every}
    metadata["seeds"] = [cell.common.seed]
    return Table([{"cell": 0, **json.loads(text)}], metadata)
