"""Sweeps: runs of algorithms on problems over grids, lists and Sobol designs of their parameters.

A configuration (a TOML file, or ``key=value`` on the command line) names a problem or the user's data, an algorithm,
hyper-parameters and the varied keys; it is validated as a whole. Each combination is a cell. The package can be called:
``dpfl_theory.sweep(...)`` is `sweep`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from dpfl_theory.runtime.cache import Store
from dpfl_theory.sweep.config import read
from dpfl_theory.sweep.run import Executor, planned, run
from dpfl_theory.sweep.table import Table

__all__ = ["Table", "sweep"]


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


class _Callable(ModuleType):
    """This package as a callable module."""

    def __call__(self, *arguments: Any, **keywords: Any) -> Table:
        return sweep(*arguments, **keywords)


sys.modules[__name__].__class__ = _Callable
