"""Expected durations of checks and validations on one core: for their order, and for the time left.

    python -m dpfl_theory.runtime.durations reports/evidence

reads the evidence of a whole `dpfl-theory reproduce` and writes `dpfl_theory/runtime/expected_durations.json`. Only the
order and forecasts depend on these numbers, so those of one machine serve all. A check without a number counts as the
mean of its method.
"""

from __future__ import annotations

import copy
import functools
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpfl_theory.errors import InputError
from dpfl_theory.runtime.atomic_files import write
from dpfl_theory.runtime.console import print_message

__all__ = ["FILE", "LONG_SECONDS", "check_seconds", "collect", "recorded", "validation_seconds"]

FILE = Path(__file__).with_name("expected_durations.json")
LONG_SECONDS = 0.75
"""A check that takes at least this long is recorded by name."""


@functools.cache
def recorded() -> dict[str, Any]:
    """The content of the file.

    ``methods`` has the mean seconds of a check that is not named. ``checks`` has seconds by statement, method and name.
    ``validations`` has seconds by profile and name; shared work is in the number of the first script.
    """
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def check_seconds(statement: str, method: str, name: str) -> float:
    """The expected duration of a check [s].

    >>> check_seconds("mine.own", "algebra", "units") < check_seconds("mine.own", "monte-carlo", "a run")
    True
    """
    named = recorded()["checks"].get(statement, {}).get(method, {})
    return float(named.get(name, recorded()["methods"].get(method, LONG_SECONDS)))


def validation_seconds(names: Sequence[str], profile: str = "standard") -> float | None:
    """The expected duration of these scripts, one after the other in one process [s]; None where one is unknown.

    >>> validation_seconds(["nothing of the kind"]) is None
    True
    """
    known = recorded()["validations"].get(profile, {})
    return float(sum(known[name] for name in names)) if all(name in known for name in names) else None


def collect(documents: Sequence[Mapping[str, Any]], known: Mapping[str, Any]) -> dict[str, Any]:
    """The content of the file, from the documents of one `reproduce` (checks and validations).

    Entries that these lack stay as in ``known``, since a profile does not have all checks.
    """
    checks: dict[str, dict[str, dict[str, float]]] = copy.deepcopy(known["checks"])
    short: dict[str, list[float]] = {}
    for profile, e in ((d.get("profile"), e) for d in documents for e in d.get("evidence", [])):
        named = checks.setdefault(e["statement"], {}).setdefault(e["method"], {})
        named.pop(e["check"], None)
        if e["seconds"] >= LONG_SECONDS:
            named[e["check"]] = round(e["seconds"], 1)
        elif profile != "standard":  # the standard profile has only the fastest checks: other means
            short.setdefault(e["method"], []).append(e["seconds"])
    long = {id_: {m: names for m, names in methods.items() if names} for id_, methods in checks.items()}
    scripts = [d for d in documents if "name" in d and d["profile"] != "paper"]
    return {
        "methods": known["methods"] | {m: round(sum(seconds) / len(seconds), 3) for m, seconds in short.items()},
        "checks": {id_: methods for id_, methods in long.items() if methods},
        "validations": known["validations"]
        | {
            profile: {d["name"]: round(d["seconds"], 1) for d in scripts if d["profile"] == profile}
            for profile in {d["profile"] for d in scripts}
        },
    }


def _main(place: Path) -> int:
    paths = sorted(place.glob("*.json"))
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    made = collect(documents, json.loads(FILE.read_text(encoding="utf-8")))
    lacking = [
        what for key, what in (("evidence", "checks"), ("name", "validations")) if not any(key in d for d in documents)
    ]
    if lacking:
        raise InputError(f"{str(place)!r} has no {' and no '.join(lacking)}: give the evidence of a whole reproduce")
    write(FILE, json.dumps(made, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    print_message(
        f"{sum(len(n) for m in made['checks'].values() for n in m.values())} checks take {LONG_SECONDS} s or more"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(_main(Path(sys.argv[1])))
