"""What a rule's recommendation reaches where it is run, with noise that is certified for the budget.

A rule of `dpfl_theory.recommend.rules` gives hyper-parameters by formulas. Here the problem's constants and the budget
are put in, and the run is measured like one that a search found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpfl_theory.errors import InputError
from dpfl_theory.problems.base import Problem
from dpfl_theory.recommend.algorithms import get
from dpfl_theory.recommend.base import Document
from dpfl_theory.recommend.by_rule import by_rule
from dpfl_theory.recommend.measured import gap_at_start, measures_of
from dpfl_theory.recommend.rules import rules
from dpfl_theory.recommend.search import measure
from dpfl_theory.recommend.tuned import Tuned

__all__ = ["MOST_ROUNDS", "RULED", "constants", "reached", "ruled", "starts"]

MOST_ROUNDS = 8_000
"""Iterations beyond which a rule's run is not made: it would cost far more than any budget of communication allows."""


class _Fixed(Tuned):
    """A tuned algorithm whose hyper-parameters a rule gave: there is nothing left to choose."""

    def __init__(self, like: Tuned, rule: Mapping[str, float]) -> None:
        super().__init__(like.problem, like.budget)
        self.like, self.rule, self.chosen = like, dict(rule), like.placed(rule)
        self.noise = like.noise  # type: ignore[misc]

    def free(self) -> tuple[()]:
        return ()

    def mechanism(self, values: Any) -> Any:
        return self.like.mechanism(self.chosen)

    def multiplier(self, values: Any) -> float:
        return self.like.multiplier(self.chosen)

    def iterations(self, values: Any) -> int:
        return self.like.iterations(self.chosen)

    def placed(self, hyperparameters: Any) -> dict[str, float]:
        return {}

    def algorithm(self, lanes: Mapping[str, Any]) -> Any:
        return self.like.algorithm(lanes)

    def hyperparameters(self, values: Any, noise_multiplier: float) -> dict[str, float]:
        own = self.like.hyperparameters(self.chosen, noise_multiplier)
        return {name: self.rule.get(name, value) for name, value in own.items()}


@dataclass(frozen=True)
class Ruled:
    """How an algorithm's rules are asked, and what they say, in the words of its `Tuned`.

    asks: the inputs that neither the problem nor the budget gives, whatever the rule; open: those that the paper leaves
    to its reader, for a rule that does not choose them itself; hyperparameters: the run's, noise left out.
    """

    asks: Callable[[Tuned], Document]
    open: Callable[[Tuned], Document]
    hyperparameters: Callable[[Document, Mapping[str, Any]], dict[str, float]]


def _cohort(one: Tuned) -> Document:
    return {"cohort": float(one.problem.n if one.budget.cohort is None else one.budget.cohort)}


def _fedavg(found: Document, inputs: Mapping[str, Any]) -> dict[str, float]:
    return {**{name: found[name] for name in ("eta", "beta", "C", "rounds")}, "E": found["local_steps"]}


def _scaffnew(found: Document, inputs: Mapping[str, Any]) -> dict[str, float]:
    return {"eta": found["eta"], "p": found["p"], "C": inputs["clip"], "iterations": found["iterations"]}


def _norm_ec(found: Document, inputs: Mapping[str, Any]) -> dict[str, float]:
    return {name: found[name] for name in ("gamma", "beta", "alpha", "rounds")}


_SHORTEST = {"local_steps": 1, "alpha": 1.0}
"""The shortest run that das2022 allows, with one local step."""

RULED: Mapping[str, Ruled] = {
    "dp-fedavg": Ruled(_cohort, lambda one: _SHORTEST, _fedavg),
    "dp-normfedavg": Ruled(_cohort, lambda one: _SHORTEST, _fedavg),
    "dp-scaffnew": Ruled(lambda one: {"clip": one.slope / one.smoothness}, lambda one: {}, _scaffnew),
    "dp-norm-ec": Ruled(lambda one: {}, lambda one: {"alpha": one.slope / 10}, _norm_ec),
}
"""The algorithms that have rules. Thresholds and smoothings that are open have the scale of the first gradients."""


def constants(algorithm: str, problem: Problem) -> dict[str, float]:
    """The inputs of an algorithm's rules that a problem gives: L, mu, G and so on.

    Raises InputError for a constant that the rules need and the problem lacks.
    """
    found, absences = measures_of(get(algorithm), problem)
    for name, absent in absences.items():
        raise InputError(f"{algorithm} needs {name}, and {absent.why}")
    return {name: m.value for name, m in found.items()}


def ruled(one: Tuned, rule: str, longer: bool = False) -> tuple[Document, dict[str, float]]:
    """A rule's recommendation for a tuned algorithm's problem and budget, and the hyper-parameters of its run.

    One that minimises the bound does so within the budget's rounds (or, ``longer``, any number); where the printed rule
    keeps within them too, the one with the smaller bound counts, since the certified noise depends on what is chosen.

    Raises InputError where there is none, such as for a constant that the problem lacks.
    """
    found = _answer(one, rule, longer)
    if rules()[rule].chooses:
        printed = _answer(one, "printed", longer)
        if longer or one.placed(printed[1])["rounds"] <= one.most_rounds:
            return min(found, printed, key=lambda answer: _finite(answer[0]["bound"]))
    return found


def _finite(bound: float | None) -> float:
    return math.inf if bound is None else bound


def _answer(one: Tuned, rule: str, longer: bool) -> tuple[Document, dict[str, float]]:
    own, kind, chooses = RULED[one.name], get(one.name), rules()[rule].chooses
    budget = {"epsilon": one.budget.epsilon, "delta": one.budget.delta, "relation": one.relation}
    budget |= {"view": one.budget.view, "calibration": "accountant"}
    inputs: Document = {**constants(one.name, one.problem), **own.asks(one)}
    inputs |= {name: value for name, value in budget.items() if name in kind.names()}
    if not chooses:
        inputs |= own.open(one)
    elif "rounds" in kind.names() and not longer:
        inputs["rounds"] = one.most_rounds
    found = by_rule(one.name, rule, inputs)
    bound, trivial = found["bound"], kind(**inputs).trivial()[0]
    found = {**found, "vacuous": bound is None or bound >= trivial}
    return found, own.hyperparameters(found, inputs)


def reached(one: Tuned, rule: str, lanes: int = 64, seed: int = 0, longer: bool = False) -> Document:
    """What a rule's recommendation reaches, or why there is none.

    Plain data: ``suboptimality`` (mean, error), ``bound``, what it ``bounds``, ``vacuous`` (whether it promises no more
    than the start has), ``vectors`` that a client sends, ``hyperparameters``, and ``why`` where nothing was run.
    longer: whether it may send more vectors than the budget allows.

    >>> from dpfl_theory.problems import make
    >>> from dpfl_theory.recommend.tuned import Budget, tuned
    >>> problem = make("logistic-synthetic", clients=40, dimension=2, records=10)
    >>> found = reached(tuned()["dp-norm-ec"](problem, Budget(8.0, 1e-5)), "printed")
    >>> found["why"] is None, found["bound"] > 0.0
    (True, True)
    """
    try:
        found, chosen = ruled(one, rule, longer)
    except InputError as error:
        return {"rule": rule, "suboptimality": None, "bound": None, "why": str(error)}
    fixed, bound, bounds = _Fixed(one, chosen), found["bound"], found["certificate"]["bounds"]
    of_start = bound is not None and "[F]" in bounds and bound >= gap_at_start(one.problem)
    vectors = math.ceil(one.vectors * fixed.chosen["rounds"] - 1e-9)
    told: Document = {
        "rule": rule,
        "bound": bound,
        "bounds": bounds,
        "vacuous": found["vacuous"] or of_start,
        "vectors": vectors,
        "hyperparameters": chosen,
    }
    if vectors > one.budget.rounds and not longer:
        return {**told, "suboptimality": None, "why": f"it wants {vectors} vectors from a client"}
    if (wanted := fixed.iterations({})) > MOST_ROUNDS:
        return {**told, "suboptimality": None, "why": f"it wants {wanted} iterations"}
    (run,) = measure(fixed, [{}], lanes, seed)
    return {
        **told,
        "suboptimality": {"mean": run.mean, "error": run.error},
        "hyperparameters": run.hyperparameters,
        "why": None,
    }


def starts(one: Tuned, told: Sequence[Document]) -> list[dict[str, float]]:
    """What rules say (`reached`), as values for a search to start from."""
    return [one.placed(said["hyperparameters"]) for said in told if said.get("hyperparameters")]
