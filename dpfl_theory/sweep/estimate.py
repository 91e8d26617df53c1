"""Cost estimate of a sweep: a model of its floating-point operations, and a short timing of one operation here.

A round of a block of replicates does the clients' local steps, evaluates f, and draws noise. A local step is two
products with the records, or two with the eigenbases of quadratics. One block of each group of cells is timed, for some
rounds and for a few times as many. A group is not timed where there are many, or where its rounds take seconds. Its
operations then cost as much as those of other groups.
"""

from __future__ import annotations

import itertools
import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dpfl_theory.problems.base import Problem
from dpfl_theory.sweep.design import Cell
from dpfl_theory.sweep.pack import Pack, blocks_of, check, group_of, problem_of, width_of

_TIMED_GROUPS = 12
_FEW, _MANY = 60, 240
"""Rounds of the two timings: in both it is worth recording a tape."""
_TIMED_FLOPS = 2e9
"""Maximum number of operations of a timing: about one second."""
_SECONDS_PER_FLOP = 5e-10
"""The cost of an operation where nothing can be timed [s]."""
_NORMAL = 60.0
"""Operations of a normal variate: ten rounds of Philox, a logarithm, a sine and a cosine."""
_START_SECONDS = 5.0
"""Startup time of a process before its first cell [s]."""
_BASE_BYTES = 350e6
"""Memory of a process before its first cell [bytes]."""
_ARRAYS = 8
"""Maximum number of arrays (clients, replicates, d) that a round holds at the same time."""


@dataclass(frozen=True)
class Estimate:
    """The estimate: cells, packs, floating-point operations, seconds, processes, and bytes of all processes."""

    cells: int
    packs: int
    flops: float
    seconds: float
    bytes: float
    jobs: int


def _round(problem: Problem, cell: Cell) -> float:
    """The operations of one round of one replicate."""
    n, d = problem.n, problem.d
    data: Any = getattr(problem, "data", None)
    if data is None:
        stacked = len(getattr(problem, "eigenvalues", ())) or n * d
        phase, value = 4.0 * stacked * d, 2.0 * d * d
        steps = 1.0  # local steps of a quadratic are one diagonal map
    else:
        entries = data.x.nnz if data.sparse else data.x.shape[0] * data.x.shape[1]
        phase, value = (4.0 * entries + 20.0 * len(data.y)) * data.classes, 2.0 * entries * data.classes
        steps = float(max((getattr(cell.algorithm, parameter, 1) for parameter in ("E", "Q", "K")), default=1))
    noise = 0.0 if cell.algorithm.silent(cell.common.privacy) else _NORMAL * cell.algorithm.draws(n, d)
    return steps * phase + value + noise + 10.0 * n * d


class _Timing(NamedTuple):
    """Seconds before a group's first block, seconds of a block, and operations of a block."""

    first: float
    block: float
    flops: float


def _timed(pack: Pack, problem: Problem) -> _Timing | None:
    """The timing of a pack's first block; None where one of its rounds takes too long."""
    cell = pack.cells[0]
    width = width_of(problem)
    replicates = width if not cell.algorithm.among else min(width, cell.common.replicates)
    rounds, flops = cell.common.rounds, replicates * _round(problem, cell)
    most = int(_TIMED_FLOPS / flops)
    if not most:
        return None

    def seconds(count: int) -> float:
        common = cell.common.model_copy(
            update={"rounds": count, "replicates": replicates, "series": False, "statements": []}
        )
        one = Pack((replace(cell, common=common),))
        started = time.perf_counter()
        one()
        return time.perf_counter() - started

    first = seconds(min(rounds, most, 4))  # includes compilation and privacy accounting
    few, many = (min(rounds, most, count) for count in (_FEW, _MANY))
    if few == many:
        found = min(seconds(many) for _ in range(2)) * rounds / many
    else:
        short, long = (min(seconds(count) for _ in range(2)) for count in (few, many))
        found = long + max(0.0, long - short) * (rounds - many) / (many - few)
    return _Timing(first, found, rounds * flops)


def estimate(packs: Sequence[Pack], jobs: int) -> Estimate:
    """Estimate the cost of these packs on this machine.

    >>> from dpfl_theory.sweep.design import designed
    >>> from dpfl_theory.sweep.pack import packed
    >>> design = designed({"problem": {"name": "quadratic"}, "algorithm": {"name": "fedavg"}, "rounds": 5})
    >>> found = estimate(packed(design.cells, 4), 1)
    >>> found.cells, found.packs, found.flops > 1e4
    (1, 1, True)
    """
    for cell in itertools.chain.from_iterable(pack.cells for pack in packs):
        check(cell)
    started = time.perf_counter()
    problems = [problem_of(json.dumps(pack.cells[0].problem, sort_keys=True)) for pack in packs]
    for problem in problems:
        _ = problem.constants
    making = time.perf_counter() - started
    groups = [group_of(pack.cells[0]) for pack in packs]
    largest = {g: i for i, g in reversed(list(enumerate(groups)))}
    by_size = sorted(largest.values(), key=lambda i: -_round(problems[i], packs[i].cells[0]) * len(packs[i].cells))
    tried = {groups[i]: _timed(packs[i], problems[i]) for i in by_size[:_TIMED_GROUPS]}
    timed = {group: timing for group, timing in tried.items() if timing is not None}
    known = sum(t.flops for t in timed.values())
    per_flop = sum(t.block for t in timed.values()) / known if known else _SECONDS_PER_FLOP
    begins = making + sum(t.first for t in timed.values())
    seconds, flops, most = 0.0, 0.0, 0.0
    for pack, problem, group in zip(packs, problems, groups):
        replicates = len(blocks_of(pack.cells, width_of(problem))[1])
        cell = pack.cells[0]
        own = replicates * cell.common.rounds * _round(problem, cell)
        flops += own
        seconds += timed[group].block * own / timed[group].flops if group in timed else per_flop * own
        most = max(most, _bytes(pack, problem, replicates))
    shared = begins + seconds / min(jobs, max(1, len(packs)))
    if jobs > 1 and len(packs) > 1:
        shared += _START_SECONDS
    cells = sum(len(pack.cells) for pack in packs)
    return Estimate(cells, len(packs), flops, shared, jobs * (_BASE_BYTES + most), jobs)


def _bytes(pack: Pack, problem: Problem, replicates: int) -> float:
    """Memory of a pack besides its process: records, one block's arrays, and the series of its observables."""
    data: Any = getattr(problem, "data", None)
    records = 0.0 if data is None else float(data.x.data.nbytes if data.sparse else data.x.nbytes)
    logits = 0 if data is None else int(np.max(np.diff(data.offsets))) * data.classes
    width = min(width_of(problem), replicates)
    series = replicates * pack.cells[0].common.rounds * max(1, len(pack.cells[0].common.observe))
    return 3 * records + 8.0 * (width * (_ARRAYS * problem.n * problem.d + 2 * logits) + series)


def as_rows(found: Estimate) -> list[tuple[str, str]]:
    """The estimate as pairs of a name and a text."""
    seconds = found.seconds
    taken = (
        f"{seconds:.1f} s"
        if seconds < 90
        else f"{seconds / 60:.1f} min"
        if seconds < 5400
        else f"{seconds / 3600:.1f} h"
    )
    return [
        ("cells", str(found.cells)),
        ("packs", str(found.packs)),
        ("operations", f"{found.flops:.3g} in floating point"),
        ("time", f"about {taken} with {found.jobs} process{'es' if found.jobs > 1 else ''}"),
        ("memory", f"about {math.ceil(found.bytes / 1e8) / 10:g} GB at most"),
    ]
