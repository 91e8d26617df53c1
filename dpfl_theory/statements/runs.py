"""The papers' declarations of runs in their symbols, in the order in which answers list them."""

from __future__ import annotations

from functools import cache

from dpfl_theory.statements.das2022 import run_symbols as das2022
from dpfl_theory.statements.hou2023 import run_symbols as hou2023
from dpfl_theory.statements.noble2022 import run_symbols as noble2022
from dpfl_theory.statements.run_symbols import RunSymbols
from dpfl_theory.statements.shulgin2025 import run_symbols as shulgin2025
from dpfl_theory.statements.zhang2021 import run_symbols as zhang2021

__all__ = ["run_symbols"]

PAPERS = (das2022, zhang2021, hou2023, shulgin2025, noble2022)


@cache
def run_symbols() -> dict[str, RunSymbols]:
    """The declaration for each algorithm.

    >>> run_symbols()["dp-norm-ec"].bounds
    ('shulgin2025.theorem1', 'shulgin2025.theorem2')
    """
    return {one.algorithm: one for paper in PAPERS for one in paper.RUNS}
