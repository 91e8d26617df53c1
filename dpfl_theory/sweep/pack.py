"""Packs: cells that differ only in hyper-parameters and seeds, run as replicates of one call of the kernels.

The noise of a replicate is addressed by the seed of its cell and its number within the cell. Every block has the same
number of replicates; the last one is filled up with copies. Each matrix product then has the same shape for any
packing, and a row of it does not depend on the others. So a cell's numbers are the same, bit for bit, for any packing
and any number of processes. Where clients are sampled, a product may cover only some replicates, and each cell has its
own blocks.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dpfl_theory import statements
from dpfl_theory.errors import DpflError, InputError, format_error
from dpfl_theory.kernels.engine import Replicates
from dpfl_theory.problems.base import Problem
from dpfl_theory.runtime.executor import one_thread
from dpfl_theory.runtime.time_limits import limited
from dpfl_theory.simulation import Run, simulate
from dpfl_theory.simulation.divergence import NEVER, divergence_text
from dpfl_theory.simulation.simulate import standard_error
from dpfl_theory.sweep import bounds
from dpfl_theory.sweep.config import document
from dpfl_theory.sweep.design import Cell
from dpfl_theory.sweep.problems import build_problem

WIDEST = 32
"""Replicates of a block: a multiple of the block sizes of every BLAS, and enough for an efficient round."""
MOST_KEPT = 2**27
"""Maximum number of values in a cell's series: a gigabyte."""
MOST_REPLICATES = 10**6
"""Maximum number of replicates of a cell; further ones need cells with another seed."""
Row = dict[str, Any]


@lru_cache(maxsize=4)
def problem_of(table: str) -> Problem:
    """The problem of a table in JSON."""
    return build_problem(json.loads(table))


def width_of(problem: Problem) -> int:
    """Replicates of a block, which depend only on the problem."""
    return WIDEST if problem.n * problem.d <= 2**16 else WIDEST // 2


@dataclass(frozen=True)
class Pack:
    """Cells of one group, with the time limit ``limit`` of a cell [s]."""

    cells: tuple[Cell, ...]
    limit: float | None = None

    def __call__(self) -> list[str]:
        """The rows of the cells, as JSON. A failed cell gives a row with the cause and does not affect others."""
        try:
            return self.run_raising()
        except Exception as error:
            if len(self.cells) > 1:
                return [row for cell in self.cells for row in Pack((cell,), self.limit)()]
            cause = str(error) if isinstance(error, DpflError) else format_error(error)
            return [json.dumps({**_row_of(self.cells[0]), "status": "failed", "cause": cause})]

    def run_raising(self, progress: Callable[[float], None] | None = None) -> list[str]:
        """The same, but errors are raised. progress: called with the finished share, unless a time limit requires a
        separate process."""
        return self._run(progress) if self.limit is None else limited(self._run, self.limit)

    def _run(self, progress: Callable[[float], None] | None = None) -> list[str]:
        with one_thread(), np.errstate(all="ignore"):
            return [json.dumps(row) for row in _rows(self.cells, progress)]


def group_of(cell: Cell) -> str:
    """The common data of cells that may share a pack."""
    model, common = cell.algorithm, document(cell.common)
    shared = {name: getattr(model, name) for name in (*model.shared, "cohort", "sampling") if hasattr(model, name)}
    less = {key: value for key, value in common.items() if key not in ("seed", "replicates", "privacy")}
    less["privacy"] = {key: value for key, value in common["privacy"].items() if key != "epsilon"}
    silent = model.silent(cell.common.privacy)
    return json.dumps([cell.problem, model.name, shared, silent, less], sort_keys=True)


def packed(cells: Sequence[Cell], maximum: int, limit: float | None = None) -> list[Pack]:
    """Divide the cells into packs of at most ``maximum`` cells, in their order within a group."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(group_of(cell), []).append(cell)
    return [
        Pack(tuple(group[first : first + maximum]), limit)
        for group in groups.values()
        for first in range(0, len(group), maximum)
    ]


def blocks_of(cells: Sequence[Cell], width: int) -> tuple[list[Replicates], list[int]]:
    """The blocks of a pack, and for each of its replicates the number of its cell."""
    replicates: list[list[tuple[int, int, int]]] = []  # of each block: cell, seed, number
    own = [[(i, c.common.seed, k) for k in range(c.common.replicates)] for i, c in enumerate(cells)]
    if cells[0].algorithm.among:
        replicates = [cell[first : first + width] for cell in own for first in range(0, len(cell), width)]
    else:
        every = list(itertools.chain.from_iterable(own))
        replicates = [every[first : first + width] for first in range(0, len(every), width)]
        replicates[-1] += [replicates[-1][0]] * (width - len(replicates[-1]))
    return [_batch(block) for block in replicates], [i for block in replicates for i, _, _ in block]


def _batch(block: Sequence[tuple[int, int, int]]) -> Replicates:
    """Group replicates into batches of consecutive ones."""
    parts: list[Replicates] = []
    for _, seed, number in block:
        last = parts[-1] if parts else None
        if last is not None and (last.seed, last.first + last.count) == (seed, number):
            parts[-1] = Replicates(seed, last.first, last.count + 1)
        else:
            parts.append(Replicates(seed, number, 1))
    return Replicates.concatenate(parts)


def check(cell: Cell) -> None:
    """Raise InputError for a cell that exceeds the memory of any machine."""
    common = cell.common
    if common.replicates > MOST_REPLICATES:
        more = "give the others to cells with another seed"
        raise InputError(f"replicates is {common.replicates}: a cell has at most {MOST_REPLICATES}; {more}")
    kept = common.rounds // common.every * common.replicates * len(common.observe)
    if common.series and kept > MOST_KEPT:
        raise InputError(f"series has {kept} numbers: a cell has at most {MOST_KEPT}; give a larger interval, every")


def _rows(cells: Sequence[Cell], progress: Callable[[float], None] | None = None) -> list[Row]:
    for cell in cells:
        check(cell)
    first = cells[0]
    common, model = first.common, first.algorithm
    problem = problem_of(json.dumps(first.problem, sort_keys=True))
    parameters = [cell.algorithm.resolved(problem, common.rounds, cell.common.privacy) for cell in cells]
    blocks, owner = blocks_of(cells, width_of(problem))
    by_replicate: dict[str, Any] = {
        name: value if name in model.shared else np.array([parameters[i][name] for i in owner], dtype=np.float64)
        for name, value in parameters[0].items()
    }
    algorithm = model.build(problem, common.rounds, common.privacy, by_replicate)
    spoken = [id_ for id_ in common.statements if id_ in bounds.spoken_of(model.name)]
    observe = list(dict.fromkeys([*common.observe, *bounds.observed_by(spoken)]))
    least = any(e.when == "least" for id_ in spoken for e in statements.get(id_).expectations)
    run = simulate(
        algorithm,
        problem,
        common.rounds,
        blocks,
        observe=observe,
        series=common.series or least,
        every=common.every,
        device="cpu",
        warn=False,
        progress=progress,
    )
    rows = []
    begin = 0
    for i, cell in enumerate(cells):
        own = slice(begin, begin + cell.common.replicates)
        begin = own.stop
        rows.append(_row(cell, problem, parameters[i], run, own, spoken))
    return rows


def _row_of(cell: Cell) -> Row:
    """The part of a cell's row that is known before the run."""
    common = cell.common
    described: Row = {"problem": cell.problem.get("name") or cell.problem["data"], "algorithm": cell.algorithm.name}
    described |= {
        "rounds": common.rounds,
        "replicates": common.replicates,
        "seed": common.seed,
        "delta": common.privacy.delta,
    }
    return described | {key: value for key, value in cell.varied.items() if not key.endswith(".name")}


def _row(
    cell: Cell, problem: Problem, parameters: Mapping[str, float], run: Run, own: slice, spoken: Sequence[str]
) -> Row:
    common = cell.common
    epsilon, privacy = cell.algorithm.certified(problem, common.rounds, common.privacy, parameters)
    row: Row = {**_row_of(cell), **parameters, "status": "done", "cause": "", "epsilon": epsilon, "privacy": privacy}
    for name in common.observe:
        stream = run[name]
        row[name], row[f"{name}_error"] = _mean(stream.last[own])
        row[f"{name}_average"], row[f"{name}_average_error"] = _mean(stream.mean[own])
    if cause := _lost(run, common.observe, own):
        row |= {"status": "failed", "cause": cause}
    for id_ in spoken:
        row |= bounds.columns_of(id_, problem, cell.algorithm, parameters, run, own)
    if common.series:
        row["series"] = {name: _series(run[name].every_round[:, own]) for name in common.observe}
    return row


def _mean(values: Any) -> tuple[float, float | None]:
    """Mean and standard error; None as the error of a single replicate."""
    return float(values.mean()), standard_error(values)


def _series(values: Any) -> dict[str, list[float]]:
    found = [_mean(line) for line in values]
    return {"mean": [mean for mean, _ in found], "error": [math.nan if e is None else e for _, e in found]}


def _lost(run: Run, names: Sequence[str], own: slice) -> str:
    """The cause of a failed run, empty for none.

    It says in how many replicates the server's vector became infinite, and after which round first. Otherwise it names
    the observables that are not finite.
    """
    if (run.diverged[own] != NEVER).any():
        return divergence_text(run.diverged[own])
    odd = [name for name in names if not np.isfinite(run[name].last[own]).all()]
    return f"{' and '.join(odd)}: infinite, or not a number, though the server's vector is finite" if odd else ""
