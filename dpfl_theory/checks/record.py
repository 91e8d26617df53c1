"""Measures what the package records about its checks, and writes the table `dpfl_theory/statements/evidence.jsonl`.

    dpfl-theory check [ID]... --format json --output build/check.json
    python -m dpfl_theory.checks.record build/check.json

reads documents of checks and of validations, or folders of them, and plants changes in the statements with evidence.
Rows of other statements stay, so a new statement needs only a check of its own. Rows of ids that the catalogue no
longer has are removed. Expected durations are best read from the evidence of a whole ``reproduce`` on a quiet machine.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dpfl_theory import statements as catalogue
from dpfl_theory.checks.numbers import by_statement, renewed
from dpfl_theory.checks.power import measure
from dpfl_theory.checks.profiles import omitted
from dpfl_theory.checks.runner import checks_of
from dpfl_theory.errors import InputError
from dpfl_theory.runtime.console import print_message
from dpfl_theory.runtime.evidence_table import LONG_SECONDS, section, write
from dpfl_theory.runtime.threads import usable_cores

Document = Mapping[str, Any]
NOISE = 1.5
"""A duration on record stays unless a new one is longer or shorter by this factor."""


def record(documents: Sequence[Document]) -> None:
    """Write the sections of the table that these documents change."""
    checks = [d for d in documents if "evidence" in d]
    scripts = [d for d in documents if "name" in d]
    if not checks and not scripts:
        raise InputError("no document has evidence of checks or of a validation: give those of 'check' or 'reproduce'")
    ids = {s.id for s in catalogue.all_statements()}
    if checks:
        timed = [e for d in checks for e in d["evidence"] if e["statement"] in ids]
        write("seconds", {id_: own for id_, own in seconds_of_checks(timed).items() if id_ in ids})
        evidence = [e for d in checks if d.get("profile") != "standard" for e in d["evidence"]]
        if {e["statement"] for e in evidence} >= ids:
            write("mean_seconds", seconds_of_methods(evidence))
        _record_power([e for e in evidence if e["statement"] in ids])
        values, missing = renewed(by_statement({"evidence": evidence}))
        write("numbers", values)
        for sentence in missing:
            print_message(sentence)
    if scripts:
        write("validation_seconds", seconds_of_validations(scripts))


def _record_power(evidence: Sequence[Mapping[str, Any]]) -> None:
    """The power of the statements all of whose checks have evidence, and the checks that it makes superfluous."""
    found: dict[str, dict[tuple[str, str], Mapping[str, Any]]] = {}
    for e in evidence:
        found.setdefault(e["statement"], {})[e["method"], e["check"]] = e
    known = [s for s in catalogue.all_statements() if s.id in found]
    complete = [s for s in known if all((c.method, c.name) in found[s.id] for c in checks_of(s))]
    power = measure(evidence, complete, jobs=usable_cores())
    left_out = {s.id: omitted(s, checks_of(s), found[s.id], power[s.id]) for s in complete}
    _replace("power", {id_: own.to_json() for id_, own in power.items()})
    _replace("standard", left_out)
    for id_ in sorted(found.keys() - power.keys()):
        print_message(f"{id_} keeps its row: the document does not have all of its checks")


def _replace(name: str, new: Mapping[str, Any]) -> None:
    """Replace the values of some statements; empty ones, and those of ids that are gone, are removed."""
    ids = {s.id for s in catalogue.all_statements()}
    write(name, {id_: value for id_, value in {**section(name), **new}.items() if value and id_ in ids})


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


def main(*paths: str) -> None:
    """Read the documents at these paths, and write the table."""
    files = [file for path in map(Path, paths) for file in (sorted(path.glob("*.json")) if path.is_dir() else [path])]
    record([json.loads(file.read_text(encoding="utf-8")) for file in files])
    print_message(f"{len(section('power'))} statements are on record")


if __name__ == "__main__":
    main(*sys.argv[1:])
