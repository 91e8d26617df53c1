"""The common parts of all descriptions of mechanisms, and the checks of their parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

from dpfl_theory.core.parameter import KINDS, fits
from dpfl_theory.errors import InputError
from dpfl_theory.privacy.events import Event

OF = {
    "sum": "the noise of the sum over a cohort",
    "message": "the noise of each client's message",
    "average": "the noise of the average over a cohort",
    "step": "the noise of one local step",
}
"""The quantities that a noise multiplier may belong to."""

SMALLEST, LARGEST = 1e-100, 1e12
"""The range of noise multipliers in the accounting; double precision is insufficient outside it."""


@dataclass(frozen=True)
class Alternative:
    """Another reading of a run: a clause that starts with "if", the options that choose it, and its releases.

    ``factor`` converts a multiplier of the other kind into the mechanism's own, where this is the only difference.
    With ``bound`` the event is only an upper bound of the releases.
    """

    clause: str
    options: Mapping[str, str]
    event: Event
    factor: float | None = None
    bound: bool = False


def multiplies(z: float | None, noisy: str, replaced: bool, unit: str = "C") -> str:
    """The quantity that a noise multiplier z multiplies, where a message has norm at most ``unit`` and ``noisy`` has
    the noise.

    >>> multiplies(None, "the sum", False)
    'of C: the noise of the sum has standard deviation z C, as libraries of DP-SGD count'
    """
    deviation = "" if unit == "1" else f" {unit}"
    if not replaced:
        return f"of {unit}: the noise of {noisy} has standard deviation z{deviation}, as libraries of DP-SGD count"
    twice = "2" if unit == "1" else f"2{unit}"
    known = "" if z is None else f", here {2 * z:.6g}"
    return (
        f"of {twice}, the most that a replacement changes: the noise of {noisy} has standard deviation 2z{deviation}. "
        f"dp-accounting's PLDAccountant counts in {unit}: there it is 2z{known}"
    )


def parameter(help_: str, kind: str = "", default: Any = None, choices: Iterable[str] = ()) -> Any:
    """A field with the text of its command-line option; it is required without a default. kind: that of a number."""
    metadata = {"help": help_, "kind": kind, "choices": tuple(choices)}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class Mechanism(ABC):
    """The releases of one run of an algorithm about one protected unit.

    The sensitivity is 1: ``noise_multiplier`` is the noise's standard deviation per coordinate over the largest change
    of the protected quantity, under the chosen neighbouring relation.

    Raises:
        InputError: on construction, for a parameter out of range or a combination without a certificate.
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    source: ClassVar[str] = ""
    protects: ClassVar[str]
    """The protected unit: "client" or "record"."""
    noise_added_by: ClassVar[str]
    aliases: ClassVar[Mapping[str, str]] = {}
    """Other names of parameters on the command line."""
    sigma_of: ClassVar[str] = "average"
    """The noise that the paper's sigma belongs to: that of the "average" or of one "message"."""
    bound: ClassVar[str] = "1"
    """The bound of a message's norm, without the noise."""
    fixed: ClassVar[Mapping[str, str]] = {}
    """Properties that the algorithm fixes, where they differ from those of most algorithms: "noise", "sampling",
    "view"."""

    noise_multiplier: float | None = parameter(
        "standard deviation of the noise over the sensitivity; each answer says of which noise, and in which unit",
        "positive",
    )
    rounds: int | None = parameter("number of communication rounds", "count")

    def __post_init__(self) -> None:
        for f in fields(self):
            value, kind, choices = getattr(self, f.name), f.metadata.get("kind"), f.metadata.get("choices")
            if value is not None and choices and value not in choices:
                raise InputError(f"{_named(f.name)} is {value!r}: choose one of {', '.join(choices)}")
            if value is not None and kind and not fits(value, kind):
                raise InputError(f"{_named(f.name)} is {value!r}: give {KINDS[kind]}")
        if self.noise_multiplier is not None and not SMALLEST <= self.noise_multiplier <= LARGEST:
            raise InputError(
                f"`noise_multiplier` is {self.noise_multiplier}: give a number between {SMALLEST:g} and {LARGEST:g}, "
                "beyond which double precision certifies no epsilon"
            )
        self.validate()

    def validate(self) -> None:  # noqa: B027  a class may have no such parameters
        """Raise InputError for parameters that do not fit together; None is a value that is not given yet."""

    @abstractmethod
    def event(self) -> Event:
        """An upper bound of the releases, for accountants; needs the noise multiplier and the number of rounds.

        Lower limits for the mechanism are those of `attacks`, not of this event.
        """

    @abstractmethod
    def notes(self) -> tuple[str, ...]:
        """One sentence for each property that decides the accounting and may surprise."""

    @abstractmethod
    def setting(self) -> dict[str, str]:
        """The setting of an epsilon of this mechanism, in one phrase each: the protected ``unit``, the ``neighbours``,
        the quantity that the ``multiplier`` multiplies, the ``sampling``, the ``observer``, and where and how often
        ``noise`` is added. Parameters that are not given yet are left out.
        """

    def multiplier_of(self) -> str:
        """The quantity that the noise multiplier belongs to: "sum", "message" or "average" of the clients' messages, or
        "step"."""
        return "message"

    def factors(self) -> dict[str, float]:
        """For each of these that is known here, the factor that converts its multiplier into that of
        `multiplier_of`."""
        return {}

    def alternatives(self, given: Collection[str]) -> Iterator[Alternative]:
        """Other readings of the options that were not given; ``given`` has the names of the given options, which may
        include "multiplier_of"."""
        if "multiplier_of" in given:
            return
        z = self.value("noise_multiplier")
        for of, factor in self.factors().items():
            if of != self.multiplier_of():
                event = self.with_(noise_multiplier=min(max(z * factor, SMALLEST), LARGEST)).event()
                yield Alternative(f"if it is the multiplier of {OF[of]}", {"multiplier_of": of}, event, factor)

    def attacks(self) -> tuple[tuple[Event, float], ...]:
        """Events that are certainly released, the most informative first, each with the probability that the run is
        not as described.

        `event` bounds from above. It may count something as seen that need not be seen; then the attacks show less.
        """
        return ((self.event(), 0.0),)

    def textbook(self) -> tuple[Any, Any] | None:
        """dp-accounting's event and neighbouring relation when they describe this mechanism exactly; else None."""
        return None

    def sigma(self, clip: float) -> dict[str, float]:
        """Standard deviations per coordinate, under the paper's symbols, for a clipping threshold."""
        raise InputError(f"{self.name} has no clipping threshold: its noise multiplier determines the noise")

    def multiplier(self, sigma: float, clip: float) -> float:
        """The noise multiplier of a standard deviation in the paper's symbol (the first that `sigma` gives)."""
        unit = next(iter(replace(self, noise_multiplier=1.0).sigma(clip).values()))
        return sigma / unit

    def with_(self, **changes: Any) -> Self:
        """The same mechanism with other parameters."""
        return replace(self, **changes)

    def describe(self) -> dict[str, Any]:
        """The parameters as plain data, with the properties that the description fixes."""
        return {
            "algorithm": self.name,
            "protects": self.protects,
            "noise_added_by": self.noise_added_by,
            **{f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) is not None},
        }

    def value(self, name: str) -> float:
        """A number that must be given. Raises InputError without it."""
        value = getattr(self, name)
        if value is None:
            raise InputError(f"{self.name} needs {_named(name)}: give the {_help(self, name)}")
        return float(value)

    def count(self, name: str) -> int:
        """A whole number that must be given. Raises InputError without it."""
        return int(self.value(name))


def _named(name: str) -> str:
    """The name of a parameter for a message."""
    return f"`{name}`"


def _help(mechanism: Mechanism, name: str) -> str:
    return next(str(f.metadata["help"]) for f in fields(mechanism) if f.name == name)
