"""Diagnosis: the reading or the faults that agree with the function, and the report where none does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpfl_theory.algorithms.faults.carried import LEARNS
from dpfl_theory.algorithms.faults.record_level import LOTS
from dpfl_theory.conform.case import Case, player_of
from dpfl_theory.conform.comparisons.noise_linearity import ADAPTS, CHANGES, FIXED, SCALED, noise_is_kept
from dpfl_theory.conform.fault_search import Candidate, ObservedDifference, SearchResult, explains, find
from dpfl_theory.conform.probes import EXACT, STEP, Path, Spread, agree, probe_without_noise
from dpfl_theory.conform.references import Player
from dpfl_theory.conform.result import Finding
from dpfl_theory.conform.settings import cohorts, world
from dpfl_theory.core.algorithm import Fault
from dpfl_theory.problems.base import Array

__all__ = ["ANOTHER", "UNKNOWN", "VAGUE", "exact", "explained", "fault_text"]

PAIRS_SECONDS = 3.0
"""Duration of the search for pairs of faults, in seconds."""
MOST_NAMES = 3
"""How many names of deviations that explain first rounds are listed."""
TIMES = 3.0
"""The factor by which residuals are multiplied, to see whether the noise follows them."""
NEAR = 0.05
"""The relative error allowed in the noise where it is not known which steps had an empty lot."""
UNKNOWN = "another round"
ANOTHER = "another noise"
VAGUE = ("no noise", ANOTHER, SCALED, CHANGES)
"""Names for noise that no known mistake explains, also where the function has no noise that could be silenced."""


def explained(case: Case, seen: Sequence[ObservedDifference]) -> list[Finding]:
    """No finding where a reading agrees with the function; else the faults that agree with it, or the difference."""
    for reading in case.reference.readings:
        if explains(player_of(case.reference, reading), seen):
            case.reading = reading
            return []
    found = find(case.reference, seen, PAIRS_SECONDS)
    if found.whole:
        return _chosen(case, found.whole, seen)
    return _unnamed(case, seen, found)


def _chosen(case: Case, suspects: Sequence[Candidate], seen: Sequence[ObservedDifference]) -> list[Finding]:
    """The faults of suspects that all give the same results. Shared faults get their names. Where the suspects differ,
    one finding lists them, since no observation separates them."""
    suspects = _drawn_so(case, suspects)
    case.reading = suspects[0].reading
    fewest = min(len(one.faults) for one in suspects)
    by_names: dict[frozenset[str], tuple[Fault, ...]] = {}
    for one in suspects:
        if len(one.faults) == fewest:
            by_names.setdefault(frozenset(fault.name for fault in one.faults), one.faults)
    every = list(by_names.values())
    known = {fault.name for faults in every for fault in faults}
    same = {fault.equivalent_to: fault for faults in every for fault in faults if fault.equivalent_to in known}
    every = [faults for faults in every if not any(fault.equivalent_to in known for fault in faults)] or every
    if len(every) == 1:
        return [_with_equivalent(case, _named(case, fault, seen), same.get(fault.name)) for fault in every[0]]
    shared = frozenset.intersection(*(frozenset(fault.name for fault in faults) for faults in every))
    named = [_named(case, fault, seen) for fault in every[0] if fault.name in shared]
    rest = [[fault for fault in faults if fault.name not in shared] for faults in every]
    listed = "; or ".join(". ".join(f"{fault.name}: {fault_text(case, fault)}" for fault in few) for few in rest)
    role = rest[0][0].role
    finding = Finding(
        " or ".join(" and ".join(fault.name for fault in few) for few in rest),
        f"{len(rest)} deviations explain all rounds equally well, and no observation separates them. {listed}",
        _difference(case, _first(seen, role)),
        case.lines(role),
        private=bool(case.reference.unit) and all(any(fault.private for fault in few) for few in rest),
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
    alone = "" if case.plan.step == STEP else "; only the noise of first rounds was compared"
    return (
        f"w agrees with the algorithm only to a relative {largest:.1g}, not to double precision: the cause may be "
        f"single precision, or a small number that is added to a norm{alone}"
    )


def _named(case: Case, fault: Fault, seen: Sequence[ObservedDifference]) -> Finding:
    return Finding(
        *(fault.name, fault_text(case, fault), _difference(case, _first(seen, fault.role)), case.lines(fault.role)),
        *(fault.seen, fault.private and bool(case.reference.unit)),
    )


def fault_text(case: Case, fault: Fault) -> str:
    """The text of a fault, without clipping, noise or accounting where the algorithm has none."""
    return fault.description if case.reference.unit or not fault.plain else fault.plain


def _difference(case: Case, seen: Sequence[ObservedDifference]) -> str:
    """The first probe in which the function differs from the nearest reading, with numbers."""
    for one in seen:
        player = player_of(case.reference, case.reading or case.reference.readings[0])
        expected = one.probe.outcome(player, one.choices)
        if agree(one.probe, one.value, expected):
            continue
        if isinstance(one.probe, Spread):
            a, b = (_deviation(one.probe, x) for x in (one.value, expected))
            if abs(a - b) > 1e-6 * b:
                return f"{one.probe.name}: the standard deviation is {a:.6g} in a round, and {b:.6g} in the algorithm"
            return f"{one.probe.name}: its dependence between coordinates or rounds is not the algorithm's"
        k = next(k for k in range(len(expected)) if not np.allclose(one.value[k], expected[k], rtol=1e-9, atol=0.0))
        at = one.probe.world.start if k == 0 else expected[k - 1]
        a, b = (float(np.linalg.norm(x[k] - at)) for x in (one.value, expected))
        apart = float(np.linalg.norm(one.value[k] - expected[k]))
        return f"{one.probe.name}: in round {k + 1} w moves by {a:.6g} and not {b:.6g}, {apart:.3g} apart"
    return ""


def _drawn_so(case: Case, suspects: Sequence[Candidate]) -> Sequence[Candidate]:
    """The suspects that draw a possible count of the function's noise: one vector in a round, or more."""
    if not any(fault.once for one in suspects for fault in one.faults):
        return suspects
    path = case.plan.spreads[0].path.first
    if probe_without_noise(case.subject, path.world, path.v, path.who).numbers <= path.world.d:
        return suspects
    return [one for one in suspects if not any(fault.once for fault in one.faults)] or suspects


def _unnamed(case: Case, seen: Sequence[ObservedDifference], found: SearchResult) -> list[Finding]:
    """The difference where no known faults explain everything: the faults that explain the paths, with the remaining
    difference of the noise; or how far the known faults explain the paths."""
    spreads = [one for one in seen if isinstance(one.probe, Spread)]
    if silent := found.silent:
        first = _first_rounds(spreads)
        plain = [one for one in silent if not one.faults]
        if plain:
            suspect = max(plain, key=lambda one: sum(explains(one.player, [spread]) for spread in spreads))
            case.reading = suspect.reading
            return _other_noise(case, spreads, suspect, [])
        best = sorted(silent, key=lambda one: -sum(explains(one.player, [spread]) for spread in first))
        named, suspect = _chosen(case, best, seen), best[0]
        if any(fault.name == LEARNS for fault in suspect.faults) and noise_is_kept(case):
            others = [_named(case, fault, seen) for fault in suspect.faults if fault.name != LEARNS]
            noise = [] if explains(suspect.player, first) else _other_noise(case, first, suspect, [])
            return [_adapts(case, seen), *others, *noise]
        off = max((abs(ratio - 1.0) for ratio in _ratios(spreads, suspect.player)), default=math.inf)
        if any(fault.name == LOTS for fault in suspect.faults) and off <= NEAR:
            case.notes.append(
                "steps with an empty lot ask for no gradient, so it is not known which steps these were: the size of "
                f"the noise is the expected one to {100 * off:.2g} %, and was not compared more closely"
            )
            return named
        return [*named, *_other_noise(case, spreads, suspect, named)]
    fixed = _fixed_noise(case, [one for one in seen if isinstance(one.probe, Path)])
    if fixed is not None:
        return [fixed]
    source = case.reference.algorithm.source
    said = f"w differs from that of {source}, and no named deviation explains all rounds{_partly(found)}"
    return [Finding(UNKNOWN, said, _difference(case, seen), case.lines("step"))]


def _partly(found: SearchResult) -> str:
    """The end of a sentence: how far readings and known faults explain the paths."""
    if not found.rounds:
        return ""
    k = found.rounds
    rounds = "the first round" if k == 1 else f"the first {k} rounds in which w moves"
    then = "the next one differs" if k == 1 else "a later one differs"
    if any(not one.faults for one in found.partly):
        return f"; {rounds} of every path {'agrees' if k == 1 else 'agree'} with the algorithm, and {then}"
    names = list(dict.fromkeys(fault.name for one in found.partly for fault in one.faults))
    message = " or ".join(f"'{name}'" for name in names[:MOST_NAMES])
    more = f" (or {len(names) - MOST_NAMES} others)" if len(names) > MOST_NAMES else ""
    return f"; {message}{more} explains {rounds} of every path, but not the later ones"


def _adapts(case: Case, seen: Sequence[ObservedDifference]) -> Finding:
    """A threshold that follows the data, with noise."""
    said = (
        "the threshold of the next round follows the lengths of this round's updates, with noise; the algorithm has a "
        "fixed threshold. How much this noise protects the lengths, and its privacy cost, were not tested: account for "
        "it together with the noise of the average"
    )
    return Finding(ADAPTS, said, _difference(case, _first(seen, "clip")), case.lines("clip"))


def _first_rounds(spreads: Sequence[ObservedDifference]) -> list[ObservedDifference]:
    """Only the noise of first rounds."""
    return [
        replace(one, probe=replace(one.probe, path=one.probe.path.first), value=one.value[:d, :d])
        for one in spreads
        if isinstance(one.probe, Spread) and (d := one.probe.path.world.d)
    ]


def _fixed_noise(case: Case, paths: Sequence[ObservedDifference]) -> Finding | None:
    """Noise that no generator's seed changes: the same vector remains in every world."""
    if not case.reference.unit:
        return None
    left = []
    for one in paths:
        if one.probe.v is paths[0].probe.v:
            left.append(one.value[0] - one.probe.outcome(player_of(case.reference, case.reference.readings[0]))[0])
    sizes = float(np.max(np.abs(left[0])))
    if sizes > 0.0 and all(np.allclose(x, left[0], rtol=1e-6, atol=1e-9 * sizes) for x in left[1:]):
        return Finding(
            FIXED,
            "a vector is added that depends neither on the rng nor on the data: this is a constant, or noise of a "
            "generator that the round makes with its own seed, and whoever knows the seed can remove it; draw the "
            "noise from the rng that the round is given",
            f"with silent noise the same vector of length {np.linalg.norm(left[0]):.4g} remains in {len(left)} worlds",
            case.lines("noise"),
            private=True,
        )
    return None


def _other_noise(
    case: Case, spreads: Sequence[ObservedDifference], suspect: Candidate, named: Sequence[Finding]
) -> list[Finding]:
    """Noise that no fault explains: the factor of its standard deviation, and whether that depends on the data."""
    player = suspect.player
    ratios = _ratios(spreads, player)
    where = case.lines("noise")
    if (late := _late(case, spreads, player)) is not None:
        return [late]
    if (follows := _scaled(case, player)) is not None:
        return [follows]
    factors = sorted({float(f"{r:.4g}") for r in ratios if r < math.inf}) or [math.inf]
    message = f"{factors[0]:.4g}" if len(factors) == 1 else f"{factors[0]:.4g} to {factors[-1]:.4g}"
    given = ", given the findings named above" if named else ""
    said = f"the standard deviation of the noise in w is {message} times the algorithm's{given}"
    less = factors[0] < 1.0 and not suspect.faults  # else the sensitivity may differ too
    return [Finding(ANOTHER, said, _counted(case, spreads, player), where, private=less)]


def _ratios(spreads: Sequence[ObservedDifference], player: Player) -> list[float]:
    """The standard deviations of the function's noise in first rounds, divided by those of a player."""
    found = []
    for one in spreads:
        assert isinstance(one.probe, Spread)
        a, b = (_deviation(one.probe, x) for x in (one.value, one.probe.outcome(player, one.choices)))
        found.append(a / b if b > 0.0 else math.inf)
    return found


def _counted(case: Case, spreads: Sequence[ObservedDifference], player: Player) -> str:
    """The difference of the noise, with the count of normal numbers in a round where the count differs too."""
    path = case.plan.spreads[0].path.first
    counts = [probe_without_noise(one, path.world, path.v, path.who).numbers for one in (case.subject, player)]
    difference = _difference(case, spreads)
    if counts[0] == counts[1]:
        return difference
    return f"{difference}; a round draws {counts[0]} numbers of noise, and {counts[1]} in the algorithm"


def _scaled(case: Case, player: Player) -> Finding | None:
    """Noise that is larger where gradients are larger. Tested in pairs of worlds whose data differ only in the size of
    the residuals, and in which the algorithm's own noise is the same."""
    v = case.plan.values[0]
    if v.get("s", 1.0) < 1.0:
        return None  # batches would differ as well
    for name in ("far below it", "on both sides of the threshold", "far above it"):
        on, seed = world(case.reference, v, name, 7), 7
        probes = [case.plan.spread(Path(v, one, tuple(cohorts(v, 1, seed)))) for one in (on, on.stretched(TIMES))]
        own = [probe.outcome(player) for probe in probes]
        if not agree(probes[0], own[1], own[0]):
            continue
        found = [probe.outcome(case.subject) for probe in probes]
        if agree(probes[0], found[1], found[0]) or not all(np.isfinite(x).all() for x in found):
            continue
        first, second = (_deviation(probe, x) for probe, x in zip(probes, found))
        if min(first, second) <= 0.0:
            continue
        said = (
            "the noise depends on the data: its standard deviation differs where the clients' gradients are larger, so "
            "that it reveals information about them; calibrate it to the threshold"
        )
        seen = f"clients {name}: {second / first:.4g} times the noise where all residuals are {TIMES:g} times as large"
        return Finding(SCALED, said, seen, case.lines("noise"), private=True)
    return None


def _late(case: Case, spreads: Sequence[ObservedDifference], player: Player) -> Finding | None:
    """Noise that agrees with the algorithm's in the first round and differs later."""
    for one in spreads:
        assert isinstance(one.probe, Spread)
        path, expected = one.probe.path, one.probe.outcome(player, one.choices)
        d, rounds = path.world.d, len(path.who)
        right = [agree(one.probe, one.value[:m, :m], expected[:m, :m]) for m in range(d, rounds * d + 1, d)]
        if all(right):
            continue
        if not right[0]:
            return None
        k = right.index(False)
        fresh, needed = (_conditional_variance(x, k * d, d) for x in (one.value, expected))
        less = fresh < needed * (1.0 - 2.0 * one.probe.tolerance)
        why = (
            "it has less fresh noise, given the rounds before: every round needs the noise that is accounted for"
            if less
            else "it is larger, or depends on that of the rounds before; whether it is accounted for was not tested"
        )
        said = f"the noise of the first rounds agrees with the algorithm's, but later it differs: {why}"
        seen = (
            f"{one.probe.name}: from round {k + 1} on; given the rounds before, its standard deviation is "
            f"{(fresh / d) ** 0.5:.4g} there, and {(needed / d) ** 0.5:.4g} in the algorithm"
        )
        return Finding(CHANGES, said, seen, case.lines("noise"), private=less)
    return None


def _conditional_variance(covariance: Array, m: int, d: int) -> float:
    """The total variance of the d numbers after the first m, conditional on the first m."""
    before, across = covariance[:m, :m], covariance[:m, m : m + d]
    known = across.T @ np.linalg.pinv(before, rcond=1e-9, hermitian=True) @ across
    return max(float(np.trace(covariance[m : m + d, m : m + d] - known)), 0.0)


def _deviation(probe: Spread, covariance: Array) -> float:
    """The standard deviation of a coordinate after the first round, averaged over coordinates."""
    d = probe.path.world.d
    return math.sqrt(max(float(np.trace(covariance[:d, :d])) / d, 0.0))


def _first(seen: Sequence[ObservedDifference], role: str) -> list[ObservedDifference]:
    """The probes, with those that show a fault of this role first."""
    return sorted(seen, key=lambda one: isinstance(one.probe, Spread) != (role == "noise"))
