"""The parts of the recorded results: how each is computed, stored and compared."""

from __future__ import annotations

import contextlib
import io
import json
import math
import shlex
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.conform import __main__ as conformance
from benchmarks.conform.planted import CORRECT, PLANTED
from dpfl_theory.checks.runner import plan
from dpfl_theory.cli import main as command_line
from dpfl_theory.statements import select

FOLDER = Path(__file__).parent
COMMANDS = FOLDER / "commands.txt"
SHARE = 1e-6 / 1072
"""The false-alarm probability of each run: that of the 1072 runs that were recorded first, so that a new statement adds
rows and changes none."""

Results = dict[str, Any]


class Sources(NamedTuple):
    """Results that were computed before: a document of checks, and a folder of evidence."""

    checks: Path | None = None
    evidence: Path | None = None


def _checks(sources: Sources) -> Results:
    """Verdict, sides with their limits, ratio and terms of every check, by statement, method and name.

    Each run has the same share of the false-alarm probability, however many statements there are. With another share
    its limits would be others, and so would be its estimate where fewer replicates decide.
    """
    if sources.checks is None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "checks.json"
            _run(["check", "--alpha", alpha(), "--format", "json", "--output", str(path), "--store", "off"])
            return _checks(Sources(path))
    kept = ("verdict", "lhs", "rhs", "ratio", "terms")
    return {
        f"{e['statement']} | {e['method']} | {e['check']}": {key: e[key] for key in kept}
        for e in json.loads(sources.checks.read_text(encoding="utf-8"))["evidence"]
    }


def alpha(*words: str) -> str:
    """The false-alarm probability of a check of these statements, or of all, that gives each run its recorded share.

    >>> float(alpha("hou2023.lemma1")) < float(alpha("hou2023")) < 1e-6
    True
    """
    runs = sum(check.method == "monte-carlo" for _, check in plan(select(words)))
    whole = SHARE * max(runs, 1)
    nearest = (whole, math.nextafter(whole, 0.0), math.nextafter(whole, 1.0))
    return repr(next((a for a in nearest if a / max(runs, 1) == SHARE), whole))


def _validations(sources: Sources) -> Results:
    """Verdict and measured numbers of every claim of every validation, in its full profile."""
    if sources.evidence is None:
        with tempfile.TemporaryDirectory() as folder:
            _run(["validate", "--full", "--output", folder, "--store", "off"])
            return _validations(Sources(evidence=Path(folder) / "evidence"))
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(sources.evidence.glob("*.json"))]
    return {
        f"{document['name']} | {claim['claim']}": {key: claim[key] for key in ("verdict", "measured")}
        for document in documents
        if document["schema"].startswith("dpfl-theory/validation/")
        for claim in document["data"]["claims"]
    }


def _conform(sources: Sources) -> Results:
    """The names that each planted fault gets, and the verdict on each correct round."""
    with ProcessPoolExecutor() as pool:
        names = list(pool.map(conformance.planted, range(len(PLANTED))))
        verdicts = list(pool.map(conformance.correct, [(name, 0) for name in CORRECT]))
    return dict(zip(rounds(), (found for found, *_ in (*names, *verdicts))))


def rounds() -> list[str]:
    """The rounds of the conformance table, faulty ones first. A number tells those of one name apart, so that a fault
    may be added anywhere."""
    alike, found = Counter[str](), list[str]()
    for plant in PLANTED:
        name = f"fault | {plant.of} | {plant.named}"
        alike[name] += 1
        found.append(f"{name} | {alike[name]}")
    return [*found, *(f"correct | {name}" for name in CORRECT)]


_VOLATILE = frozenset({"seconds", "versions", "command", "store"})
"""Keys whose values depend on the machine or the clock."""


def _answers(sources: Sources) -> Results:
    """The JSON documents of the commands, without seconds and versions."""
    commands = COMMANDS.read_text(encoding="utf-8").splitlines()
    with ProcessPoolExecutor() as pool:
        return dict(zip(commands, pool.map(_answer, commands)))


def _answer(command: str) -> Any:
    with contextlib.redirect_stderr(io.StringIO()):
        return _stable(json.loads(_run([*shlex.split(command), "--format", "json"])))


def _stable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _stable(item) for key, item in value.items() if key not in _VOLATILE}
    return [_stable(item) for item in value] if isinstance(value, list) else value


def _run(arguments: list[str]) -> str:
    """What a command prints; its exit code must be that of a complete result."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        code = command_line(arguments)
    if code not in (0, 1):
        raise RuntimeError(f"dpfl-theory {shlex.join(arguments)} ended with exit code {code}")
    return printed.getvalue()


PARTS: dict[str, Callable[[Sources], Results]] = {
    "checks": _checks,
    "validations": _validations,
    "conform": _conform,
    "answers": _answers,
}


def compute(part: str, sources: Sources | None = None) -> Results:
    """The results of a part, as the code is now."""
    computed: Results = json.loads(json.dumps(PARTS[part](sources or Sources())))
    return computed


def file(part: str) -> Path:
    """The file that holds a part: one result a line."""
    return FOLDER / f"{part}.jsonl"


def write(part: str, results: Results) -> None:
    """Record the results of a part."""
    lines = [json.dumps([name, results[name]]) for name in sorted(results)]
    file(part).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def read(part: str) -> Results:
    """The recorded results of a part."""
    return dict(json.loads(line) for line in file(part).read_text(encoding="utf-8").splitlines())


def differences(recorded: Any, computed: Any, tolerance: float = 0.0, at: str = "") -> Iterator[str]:
    """A line for each difference: its place, both values, and of numbers the relative difference.

    Numbers whose relative difference is at most the tolerance count as equal.

    >>> list(differences({"a": [1.0, 2.0]}, {"a": [1.0, 2.5], "b": 0}))
    ['a[1]: 2.0 -> 2.5 (0.22)', 'b: added']
    >>> list(differences({"a": 2.0}, {"a": 2.5}, 0.25))
    []
    """
    if isinstance(recorded, dict) and isinstance(computed, dict):
        for key in sorted({*recorded, *computed}):
            place = f"{at}.{key}" if at else key
            if key not in computed:
                yield f"{place}: gone"
            elif key not in recorded:
                yield f"{place}: added"
            else:
                yield from differences(recorded[key], computed[key], tolerance, place)
    elif isinstance(recorded, list) and isinstance(computed, list) and len(recorded) == len(computed):
        for i, (one, other) in enumerate(zip(recorded, computed)):
            yield from differences(one, other, tolerance, f"{at}[{i}]")
    elif _is_number(recorded) and _is_number(computed):
        if recorded != computed and not (math.isnan(recorded) and math.isnan(computed)):
            apart = 2 * abs(recorded - computed) / (abs(recorded) + abs(computed))
            if not apart <= tolerance:
                yield f"{at}: {recorded} -> {computed} ({apart:.2g})"
    elif recorded != computed:
        yield f"{at}: {recorded!r} -> {computed!r}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
