"""Distance of a round's results on two data sets that differ in one client, with the same noise.

The noise is silent, so the distance is a fact about the function, not a sample. Where it exceeds the sensitivity that
the noise is calibrated to, this pair refutes the claimed privacy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpfl_theory.conform.case import Case, player_of
from dpfl_theory.conform.probes import SPREAD, Path, probe_without_noise
from dpfl_theory.conform.references import Player, Reference, Values
from dpfl_theory.conform.settings import SHARES, cohorts, world
from dpfl_theory.conform.user_function import UserFunctionError
from dpfl_theory.conform.world import Records, World, constant
from dpfl_theory.problems.base import Array

ROUNDING = 1e-5
"""The relative excess of a distance over the allowed one that is tolerated: that of single precision."""


@dataclass(frozen=True)
class Pair:
    """Two data sets: their difference, the shift of w after a round, the distance that the hyper-parameters allow, and
    mu. mu of the Gaussian mechanism is the shift over the existing noise (infinite without noise along the shift);
    claimed is the claimed mu. usual: whether the cohort has the expected size. own: the algorithm's own mu in a cohort
    of another size."""

    description: str
    shift: Array
    allowed: float
    mu: float
    claimed: float
    one: World
    other: World
    path: Path
    usual: bool = True
    own: float = 0.0

    @property
    def distance(self) -> float:
        """||shift||."""
        return float(np.linalg.norm(self.shift))

    @property
    def records(self) -> int:
        """The number of records of the client that differs."""
        return len(self.one.records[_differing(self.one, self.other)].y)

    @property
    def refutes(self) -> bool:
        """Whether the distance exceeds the allowed one, and the noise is not larger by the same factor."""
        return self.distance > self.allowed * (1.0 + ROUNDING) and self.mu > self.claimed * (1.0 + SPREAD)


def _record_pairs(reference: Reference, v: Values, who: Array) -> Iterator[tuple[str, World, World, Path]]:
    """Worlds that differ in one record of one client: of the one with the fewest records, where a record counts most;
    and of the one with the most, whose other records a bound on their mean would let count too."""
    on = world(reference, v, next(iter(SHARES)), 23)
    members = sorted((int(j) for j in who), key=lambda j: len(on.records[j].y))
    yield from pairs_of_client(v, on, who, members[0], float(v[reference.level]), (10.0, 1e3, 0.5))
    if len(on.records[members[-1]].y) > 1 and members[-1] != members[0]:
        yield from pairs_of_client(v, on, who, members[-1], float(v[reference.level]), (1e3,))


def pairs_of_client(
    v: Values, on: World, who: Array, i: int, level: float, lengths: Sequence[float]
) -> Iterator[tuple[str, World, World, Path]]:
    """Worlds that differ in the first record of client i, whose gradient has these multiples of the threshold."""
    own = on.records[i]
    count = len(own.y)
    for direction, words in _directions(on.d):
        for times in lengths:
            worlds = []
            for sign in (1.0, -1.0 if v["relation"] == "replace" else 0.0):
                x, y = own.x.copy(), own.y.copy()
                one = constant(World("one", [Records(x[:1], y[:1])], on.start), 0, sign * times * level * direction)
                x[0], y[0] = one.x[0], one.y[0]
                worlds.append(on.with_records("a record replaced", i, Records(x, y)))
            other = "the opposite one" if v["relation"] == "replace" else "none"
            message = (
                f"a record of client {i}, which has {count}, has a gradient of {times:g} times the threshold, {words}"
            )
            yield f"{message}, or {other}", worlds[0], worlds[1], Path(v, on, (who,))


def _directions(d: int) -> list[tuple[Array, str]]:
    """Directions of gradients: noise may be missing along one of them."""
    ones, signs = np.ones(d) / d**0.5, (-1.0) ** np.arange(d) / d**0.5
    return [
        (ones, "equal in all coordinates"),
        (signs, "of alternating signs"),
        (np.eye(d)[0], "along the first coordinate"),
    ]


def _members(v: Values) -> list[Array]:
    """The cohorts in which a pair is compared: one of the expected size, and under independent sampling the smallest
    and the largest one."""
    sizes = [int(v["r"]), *([1, int(v["n"])] if v["scheme"] == "poisson" else [])]
    return [cohorts(v, 1, 23, [size])[0] for size in sizes]


def _pairs(
    reference: Reference, v: Values, nothing: float, who: Array, idle: bool = False, client: int | None = None
) -> Iterator[tuple[str, World, World, Path]]:
    """Neighbouring worlds, each with a description of the difference. idle: whether clients without gradients send
    something (`_idle`). client: the one that differs; by default the one with the most records."""
    if reference.unit == "record":
        yield from _record_pairs(reference, v, who)
        return
    on = world(reference, v, next(iter(SHARES)), 23)
    on = on.at_zero() if idle else on
    i, d = max(map(int, who), key=lambda j: len(on.records[j].y)) if client is None else client, on.d
    path = Path(v, on, (who,))
    level = float(v[reference.level]) if reference.level else 1.0
    ones = np.ones(d) / d**0.5
    zero = on.with_records("absent", i, constant(on, i, nothing * level * ones))
    lengths = {"of ten times the threshold": 10.0, "a thousand times the threshold": 1e3, "half the threshold": 0.5}
    for direction, words in _directions(d):
        for name, times in lengths.items():
            large = on.with_records("present", i, constant(on, i, direction * level * times))
            message = f"client {i} has a gradient {name}, {words}"
            if v["relation"] == "replace":
                other = on.with_records("replaced", i, constant(on, i, -direction * level * times))
                yield f"{message}, or the opposite one", large, other, path
            else:
                yield f"{message}, or none", large, zero, path
    if v["relation"] == "replace":
        for name, times in lengths.items():
            yield (
                f"client {i} has its own data, or a gradient {name}",
                on,
                on.with_records("x", i, constant(on, i, ones * level * times)),
                path,
            )
    else:
        yield f"client {i} has its own data, or none", on, zero, path


def _idle(player: Player, reference: Reference, v: Values) -> bool:
    """Whether clients without gradients send something, as with weight decay, where such a client represents an absent
    one. At w = 0 they send nothing, so pairs are compared there: in this relation a client's message is zero."""
    if reference.unit == "record" or v["relation"] == "replace":
        return False
    who = _members(v)[0]
    on = world(reference, v, next(iter(SHARES)), 23)
    moved = []
    for start in (on, on.at_zero()):
        still = start
        for i in map(int, who):
            still = still.with_records("absent", i, constant(still, i, np.zeros(on.d)))
        moved.append(float(np.linalg.norm(probe_without_noise(player, still, v, (who,)).w[-1] - still.start)))
    return moved[1] < ROUNDING * moved[0]


SEEDS = 40
TINY = 1e-9


def _nothing(player: Player, reference: Reference, v: Values) -> float:
    """The gradient that represents an absent client, as a multiple of the threshold. It is 0, or a tiny number where
    the function fails at 0 and the algorithm allows the tiny number."""
    who = _members(v)[0]
    _, one, other, path = list(_pairs(reference, v, 0.0, who))[-1]
    try:
        probe_without_noise(player, other, v, path.who)
    except UserFunctionError:
        _, one, other, path = list(_pairs(reference, v, TINY, who))[-1]
        w = [probe_without_noise(reference.round, on, v, path.who).w[-1] for on in (one, other)]
        if float(np.linalg.norm(w[0] - w[1])) > (_allowed(reference, v, one, other) or 0.0) * (1.0 + ROUNDING):
            raise
        return TINY
    return 0.0


def _differing(one: World, other: World) -> int:
    """The client whose records differ."""
    return next(i for i in range(one.n) if one.records[i] is not other.records[i])


def _allowed(reference: Reference, v: Values, one: World, other: World) -> float | None:
    """The distance that the hyper-parameters and the numbers of the clients' records allow."""
    sizes = [len(own.y) for own in one.records]
    differing = _differing(one, other)
    return reference.sensitivity({**v, "sizes": [sizes[differing], *sizes[:differing], *sizes[differing + 1 :]]})


def _communicating(player: Player, path: Path) -> int:
    """A seed with which the round moves w: where a coin decides, a seed with which the coin comes up."""
    for seed in range(path.world.seed, path.world.seed + SEEDS):
        on = replace(path.world, seed=seed)
        if np.any(probe_without_noise(player, on, path.v, path.who).w[-1] != on.start):
            return seed
    return path.world.seed


def _loudest(player: Player, reference: Reference, v: Values, nothing: float, who: Array, idle: bool) -> int | None:
    """The member that moves w most, as its message may count more than others, or not at all: the one with the most
    records among equals. None for the protection of records."""
    if reference.unit == "record":
        return None
    best, found = 0.0, None
    on = world(reference, v, next(iter(SHARES)), 23)
    for j in sorted(map(int, who), key=lambda j: -len(on.records[j].y)):
        _, one, other, path = next(_pairs(reference, v, nothing, who, idle, j))
        seed = _communicating(player, Path(v, one, path.who))
        one.seed = other.seed = seed
        shift = _shift(player, one, other, path)
        if float(np.linalg.norm(shift)) > best * (1.0 + ROUNDING):
            best, found = float(np.linalg.norm(shift)), j
    return found


def _shift(player: Player, one: World, other: World, path: Path) -> Array:
    """The difference of w after a round in both worlds."""
    ends = (probe_without_noise(player, on, path.v, path.who).w[-1] for on in (one, other))
    return np.asarray(np.subtract(*ends))


def compared(case: Case, values: Sequence[dict[str, Any]]) -> list[Pair]:
    """All pairs, with each of these settings; no pair where no privacy is claimed."""
    reading = case.reading or case.reference.readings[0]
    player, reference, found = case.subject, case.reference.with_parts(reading.parts), list[Pair]()
    algorithm = player_of(case.reference, reading)
    for v in values:
        seed, nothing = None, _nothing(player, reference, v)
        idle = nothing == 0.0 and _idle(player, reference, v)
        steps = int(v["local_steps"]) if reference.unit == "record" else 1
        claimed = steps**0.5 / float(v["noise_multiplier"])
        for at, who in enumerate(_members(v)):
            usual, covariance, right = at == 0, None, None
            client = _loudest(player, reference, v, nothing, who, idle)
            for reported, one, other, path in _pairs(reference, v, nothing, who, idle, client):
                seed = _communicating(player, Path(v, one, path.who)) if seed is None else seed
                one.seed = other.seed = seed
                allowed = _allowed(reference, v, one, other)
                if allowed is None:
                    break
                shift = _shift(player, one, other, path)
                if not np.isfinite(shift).all():
                    continue
                own = shift if usual else _shift(algorithm, one, other, path)
                if not usual:  # the algorithm itself may divide by the number of participants
                    allowed = max(allowed, float(np.linalg.norm(own)))
                if covariance is None:
                    covariance = case.plan.spread(Path(v, one, path.who)).outcome(player)
                if not np.isfinite(covariance).all():
                    continue
                if not usual and right is None:
                    right = case.plan.spread(Path(v, one, path.who)).outcome(algorithm)
                words = reported if usual else f"{reported}, in a cohort of {len(who)}"
                mu, known = _mu(shift, covariance), 0.0 if right is None else _mu(own, right)
                found.append(Pair(words, shift, allowed, mu, claimed, one, other, path, usual, known))
    return found


def _mu(shift: Array, covariance: Array) -> float:
    """The mu of a Gaussian with this covariance and shift; infinite without noise along a part of the shift."""
    values, vectors = np.linalg.eigh(covariance)
    along = vectors.T @ shift
    noisy = values > 1e-12 * max(float(values[-1]), 1e-300)
    if float(np.linalg.norm(along[~noisy])) > 1e-6 * float(np.linalg.norm(shift)):
        return math.inf
    return float(np.sqrt(np.sum(along[noisy] ** 2 / values[noisy])))
