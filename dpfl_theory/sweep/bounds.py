"""A statement's bound at the hyper-parameters of a cell, with the quantity measured there.

The symbols of a statement get their values from the run, which starts at 0, as its paper declares
(`dpfl_theory.statements.runs`). The sides and the hypotheses are the statement's own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpfl_theory import statements
from dpfl_theory.checks.hypotheses import unmet
from dpfl_theory.checks.linear_form import linearise
from dpfl_theory.core import Statement
from dpfl_theory.problems.base import Problem
from dpfl_theory.simulation import Run as Simulated
from dpfl_theory.statements.run_symbols import Run
from dpfl_theory.statements.runs import concerned, run_symbols, values_of
from dpfl_theory.sweep.algorithms import Hyper

Symbols = Mapping[str, float]


def spoken_of(name: str) -> list[str]:
    """The statements that concern an algorithm's runs.

    >>> spoken_of("scaffnew")
    ['hou2023.theorem1', 'hou2023.theorem1.sharpened']
    """
    return concerned(run_symbols()[name]) if name in run_symbols() else []


def refusal(id_: str, names: Sequence[str], every: int) -> str | None:
    """Why a statement cannot be evaluated for runs of any of these algorithms."""
    if every > 1:
        return f"every is {every}: {id_} concerns all rounds; leave every at 1"
    if any(id_ in spoken_of(name) for name in names):
        return None
    known = [one for name in names for one in spoken_of(name)]
    known_bounds = [name for name, one in run_symbols().items() if one.bounds]
    hint = f"give one of {', '.join(known)}" if known else f"its bounds are known for {', '.join(known_bounds)}"
    return f"statements holds {id_!r}: it does not concern runs of {', '.join(names)}; {hint}"


def observed_by(ids: Sequence[str]) -> list[str]:
    """The observables in these statements."""
    expectations = [e for id_ in ids for e in statements.get(id_).expectations]
    return list(dict.fromkeys(name for e in expectations for name, _ in e.parts))


def columns_of(
    id_: str, problem: Problem, model: Hyper, parameters: Symbols, run: Simulated, own: slice
) -> dict[str, Any]:
    """The columns of a statement at a cell, whose replicates are ``own`` of the run, each after the statement's id.

    bound, measured, measured_error: the right side, the left one and its standard error over the replicates (None for a
    single replicate and for a least mean over rounds). ratio: left over right side, where that is positive. met:
    whether the hypotheses are met, None where the run does not decide it; hypotheses: the reason. limit, of: where the
    left side is a multiple of one observable, the bound on this observable, and its column.
    """
    statement = statements.get(id_)
    rounds = int(run.configuration["rounds"])
    declared, at = run_symbols()[model.name], _run(problem, model, parameters, rounds)
    values = values_of(declared, at)
    met, why = _hypotheses(statement, problem, values, declared.departure(at))
    left = right = math.nan
    error = limit = of = None
    try:
        lhs, rhs = linearise(statement, values)
    except (ArithmeticError, TypeError, ValueError):
        met, why = False, f"{why}; its formula has no value here"
    else:
        replicates = {
            expectation.column(name): _by_replicate(run, expectation.when, name, rounds, own)
            for expectation in statement.expectations
            for name, _ in expectation.parts
        }
        means = {column: float(found.mean()) for column, found in replicates.items()}
        left, right = (math.fsum(side.evaluate(means).values()) for side in (lhs, rhs))
        constant, slopes = lhs.total()
        slopes = {column: slope for column, slope in slopes.items() if slope != 0.0}
        if own.stop - own.start > 1 and all(found.shape[0] > 1 for found in replicates.values()):
            each = sum(slope * replicates[column] for column, slope in slopes.items())
            error = float(np.std(each, ddof=1)) / math.sqrt(own.stop - own.start)
        if len(slopes) == 1:
            ((column, slope),) = slopes.items()
            of = _shown(statement, column) if slope > 0.0 else None
            limit = None if of is None else (right - constant) / slope
    ratio = left / right if right > 0.0 else math.nan
    found = {"bound": right, "measured": left, "measured_error": error, "ratio": ratio, "met": met, "hypotheses": why}
    return {f"{id_}:{name}": value for name, value in {**found, "limit": limit, "of": of}.items()}


def _run(problem: Problem, model: Hyper, parameters: Symbols, rounds: int) -> Run:
    cohort = float(getattr(model, "cohort", None) or problem.n)
    poisson = model.among and getattr(model, "sampling", None) in (None, "poisson")
    size = float(rounds), float(problem.n), cohort, float(problem.d)
    return Run(parameters, *size, independent=poisson, problem=problem)


def _by_replicate(run: Simulated, when: str, name: str, rounds: int, own: slice) -> Any:
    """The samples whose mean estimates an expectation, (replicates,); the least mean over rounds, (1,)."""
    stream = run[name]
    if when == "least":
        return stream.every_round[:rounds, own].mean(axis=1).min(keepdims=True)
    return (stream.last if when == "end" else stream.mean)[own]


def _shown(statement: Statement, column: str) -> str | None:
    """The column of results with the mean of the observable that an expectation's column streams."""
    for expectation in statement.expectations:
        for name, _ in expectation.parts:
            if expectation.column(name) == column and expectation.when != "least":
                return name if expectation.when == "end" else f"{name}_average"
    return None


def _hypotheses(statement: Statement, problem: Problem, values: Symbols, said: str) -> tuple[bool | None, str]:
    failed = unmet(statement, values, problem)
    if failed is not None:
        return False, f"not met: {failed[0]}: {failed[1]}"
    if said.startswith("?"):
        return None, f"the run does not show{said[1:]}"
    return (False, f"not met: {said}") if said else (True, "met")
