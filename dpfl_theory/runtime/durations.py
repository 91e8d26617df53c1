"""Expected durations of checks and validations on one core: for their order, and for the time left.

They are in the table of `dpfl_theory.runtime.evidence_table`. Only the order and forecasts depend on these numbers, so
those of one machine serve all. Three sections have them, in seconds:

* ``seconds``: of each statement's long checks, by method and name;
* ``mean_seconds``: of each method's other checks, their mean;
* ``validation_seconds``: of each validation, by profile. Shared work is in the number of the first script.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dpfl_theory.runtime.evidence_table import section

LONG_SECONDS = 0.75
"""A check that takes at least this long is recorded by name."""
NOISE = 1.5
"""A duration on record stays unless a new one is longer or shorter by this factor."""


def check_seconds(statement: str, method: str, name: str) -> float:
    """The expected duration of a check [s].

    >>> check_seconds("mine.own", "algebra", "units") < check_seconds("mine.own", "monte-carlo", "a run")
    True
    """
    named = section("seconds").get(statement, {}).get(method, {})
    return float(named.get(name, section("mean_seconds").get(method, LONG_SECONDS)))


def validation_seconds(names: Sequence[str], profile: str = "standard") -> float | None:
    """The expected duration of these scripts, one after the other in one process [s]; None where one is unknown.

    >>> validation_seconds(["nothing of the kind"]) is None
    True
    """
    known = [section("validation_seconds").get(name, {}).get(profile) for name in names]
    return None if None in known else float(sum(known))


def seconds_of_checks(evidence: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The section ``seconds``, from evidence as plain data. Checks that it lacks keep their durations."""
    known: dict[str, dict[str, dict[str, float]]] = copy.deepcopy({**section("seconds")})
    for e in evidence:
        named = known.setdefault(e["statement"], {}).setdefault(e["method"], {})
        seconds = _settled(named.pop(e["check"], 0.0), e["seconds"])
        if seconds >= LONG_SECONDS:
            named[e["check"]] = round(seconds, 1)
    long = {id_: {m: dict(sorted(by.items())) for m, by in sorted(own.items()) if by} for id_, own in known.items()}
    return {id_: methods for id_, methods in long.items() if methods}


def seconds_of_methods(evidence: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """The section ``mean_seconds``, from evidence of all checks: a part of them has other means."""
    short: dict[str, list[float]] = {}
    for e in evidence:
        if e["seconds"] < LONG_SECONDS:
            short.setdefault(e["method"], []).append(e["seconds"])
    known = section("mean_seconds")
    means = {m: _settled(known.get(m, 0.0), sum(seconds) / len(seconds)) for m, seconds in short.items()}
    return {**known, **{method: round(mean, 3) for method, mean in means.items()}}


def seconds_of_validations(documents: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The section ``validation_seconds``, from documents of validations. The profile ``paper`` does not count."""
    known: dict[str, dict[str, float]] = copy.deepcopy({**section("validation_seconds")})
    for d in documents:
        if d["profile"] != "paper":
            own = known.setdefault(d["name"], {})
            own[d["profile"]] = round(_settled(own.get(d["profile"], 0.0), d["seconds"]), 1)
    return {name: dict(sorted(own.items())) for name, own in known.items()}


def _settled(known: float, seconds: float) -> float:
    """The duration on record, or the new one where it differs by more than noise."""
    return known if known / NOISE < seconds < known * NOISE else seconds
