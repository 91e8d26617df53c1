"""The described algorithms in a configuration: keys, their ranges and usual values follow from the parameters."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import create_model

from dpfl_theory.algorithms.user_files import from_handle, handle
from dpfl_theory.core.algorithm import Algorithm
from dpfl_theory.core.parameter import Meaning, Parameter
from dpfl_theory.errors import InputError
from dpfl_theory.privacy import Mechanism
from dpfl_theory.problems.base import Problem
from dpfl_theory.problems.scales import Scales
from dpfl_theory.recommend.tuned import Budget, Tuned, tuned
from dpfl_theory.schemas.models import Count, NonNegative, Positive, Share, described_field
from dpfl_theory.simulation.base import Algorithm as Simulation
from dpfl_theory.sweep.algorithms.base import Among, Certified, Hyper, Privacy, Symbols, as_plain

__all__ = ["model"]

TYPES: Mapping[str, Any] = {"positive": Positive, "nonnegative": NonNegative, "count": Count, "share": Share}


class Described(Hyper):
    """A described algorithm."""

    kind: ClassVar[type[Algorithm]]

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (handle(self.kind), self.model_dump())

    def hyperparameters(self, scales: Any) -> dict[str, float]:
        """All hyper-parameters but the noise."""
        run, own = self.kind(), self.kind.without_noise()
        for name, parameter in own.items():
            given = getattr(self, parameter.symbol)
            assert parameter.default is not None
            setattr(run, name, parameter.value(run, scales, parameter.default) if given is None else given)
        return {p.symbol: getattr(run, name) for name, p in self.kind.parameters.items() if name in own}

    def resolved(self, problem: Problem, rounds: int, privacy: Privacy) -> dict[str, float]:
        return as_plain(self.hyperparameters(Scales(problem)))

    def build(self, problem: Problem, rounds: int, privacy: Privacy, replicates: Mapping[str, Any]) -> Simulation:
        from dpfl_theory.simulation import Cohort, Simulation

        cohort = getattr(self, "drawn", lambda scheme: None)(self.kind.sampling())
        return Simulation(self.kind.from_symbols(replicates), cohort or Cohort())

    def draws(self, clients: int, dimension: int) -> float:
        """The expected number of normal variates in a round."""
        run = self.kind(**{p.symbol: getattr(self, p.symbol) for p in self.kind.parameters.values()})
        return run.normals(clients) * dimension


class DescribedPrivate(Described):
    """A described algorithm with noise."""

    def resolved(self, problem: Problem, rounds: int, privacy: Privacy) -> dict[str, float]:
        one = self.tuned(problem, rounds, privacy)
        found = self.hyperparameters(one.scales)
        values = one.placed({**found, self.kind.rounds: rounds})
        unit, level = one.hyperparameters(values, 1.0)[one.noise], getattr(self, one.noise)
        if level is None:
            level = 0.0 if privacy.epsilon is None else one.multiplier(values) * unit
        return as_plain({**found, one.noise: level})

    def build(self, problem: Problem, rounds: int, privacy: Privacy, replicates: Mapping[str, Any]) -> Simulation:
        return self.tuned(problem, rounds, privacy).algorithm(replicates)

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
        values = one.placed({**parameters, self.kind.rounds: rounds})
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


def _field(parameter: Parameter) -> tuple[Any, Any]:
    """The key of a parameter, with its meaning as metadata."""
    values, default, without = TYPES[parameter.kind] | None, None, ""
    if parameter.default is None:
        without = "; from privacy.epsilon, else none"
    elif parameter.scale is not None:
        times = "" if parameter.default == 1.0 else f"{parameter.default:g} times "
        without = f"; {times}{parameter.scale.text} without it"
    else:
        values = TYPES[parameter.kind]
        default = int(parameter.default) if parameter.kind == "count" else float(parameter.default)
    meaning = Meaning(f"{parameter.meaning}{without}", parameter.unit)
    return Annotated[values, meaning], described_field(f"{parameter.text}{without}", default)


def _restored(algorithm: str, values: Mapping[str, Any]) -> Hyper:
    """A table that was sent to another process."""
    return model(from_handle(algorithm))(**values)  # type: ignore[arg-type]


@cache
def model(kind: Any) -> type[Hyper]:
    """The table of an algorithm in a configuration."""
    bases = (DescribedPrivate if kind.protects else Described, *((Among,) if kind.samplings else ()))
    fields: dict[str, Any] = {"name": (Literal[kind.name], ...)}
    fields |= {p.symbol: _field(p) for p in kind.parameters.values()}
    made: Any = create_model(kind.__name__, __base__=bases, __doc__=kind.__doc__, **fields)
    made.kind, made.source = kind, kind.source
    made.shared = tuple(p.symbol for p in kind.parameters.values() if p.shared)
    made.noise = kind.parameters[kind.noise_parameter()].symbol if kind.protects else None
    return made  # type: ignore[no-any-return]
