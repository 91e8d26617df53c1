"""Diagnosis: the reading or the faults that agree with the function, and the report where none does."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpfl_theory.algorithms.faults.carried import LEARNS
from dpfl_theory.algorithms.record_level import LOTS
from dpfl_theory.conform.case import Case, player_of
from dpfl_theory.conform.comparisons.evidence import difference, of_role
from dpfl_theory.conform.comparisons.noise_linearity import APART, CHANGES, SCALED, STAYS, noise_is_kept
from dpfl_theory.conform.comparisons.other_noise import (
    ANOTHER,
    adapts,
    first_rounds,
    fixed_noise,
    other_noise,
    ratios,
    separated,
    with_one_factor,
    with_other_numbers,
)
from dpfl_theory.conform.fault_search import Candidate, ObservedDifference, SearchResult, candidate, explains, find
from dpfl_theory.conform.probes import EXACT, STEP, Path, Spread, probe_without_noise
from dpfl_theory.conform.result import Finding
from dpfl_theory.core.algorithm import Fault

MOST_NAMES = 3
"""How many names of deviations that explain first rounds are listed."""
NEAR = 0.05
"""The relative error allowed in the noise where it is not known which steps had an empty lot."""
UNKNOWN = "another round"
AT_REST, ONLY_NOISE = "w does not move", "only noise moves w"
VAGUE = ("no noise", ANOTHER, SCALED, CHANGES, STAYS, APART)
"""Names for noise that no known mistake explains, also where the function has no noise that could be silenced."""


def explained(case: Case, seen: Sequence[ObservedDifference]) -> list[Finding]:
    """No finding where a reading agrees with the function; else the faults that agree with it, or the difference."""
    for reading in case.by_draws(case.reference.readings):
        if explains(player_of(case.reference, reading), seen):
            case.reading = reading
            case.suspects, case.explained = [candidate(case.reference, reading, ())], True
            return []
    if still := _at_rest(case, seen):
        return still
    found = find(case.reference, case.with_more_steps(seen), case.search)
    case.suspects, case.explained = found.whole or found.silent, bool(found.whole)
    if found.whole:
        left = with_other_numbers(case, found.whole)
        case.explained = bool(left)
        return _chosen(case, left, seen) if left else _constant_factor(case, seen, found.whole[0])
    return _unnamed(case, seen, found)


def _at_rest(case: Case, seen: Sequence[ObservedDifference]) -> list[Finding]:
    """The finding that w does not move at all, or only by noise, which excludes others; and that on the noise. Where
    clients start from the ends of others, the cause is seen: it is left to the search."""
    paths = [one for one in seen if isinstance(one.probe, Path)]
    spreads = [one for one in seen if isinstance(one.probe, Spread)]
    points = [choices["points"] for one in paths for choices in one.choices or ()]
    starts = [(one.first.path.world.start, one) for one in paths]
    if not paths or any(np.any(one.value != start) for start, one in starts):
        return []
    for start, one in starts:
        for choices in one.choices or ():
            if not all(np.array_equal(own[0], start) for own in choices["points"].values()):
                return []
    trained = (
        "the clients' gradients have no effect. One cause is that the new vector is lost, another that the updates or "
        "the step are zero"
        if any(points)
        else "no client is asked for a gradient"
    )
    noisy = any(np.any(one.value) for one in spreads)
    said = f"{'without noise ' if noisy else ''}every round returns the vector that it was given, and {trained}"
    name = ONLY_NOISE if noisy else AT_REST
    found = Finding(name, f"{said}: return the server's new vector", difference(case, paths), case.lines("step"))
    first, reading = first_rounds(spreads), case.reference.readings[0]
    if not noisy or any(explains(player_of(case.reference, one), first) for one in case.reference.readings):
        return [found]
    return [found, *other_noise(case, first, Candidate(reading, (), player_of(case.reference, reading)), [found])]


def _constant_factor(case: Case, seen: Sequence[ObservedDifference], suspect: Candidate) -> list[Finding]:
    """The findings where a known fault of the noise has the right size only by chance."""
    case.reading = suspect.reading
    others = tuple(fault for fault in suspect.faults if fault.role != "noise")
    player = case.reference.with_parts(suspect.reading.parts, *(fault.parts for fault in others)).round
    named = [_named(case, fault, seen, others) for fault in others]
    spreads = [one for one in seen if isinstance(one.probe, Spread)]
    return [*named, *other_noise(case, spreads, Candidate(suspect.reading, others, player), named)]


def _chosen(
    case: Case, suspects: Sequence[Candidate], seen: Sequence[ObservedDifference], silent: bool = False
) -> list[Finding]:
    """The faults of suspects that all give the same results. Shared faults get their names. Where the suspects differ,
    one finding lists them: nothing that was tried separates them. silent: they explain only rounds without noise."""
    suspects = separated(case, _drawn_so(case, suspects))
    fewest = min(len(one.faults) for one in suspects)
    left = {one.reading.text: one.reading for one in suspects if len(one.faults) == fewest}
    case.reading, case.several_readings = case.by_draws(left.values())[0], len(left) > 1
    by_names: dict[frozenset[str], tuple[Fault, ...]] = {}
    for one in suspects:
        if len(one.faults) == fewest:
            by_names.setdefault(frozenset(fault.name for fault in one.faults), one.faults)
    every = list(by_names.values())
    known = {fault.name for faults in every for fault in faults}
    same = {fault.equivalent_to: fault for faults in every for fault in faults if fault.equivalent_to in known}
    every = [faults for faults in every if not any(fault.equivalent_to in known for fault in faults)] or every
    texts: dict[str, list[str]] = {}
    for fault in itertools.chain.from_iterable(one.faults for one in suspects if len(one.faults) == fewest):
        texts.setdefault(fault.name, []).append(fault_text(case, fault))
    if len(every) == 1:
        return [
            _with_equivalent(case, _named(case, fault, seen, every[0], texts[fault.name]), same.get(fault.name))
            for fault in every[0]
        ]
    shared = frozenset.intersection(*(frozenset(fault.name for fault in faults) for faults in every))
    named = [_named(case, fault, seen, every[0], texts[fault.name]) for fault in every[0] if fault.name in shared]
    rest = [[fault for fault in faults if fault.name not in shared] for faults in every]
    listed = "; or ".join(". ".join(f"{fault.name}: {fault_text(case, fault)}" for fault in few) for few in rest)
    role = rest[0][0].role
    finding = Finding(
        " or ".join(" and ".join(fault.name for fault in few) for few in rest),
        f"{len(rest)} deviations explain all rounds{' without noise' if silent else ''} equally well, and nothing that "
        f"was tried separates them. {listed}",
        difference(case, of_role(seen, role), [fault for fault in every[0] if fault.name in shared]),
        case.lines(role),
        private=bool(case.reference.unit) and all(any(fault.private for fault in few) for few in rest),
        unaccounted=any(fault.unaccounted for few in rest for fault in few),
    )
    return [*named, finding]


def _with_equivalent(case: Case, finding: Finding, other: Fault | None) -> Finding:
    """The finding, with the other deviation that gives the same w, if one exists."""
    if other is None:
        return finding
    both = f"{finding.description}. Or {other.name}, which gives the same w in all rounds: {fault_text(case, other)}"
    return replace(finding, description=both, private=finding.private and other.private)


def exact(case: Case, seen: Sequence[ObservedDifference]) -> str:
    """The finding that the paths agree with the reading, but not to double precision; None where they do."""
    if case.reading is None:
        return ""
    largest = 0.0
    for one in seen:
        if isinstance(one.probe, Path):
            expected = one.probe.outcome(player_of(case.reference, case.reading), one.choices)
            scale = max(one.probe.scale(expected), 1e-300)
            largest = max(largest, float(np.max(np.abs(one.value - expected), initial=0.0)) / scale)
    if largest <= EXACT:
        return ""
    alone = "" if case.plan.step == STEP or not case.reference.unit else "; only the noise of first rounds was compared"
    return (
        f"w agrees with the algorithm only to a relative {largest:.1g}, not to double precision: the cause may be "
        f"single precision, or a small number that is added to a norm{alone}"
    )


def _named(
    case: Case, fault: Fault, seen: Sequence[ObservedDifference], among: Sequence[Fault], texts: Sequence[str] = ()
) -> Finding:
    """The finding. among: this fault and those that are named with it. texts: of the forms of this fault that explain
    everything, where several do."""
    every = list(dict.fromkeys(texts)) or [fault_text(case, fault)]
    more = f"; or {len(every) - MOST_NAMES} other forms" if len(every) > MOST_NAMES else ""
    said = every[0] if len(every) == 1 else f"one of: {'; or '.join(every[:MOST_NAMES])}{more}"
    return Finding(
        *(fault.name, said, difference(case, of_role(seen, fault.role), [one for one in among if one is not fault])),
        case.lines(fault.role),
        *(fault.seen, fault.private and bool(case.reference.unit)),
        unaccounted=fault.unaccounted,
    )


def fault_text(case: Case, fault: Fault) -> str:
    """The text of a fault, without clipping, noise or accounting where the algorithm has none."""
    return fault.description if case.reference.unit or not fault.plain else fault.plain


def _drawn_so(case: Case, suspects: Sequence[Candidate]) -> Sequence[Candidate]:
    """The suspects that draw a possible count of the function's noise: one vector in a round, or more. Where each
    message has noise of its own, one vector is too few for all."""
    if not any(fault.once for one in suspects for fault in one.faults):
        return suspects
    path = case.plan.spreads[0].path.first
    if probe_without_noise(case.subject, path.world, path.v, path.who).numbers < 2 * path.world.d:
        if not case.reference.algorithm.noise_in_messages:
            return suspects  # one vector, and perhaps the noise of some numbers
        return [one for one in suspects if any(fault.once for fault in one.faults)]
    return [one for one in suspects if not any(fault.once for fault in one.faults)] or suspects


def _unnamed(case: Case, seen: Sequence[ObservedDifference], found: SearchResult) -> list[Finding]:
    """The difference where no known faults explain everything: the faults that explain the paths, with the remaining
    difference of the noise; or how far the known faults explain the paths."""
    spreads = [one for one in seen if isinstance(one.probe, Spread)]
    if silent := found.silent:
        first = first_rounds(spreads)
        plain = [one for one in silent if not one.faults]
        if plain:
            order = case.by_draws(one.reading for one in plain)
            plain = [next(one for one in plain if one.reading is reading) for reading in order]
            suspect = max(plain, key=lambda one: sum(explains(one.player, [spread]) for spread in spreads))
            case.reading = suspect.reading
            return other_noise(case, spreads, suspect, [])
        ranked = sorted(silent, key=lambda one: -sum(explains(one.player, [spread]) for spread in first))
        best = with_one_factor(first, ranked)
        named = _chosen(case, best, seen, silent=True)
        suspect = next(one for one in best if one.reading is case.reading)
        if any(fault.name == LEARNS for fault in suspect.faults) and noise_is_kept(case):
            others = [_named(case, fault, seen, suspect.faults) for fault in suspect.faults if fault.name != LEARNS]
            noise = [] if explains(suspect.player, first) else other_noise(case, first, suspect, [])
            return [adapts(case, seen), *others, *noise]
        off = max((abs(ratio - 1.0) for ratio in ratios(spreads, suspect.player)), default=math.inf)
        if any(fault.name == LOTS for fault in suspect.faults) and off <= NEAR:
            case.notes.append(
                "steps with an empty lot ask for no gradient, so it is not known which steps these were: the size of "
                f"the noise is the expected one to {100 * off:.2g} %, and was not compared more closely"
            )
            return named
        return [*named, *other_noise(case, spreads, suspect, named)]
    fixed = fixed_noise(case, [one for one in seen if isinstance(one.probe, Path)], first_rounds(spreads))
    if fixed is not None:
        return [fixed]
    nearest = found.partly or found.local
    case.reading = nearest[0].reading if nearest else None
    case.several_readings = len({one.reading.text for one in nearest}) > 1
    source = case.reference.algorithm.source
    said = f"w differs from that of {source}, and no named deviation explains all rounds{_partly(case, found)}"
    return [Finding(UNKNOWN, said, difference(case, seen), case.lines("step"))]


def _partly(case: Case, found: SearchResult) -> str:
    """The end of a sentence: how far readings and known faults explain the paths."""
    if not found.rounds:
        if not found.local or case.reference.algorithm.lots:  # which has no local steps
            return ""
        names = _alternatives(found.local)
        steps = f"the local steps agree{f', given {names}' if names else ''}"
        return f"; {steps}, so that the difference is in what the server does with the messages"
    k = found.rounds
    rounds = "the first round" if k == 1 else f"the first {k} rounds in which w moves"
    if any(not one.faults for one in found.partly):
        agree = "agrees" if k == 1 else "agree"
        return f"; {rounds} of every path {agree} with the algorithm, but not all later rounds"
    return f"; {_alternatives(found.partly)} explains {rounds} of every path, but not all later rounds"


def _alternatives(suspects: Sequence[Candidate]) -> str:
    """The sets of faults of suspects, a few of them; empty where one has none."""
    sets = list(dict.fromkeys(" with ".join(f"'{fault.name}'" for fault in one.faults) for one in suspects))
    more = f" (or {len(sets) - MOST_NAMES} others)" if len(sets) > MOST_NAMES else ""
    return "" if "" in sets else " or ".join(sets[:MOST_NAMES]) + more
