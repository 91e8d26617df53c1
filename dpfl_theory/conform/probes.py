"""Probes: paths of w with silent noise, and the covariance that the noise gives them.

Both are exact arrays, and any player (the user's function, the reference, a reading, a fault) has them. A path is w
after each of some rounds. Its covariance is that of all these w together, from the derivative with respect to every
number of the noise. It also shows whether the noise of two rounds, or of two coordinates, is the same.
"""

from __future__ import annotations

import bisect
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dpfl_theory.conform.randomness import Draw, RecordingGenerator
from dpfl_theory.conform.references import Player, Reference, Values
from dpfl_theory.conform.settings import REST, SHARES, cohorts, world
from dpfl_theory.conform.world import World, constant
from dpfl_theory.errors import InputError
from dpfl_theory.problems.base import Array

STEP, LONG_STEP = 1e-4, 0.05
"""The part of its standard deviation by which a number of the noise is moved to see its effect. The second is for
functions in single precision, where rounding hides small moves."""
PATH = 1e-5
"""The difference of paths, relative to the length of the reference's path, from which they count as different. Single
precision and small numbers that are added to a norm stay below it; smaller differences are reported (`EXACT`)."""
DOUBLE, SINGLE = 1e-13, 1e-6
"""The difference of paths that rounding explains, relative to w, by the precision in which the function computes."""
EXACT = 1e-9
"""The same, from which the report says that numbers are not those of double precision."""
SPREAD, LONG_SPREAD = 1e-3, 1e-2
"""The difference of covariances, relative to the reference's largest, from which they count as different; with long
steps."""
TRUSTED = 0.001
"""The part of that tolerance by which a covariance over many rounds may change with the size of the moves."""
BLOCK = 24
"""How many successive numbers of a long list are moved together first, to see whether any of them is used."""
MOST = 2000
"""The largest count of noise numbers in a path, each of which costs a run."""
MORE_STEPS = 4
"""The number of local steps on a path on which many are seen."""
FEW, LATE, WORK = 3, 12, 750
"""The number of successive rounds whose noise is compared: few, many, and a limit on all rounds run for these, which
may reduce them."""


Choices = Sequence[Mapping[str, Any]] | None
"""The function's choices in each round of a path."""


@dataclass
class ProbeResult:
    """A path and its draws: w after each round (K, d), the draws, and the count of numbers."""

    w: Array
    draws: list[Draw]
    numbers: int


def play(
    player: Player,
    on: World,
    v: Values,
    who: Sequence[Array],
    rng: Any,
    choices: Choices = None,
    starts: list[Start] | None = None,
    at: int = 0,
) -> Array:
    """w after each round, (K, d). choices: the function's random choices in each round, other than noise
    (`traces.chosen`). starts: the list in which the starts of the rounds are kept; or, for a path that begins at the
    round ``at``, that list as an earlier path left it."""
    w, state, path = on.start, None, []
    if at:
        assert starts is not None
        w, state = starts[at].w, copy.deepcopy(starts[at].state)
        starts[at].resume(rng)
    clients = on.quick_clients if _is_reference(player) and on.log is None else on.clients()
    for k, cohort in enumerate(who[at:], at):
        if starts is not None and not at:
            starts.append(Start.of(w, state, rng))
        values = {**v, "number": k, **({} if choices is None else choices[k])}
        w, state = player(w, state, clients, cohort, rng, values)
        path.append(w)
    return np.array(path)


class Start(NamedTuple):
    """The start of a round: w, the state, the generator's own state, and the count of numbers drawn before."""

    w: Array
    state: Any
    generator: Any
    numbers: int

    @classmethod
    def of(cls, w: Array, state: Any, rng: RecordingGenerator) -> Start:
        return cls(w, copy.deepcopy(state), rng.bit_generator.state, rng.numbers)

    def resume(self, rng: RecordingGenerator) -> None:
        """Bring a new generator to this start."""
        rng.bit_generator.state = self.generator
        rng.numbers = self.numbers


def _is_plain(state: Any) -> bool:
    """Whether a state is made of numbers, texts and arrays, so that a copy of it is independent of it."""
    if state is None or isinstance(state, (bool, int, float, complex, str, bytes, np.generic)):
        return True
    if isinstance(state, np.ndarray):
        return not state.dtype.hasobject
    if isinstance(state, Mapping):
        return all(_is_plain(key) and _is_plain(value) for key, value in state.items())
    if isinstance(state, (list, tuple, set, frozenset)):
        return all(map(_is_plain, state))
    return is_dataclass(state) and not isinstance(state, type) and all(map(_is_plain, vars(state).values()))


def probe_without_noise(
    player: Player, on: World, v: Values, who: Sequence[Array], choices: Choices = None
) -> ProbeResult:
    """A path with silent noise."""
    rng = RecordingGenerator(on.seed).use_means()
    return ProbeResult(play(player, on, v, who, rng, choices), rng.draws, rng.numbers)


@dataclass(frozen=True)
class Path:
    """A path with silent noise, in one world, with these cohorts."""

    v: Values
    world: World
    who: tuple[Array, ...]
    rounding: float = DOUBLE
    memory: Memory = field(init=False, default_factory=lambda: Memory(), compare=False, repr=False)

    @property
    def name(self) -> str:
        """A description of the place."""
        sizes = ", ".join(str(len(c)) for c in self.who)
        return f"clients {self.world.name}, cohorts of {sizes} of {self.world.n}"

    @property
    def first(self) -> Path:
        """The first round of the path."""
        return replace(self, who=self.who[:1])

    def outcome(self, player: Player, choices: Choices = None) -> Array:
        """(K, d)."""
        w: Array = self.memory.of(
            player, choices, lambda: probe_without_noise(player, self.world, self.v, self.who, choices).w
        )
        return w

    def moves(self, w: Array) -> list[bool]:
        """The rounds in which w moved."""
        before = np.vstack([self.world.start[None], w[:-1]])
        return [bool(np.any(a != b)) for a, b in zip(before, w)]

    def scale(self, w: Array) -> float:
        """The length of the path."""
        return float(np.abs(w - self.world.start).max(initial=0.0))

    tolerance = PATH


def responses(
    player: Player, path: Path, size: float, *, maximum: int | None = None, both: bool = False, choices: Choices = None
) -> Iterator[Array]:
    """The effect on w after each round, (K, d), when each number of the noise, or each of the first ``maximum``, moves
    by ``size`` standard deviations; divided by ``size``. both: moved in both directions, so that curvature cancels."""
    on, v, who = path.world, path.v, path.who
    rng, starts = RecordingGenerator(on.seed).use_means(), list[Start]()
    still = play(player, on, v, who, rng, choices, starts)
    numbers = rng.numbers

    def moved(j: int, by: float, at: int, count: int = 1) -> Array:
        """The path where numbers move, which begins at a round before which these are not drawn."""
        rest = play(player, on, v, who, RecordingGenerator(on.seed).set(j, by, count), choices, starts, at)
        return np.concatenate([still[:at], rest])

    before = [start.numbers for start in starts]
    needed = numbers if maximum is None else min(numbers, maximum)
    last = bisect.bisect_right(before, needed - 1) - 1  # the round of the last number
    if last > 0 and not (
        _resumes(player, rng, starts)
        and (
            _is_reference(player)
            or np.array_equal(moved(needed - 1, size, last), moved(needed - 1, size, 0), equal_nan=True)
        )
    ):
        before = before[:1]  # something is kept outside the state: every path begins at the first round
    unused = 0
    for j in range(needed):
        at = bisect.bisect_right(before, j) - 1
        if needed > 2 * BLOCK and j % BLOCK == 0 and np.array_equal(moved(j, size, at, BLOCK), still):
            unused = j + BLOCK
        if j < unused:
            yield np.zeros_like(still)
            continue
        ends = [moved(j, size, at), moved(j, -size, at) if both else still]
        yield (ends[0] - ends[1]) / ((2.0 if both else 1.0) * size)


def _is_reference(player: Player) -> bool:
    """Whether a player is a round of a description, which keeps nothing outside its state."""
    return isinstance(getattr(player, "__self__", None), Reference)


def _resumes(player: Player, rng: RecordingGenerator, starts: Sequence[Start]) -> bool:
    """Whether a path may start at a later round, as far as is known beforehand: a round keeps only plain values for the
    next one, and makes no generators of its own."""
    watches = hasattr(getattr(player, "function", None), "findings")
    spawned = getattr(getattr(rng.bit_generator, "seed_seq", None), "n_children_spawned", 0)
    return not watches and not spawned and _is_plain(starts[-1].state)


class Memory(dict[Any, tuple[Any, Any]]):
    """The outcomes of one probe by the parts of a reference's round and the choices. The parts and choices are kept, so
    that their ids stay theirs."""

    def of(self, player: Player, choices: Choices, outcome: Callable[[], Any]) -> Any:
        """The outcome, computed once for each reference."""
        reference = getattr(player, "__self__", None)
        if not isinstance(reference, Reference):
            return outcome()
        parts = [one for one in reference.parts if one]
        key = (reference.algorithm, *map(id, parts), None if choices is None else id(choices))
        if key not in self:
            self[key] = (parts, choices), outcome()
        return self[key][1]


@dataclass(frozen=True)
class Spread:
    """The covariance of a path's w from its noise. step, both: how numbers of the noise are moved (`responses`)."""

    path: Path
    step: float = STEP
    both: bool = False
    memory: Memory = field(init=False, default_factory=Memory, compare=False, repr=False)

    @property
    def name(self) -> str:
        """A description of the place."""
        return f"the noise, {self.path.name}"

    @property
    def v(self) -> Values:
        return self.path.v

    def outcome(self, player: Player, choices: Choices = None) -> Array:
        """(K d, K d)."""
        covariance: Array = self.memory.of(player, choices, lambda: self._outcome(player, choices))
        return covariance

    def _outcome(self, player: Player, choices: Choices) -> Array:
        size = len(self.path.who) * self.path.world.d
        covariance = np.zeros((size, size))
        for response in responses(player, self.path, self.step, both=self.both, choices=choices):
            covariance += np.outer(response.ravel(), response.ravel())
        return covariance

    def scale(self, covariance: Array) -> float:
        """The largest variance."""
        return float(np.max(np.diag(covariance), initial=0.0))

    @property
    def tolerance(self) -> float:
        """The difference from which two of these count as different."""
        return SPREAD if self.step == STEP else LONG_SPREAD

    @property
    def rounding(self) -> float:
        """How far rounding of w moves a response: it matters for noise that is some 1e12 times smaller than w."""
        return 8.0 * float(np.finfo(float).eps) * float(np.abs(self.path.world.start).max()) / self.step


def agree(probe: Path | Spread, found: Array, expected: Array) -> bool:
    """Whether two values of a probe are equal up to rounding."""
    finite = np.isfinite(found)
    if not finite.all() or not np.isfinite(expected).all():
        if not np.array_equal(finite, np.isfinite(expected)):
            return False
        found, expected = np.where(finite, found, 0.0), np.where(finite, expected, 0.0)
    error = float(np.abs(found - expected).max(initial=0.0))
    scale = max(probe.scale(expected), probe.scale(found) if probe.scale(expected) == 0.0 else 0.0)
    if isinstance(probe, Path):
        rounding = probe.rounding * float(np.abs(expected).max(initial=0.0))
    else:
        rounding = 2.0 * probe.rounding * scale**0.5
    return error <= probe.tolerance * scale + rounding


@dataclass
class Plan:
    """All probes of a reference with these settings, quick ones first."""

    reference: Reference
    values: Sequence[Values]
    seed: int = 0
    step: float = STEP

    @cached_property
    def paths(self) -> list[Path]:
        """Three rounds or more in every world, with every setting."""
        return self.first_paths(len(self.values) * len(self._names))

    def first_paths(self, count: int) -> list[Path]:
        """The first of the paths, or all of them."""
        return [self._path(at) for at in range(min(count, len(self.values) * len(self._names)))]

    @cached_property
    def _names(self) -> list[str]:
        """The names of the worlds of the paths."""
        return list(SHARES) if self.reference.level else list(SHARES)[:1] + list(SHARES)[-1:]

    @cached_property
    def _made(self) -> dict[int, Path]:
        return {}

    def _path(self, at: int) -> Path:
        if at not in self._made:
            setting, k = divmod(at, len(self._names))
            v, name = self.values[setting], self._names[k]
            r = int(v["r"])
            rounds = 12 if v.get("p", 1.0) < 1.0 else self.reference.algorithm.compared
            sizes = [r, r + 1, max(1, r - 1)]
            turned = sizes[k % 3 :] + sizes[: k % 3]  # first rounds have cohorts of every size
            twice = "with-replacement" in self.reference.algorithm.samplings  # others say nothing of a second turn
            who = cohorts(v, rounds, 100 * self.seed + k, turned, twice)
            on = world(self.reference, v, name, 100 * self.seed + k, first=int(who[0][0]))
            if not self.reference.level:
                on.name = on.name if name == self._names[-1] else "with gradients of different lengths"
            self._made[at] = Path(v, on, tuple(who), DOUBLE if self.step == STEP else SINGLE)
        return self._made[at]

    @cached_property
    def more_steps(self) -> Path:
        """The first path of the last setting, with more local steps."""
        path = next(one for one in self.paths if one.v is self.values[-1])
        symbol = self.reference.algorithm.parameters["local_steps"].symbol
        return replace(path, v={**path.v, symbol: MORE_STEPS, "local_steps": MORE_STEPS})

    @cached_property
    def large_cohorts(self) -> Path:
        """A path of the last setting whose cohorts have all clients but one."""
        path = next(one for one in self.paths if one.v is self.values[-1])
        n = path.world.n
        rng = np.random.default_rng(self.seed)
        who: tuple[Array, ...] = tuple(np.sort(rng.choice(n, n - 1, replace=False)) for _ in path.who)
        return replace(path, who=path.who if path.v["scheme"] == "full" else who)

    @cached_property
    def spreads(self) -> list[Spread]:
        """Two rounds, or as many as its noise needs, with every setting. More rounds with cohorts of other sizes and
        in another world, since noise must not depend on the data. Many rounds with the first setting, since noise must
        stay the same. In single precision only first rounds, in which w is a linear function of the noise."""
        found = []
        for k, v in enumerate(self.values):
            on = world(self.reference, v, next(iter(SHARES)), 100 * self.seed + 7 + k)
            r = int(v["r"])
            several = [tuple(cohorts(v, self.reference.algorithm.noise_rounds, k))]
            found.append(self.spread(Path(v, on, several[0])))
            if self.reference.level:
                other = world(self.reference, v, "far above it", 7 + k)
                found.append(self.spread(Path(v, other, several[0])))
            if v["scheme"] == "poisson":
                sizes = [max(1, r - 1), min(int(v["n"]), r + 2)]
                found.append(self.spread(Path(v, on, tuple(cohorts(v, 2, k + 5, sizes)))))
            if k == 0 and self.step == STEP and (late := self._late(found[0].path)) is not None:
                found.append(late)
        return found

    @cached_property
    def larger_cohort(self) -> list[Path | Spread]:
        """A round with a cohort of r + 1 clients, without and with noise; nothing where there are no more clients."""
        v, size = self.values[0], int(self.values[0]["r"]) + 1
        if size > int(v["n"]):
            return []
        who = tuple(cohorts({**v, "scheme": "poisson"}, 1, 5, [size]))
        path = Path(v, world(self.reference, v, next(iter(SHARES)), 100 * self.seed + 7), who)
        return [path, self.spread(path)]

    @cached_property
    def first_spreads(self) -> list[Spread]:
        """The noise of one round with every setting: quick to compare."""
        return [
            self.spread(Path(v, world(self.reference, v, next(iter(SHARES)), 100 * self.seed + 7 + k), who[:1]))
            for k, v in enumerate(self.values)
            if (who := tuple(cohorts(v, self.reference.algorithm.noise_rounds, k)))
        ]

    def require_separable_noise(self, player: Player) -> None:
        """Check that the numbers of the noise can be moved one by one. Raises InputError where there are too many."""
        for path in (spread.path for spread in self.spreads):
            numbers = probe_without_noise(player, path.world, path.v, path.who).numbers
            if numbers > MOST:
                raise InputError(
                    f"{numbers} numbers of noise are drawn in {len(path.who)} rounds, more than {MOST}: give fewer "
                    "clients or local steps"
                )

    def _late(self, path: Path) -> Spread | None:
        """More successive rounds than those of a path: `LATE`, or as many as `WORK` allows and as derivatives are
        reliable for. They are not reliable where steps are normalised, so that small differences grow, nor where moves
        of another size give another covariance. None where these are no more.
        """
        numbers = probe_without_noise(self.reference.round, path.world, path.v, path.who).numbers / len(path.who)
        rounds = 0 if numbers == 0.0 else min(LATE, int((WORK / numbers) ** 0.5))
        if rounds <= FEW or not self.linear:
            return None
        whole = Path(path.v, path.world, tuple(cohorts(path.v, rounds, 0)))
        near, far = (Spread(whole, step, both=True).outcome(self.reference.round) for step in (STEP, 3.0 * STEP))
        for k in range(1, rounds + 1):
            m = k * path.world.d
            if np.max(np.abs(near[:m, :m] - far[:m, :m])) > TRUSTED * SPREAD * Spread(whole).scale(near[:m, :m]):
                rounds = k - 1
                break
        if rounds <= len(path.who):
            return None
        found = self.spread(Path(path.v, path.world, whole.who[:rounds]))
        if found.both:  # later rounds do not change earlier ones, so that this is the same computation
            m = rounds * path.world.d
            found.memory.of(self.reference.round, None, lambda: near[:m, :m].copy())
        return found

    @cached_property
    def linear(self) -> bool:
        """Whether a round only adds its noise, so that effects are proportional to the numbers of the noise."""
        path = self.paths[0]
        moved = (responses(self.reference.round, path.first, size, maximum=2 * path.world.d) for size in (STEP, 3.0))
        for small, large in zip(*moved):
            if float(np.max(np.abs(small - large))) > LONG_SPREAD * float(np.max(np.abs(small), initial=0.0)):
                return False
        return True

    def spread(self, path: Path) -> Spread:
        """The covariance of a path, or of its first round, with this plan's step."""
        both = self.step > STEP or len(path.who) > FEW or not self.linear
        return Spread(path if self.step == STEP else path.first, self.step, both)

    @cached_property
    def empty(self) -> list[Path]:
        """A round in which no client takes part, where that can happen."""
        if self.values[0]["scheme"] != "poisson":
            return []
        on = world(self.reference, self.values[0], next(iter(SHARES)), 3)
        return [Path(self.values[0], on, (np.array([], dtype=np.int64),))]

    @cached_property
    def flat(self) -> Path:
        """A round of clients with constant gradients, so that local steps only add up their noise."""
        v = self.values[0]
        on = world(self.reference, v, next(iter(SHARES)), 100 * self.seed + 7)
        rng = np.random.default_rng(5)
        for i in range(on.n):
            direction = rng.standard_normal(on.d)
            length = float(v[self.reference.level]) if self.reference.level else 1.0
            size = length * rng.uniform(0.5, 2.0) / float(np.linalg.norm(direction))
            on = on.with_records("whose gradients are the same everywhere", i, constant(on, i, size * direction))
        return Path(v, on, tuple(cohorts(v, 1, 5)))

    @cached_property
    def silent_round(self) -> Path:
        """A round of clients that have nothing to send."""
        v = self.values[0]
        return Path(v, world(self.reference, v, REST, 5), tuple(cohorts(v, 1, 5)))
