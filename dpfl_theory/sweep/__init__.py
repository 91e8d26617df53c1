"""Sweeps: runs of algorithms on problems over grids, lists and Sobol designs of their parameters.

A configuration (a TOML file, or ``key=value`` on the command line) names a problem or the user's data, an algorithm,
hyper-parameters and the varied keys; it is validated as a whole. Each combination is a cell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpfl_theory.sweep.run import sweep
    from dpfl_theory.sweep.table import Table

__all__ = ["Table", "sweep"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dpfl_theory.sweep import run

    return getattr(run, name)
