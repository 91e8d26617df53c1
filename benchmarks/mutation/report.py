"""The table of mutation scores, and the data file with the surviving and the equivalent mutants."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.mutation.run import ALIVE, STATE, digest, equivalent, source_of
from benchmarks.mutation.targets import NOT_YET, TARGETS

__all__ = ["alive", "write"]

HERE = Path(__file__).parent
HEAD = """# Mutation testing

`make mutation` writes this table; `benchmarks/mutation/__init__.py` says how. Mutants are small changes of the code:
another operator, a number that is one larger or smaller, a negated condition, `max` for `min`, another verdict.
*Killed*: a fast test fails. *Equivalent*: the change cannot make a result wrong, for the reason in `equivalent.json`:
nothing changes, or a certified limit is found with another grid or from another start.
*Surviving*: neither; `results.json` lists them.

| module | mutants | killed | equivalent | surviving | killed of those that can be |
| --- | ---: | ---: | ---: | ---: | ---: |
"""


def _state(module: str) -> dict[str, Any] | None:
    file = STATE / f"{module}.json"
    return json.loads(file.read_text()) if file.exists() else None


def _survived(module: str) -> list[tuple[str, str, str]]:
    state = _state(module) or {"outcomes": {}}
    found = [json.loads(k) for k, v in state["outcomes"].items() if v in ALIVE]
    return [(f, b, a) for f, b, a, *_ in found]


def alive(module: str) -> list[tuple[str, str, str]]:
    """The mutants of a module that no test kills and that are not known to be equivalent."""
    return [m for m in _survived(module) if m not in equivalent(module)]


def _result(module: str) -> dict[str, Any] | None:
    """The counts of one module, and its mutants that were not killed."""
    state = _state(module)
    if state is None or not state["whole"]:
        return None
    reasons, survived = equivalent(module), _survived(module)
    names = ("function", "before", "after")
    return {
        "source": state["source"],
        "mutants": len(state["outcomes"]),
        "killed": len(state["outcomes"]) - len(survived),
        "killed_by_limit": sum(v == "limit" for v in state["outcomes"].values()),
        "equivalent": [{**dict(zip(names, m)), "reason": reasons[m]} for m in survived if m in reasons],
        "surviving": [dict(zip(names, m)) for m in survived if m not in reasons],
    }


def write() -> None:
    """Write the table and the data; modules without a finished run here keep their former result."""
    file = HERE / "results.json"
    results = json.loads(file.read_text()) if file.exists() else {}
    rows = []
    for module in (*TARGETS, *NOT_YET):
        found = _result(module) or results.get(module)
        if found is None:
            rows.append(f"| `{module}` | not yet run | | | | |")
            continue
        results[module] = found
        since = "" if found["source"] == digest(source_of(module).read_text()) else ", changed since"
        rows.append(_row(f"`{module}`{since}", found["mutants"], found["killed"], *map(len, _rest(found))))
    known = [results[m] for m in (*TARGETS, *NOT_YET) if m in results]
    total = [sum(r["mutants"] for r in known), sum(r["killed"] for r in known)]
    total += [sum(len(_rest(r)[k]) for r in known) for k in (0, 1)]
    rows.append(_row("all that were run", *total))
    kept = {m: results[m] for m in (*TARGETS, *NOT_YET) if m in results}
    file.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    (HERE / "MUTATION.md").write_text(HEAD + "\n".join(rows) + "\n")


def _rest(result: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    return result["equivalent"], result["surviving"]


def _row(name: str, mutants: int, killed: int, equivalent: int, surviving: int) -> str:
    share = 100.0 * killed / max(1, killed + surviving)
    return f"| {name} | {mutants} | {killed} | {equivalent} | {surviving} | {share:.2f} % |"
