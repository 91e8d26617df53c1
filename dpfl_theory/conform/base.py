"""What an implementation is held against: a round in its parts, the letters it has, and the faults that are known.

A *reference* is a printed algorithm whose round is put together from parts (what a client computes, how its message is
bounded, how messages are averaged, the noise, the step). A *fault* is the same round with some parts replaced, and a
*reading* another round that the same words allow. So reference, reading, fault and the user's own function are all
called alike, and whoever explains what the user's function does is found by comparison.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from dpfl_theory.conform.world import Client, World
from dpfl_theory.problems.base import Array

__all__ = ["Fault", "Letter", "Player", "Reading", "Reference", "Values", "calibrated", "faulty", "sized"]

Values = Mapping[str, Any]
"""Hyper-parameters by letter, with n (clients) and d (parameters)."""

Player = Callable[..., tuple[Array, Any]]
"""(w, state, clients, cohort, rng, values) -> (w, state)."""


@dataclass(frozen=True)
class Letter:
    """A hyper-parameter.

    name: its letter;  meaning: in words, with its unit;  usual: two values to try where none is given (or functions of
    the letters before);  kind: ``positive``, ``nonnegative``, ``count`` or ``share``;  also: other names under which a
    function may ask for it.
    """

    name: str
    meaning: str
    usual: tuple[Any, Any]
    kind: str = "positive"
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fault:
    """A mistake that implementations make.

    name: a few words;  told: what is wrong and what it should be, one sentence;  plain: the same where the algorithm
    protects nobody, if ``told`` speaks of clipping, noise or accounting;  role: which lines to look at (a key of
    `lines.ROLES`);  parts: of the round that it replaces;  seen: code in which it was reported;  private: whether it
    breaks the privacy that is claimed;  once: whether one vector of noise is drawn in a round;  alike: the name of
    another one that by algebra gives the same w in all rounds;  sized: the same mistake with a number in it, where that
    could be any;  usual: the numbers that code has most.
    """

    name: str
    told: str
    role: str
    parts: Mapping[str, Any]
    seen: str = ""
    private: bool = False
    sized: Callable[[float], Fault] | None = None
    usual: tuple[float, ...] = ()
    plain: str = ""
    once: bool = False
    alike: str = ""

    def variants(self) -> tuple[Fault, ...]:
        """Itself, or where it has a number in it, with each that is usual."""
        return (self,) if self.sized is None else tuple(map(self.sized, self.usual))


@dataclass(frozen=True)
class Reading:
    """Another round that the same algorithm's words allow, and that conforms: its name, and the parts that differ."""

    name: str
    parts: Mapping[str, Any] = field(default_factory=dict)


class Reference(ABC):
    """A printed algorithm. Its fields are the parts of a round."""

    name: ClassVar[str]
    source: ClassVar[str]
    letters: ClassVar[tuple[Letter, ...]]
    scheme: ClassVar[str] = "full"
    """How a round's clients are chosen where nothing is said: ``poisson``, ``fixed`` or ``full``."""
    unit: ClassVar[str] = ""
    """Whose data the noise protects: ``client``, ``record``, or nothing."""
    relation: ClassVar[str] = "zero-out"
    """The neighbouring relation where nothing is said."""
    level: ClassVar[str] = ""
    """The letter of the clipping threshold; nothing where none is clipped."""
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
        """The length of what the client would send from the start if nothing were bounded."""
        raise NotImplementedError

    def settled(self, v: dict[str, Any]) -> dict[str, Any]:
        """The letters with those that follow from others (sigma from the noise multiplier, and back)."""
        return v

    def sensitivity(self, v: Values) -> float | None:
        """How far a round's w may lie from that of a neighbouring data set, by the letters; None without noise."""
        return None


def calibrated(v: dict[str, Any], unit: float) -> dict[str, Any]:
    """The letters with sigma = noise_multiplier * unit, from the multiplier or, where sigma is given, back."""
    if v.get("sigma") is None:
        v["sigma"] = v["noise_multiplier"] * unit
    else:
        v["noise_multiplier"] = v["sigma"] / unit
    return v


def sized(told: str, usual: tuple[float, ...], of: Callable[[float], Fault]) -> Fault:
    """A fault with a number in it: what is told of it where no number is known, usual ones, and the fault with one."""
    return replace(of(usual[0]), told=told, sized=of, usual=usual)


def faulty(
    name: str,
    told: str,
    role: str,
    seen: str = "",
    private: bool = False,
    plain: str = "",
    alike: str = "",
    **parts: Any,
) -> Fault:
    """A fault, its parts as keywords."""
    return Fault(name, told, role, parts, seen, private, plain=plain, alike=alike)
