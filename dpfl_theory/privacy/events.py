"""The releases of a run as data: a release, its repetition, and its occurrence with a probability. Accountants are in
other modules."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from dpfl_theory.privacy.tails import FullParticipation, Tails


@dataclass(frozen=True)
class Release:
    """One noisy release about one protected unit.

    Args:
        forward: tails of P over Q that bound those of every neighbouring pair; Q lacks the unit (or holds another).
        backward: the same for Q over P. attacks: orders (forward, backward) of pairs that occur, for the lower limit;
        empty when the bound is one of them.
    """

    forward: Tails
    backward: Tails
    attacks: tuple[tuple[Tails, Tails], ...] = field(default=())

    def pairs(self) -> tuple[tuple[Tails, Tails], ...]:
        """The pairs that occur, in both orders."""
        occurring = self.attacks or ((self.forward, self.backward),)
        return tuple(dict.fromkeys((*occurring, *((b, a) for a, b in occurring))))


@dataclass(frozen=True)
class Repeated:
    """The event repeated ``times`` times, each with fresh noise; a later one may depend on earlier releases."""

    event: Event
    times: int


@dataclass(frozen=True)
class WithProbability:
    """The event happens with this probability, independently of the data, and the observer sees whether it did."""

    event: Event
    probability: float


Event = Release | Repeated | WithProbability


def gaussian(noise_multiplier: float) -> Release:
    """The Gaussian mechanism: the unit takes part with certainty.

    >>> gaussian(2.0).forward
    FullParticipation(z=2.0)
    """
    return Release(FullParticipation(noise_multiplier), FullParticipation(noise_multiplier))


def gaussian_multiplier(release: Release) -> float | None:
    """The noise multiplier of a release that is Gaussian, both in its bound and in the pairs that occur; else None.

    >>> two, three = FullParticipation(2.0), FullParticipation(3.0)
    >>> gaussian_multiplier(gaussian(2.0)), gaussian_multiplier(Release(two, two, ((three, three),)))
    (2.0, None)
    """
    forward = release.forward
    return (
        forward.z
        if isinstance(forward, FullParticipation) and forward == release.backward and not release.attacks
        else None
    )


def leaf(event: Event) -> Release:
    """The single kind of release in an event."""
    return event if isinstance(event, Release) else leaf(event.event)


def release_count(event: Event) -> int:
    """The largest number of releases in an event.

    >>> release_count(Repeated(WithProbability(Repeated(gaussian(1.0), 5), 0.1), 20))
    100
    """
    match event:
        case Release():
            return 1
        case Repeated(inner, times):
            return times * release_count(inner)
        case WithProbability(inner, _):
            return release_count(inner)


def simplified(event: Event) -> Event:
    """The same event in a simpler form: T Gaussian releases are one with the noise multiplier divided by sqrt(T).

    >>> simplified(Repeated(gaussian(10.0), 4)).forward
    FullParticipation(z=5.0)
    """
    match event:
        case Release():
            return event
        case Repeated(inner, times):
            inner = simplified(inner)
            if times == 1:
                return inner
            if isinstance(inner, Repeated):
                return simplified(Repeated(inner.event, times * inner.times))
            if isinstance(inner, Release) and (z := gaussian_multiplier(inner)) is not None:
                return gaussian(z / math.sqrt(times))
            return Repeated(inner, times)
        case WithProbability(inner, probability):
            inner = simplified(inner)
            if isinstance(inner, WithProbability):
                return WithProbability(inner.event, probability * inner.probability)
            return inner if probability == 1 else WithProbability(inner, probability)
