"""Algorithms with noise, accounted for as in `dpfl_theory.recommend.tuned`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from dpfl_theory.errors import InputError
from dpfl_theory.privacy import Mechanism
from dpfl_theory.problems.base import Problem
from dpfl_theory.recommend.tuned import Budget, Tuned, tuned
from dpfl_theory.sweep.algorithms.base import Certified, Hyper, Privacy, Symbols

__all__ = ["Private"]


class Private(Hyper):
    """An algorithm with noise."""

    def tuned(self, problem: Problem, rounds: int, privacy: Privacy) -> Tuned:
        """The algorithm on the problem, within the budget."""
        kind = tuned()[self.name]
        budget = Budget(
            1.0 if privacy.epsilon is None else privacy.epsilon,
            privacy.delta,
            rounds=rounds * kind.vectors,
            relation=privacy.relation,
            view=privacy.view,
            cohort=getattr(self, "cohort", None),
            sampling=getattr(self, "sampling", None),
        )
        return _tuned(self.name, problem, budget)

    def certified(self, problem: Problem, rounds: int, privacy: Privacy, parameters: Symbols) -> Certified:
        one = self.tuned(problem, rounds, privacy)
        if not parameters[one.noise]:
            return Certified(None, "no noise is added")
        own = {**parameters, "rounds": rounds, "iterations": rounds}
        values = one.placed(own)
        level = parameters[one.noise] / one.hyperparameters(values, 1.0)[one.noise]
        less = float(f"{level * (1 - 1e-11):.11g}")  # not more noise than is added; one account serves many cells
        try:
            high = _spent(one, one.mechanism(values), values, less)
        except InputError as error:
            return Certified(None, f"no epsilon is certified: {error}")
        text = f"epsilon at delta = {privacy.delta:g}, for one {one.protects}, {one.relation}, {privacy.view}"
        return Certified(high, text if high is not None else f"no finite {text}")


@lru_cache(maxsize=64)
def _tuned(name: str, problem: Problem, budget: Budget) -> Tuned:
    return tuned()[name](problem, budget)


_ACCOUNTS: dict[Any, float | None] = {}


def _spent(one: Tuned, run: Mechanism, values: Symbols, level: float) -> float | None:
    """The upper limit of `Tuned.spent`, computed once for each mechanism and level."""
    key = (type(one), one.budget.delta, run, level)
    if key not in _ACCOUNTS:
        _ACCOUNTS[key] = one.spent(values, level).high
    return _ACCOUNTS[key]
