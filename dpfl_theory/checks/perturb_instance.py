"""Variations of an instance, for the falsifier's search: the same plain data with a few of its numbers changed."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

FIXED = ("replicates",)
"""Keys that say how an instance is sampled, not which instance it is."""
MOST = 4096
"""The largest whole number of a variation, unless the instance had a larger one."""

Path = tuple[Any, ...]


def numbers(instance: Any, at: Path = ()) -> Iterator[Path]:
    """The places of numbers in an instance, also of those written as text.

    >>> list(numbers({"eta": "1/2", "name": "huber", "E": 4, "cohort": {"size": 2}, "on": True, "q": [1.0]}))
    [('eta',), ('E',), ('cohort', 'size'), ('q', 0)]
    """
    if isinstance(instance, Mapping):
        for key, value in instance.items():
            if key not in FIXED:
                yield from numbers(value, (*at, key))
    elif isinstance(instance, (list, tuple)):
        for i, value in enumerate(instance):
            yield from numbers(value, (*at, i))
    elif not isinstance(instance, bool) and _number(instance) is not None:
        yield at


def varied(instance: Mapping[str, Any], draw: random.Random) -> dict[str, Any]:
    """The instance with one to three of its numbers changed: scaled, or moved from zero, or another seed.

    >>> varied({"eta": 0.5, "name": "huber"}, random.Random(1))["name"]
    'huber'
    """
    places = list(numbers(instance))
    found: dict[str, Any] = _copied(instance)
    for place in draw.sample(places, min(len(places), draw.choice((1, 1, 2, 3)))):
        set_value(found, place, _changed(get(found, place), place[-1], draw))
    return found


def _number(value: Any) -> Fraction | float | None:
    if isinstance(value, str):
        try:
            return Fraction(value)
        except (ValueError, ZeroDivisionError):
            return None
    return value if isinstance(value, (int, float)) and math.isfinite(value) else None


def _changed(value: Any, key: Any, draw: random.Random) -> Any:
    """Another number of the same kind. Whole numbers stay whole and at least 1 if they were, signs stay."""
    if key == "seed":
        return draw.randrange(1000)
    if isinstance(value, int):
        if value == 0:
            return draw.choice((0, 1))
        size = abs(value)
        other = draw.choice((size + 1, max(1, size - 1), 2 * size, max(1, size // 2), draw.randint(1, 2 * size)))
        return int(math.copysign(min(other, max(MOST, size)), value))
    if isinstance(value, str):
        number = Fraction(value)
        scale = Fraction(draw.choice(("1/4", "1/2", "3/4", "9/10", "11/10", "4/3", "2", "4")))
        return str(number * scale if number else Fraction(draw.choice(("0", "1/100", "1/4"))))
    return value * math.exp(draw.gauss(0.0, draw.choice((0.2, 1.0, 2.5)))) if value else draw.choice((0.0, 0.01, 0.3))


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _copied(v) for k, v in value.items()}
    return [_copied(v) for v in value] if isinstance(value, (list, tuple)) else value


def get(instance: Any, place: Sequence[Any]) -> Any:
    """The value at a place of an instance."""
    for key in place:
        instance = instance[key]
    return instance


def set_value(instance: Any, place: Sequence[Any], value: Any) -> None:
    """Sets the value at a place of an instance."""
    get(instance, place[:-1])[place[-1]] = value
