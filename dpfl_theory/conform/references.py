"""References for implementations: algorithms as they are described, with the values and the noise that a test needs.

A *fault* is the same round with some parts replaced. A *reading* is another round that the same words allow. Reference,
reading, fault and the user's function are all called in the same way. So a comparison finds the one that explains what
the user's function does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, NamedTuple

from dpfl_theory.algorithms import algorithms
from dpfl_theory.algorithms.variations import deviations
from dpfl_theory.conform.operations import Operations
from dpfl_theory.conform.world import Client, World
from dpfl_theory.core.algorithm import NOISE_MULTIPLIER, Algorithm, Extends, Fault, Reading
from dpfl_theory.core.parameter import Parameter
from dpfl_theory.errors import InputError
from dpfl_theory.problems.base import Array

__all__ = ["NameRow", "Player", "Reference", "Values", "parameter_names", "references"]

Values = Mapping[str, Any]
"""Hyper-parameters by name, with n (clients) and d (parameters)."""
Player = Callable[..., tuple[Array, Any]]
"""(w, state, clients, cohort, rng, values) -> (w, state)."""
NOISE = frozenset({"noise", "noises"})
"""The parts of a round that are its noise."""


@dataclass(frozen=True)
class Reference:
    """An algorithm with some parts of its round replaced, one mapping after the other."""

    algorithm: type[Algorithm]
    parts: tuple[Mapping[str, Any], ...] = ()
    declared: tuple[Fault, ...] = ()
    """The variations of the algorithm that are meant."""

    @property
    def name(self) -> str:
        """The algorithm's name."""
        return self.algorithm.name

    @property
    def unit(self) -> str:
        """The unit of privacy, ``client`` or ``record``; empty without noise."""
        return self.algorithm.protects

    @cached_property
    def readings(self) -> tuple[Reading, ...]:
        """The rounds that conform: those that do not replace what is declared, and second readings of that."""
        plain = {n for one in self.declared for n, part in one.parts.items() if not isinstance(part, Extends)}
        own = [one for one in self.algorithm.readings if not one.parts.keys() & plain]
        found = [replace(one, weights="") if "weight" in plain else one for one in own]
        known = self.algorithm.declared_readings
        for more in (known[one.name] for one in self.declared if one.name in known):
            named = [(", ".join(filter(None, (one.name, more.name))), one) for one in found]
            found += [replace(one, name=name, parts={**one.parts, **more.parts}) for name, one in named]
        return tuple(found)

    @property
    def has_sigma(self) -> bool:
        """Whether the noise may be given by what the algorithm's paper calls sigma."""
        return bool(self.unit) and self.algorithm.has_sigma

    @property
    def level(self) -> str:
        """The symbol of the parameter at whose length the bound on a message begins; empty without a bound."""
        found = self.algorithm.parameters.get(self.algorithm.level)
        return "" if found is None else found.symbol

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters; the noise is given by its multiplier."""
        known = {a: p for a, p in self.algorithm.parameters.items() if a != "sigma"}
        if own := known.pop("noise_multiplier", None):
            said, names = f"{own.symbol}, {own.meaning}", (*own.aliases, own.symbol)
            return (*known.values(), replace(own, symbol="noise_multiplier", meaning=said, aliases=names))
        return (*known.values(), *([NOISE_MULTIPLIER] if self.unit else []))

    def faults(self) -> Sequence[Fault]:
        """The known mistakes; without noise, those that do not concern it."""
        return self._faults

    @cached_property
    def _faults(self) -> Sequence[Fault]:
        own = [one for one in self.algorithm.faults() if self.unit or not NOISE & one.parts.keys()]
        meant = {one.name for one in self.declared}
        known = [one for one in (*own, *deviations(self.algorithm)) if one.name not in meant]
        readings = self.algorithm.declared_readings
        also = [(one, readings[one.name]) for one in known if one.name in readings]
        alone = [one.parts for one in known]  # a reading whose parts are a mistake of their own has that name
        return [*known, *(one.read_as(reading) for one, reading in also if reading.parts not in alone)]

    def meaning(self, declared: Sequence[Fault]) -> Reference:
        """The reference with these variations. Raises InputError where its rounds have no such parts."""
        for one in declared:
            if self.algorithm.lots:
                raise InputError(
                    f"{self.name} has no local steps of clients, so it cannot have {one.name}: leave it out"
                )
            if missing := [name for name in one.parts if not hasattr(self.algorithm, name)]:
                raise InputError(
                    f"{self.name} has no {missing[0]} in its round, so it cannot have {one.name}: leave it out"
                )
        return Reference(self.algorithm, declared=tuple(declared)).with_parts()

    def with_parts(self, *parts: Mapping[str, Any]) -> Reference:
        """The reference with these parts of its round replaced; those that extend others come last."""
        meant = (one.parts for one in self.declared)
        return replace(self, parts=tuple(sorted((*meant, *parts), key=extends)))

    @cached_property
    def _kind(self) -> type[Algorithm]:
        plain = {name: part for parts in self.parts if not extends(parts) for name, part in parts.items()}
        more = (parts for parts in self.parts if extends(parts))
        return reduce(lambda kind, parts: kind.with_parts(parts), more, self.algorithm.with_parts(plain))

    def run(self, v: Values) -> Any:
        """The algorithm with these values."""
        run: Any = object.__new__(self._kind)
        run.__dict__ |= {a: v[p.symbol] for a, p in self.algorithm.parameters.items() if p.symbol in v}
        run.noise_multiplier, run.relation_factor = v.get("noise_multiplier"), v["relation_factor"]
        return run

    def round(
        self, w: Array, state: Any, clients: Sequence[Client], cohort: Array, rng: Any, v: Values
    ) -> tuple[Array, Any]:
        """The server's parameters after a round, and the state for the next one."""
        own = v.get("moved", True), v.get("batches"), v.get("number", 0), v["layers"], v.get("steps"), v.get("ends")
        o = Operations(clients, cohort, rng, v["r"], len(w), *own)
        run = self.run(v)
        found: tuple[Array, Any] = run.round(o, w, run.initial(o, w) if state is None else state)
        return found

    def length(self, client: Client, world: World, v: Values) -> float:
        """The length of the client's message from the start without a bound."""
        return float(self.run(v).length(Operations([client], [0], None, v["r"], world.d), world.start, 0))

    def with_defaults(self, v: dict[str, Any]) -> dict[str, Any]:
        """The values with sigma from the noise multiplier, or the multiplier from a given sigma; and steps under names
        that are the same for all algorithms."""
        run = self.run(v)
        if self.unit:
            multiplier = "noise_multiplier" in self.algorithm.parameters
            unit = run.noise_unit(_numbers(v)) * (1.0 if multiplier else v["relation_factor"])
            if v.get("sigma") is not None:
                v = {**v, "noise_multiplier": v["sigma"] / unit}
            elif self.has_sigma:
                v = {**v, "sigma": v["noise_multiplier"] * unit}
        step = getattr(run, "local_step", None) or getattr(run, "step", 0.1)
        return {**v, "local_step": step, "local_steps": getattr(run, "local_steps", 1)}

    def sensitivity(self, v: Values) -> float | None:
        """The allowed distance of a round's w from that of a neighbouring data set, by the hyper-parameters; None
        where this is not known."""
        found = self.run(v).sensitivity(_numbers(v)) if self.unit else None
        return None if found is None else float(found * v["relation_factor"])

    def message_multiplier(self, v: Values) -> float | None:
        """The noise multiplier of a single message that others see, over that of the average; None without any."""
        return self.run(v).message_multiplier(_numbers(v)) if self.unit else None

    def released(self, v: Values) -> float:
        """mu of what a round releases besides w; 0 without it."""
        return float(self.run(v).released(_numbers(v))) if self.unit else 0.0


def _numbers(v: Values) -> Operations:
    """The operations that ask only for numbers. sizes: the numbers of the clients' records, 1 by default; the client
    that differs comes first."""
    sizes = v.get("sizes") or [1] * int(v["n"])
    clients: Any = [range(size) for size in sizes]
    return Operations(clients, (), None, v["r"], int(v["d"]))


def extends(parts: Mapping[str, Any]) -> bool:
    """Whether some part uses the part in its place."""
    return any(isinstance(part, Extends) for part in parts.values())


def references() -> dict[str, Reference]:
    """All references by name.

    >>> "dp-fedavg" in references(), "scaffold" in references()
    (True, True)
    """
    return {name: Reference(algorithm) for name, algorithm in algorithms().items() if algorithm.is_reference}


class NameRow(NamedTuple):
    """A hyper-parameter: its name, its other names as declared, its meaning with its unit, and the algorithms that
    declare it in this way."""

    name: str
    also: tuple[str, ...]
    meaning: str
    algorithms: tuple[str, ...]


_EVERYWHERE = (
    NameRow("r", ("cohort_size",), "expected number of clients in a round", ("every algorithm",)),
    NameRow("n", (), "number of clients", ("every algorithm",)),
    NameRow(
        "sigma",
        (),
        "what the paper calls sigma, in place of noise_multiplier: a standard deviation, or the multiplier itself",
        tuple(name for name, one in references().items() if one.has_sigma),
    ),
)
"""The parameters that every round may take."""


def parameter_names() -> list[NameRow]:
    """All rows, in the order of the names.

    >>> [row.also for row in parameter_names() if row.name == "eta" and "dp-fedavg" in row.algorithms]
    [('local_step', 'lr', 'learning_rate', 'eta_l')]
    """
    found: dict[tuple[str, tuple[str, ...], str], list[str]] = {}
    for name, reference in references().items():
        for p in reference.parameters:
            found.setdefault((p.symbol, p.aliases, p.text), []).append(name)
    rows = [NameRow(*key, tuple(algorithms)) for key, algorithms in found.items()]
    return [*_EVERYWHERE, *sorted(rows, key=lambda row: (row.name.lower(), row.algorithms))]
