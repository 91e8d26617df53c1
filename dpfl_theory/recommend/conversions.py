"""Conversion between a tuned algorithm's runs and the papers' rules, by the papers' declarations of their symbols.

If a paper leaves a constant of its noise open, the constant is the one that gives the least certified noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from dpfl_theory.errors import InputError
from dpfl_theory.recommend.base import Document
from dpfl_theory.recommend.papers import get
from dpfl_theory.recommend.setting import Setting
from dpfl_theory.recommend.tuned import Tuned
from dpfl_theory.statements.run_symbols import Run
from dpfl_theory.statements.runs import completed, run_symbols

__all__ = [
    *("AMONG_COHORTS", "MOST_ROUNDS", "RULED", "asks", "choice", "cohort_of", "differing", "hyperparameters_of"),
    *("run_of", "same"),
]

MOST_ROUNDS = 8_000
"""The number of iterations beyond which a rule's run is not made: it would cost far more than any communication budget
allows."""

RULED = {name: one for name, one in run_symbols().items() if one.inputs}
"""The algorithms that have rules."""

AMONG_COHORTS = "run without the first round of all users, which would cost more than the noise is certified for"
"""The difference of a run from a rule that has such a round, if not all clients are in a round."""


def run_of(one: Tuned, hyperparameters: Mapping[str, float]) -> Run:
    """A run of a tuned algorithm with these hyper-parameters and the noise that is certified for them."""
    budget, n = one.budget, one.problem.n
    placed = one.placed(hyperparameters)
    return Run(
        {**hyperparameters, one.noise: one.certified(placed)[one.noise]},
        one.iterations(placed),
        n,
        float(n if budget.cohort is None else budget.cohort),
        one.problem.d,
        budget.epsilon,
        budget.delta,
        problem=one.problem,
    )


def asks(one: Tuned, before: Mapping[str, float] | None) -> Document:
    """The inputs that neither the problem nor a rule gives, from the hyper-parameters of the rule's last answer (none
    at first)."""
    declared = RULED[one.name]
    at = {**declared.start(one), **(before or {})}
    if declared.most_rounds is not None:
        at["rounds"] = min(at["rounds"], declared.most_rounds)
    run = run_of(one, at)
    known = completed(declared, declared.given(run))
    symbols = {f.name: f.metadata["symbol"] for f in fields(get(one.name)) if f.name in declared.inputs}
    found = {name: known[symbol] for name, symbol in symbols.items()}
    return found | {
        name: min(found[name], limit)
        for name, symbol in symbols.items()
        if symbol in declared.limits and (limit := declared.limits[symbol](run)) is not None
    }


def hyperparameters_of(name: str, found: Document, inputs: Mapping[str, Any]) -> dict[str, float]:
    """Those of the run of a rule's answer, without noise."""
    declared, said = RULED[name], {**inputs, **found}
    names = {f.metadata["symbol"]: f.name for f in fields(get(name))}
    run = {symbol: said[symbol if symbol in said else names[symbol]] for symbol in declared.hyperparameters}
    # The theorem's warm round is of all users. Among cohorts it would cost more than the T rounds are certified for.
    return {**run, "warm_start": 1} if declared.warm_round and inputs["user_rate"] == 1 else run


def choice(name: str, setting: Setting, hyperparameters: Mapping[str, float]) -> Document:
    """The arguments of `Setting.answer` for a run's hyper-parameters."""
    declared: Any = RULED[name]
    if declared.warm_round and "warm_start" not in hyperparameters:
        raise InputError("noble2022 Theorem C.1 is for a first round of all users that only sets the control variates")
    rounds = hyperparameters.get("rounds", hyperparameters.get("iterations"))
    assert rounds is not None
    given = declared.given(Run(hyperparameters, rounds, 1, 1))
    own: Any = setting
    known = completed(declared, {**own.symbols(), **{symbol: given[symbol] for symbol in declared.chosen}})
    whole = {"rounds": int(rounds), "iterations": int(rounds)}
    found = {key: whole.get(key, known.get(symbol)) for key, symbol in setting.choices.items()}
    return {"statement": setting.of_runs or setting.bounding, **found}


def same(some: Mapping[str, float], others: Mapping[str, float]) -> bool:
    """Whether hyper-parameters are the same up to rounding."""
    return not differing(some, others)


def differing(some: Mapping[str, float], others: Mapping[str, float]) -> list[str]:
    """The names of the hyper-parameters that differ in the other ones or are missing there.

    >>> differing({"eta": 0.1, "C": 1.0}, {"eta": 0.1 + 1e-9, "C": 2.0, "sigma": 3.0})
    ['C']
    """
    return [name for name, value in some.items() if not math.isclose(value, others.get(name, 0.0), rel_tol=1e-6)]


def cohort_of(inputs: Mapping[str, Any]) -> float | None:
    """The number of clients in a round in a rule's inputs; None for all.

    >>> cohort_of({"users": 100, "user_rate": 0.29}), cohort_of({"clients": 5, "cohort": 5})
    (29, None)
    """
    clients = inputs.get("users", inputs.get("clients"))
    size = inputs["users"] * inputs["user_rate"] if "user_rate" in inputs else inputs.get("cohort")
    if size is None or size == clients:
        return None
    return round(size) if math.isclose(size, round(size), rel_tol=1e-12) else float(size)
