"""References for implementations: a round in its parts, its hyper-parameters, and the known faults.

A *reference* is a printed algorithm whose round is composed of parts. The parts are the client's computation, the bound
on its message, the average, the noise and the step. A *fault* is the same round with some parts replaced. A *reading*
is another round that the same words allow. Reference, reading, fault and the user's function are all called in the same
way. So a comparison finds the one that explains what the user's function does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from dpfl_theory.conform.world import Client, World
from dpfl_theory.problems.base import Array

__all__ = ["Fault", "Hyperparameter", "Player", "Reading", "Reference", "Values", "calibrated", "faulty", "sized"]

Values = Mapping[str, Any]
"""Hyper-parameters by name, with n (clients) and d (parameters)."""

Player = Callable[..., tuple[Array, Any]]
"""(w, state, clients, cohort, rng, values) -> (w, state)."""


@dataclass(frozen=True)
class Hyperparameter:
    """A hyper-parameter.

    name: its name;  meaning: in words, with its unit;  usual: two values to try where none is given (or functions of
    the hyper-parameters before it);  kind: ``positive``, ``nonnegative``, ``count`` or ``share``;  also: other names
    under which a function may ask for it.
    """

    name: str
    meaning: str
    usual: tuple[Any, Any]
    kind: str = "positive"
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fault:
    """A mistake that implementations make.

    name: a few words;  ``description``: what is wrong and what it should be, one sentence;  plain: the same for an
    algorithm that protects no one, if ``description`` concerns clipping, noise or accounting;  role: which lines to
    look at (a key of `source_location.ROLES`);  parts: those of the round that it replaces;  seen: code in which it was
    reported; private: whether it breaks the claimed privacy;  once: whether one vector of noise is drawn in a round;
    ``equivalent_to``: the name of another fault that by algebra gives the same w in all rounds;  sized: the same
    mistake with a free number in it;  usual: the most frequent numbers in code.
    """

    name: str
    description: str
    role: str
    parts: Mapping[str, Any]
    seen: str = ""
    private: bool = False
    sized: Callable[[float], Fault] | None = None
    usual: tuple[float, ...] = ()
    plain: str = ""
    once: bool = False
    equivalent_to: str = ""

    def variants(self) -> tuple[Fault, ...]:
        """The fault itself, or if it has a free number, the fault with each usual number."""
        return (self,) if self.sized is None else tuple(map(self.sized, self.usual))


@dataclass(frozen=True)
class Reading:
    """Another round that the words of the same algorithm allow, and that conforms: its name and the parts that
    differ."""

    name: str
    parts: Mapping[str, Any] = field(default_factory=dict)


class Reference(ABC):
    """A printed algorithm. Its fields are the parts of a round."""

    name: ClassVar[str]
    source: ClassVar[str]
    parameters: ClassVar[tuple[Hyperparameter, ...]]
    scheme: ClassVar[str] = "full"
    """The default sampling of a round's clients: ``poisson``, ``fixed`` or ``full``."""
    unit: ClassVar[str] = ""
    """The unit of privacy, ``client`` or ``record``; empty without noise."""
    relation: ClassVar[str] = "zero-out"
    """The default neighbouring relation."""
    level: ClassVar[str] = ""
    """The name of the clipping threshold; empty without clipping."""
    readings: ClassVar[tuple[Reading, ...]] = (Reading("as printed"),)

    @abstractmethod
    def round(
        self, w: Array, state: Any, clients: Sequence[Client], cohort: Array, rng: Any, v: Values
    ) -> tuple[Array, Any]:
        """The server's parameters after a round, and the state for the next one."""

    @classmethod
    @abstractmethod
    def faults(cls) -> Sequence[Fault]:
        """The known mistakes."""

    def length(self, client: Client, world: World, v: Values) -> float:
        """The length of the client's message from the start without a bound."""
        raise NotImplementedError

    def with_defaults(self, v: dict[str, Any]) -> dict[str, Any]:
        """The hyper-parameters with those that follow from others (sigma from the noise multiplier, and back)."""
        return v

    def sensitivity(self, v: Values) -> float | None:
        """The allowed distance of a round's w from that of a neighbouring data set, by the hyper-parameters; None
        without noise."""
        return None


def calibrated(v: dict[str, Any], unit: float) -> dict[str, Any]:
    """The hyper-parameters with sigma = noise_multiplier * unit. sigma follows from the multiplier, or if sigma is
    given, the multiplier follows from sigma."""
    if v.get("sigma") is None:
        v["sigma"] = v["noise_multiplier"] * unit
    else:
        v["noise_multiplier"] = v["sigma"] / unit
    return v


def sized(text: str, usual: tuple[float, ...], of: Callable[[float], Fault]) -> Fault:
    """A fault with a free number: its text without a number, the usual numbers, and the fault with a given number."""
    return replace(of(usual[0]), description=text, sized=of, usual=usual)


def faulty(
    name: str,
    text: str,
    role: str,
    seen: str = "",
    private: bool = False,
    plain: str = "",
    equivalent_to: str = "",
    **parts: Any,
) -> Fault:
    """A fault, its parts as keywords."""
    return Fault(name, text, role, parts, seen, private, plain=plain, equivalent_to=equivalent_to)
