"""The papers' declarations of runs in their symbols, in the order in which answers list them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from dpfl_theory.core import inverse
from dpfl_theory.statements import all_statements, get
from dpfl_theory.statements.das2022 import run_symbols as das2022
from dpfl_theory.statements.hou2023 import run_symbols as hou2023
from dpfl_theory.statements.noble2022 import run_symbols as noble2022
from dpfl_theory.statements.run_symbols import Run, RunSymbols
from dpfl_theory.statements.shulgin2025 import run_symbols as shulgin2025
from dpfl_theory.statements.zhang2021 import run_symbols as zhang2021

PAPERS = (das2022, zhang2021, hou2023, shulgin2025, noble2022)


@cache
def run_symbols() -> dict[str, RunSymbols]:
    """The declaration for each algorithm.

    >>> run_symbols()["dp-norm-ec"].bounds
    ('shulgin2025.theorem1', 'shulgin2025.theorem2')
    """
    return {one.algorithm: one for paper in PAPERS for one in paper.RUNS}


def completed(declared: RunSymbols, known: Mapping[str, float]) -> dict[str, float]:
    """These symbols, and those that follow from the declaration's prescriptions."""
    if not declared.prescribing:
        return dict(known)
    return inverse.completed(tuple(map(get, declared.prescribing)), known, declared.cancelled)


def values_of(declared: RunSymbols, run: Run) -> dict[str, float]:
    """The given symbols of a run, those that follow from the prescriptions, and the problem's constants."""
    return completed(declared, declared.given(run) | declared.constants(run))


def concerned(declared: RunSymbols) -> list[str]:
    """The ids of the theorems and corollaries whose bounds concern the runs."""
    every = [s.id for s in all_statements() if s.sides is not None and s.kind in ("theorem", "corollary")]
    own = [id_ for id_ in every if any(id_ == one or id_.startswith(one + ".") for one in declared.bounds)]
    return [id_ for id_ in own if id_ not in declared.other_runs]
