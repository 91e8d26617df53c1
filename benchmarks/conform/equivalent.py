"""Known faults that no observation distinguishes, by algorithm, and whether the report names them together.

    python -m benchmarks.conform.equivalent [ALGORITHM ...]

Every fault is played as the user's round. Two faults are equivalent where all probes of the comparison give the same
results. The exit code is 1 where the report for one of them leaves out another one.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from dpfl_theory.conform.case import Case
from dpfl_theory.conform.comparisons.diagnose import explained
from dpfl_theory.conform.fault_search import FAILURES, Candidate, candidate
from dpfl_theory.conform.probes import Path, Plan, Spread, agree
from dpfl_theory.conform.references import Player, Reference, Values, references
from dpfl_theory.conform.settings import settings
from dpfl_theory.conform.traces import chosen
from dpfl_theory.core.algorithm import Fault
from dpfl_theory.problems.base import Array

__all__ = ["equivalent", "left_out"]


def plan_of(reference: Reference) -> Plan:
    """The probes of a function that takes all hyper-parameters."""
    symbols = {p.symbol for p in reference.parameters}
    where: dict[str, Any] = {"clients": 7, "cohort": None, "scheme": None, "relation": None}
    return Plan(reference, settings(reference, {}, symbols, **where))


def equivalent(reference: Reference) -> Iterator[list[Fault]]:
    """Groups of faults with different names and the same results on all probes, one fault for each name. Faults without
    any effect there form a group with an empty name, which stands for the algorithm itself."""
    plan = plan_of(reference)
    plain = Fault("", "", "", {})
    every = [plain, *(x for one in reference.faults() if not one.general for x in one.variants())]
    groups = [[candidate(reference, reference.readings[0], (one,)) for one in every]]
    probes: list[Path | Spread] = [*plan.paths, *plan.spreads]
    for probe in probes:
        path = probe.path if isinstance(probe, Spread) else probe
        choices = chosen(drawing(reference.round), path)
        groups = [part for group in groups for part in apart(probe, choices, group) if len({*names(part)}) > 1]
    if reference.algorithm.noise_in_messages:  # the count of numbers shows whether all messages share one noise
        groups = [[one for one in group if one.faults[0].once == once] for group in groups for once in (False, True)]
    for group in groups:
        faults = {one.faults[0].name: one.faults[0] for one in group}
        if len(faults) > 1:
            yield list(faults.values())


def names(group: Sequence[Candidate]) -> list[str]:
    """The names of their faults."""
    return [one.faults[0].name for one in group]


def drawing(player: Player) -> Player:
    """A player that draws its batches where a share of the records is drawn, and tosses a coin where there is one."""

    def play(w: Array, state: Any, clients: Any, cohort: Array, rng: Any, v: Values) -> tuple[Array, Any]:
        share, coin = float(v.get("s", 1.0)), float(v.get("p", 1.0))
        if coin < 1.0 and "moved" not in v:
            v = {**v, "moved": bool(np.random.default_rng(v.get("number", 0)).random() < coin)}
        if share < 1.0 and not v.get("batches"):
            own = {i: np.random.default_rng([v.get("number", 0), i]) for i in range(len(clients))}
            sizes = {i: max(int(share * len(client)), 1) for i, client in enumerate(clients)}
            drawn = {
                i: [own[i].choice(len(clients[i]), sizes[i], replace=False).tolist() for _ in range(v["local_steps"])]
                for i in own
            }
            v = {**v, "batches": drawn}
        return player(w, state, clients, cohort, rng, v)

    return play


def apart(probe: Path | Spread, choices: Any, group: Sequence[Candidate]) -> list[list[Candidate]]:
    """The group in parts, each of which has the same result on a probe with these random choices. Those that fail there
    are left out."""
    parts: list[tuple[Array, list[Candidate]]] = []
    for one in group:
        try:
            value = probe.outcome(one.player, choices)
        except FAILURES:
            continue
        for known, part in parts:
            if known.shape == value.shape and agree(probe, known, value):
                part.append(one)
                break
        else:
            parts.append((value, [one]))
    return [part for _, part in parts]


def left_out(reference: Reference, group: Sequence[Fault]) -> list[str]:
    """The names that the report lacks, where the first fault of an equivalent group is the user's round."""
    player = drawing(candidate(reference, reference.readings[0], group[:1]).player)
    case = Case(reference, subject(reference, player), plan_of(reference), 0, 1e-6, 0)
    told = " ".join(f"{one.name} {one.description}" for one in explained(case, case.everything()))
    return [one.name for one in group if one.name not in told and one.name]


def subject(reference: Reference, player: Player) -> Any:
    """A player in the place of a user's function."""

    class Played(SimpleNamespace):
        __call__ = staticmethod(player)

    taken = {p.symbol: p.symbol for p in reference.parameters}
    return Played(function=player, code=None, file=None, taken=taken)


def main(words: Sequence[str]) -> int:
    """Print all groups; returns 1 where a report is not whole."""
    failed = False
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name, reference in references().items():
            if words and name not in words:
                continue
            for group in equivalent(reference):
                said = " = ".join(repr(one.name) if one.name else "the algorithm" for one in group)
                lacks = [] if not group[0].name else left_out(reference, group)
                failed |= bool(lacks)
                print(f"{name}: {said}{f'; the report lacks {lacks}' if lacks else ''}", flush=True)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
