"""The described algorithms in a configuration: keys, their ranges and usual values follow from the parameters."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Literal

from pydantic import create_model

from dpfl_theory.algorithms.base import Algorithm as Simulation
from dpfl_theory.core.algorithm import Algorithm
from dpfl_theory.core.parameter import Parameter
from dpfl_theory.descriptions.user_files import from_handle, handle
from dpfl_theory.problems.base import Problem
from dpfl_theory.problems.scales import Scales
from dpfl_theory.recommend.tuned.described import scaled
from dpfl_theory.schemas.models import Count, NonNegative, Positive, Share, described_field
from dpfl_theory.sweep.algorithms.base import Among, Hyper, Privacy, as_plain
from dpfl_theory.sweep.algorithms.private import Private

__all__ = ["model"]

TYPES: Mapping[str, Any] = {"positive": Positive, "nonnegative": NonNegative, "count": Count, "share": Share}


class Described(Hyper):
    """A described algorithm."""

    kind: ClassVar[type[Algorithm]]

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (handle(self.kind), self.model_dump())

    def hyperparameters(self, scales: Any) -> dict[str, float]:
        """All hyper-parameters but the noise."""
        run, own = self.kind(), {n: p for n, p in self.kind.parameters.items() if n != self.kind.noise_parameter()}
        for name, parameter in sorted(own.items(), key=lambda item: not item[1].shared):
            given = getattr(self, parameter.symbol)
            assert parameter.default is not None
            setattr(run, name, scaled(run, parameter, scales, parameter.default) if given is None else given)
        return {p.symbol: getattr(run, name) for name, p in own.items()}

    def resolved(self, problem: Problem, rounds: int, privacy: Privacy) -> dict[str, float]:
        return as_plain(self.hyperparameters(Scales(problem)))

    def build(self, problem: Problem, rounds: int, privacy: Privacy, replicates: Mapping[str, Any]) -> Simulation:
        from dpfl_theory.algorithms.batched import simulation

        cohort = getattr(self, "drawn", lambda scheme: None)(self.kind.sampling())
        counts = {p.symbol for p in self.kind.parameters.values() if p.kind == "count"}
        return simulation(self.kind(**{n: int(v) if n in counts else v for n, v in replicates.items()}), cohort)

    def draws(self, clients: int, dimension: int) -> float:
        """The expected number of normal variates in a round."""
        run = self.kind(**{p.symbol: getattr(self, p.symbol) for p in self.kind.parameters.values()})
        return run.normals(clients) * dimension


class DescribedPrivate(Described, Private):
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


def _field(name: str, parameter: Parameter) -> tuple[Any, Any]:
    """The key of a parameter."""
    if parameter.default is None:
        return NonNegative | None, described_field(f"{parameter.text}; from privacy.epsilon, else none", None)
    if parameter.scale is None:
        default = int(parameter.default) if parameter.kind == "count" else float(parameter.default)
        return TYPES[parameter.kind], described_field(parameter.text, default)
    times = "" if parameter.default == 1.0 else f"{parameter.default:g} times "
    text = f"{parameter.text}; {times}{parameter.scale.text} without it"
    return TYPES[parameter.kind] | None, described_field(text, None)


def _restored(algorithm: str, values: Mapping[str, Any]) -> Hyper:
    """A table that was sent to another process."""
    return model(from_handle(algorithm))(**values)  # type: ignore[arg-type]


@cache
def model(kind: Any) -> type[Hyper]:
    """The table of an algorithm in a configuration."""
    bases = (DescribedPrivate if kind.protects else Described, *((Among,) if kind.samplings else ()))
    fields: dict[str, Any] = {"name": (Literal[kind.name], ...)}
    fields |= {p.symbol: _field(name, p) for name, p in kind.parameters.items()}
    made: Any = create_model(kind.__name__, __base__=bases, __doc__=kind.__doc__, **fields)
    made.kind, made.source = kind, kind.source
    made.shared = tuple(p.symbol for p in kind.parameters.values() if p.shared)
    made.noise = kind.parameters[kind.noise_parameter()].symbol if kind.protects else None
    return made  # type: ignore[no-any-return]
