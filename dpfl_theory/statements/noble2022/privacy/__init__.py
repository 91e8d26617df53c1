"""The statements on privacy: mechanisms, composition, sampling, and what each observer learns; here the hypotheses that
they share, and instances at their edges."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from dpfl_theory.core import Check, Hypothesis
from dpfl_theory.statements import prescribed_noise
from dpfl_theory.statements.instances import edges_of
from dpfl_theory.statements.noble2022 import _symbols as noble

edges = partial(edges_of, "privacy")
"""The checks just inside and just outside of hypotheses."""


def both_sides(build: Any, instance: Any, words: str, inside: Any, outside: Any) -> Iterator[Check]:
    """The checks just inside and just outside of one hypothesis."""
    return edges(build, instance, {words: outside}, {words: inside})


def numbers(**texts: str) -> dict[str, list[str]]:
    """An instance of lists of numbers, which spaces separate."""
    return {name: text.split() for name, text in texts.items()}


def stated(**symbols: str) -> dict[str, Any]:
    """A change of an instance that only states other values of symbols."""
    return {"stated": symbols}


EDGES = {"lM >= 1": stated(l="99/100"), "sigma_g > 0": stated(sigma_g="0"), "delta < 1": stated(delta="1000000")}
"""Restated values at a point with lM = 1 and delta = 1e-6."""
DELTA = prescribed_noise.DELTA
ORDER = Hypothesis(lambda s: s.alpha > 1)
RATE = Hypothesis(lambda s: (s.q > 0, s.q < 1))
NOISE = Hypothesis(lambda s: s.sigma_g > 0)
SAMPLING = Hypothesis(
    noble.enough_take_part,
    r"$0 < l \le 1$ and $0 < s \le 1$, with $lM \ge 1$ users and $sR \ge 1$ records",
    rounding=noble.SLACK,
)
