"""What a rule's recommendation reaches where it is run, with noise that is certified for the budget.

A rule of `dpfl_theory.recommend.rules` gives hyper-parameters by formulas. Here the problem's constants are put in,
the noise is the least that the accountant certifies for (epsilon, delta) over the rounds that the rule wants, and
the run is measured like one that a search found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dpfl_theory.errors import InputError
from dpfl_theory.problems.base import Problem
from dpfl_theory.recommend import recommend
from dpfl_theory.recommend.algorithms import get
from dpfl_theory.recommend.base import Document
from dpfl_theory.recommend.measured import measures_of
from dpfl_theory.recommend.search import measure
from dpfl_theory.recommend.tuned import Budget, Tuned, tuned

__all__ = ["MOST_ROUNDS", "RULED", "constants", "reached"]

MOST_ROUNDS = 8_000
"""Iterations beyond which a rule's run is not made: it would cost far more than any budget of communication allows."""


class _Fixed(Tuned):
    """A tuned algorithm whose hyper-parameters a rule gave: there is nothing left to choose."""

    def __init__(self, like: Tuned, values: Mapping[str, float], rule: Mapping[str, float]) -> None:
        super().__init__(like.problem, like.budget)
        self.like, self.chosen, self.rule = like, dict(values), dict(rule)

    def free(self) -> tuple[()]:
        return ()

    def mechanism(self, values: Any) -> Any:
        return self.like.mechanism(self.chosen)

    def iterations(self, values: Any) -> int:
        return self.like.iterations(self.chosen)

    def placed(self, hyperparameters: Any) -> dict[str, float]:
        return {}

    def algorithm(self, lanes: Mapping[str, Any]) -> Any:
        return self.like.algorithm(lanes)

    def hyperparameters(self, values: Any, noise_multiplier: float) -> dict[str, float]:
        noise = self.mechanism(values).with_(noise_multiplier=noise_multiplier).sigma(self.rule.get("C", 1.0))
        return {**self.rule, **noise}


def _fedavg(found: Document, inputs: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, float]]:
    steps = int(found.get("local_steps", inputs.get("local_steps", 1)))
    rule = {name: found[name] for name in ("eta", "beta", "C", "rounds")} | {"E": steps}
    return {"rounds": found["rounds"], "local_steps": steps}, rule


def _scaffnew(found: Document, inputs: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, float]]:
    rule = {"eta": found["eta"], "p": found["p"], "C": inputs["clip"], "iterations": found["iterations"]}
    return {"rounds": found["iterations"] * found["p"], "probability": found["p"]}, rule


def _norm_ec(found: Document, inputs: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, float]]:
    rule = {name: found[name] for name in ("gamma", "beta", "alpha", "rounds")}
    return {"rounds": found["rounds"]}, rule


RULED: Mapping[str, Callable[[Document, Mapping[str, Any]], tuple[dict[str, float], dict[str, float]]]] = {
    "dp-fedavg": _fedavg,
    "dp-normfedavg": _fedavg,
    "dp-scaffnew": _scaffnew,
    "dp-norm-ec": _norm_ec,
}
"""For each algorithm with a rule: from its recommendation and the inputs, the values that decide a run's length and
releases, and the hyper-parameters of the run."""


def constants(algorithm: str, problem: Problem) -> dict[str, float]:
    """The inputs of an algorithm's rules that a problem gives: L, mu, G and so on.

    Raises InputError for a constant that the rules need and the problem lacks.
    """
    found, absences = measures_of(get(algorithm), problem)
    for name, absent in absences.items():
        raise InputError(f"{algorithm} needs {name}, and {absent.why}")
    return {name: m.value for name, m in found.items()}


def reached(
    algorithm: str,
    rule: str,
    problem: Problem,
    budget: Budget,
    inputs: Mapping[str, Any],
    lanes: int = 64,
    seed: int = 0,
) -> Document:
    """What a rule's recommendation reaches on a problem, or why there is none.

    inputs: those that the problem does not give, such as the threshold. Plain data: ``suboptimality`` (mean, error),
    ``bound``, ``rounds``, ``hyperparameters``, and ``why`` where nothing was run.
    """
    one = tuned()[algorithm](problem, budget)
    try:
        given = {**constants(algorithm, problem), **inputs}
        found = recommend(algorithm, rule, **given)
    except InputError as error:
        return {"suboptimality": None, "why": str(error)}
    values, chosen = RULED[algorithm](found, given)
    told: Document = {"bound": found["bound"], "rounds": values["rounds"]}
    if one.iterations(values) > MOST_ROUNDS:
        return {**told, "suboptimality": None, "why": f"it wants {one.iterations(values)} iterations"}
    fixed = _Fixed(one, values, chosen)
    (run,) = measure(fixed, [{}], lanes, seed)
    return {
        **told,
        "suboptimality": {"mean": run.mean, "error": run.error},
        "hyperparameters": run.hyperparameters,
        "why": None,
    }
