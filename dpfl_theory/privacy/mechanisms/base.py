"""What every description of a mechanism says, and how its parameters are checked."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

from dpfl_theory.errors import InputError
from dpfl_theory.privacy.events import Event

__all__ = ["Mechanism", "parameter"]

SMALLEST, LARGEST = 1e-4, 1e12
"""Noise multipliers that are accounted for; beyond them double precision ends."""


def parameter(help_: str, default: Any = None, choices: Iterable[str] = ()) -> Any:
    """A field with the text of its command-line option; without a default it must be given."""
    metadata = {"help": help_, "choices": tuple(choices)}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class Mechanism(ABC):
    """What one run of an algorithm releases about one protected unit.

    The sensitivity is 1: ``noise_multiplier`` is the noise's standard deviation per coordinate over the largest change
    of what it protects, under the chosen neighbouring relation.

    Raises:
        InputError: on construction, for a parameter out of range or a combination that nothing certifies.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    protects: ClassVar[str]
    """The protected unit: "client" or "record"."""
    noise_added_by: ClassVar[str]

    noise_multiplier: float | None = parameter("standard deviation of the noise over the sensitivity")
    rounds: int | None = parameter("number of communication rounds")

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if value is not None:
                choices = f.metadata.get("choices")
                if choices and value not in choices:
                    raise InputError(f"{_named(f.name)} is {value!r}: choose one of {', '.join(choices)}")
        self.positive("noise_multiplier")
        if self.noise_multiplier is not None and not SMALLEST <= self.noise_multiplier <= LARGEST:
            raise InputError(
                f"`noise_multiplier` is {self.noise_multiplier}: give a number between {SMALLEST:g} and {LARGEST:g}"
            )
        self.whole("rounds", 1)
        self.validate()

    @abstractmethod
    def validate(self) -> None:
        """Raise InputError for parameters that do not fit together; None stands for a value that is not given yet."""

    @abstractmethod
    def event(self) -> Event:
        """What is released at most, for accountants; needs the noise multiplier and the number of rounds.

        Lower limits for the mechanism are those of `attacks`, not of this event.
        """

    @abstractmethod
    def notes(self) -> tuple[str, ...]:
        """One sentence for each thing that decides the accounting and may surprise."""

    def attacks(self) -> tuple[tuple[Event, float], ...]:
        """Events that show what is certainly released, those that show most first, each with the probability that the
        run is not as described.

        `event` bounds from above; what it counts as seen need not be seen, and then these say less.
        """
        return ((self.event(), 0.0),)

    def textbook(self) -> tuple[Any, Any] | None:
        """dp-accounting's event and neighbouring relation when they describe this mechanism exactly; else None."""
        return None

    def sigma(self, clip: float) -> dict[str, float]:
        """Standard deviations per coordinate, by the paper's letter, for a clipping threshold."""
        raise InputError(f"{self.name} has no clipping threshold: its noise multiplier says everything")

    def multiplier(self, sigma: float, clip: float) -> float:
        """The noise multiplier of a standard deviation in the paper's letter (the first that `sigma` gives)."""
        unit = next(iter(replace(self, noise_multiplier=1.0).sigma(clip).values()))
        return sigma / unit

    def with_(self, **changes: Any) -> Self:
        """The same mechanism with other parameters."""
        return replace(self, **changes)

    def describe(self) -> dict[str, Any]:
        """The parameters as plain data, with what the description fixes."""
        return {
            "algorithm": self.name,
            "protects": self.protects,
            "noise_added_by": self.noise_added_by,
            **{f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) is not None},
        }

    def value(self, name: str) -> float:
        """A number that must be given; InputError without it."""
        value = getattr(self, name)
        if value is None:
            raise InputError(f"{self.name} needs {_named(name)}: give the {_help(self, name)}")
        return float(value)

    def count(self, name: str) -> int:
        """A whole number that must be given; InputError without it."""
        return int(self.value(name))

    def positive(self, *names: str) -> None:
        """Raise InputError unless each of these that is given is a positive finite number."""
        for name in names:
            value = getattr(self, name)
            if value is not None and not (_number(value) and 0 < value < math.inf):
                raise InputError(f"{_named(name)} is {value!r}: give a positive number")

    def whole(self, name: str, smallest: int) -> None:
        """Raise InputError unless this, when it is given, is a whole number of at least ``smallest``."""
        value = getattr(self, name)
        if value is not None and not (_number(value) and float(value).is_integer() and value >= smallest):
            raise InputError(f"{_named(name)} is {value!r}: give a whole number of at least {smallest}")

    def share(self, *names: str) -> None:
        """Raise InputError unless each of these that is given lies in (0, 1]."""
        for name in names:
            value = getattr(self, name)
            if value is not None and not (_number(value) and 0 < value <= 1):
                raise InputError(f"{_named(name)} is {value!r}: give a number in (0, 1]")


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _named(name: str) -> str:
    """A parameter in a message."""
    return f"`{name}`"


def _help(mechanism: Mechanism, name: str) -> str:
    return next(str(f.metadata["help"]) for f in fields(mechanism) if f.name == name)
