"""Which reading, or which faults, do what the function does; and what is said where none does."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from dpfl_theory.conform.base import Fault, Player
from dpfl_theory.conform.case import Case, of
from dpfl_theory.conform.comparisons.probes import EXACT, STEP, Path, Spread, agree
from dpfl_theory.conform.comparisons.shape import CHANGES, FIXED
from dpfl_theory.conform.comparisons.suspects import Seen, Suspect, explains, find
from dpfl_theory.conform.result import Finding
from dpfl_theory.problems.base import Array

__all__ = ["UNKNOWN", "VAGUE", "exact", "explained"]

PAIRS_SECONDS = 3.0
"""How long pairs of faults are looked for."""
UNKNOWN = "another round"
VAGUE = ("no noise", "another noise", "noise scaled by data", CHANGES)
"""What is said of noise that no known mistake explains; also where it is none that could be silenced."""


def explained(case: Case, seen: Sequence[Seen]) -> list[Finding]:
    """Nothing where a reading does what the function does; else the faults that do, or what differs."""
    for reading in case.kind.readings:
        if explains(of(case.reference, reading), seen):
            case.reading = reading
            return []
    suspect, silent = find(case.reference, seen, PAIRS_SECONDS)
    if suspect is not None:
        case.reading = suspect.reading
        return [_named(case, fault, seen) for fault in suspect.faults]
    return _unnamed(case, seen, silent)


def exact(case: Case, seen: Sequence[Seen]) -> str:
    """That the paths agree with the reading, but not to the digits of double precision; nothing where they do."""
    if case.reading is None:
        return ""
    largest = 0.0
    for one in seen:
        if isinstance(one.probe, Path):
            expected = one.probe.of(of(case.reference, case.reading), one.choices)
            scale = max(one.probe.scale(expected), 1e-300)
            largest = max(largest, float(np.max(np.abs(one.value - expected), initial=0.0)) / scale)
    if largest <= EXACT:
        return ""
    alone = "" if case.plan.step == STEP else "; the noise of first rounds alone was compared"
    return (
        f"w agrees with the algorithm to a relative {largest:.1g}, and not to the digits of double precision: single "
        f"precision, or a small number that is added to a norm{alone}"
    )


def _named(case: Case, fault: Fault, seen: Sequence[Seen]) -> Finding:
    return Finding(
        *(fault.name, fault.told, _difference(case, _first(seen, fault.role)), case.lines(fault.role)),
        *(fault.seen, fault.private),
    )


def _difference(case: Case, seen: Sequence[Seen]) -> str:
    """The first probe in which the function differs from the nearest reading, with numbers."""
    for one in seen:
        player = of(case.reference, case.reading or case.kind.readings[0])
        expected = one.probe.of(player, one.choices)
        if agree(one.probe, one.value, expected):
            continue
        if isinstance(one.probe, Spread):
            a, b = (_deviation(one.probe, x) for x in (one.value, expected))
            if abs(a - b) > 1e-6 * b:
                return f"{one.probe.name}: standard deviation {a:.6g} in a round, and {b:.6g} is right"
            return f"{one.probe.name}: it depends on itself otherwise than it should, between coordinates or rounds"
        k = next(k for k in range(len(expected)) if not np.allclose(one.value[k], expected[k], rtol=1e-9, atol=0.0))
        at = one.probe.world.start if k == 0 else expected[k - 1]
        a, b = (float(np.linalg.norm(x[k] - at)) for x in (one.value, expected))
        apart = float(np.linalg.norm(one.value[k] - expected[k]))
        return f"{one.probe.name}: in round {k + 1} w moves by {a:.6g} and not {b:.6g}, {apart:.3g} apart"
    return ""


def _unnamed(case: Case, seen: Sequence[Seen], silent: Sequence[Suspect]) -> list[Finding]:
    """What differs where no known faults explain all: those that explain the paths, and what is left of the noise."""
    spreads = [one for one in seen if isinstance(one.probe, Spread)]
    if silent:
        plain = [one for one in silent if not one.faults] or silent[:1]
        suspect = max(plain, key=lambda one: sum(explains(one.player, [spread]) for spread in spreads))
        case.reading = suspect.reading
        return [*(_named(case, f, seen) for f in suspect.faults), _other_noise(case, spreads, suspect.player)]
    fixed = _fixed_noise(case, [one for one in seen if isinstance(one.probe, Path)])
    if fixed is not None:
        return [fixed]
    said = f"w is not what {case.kind.source} makes of it, and none of the known faults explains it"
    return [Finding(UNKNOWN, said, _difference(case, seen), case.lines("step"))]


def _fixed_noise(case: Case, paths: Sequence[Seen]) -> Finding | None:
    """Noise that no generator's seed changes: the same vector is left over in every world."""
    if not case.kind.unit:
        return None
    left = []
    for one in paths:
        if one.probe.v is paths[0].probe.v:
            left.append(one.value[0] - one.probe.of(of(case.reference, case.kind.readings[0]))[0])
    sizes = float(np.max(np.abs(left[0])))
    if sizes > 0.0 and all(np.allclose(x, left[0], rtol=1e-6, atol=1e-9 * sizes) for x in left[1:]):
        return Finding(
            FIXED,
            "the noise is the same in every run, whatever the generator's seed: a generator is made inside with a seed "
            "of its own, and whoever knows it takes the noise away; draw from the rng that the round is given",
            f"with silent noise the same vector of length {np.linalg.norm(left[0]):.4g} is left over in "
            f"{len(left)} worlds",
            case.lines("noise"),
            private=True,
        )
    return None


def _other_noise(case: Case, spreads: Sequence[Seen], player: Player) -> Finding:
    """Noise that no fault explains: by which factor it is off, and whether that depends on the data."""
    ratios = []
    for one in spreads:
        assert isinstance(one.probe, Spread)
        a, b = (_deviation(one.probe, x) for x in (one.value, one.probe.of(player, one.choices)))
        ratios.append(a / b if b > 0.0 else math.inf)
    where = case.lines("noise")
    if (late := _late(case, spreads, player)) is not None:
        return late
    for (one, first), (other, second) in itertools.combinations(zip(spreads, ratios), 2):
        if not _same_but_data(one, other) or not (0.0 < first < math.inf and 0.0 < second < math.inf):
            continue
        if abs(first - second) <= one.probe.tolerance * first:
            continue
        said = (
            "the noise depends on the data: its standard deviation is another one where the clients' gradients are "
            "larger, so that it tells of them; calibrate it to the threshold"
        )
        seen = f"{first:.4g} and {second:.4g} times what it should be, in two worlds"
        return Finding("noise scaled by data", said, seen, where, private=True)
    factors = sorted({float(f"{r:.4g}") for r in ratios if r < math.inf}) or [math.inf]
    told = f"{factors[0]:.4g}" if len(factors) == 1 else f"{factors[0]:.4g} to {factors[-1]:.4g}"
    said = f"the standard deviation of the noise is {told} times what it should be"
    return Finding("another noise", said, _difference(case, spreads), where, private=factors[0] < 1.0)


def _late(case: Case, spreads: Sequence[Seen], player: Player) -> Finding | None:
    """Noise that is right in the first round and another one later."""
    for one in spreads:
        assert isinstance(one.probe, Spread)
        path, expected = one.probe.path, one.probe.of(player, one.choices)
        d, rounds = path.world.d, len(path.who)
        right = [agree(one.probe, one.value[:m, :m], expected[:m, :m]) for m in range(d, rounds * d + 1, d)]
        if all(right):
            continue
        if not right[0]:
            return None
        said = (
            "the noise of the first rounds is right, and later it is another one: every round needs the noise that is "
            "accounted for"
        )
        seen = f"{one.probe.name}: from round {right.index(False) + 1} on"
        return Finding(CHANGES, said, seen, case.lines("noise"), private=True)
    return None


def _deviation(probe: Spread, covariance: Array) -> float:
    """The standard deviation of a coordinate after the first round, in the mean over coordinates."""
    d = probe.path.world.d
    return math.sqrt(max(float(np.trace(covariance[:d, :d])) / d, 0.0))


def _same_but_data(one: Seen, other: Seen) -> bool:
    """Whether two covariances are of the same settings and cohorts, on other data."""
    if not isinstance(one.probe, Spread) or not isinstance(other.probe, Spread) or one.probe.v is not other.probe.v:
        return False
    return all(np.array_equal(a, b) for a, b in zip(one.probe.path.who, other.probe.path.who))


def _first(seen: Sequence[Seen], role: str) -> list[Seen]:
    """The probes that show a fault of this role, before the others."""
    return sorted(seen, key=lambda one: isinstance(one.probe, Spread) != (role == "noise"))
