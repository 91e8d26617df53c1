"""Algorithms in a configuration: keys, their ranges and usual values follow from the descriptions' parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import create_model

from dpfl_theory import algorithms as _algorithms
from dpfl_theory.algorithms.user_files import from_handle, handle
from dpfl_theory.core.algorithm import Algorithm, Relation, Sampling, View
from dpfl_theory.core.parameter import Meaning, Parameter
from dpfl_theory.errors import InputError
from dpfl_theory.privacy import Mechanism
from dpfl_theory.problems.base import Problem
from dpfl_theory.problems.scales import Scales
from dpfl_theory.recommend.inputs import Budget, inputs_of
from dpfl_theory.recommend.tuned import Tuned, tuned
from dpfl_theory.schemas.models import OF_KIND, Model, Positive, Probability, described_field
from dpfl_theory.simulation import Cohort, Simulation

__all__ = ["Certified", "Hyper", "Privacy", "algorithms"]

Symbols = Mapping[str, float]
"""Hyper-parameters by symbol."""
_BUDGET = inputs_of(Budget)


def algorithms() -> dict[str, type[Hyper]]:
    """All described algorithms by name.

    >>> sorted(algorithms())[:3]
    ['dp-clip21', 'dp-fedavg', 'dp-fedavg-adaptive']
    """
    return {name: _model(kind) for name, kind in _algorithms.algorithms().items()}  # type: ignore[arg-type]


class Privacy(Model):
    """The privacy budget, and the setting of the certified epsilon."""

    epsilon: Positive | None = described_field(
        "noise is the smallest certified for this epsilon; none without it", None
    )
    delta: Probability = described_field("delta of the certified epsilon", 1e-5)
    relation: Relation | None = described_field(_BUDGET["relation"].text, None)
    view: View = described_field(_BUDGET["view"].text, "third-party")


@dataclass(frozen=True)
class Certified:
    """The certified upper limit of a run's epsilon (None where none is finite, or there is no noise), and its
    description."""

    epsilon: float | None
    text: str


class Hyper(Model):
    """An algorithm's hyper-parameters; missing ones get the usual values of the given problem."""

    kind: ClassVar[type[Algorithm]]
    """The description."""
    source: ClassVar[str]
    shared: ClassVar[tuple[str, ...]] = ()
    """The symbols of the hyper-parameters that all replicates of one run share."""
    noise: ClassVar[str | None] = None
    """The symbol of the noise, None where the algorithm adds none."""

    name: str

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (handle(self.kind), self.model_dump())

    @property
    def among(self) -> bool:
        """Whether the clients of a round are sampled."""
        return getattr(self, "cohort", None) is not None

    def silent(self, privacy: Privacy) -> bool:
        """Whether no noise is added."""
        return self.noise is None or (not getattr(self, self.noise) and privacy.epsilon is None)

    def draws(self, clients: int, dimension: int) -> float:
        """The expected number of normal variates in a round."""
        run = self.kind(**{p.symbol: getattr(self, p.symbol) for p in self.kind.parameters.values()})
        return run.normals(clients) * dimension

    def hyperparameters(self, scales: Any) -> dict[str, float]:
        """All hyper-parameters but the noise."""
        run, own = self.kind(), self.kind.without_noise()
        for name, parameter in own.items():
            given = getattr(self, parameter.symbol)
            assert parameter.default is not None
            setattr(run, name, parameter.value(run, scales, parameter.default) if given is None else given)
        return {p.symbol: getattr(run, name) for name, p in self.kind.parameters.items() if name in own}

    def resolved(self, problem: Problem, rounds: int, privacy: Privacy) -> dict[str, float]:
        """All hyper-parameters, including the noise."""
        return _as_plain(self.hyperparameters(Scales(problem)))

    def build(self, problem: Problem, rounds: int, privacy: Privacy, replicates: Mapping[str, Any]) -> Simulation:
        """The algorithm with these hyper-parameters, one number for each replicate where they are not shared."""
        size: Any = getattr(self, "cohort", None)
        drawn = None if size is None else Cohort(getattr(self, "sampling", None) or self.kind.sampling(), size)
        return Simulation(self.kind.from_symbols(replicates), drawn or Cohort())

    def certified(self, problem: Problem, rounds: int, privacy: Privacy, parameters: Symbols) -> Certified:
        """The epsilon of a run with these hyper-parameters."""
        return Certified(None, "no noise is added")


class _Private(Hyper):
    """An algorithm with noise."""

    def resolved(self, problem: Problem, rounds: int, privacy: Privacy) -> dict[str, float]:
        one = self.tuned(problem, rounds, privacy)
        found = self.hyperparameters(one.scales)
        values = one.placed({**found, self.kind.rounds: rounds})
        unit, level = one.hyperparameters(values, 1.0)[one.noise], getattr(self, one.noise)
        if level is None:
            level = 0.0 if privacy.epsilon is None else one.multiplier(values) * unit
        return _as_plain({**found, one.noise: level})

    def build(self, problem: Problem, rounds: int, privacy: Privacy, replicates: Mapping[str, Any]) -> Simulation:
        return self.tuned(problem, rounds, privacy).algorithm(replicates)

    def tuned(self, problem: Problem, rounds: int, privacy: Privacy) -> Tuned:
        """The algorithm on the problem, within the budget."""
        budget = Budget(
            1.0 if privacy.epsilon is None else privacy.epsilon,
            privacy.delta,
            rounds=rounds * self.kind.vectors,
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
        values = one.placed({**parameters, self.kind.rounds: rounds})
        level = parameters[one.noise] / one.hyperparameters(values, 1.0)[one.noise]
        less = float(f"{level * (1 - 1e-11):.11g}")  # not more noise than is added; one account serves many cells
        try:
            high = _spent(one, one.mechanism(values), values, less)
        except InputError as error:
            return Certified(None, f"no epsilon is certified: {error}")
        text = f"epsilon at delta = {privacy.delta:g}, for one {one.protects}, {one.relation}, {privacy.view}"
        return Certified(high, text if high is not None else f"no finite {text}")


class _Sampled(Hyper):
    """An algorithm that may sample the clients of a round."""

    cohort: Positive | None = described_field(_BUDGET["cohort"].text, None)
    sampling: Sampling | None = described_field(_BUDGET["sampling"].text, None)


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


def _as_plain(parameters: Symbols) -> dict[str, float]:
    """Convert values to plain Python numbers."""
    return {n: int(v) if isinstance(v, (int, np.integer)) else float(v) for n, v in parameters.items()}


def _field(parameter: Parameter) -> tuple[Any, Any]:
    """The key of a parameter, with its meaning as metadata."""
    values, default, without = OF_KIND[parameter.kind] | None, None, ""
    if parameter.default is None:
        without = "; from privacy.epsilon, else none"
    elif parameter.scale is not None:
        without = f"; {parameter.usual} without it"
    else:
        values = OF_KIND[parameter.kind]
        default = parameter.number(parameter.default)
    meaning = Meaning(f"{parameter.meaning}{without}", parameter.unit)
    return Annotated[values, meaning], described_field(f"{parameter.text}{without}", default)


def _restored(algorithm: str, values: Mapping[str, Any]) -> Hyper:
    """A table that was sent to another process."""
    return _model(from_handle(algorithm))(**values)  # type: ignore[arg-type]


@cache
def _model(kind: Any) -> type[Hyper]:
    """The table of an algorithm in a configuration."""
    bases = (*((_Private,) if kind.protects else ()), *((_Sampled,) if kind.samplings else ())) or (Hyper,)
    fields: dict[str, Any] = {"name": (Literal[kind.name], ...)}
    fields |= {p.symbol: _field(p) for p in kind.parameters.values()}
    made: Any = create_model(kind.__name__, __base__=bases, __doc__=kind.__doc__, **fields)
    made.kind, made.source = kind, kind.source
    made.shared = tuple(p.symbol for p in kind.parameters.values() if p.shared)
    made.noise = kind.parameters[kind.noise_parameter()].symbol if kind.protects else None
    return made  # type: ignore[no-any-return]
