"""References from descriptions of algorithms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from dpfl_theory.conform.base import Hyperparameter, Reference, Values, calibrated
from dpfl_theory.conform.operations import Operations
from dpfl_theory.conform.world import Client, World
from dpfl_theory.core.algorithm import NOISE_MULTIPLIER, Algorithm, Fault
from dpfl_theory.problems.base import Array

__all__ = ["Described", "reference"]

NOISE = frozenset({"noise", "noises"})
"""The parts of a round that are its noise."""


@dataclass(frozen=True)
class Described(Reference):
    """A reference whose round is that of a description. parts: replaced parts of the round."""

    algorithm: ClassVar[type[Algorithm]]
    parts: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    kind: type[Algorithm] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", self.algorithm.with_parts(self.parts))

    def with_parts(self, parts: Mapping[str, Any]) -> Described:
        return type(self)(parts)

    def _run(self, v: Values) -> Algorithm:
        run = object.__new__(self.kind)
        run.__dict__ |= {a: v[p.symbol] for a, p in self.algorithm.parameters.items() if p.symbol in v}
        run.noise_multiplier = v.get("noise_multiplier")
        return run

    def round(
        self, w: Array, state: Any, clients: Sequence[Client], cohort: Array, rng: Any, v: Values
    ) -> tuple[Array, Any]:
        o = Operations(clients, cohort, rng, v["r"], len(w), v.get("moved", True))
        run = self._run(v)
        found: tuple[Array, Any] = run.round(o, w, run.initial(o, w) if state is None else state)
        return found

    def length(self, client: Client, world: World, v: Values) -> float:
        o = Operations([client], [0], None, v["r"], world.d)
        return o.length(self._run(v).message(o, world.start, 0))

    def _numbers(self, v: Values) -> Operations:
        return Operations([None] * int(v["n"]), (), None, v["r"], int(v["d"]))  # type: ignore[list-item]

    def with_defaults(self, v: dict[str, Any]) -> dict[str, Any]:
        run, o = self._run(v), self._numbers(v)
        if self.unit:
            v = calibrated(v, run.noise_unit(o) * v["relation_factor"])
        return {**v, **_generic(self.algorithm, v)}

    def sensitivity(self, v: Values) -> float | None:
        return float(self._run(v).sensitivity(self._numbers(v)) * v["relation_factor"]) if self.unit else None

    @classmethod
    def faults(cls) -> Sequence[Fault]:
        """The known mistakes; without noise, those that do not concern it."""
        return [one for one in cls.algorithm.faults() if cls.unit or not NOISE & one.parts.keys()]


def _generic(kind: type[Algorithm], v: Values) -> dict[str, Any]:
    """The hyper-parameters that probes need, under names that are the same for all algorithms."""
    own = {attribute: v[p.symbol] for attribute, p in kind.parameters.items() if p.symbol in v}
    step = own.get("local_step", own.get("step"))
    return {"local_step": step, "local_steps": own.get("local_steps", 1)}


def reference(kind: type[Algorithm]) -> type[Described]:
    """The reference of an algorithm."""

    def usual(parameter: Any) -> tuple[Any, Any]:
        def of(value: Any) -> Any:
            return (lambda v: value(kind(**{s: v[s] for s in symbols if s in v}))) if callable(value) else value

        return of(parameter.trials[0]), of(parameter.trials[1])

    symbols = [p.symbol for p in kind.parameters.values()]
    known = [p for a, p in kind.parameters.items() if a != "sigma"] + ([NOISE_MULTIPLIER] if kind.protects else [])
    level = kind.parameters.get("threshold")
    return type(
        kind.__name__,
        (Described,),
        {
            "__doc__": kind.__doc__,
            "algorithm": kind,
            "name": kind.name,
            "source": kind.source,
            "parameters": tuple(Hyperparameter(p.symbol, p.text, usual(p), p.kind, p.aliases) for p in known),
            "scheme": kind.sampling,
            "unit": kind.protects,
            "level": level.symbol if level is not None else "",
            "readings": kind.readings,
        },
    )
