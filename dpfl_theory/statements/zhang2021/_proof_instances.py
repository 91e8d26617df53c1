"""Instances of one round for the steps of zhang2021's proof: scalar quadratics, as plain data (see `_round.Round`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dpfl_theory.statements.model import Check, Statement
from dpfl_theory.statements.zhang2021 import _round

__all__ = ["CLIPPED", "PLAIN", "REPAIRED_STEPS", "exact"]

_THREE = ["without", "anew", "shared"]
_POINTS = ["0", "1", "-7/3", "12"]

PLAIN: dict[str, dict[str, Any]] = {
    "one client, one step": {"q": ["1"], "m": ["0"], "Q": 1, "P": 1, "noise": "1"},
    "identical clients": {"q": ["1"] * 3, "m": ["0"] * 3, "Q": 4, "P": 2, "noise": "1"},
    "two clients far apart": {"q": ["1", "1"], "m": ["-50", "50"], "Q": 3, "P": 1, "noise": "1"},
    "different curvatures, one negative": {
        "q": ["2", "-1", "1/2"],
        "m": ["1", "4", "-3"],
        "Q": 5,
        "P": 2,
        "noise": "3",
        "sigma": "1/10",
    },
    "concave clients, full participation": {"q": ["-1", "-1"], "m": ["0", "2"], "Q": 3, "P": 2, "noise": "1/2"},
    "many steps": {"q": ["1", "3"], "m": ["0", "1"], "Q": 30, "P": 1, "noise": "1"},
}
"""Without clipping: the moments are in closed form."""

CLIPPED: dict[str, dict[str, Any]] = {
    "clipped, two clients far apart": {"q": ["1", "1"], "m": ["-50", "50"], "Q": 2, "P": 1, "c": "1/2", "noise": "1"},
    "clipped, noise decides": {"q": ["1", "2"], "m": ["0", "1"], "Q": 4, "P": 2, "c": "1/20", "noise": "2"},
    "clipped, skew noise": {
        "q": ["2", "-1", "1/2"],
        "m": ["1", "4", "-3"],
        "Q": 3,
        "P": 2,
        "c": "1/10",
        "noise": "3",
        "law": "skew",
        "sigma": "1/10",
    },
    "one client clipped": {"q": ["1"] * 4, "m": ["0", "0", "0", "1000"], "Q": 2, "P": 3, "c": "1", "noise": "1"},
}
"""With clipping: all noise paths are enumerated."""

_STEP = {"eta Q L": "129/1000", "eta_g": "1", "x": _POINTS, "samplings": _THREE}
REPAIRED_STEPS = {"eta Q L": "91/1000", "eta_g": "1/11", "x": _POINTS, "samplings": ["without", "anew"]}
"""0.091 < 1/sqrt(120) = 0.09129; with eta_g = 1/11 the product is at most P/(120 Q L) for every P >= 1."""


def exact(
    statement: Callable[[], Statement],
    verdicts: Mapping[str, str] | None = None,
    step: Mapping[str, Any] | None = None,
    instead: Mapping[str, str] | None = None,
    title: str = "",
    **more: Any,
) -> tuple[Check, ...]:
    """An exact check on every instance above; verdicts: those that are not ``holds``, by name or for all (``*``).

    instead: see `_round.cases`; title: what is put before the instances' names then.
    """
    known = verdicts or {}
    build = _round.cases(statement, instead)
    return tuple(
        Check(
            "exact",
            title + name,
            build,
            {**_STEP, **(step or {}), **i, **more},
            known.get(name, known.get("*", "holds")),
        )
        for name, i in {**PLAIN, **CLIPPED}.items()
    )
