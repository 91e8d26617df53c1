"""The algorithms that a function comes nearest to: with how few deviations each explains its rounds without noise."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dpfl_theory.algorithms.faults.carried import LEARNS
from dpfl_theory.conform.case import Case, player_of
from dpfl_theory.conform.comparisons.noise_linearity import ADAPTS, noise_is_kept
from dpfl_theory.conform.comparisons.other_noise import ANOTHER
from dpfl_theory.conform.fault_search import FEWER_ROUNDS, MOST, ROUNDS, Candidate, ObservedDifference, Search, explains
from dpfl_theory.conform.probes import LONG_STEP, Path, Plan, probe_without_noise
from dpfl_theory.conform.references import Player, Reference, references
from dpfl_theory.conform.settings import settings
from dpfl_theory.conform.user_function import Subject, UserFunctionError
from dpfl_theory.core.algorithm import Fault
from dpfl_theory.errors import InputError

PATHS = 3
"""How many paths are compared."""
WIDTH = (0, 99, 4, 4, 4)
"""Of how many algorithms sets of 0, 1, 2, ... deviations are sought where smaller sets explain none: those first that
explain most of the first rounds."""
FIRST_ROUNDS = 3
"""The progress of a set that explains first rounds; the largest sets are sought only from there."""
UNEXPLAINED = 99


@dataclass
class Near:
    """An algorithm that was tried.

    same_noise: whether it adds noise where the function does; deviations: those with which it explains the paths, None
    where none do; noise: whether these explain the noise too; progress: how far few deviations explain first rounds
    (`Search.progress`); distance: of w after one round, relative to its move.
    """

    case: Case
    same_noise: bool
    deviations: tuple[Fault, ...] | None = None
    noise: bool = True
    progress: tuple[int, int] = (0, 0)
    distance: float = 0.0
    players: Sequence[Player] = ()
    """Its readings that explain the paths."""
    compared: bool = False
    """Whether all noise was compared, too."""
    named: frozenset[str] = field(default_factory=frozenset)
    """The algorithms that the text of a deviation names."""

    @property
    def name(self) -> str:
        """The algorithm's name."""
        return self.case.reference.name

    @property
    def missing(self) -> int:
        """The number of its hyper-parameters that the function does not take."""
        return len(self.case.assumed)

    @property
    def exact(self) -> bool:
        """Whether it does what the function does."""
        return self.deviations == () and self.noise and self.same_noise

    @property
    def known(self) -> bool:
        """Whether it is known with which deviations it does what the function does."""
        return self.deviations is not None and (self.compared or bool(self.deviations))

    @property
    def count(self) -> int:
        """The number of deviations; one more where the noise is another one."""
        return UNEXPLAINED if self.deviations is None else len(self.deviations) + (not self.noise)

    @property
    def free(self) -> int:
        """How many of the deviations have a free number, so that they explain more by chance."""
        families = {fault.name for fault in self.case.reference.faults() if fault.sized is not None}
        return sum(fault.name in families for fault in self.deviations or ())

    @property
    def rank(self) -> tuple[Any, ...]:
        """The order: nearest first. An assumed value counts as a deviation."""
        (level, size), distance = (self.progress, self.distance) if self.deviations is None else ((0, 0), 0.0)
        return not self.same_noise, self.count, -level, self.missing - size, self.missing, not self.noise, distance

    def __str__(self) -> str:
        """The algorithm, with its deviations."""
        found = [fault.name for fault in self.deviations or ()]
        if LEARNS in found and noise_is_kept(self.case):
            found[found.index(LEARNS)] = ADAPTS
        names = [f"'{name}'" for name in (*found, *([] if self.noise else [ANOTHER]))]
        return f"{self.name}, with {' and '.join(names)}" if names else self.name


def nearest(
    function: Callable[..., Any],
    parameters: Mapping[str, float],
    declared: Sequence[Fault] = (),
    *,
    search: bool = True,
    leave_out: str = "",
    seed: int = 0,
    **keywords: Any,
) -> list[Near]:
    """The algorithms whose hyper-parameters the function takes, nearest first. search: whether deviations are sought
    where no algorithm is the function's.

    keywords: clients, cohort, scheme, relation of `settings`.
    """
    tried = [
        one
        for name, reference in references().items()
        if name != leave_out
        and (case := _case(function, reference, parameters, declared, seed, keywords)) is not None
        and (one := _tried(case)) is not None
    ]
    exact = sorted((one for one in tried if one.exact), key=lambda one: (one.rank, one.name))
    for one in exact:
        one.compared = True
        one.noise = not one.case.reference.unit or _explain_noise(one.case, one.players)
        if one.exact and search:  # whether others do the same is not asked
            break
    if search and tried and not any(one.exact for one in tried):
        first = min(tried, key=lambda one: one.rank).case
        if why := first.why_not_silent() or first.otherwise_random():
            raise InputError(f"{why}, so that no nearest algorithm is known: name the one that it should be (--as)")
        same = any(one.same_noise for one in tried)
        _search([one for one in tried if one.same_noise == same])
    recommended = frozenset[str]().union(*(one.named for one in tried))
    return sorted(tried, key=lambda one: (*one.rank, one.name not in recommended, one.free, not one.compared, one.name))


def _search(tried: Sequence[Near]) -> None:
    """Seek the deviations of these algorithms: one deviation in all of them, then more in those that came furthest.
    Nothing is sought that has more deviations than what is found. An assumed value counts as one of the most
    deviations that are sought."""
    fewest, rounds = min(one.count for one in tried), FEWER_ROUNDS if len(tried) > 1 else ROUNDS
    left = [one for one in tried if one.deviations is None and _prepared(one, rounds)]
    for turn in (0, 1):
        for size in range(1, len(WIDTH)):
            left.sort(key=lambda one: (one.missing, one.rank, one.name))  # assumed values come last
            left = left[: WIDTH[size]]
            enough = UNEXPLAINED
            for near in left:
                search = near.case.search
                assert search is not None
                if (
                    near.deviations is not None
                    or near.missing > min(enough, MOST - size)
                    or turn >= len(search.turns)
                    or (size == MOST and near.progress[0] < FIRST_ROUNDS)
                ):
                    continue
                general = search.turns[turn]
                near.progress = search.progress(general, size)
                if silent := search.found(general, False, size):
                    _found(near, silent)
                    fewest, enough = min(fewest, near.count), min(enough, near.missing)
            if fewest <= size:
                return


def _prepared(near: Near, rounds: int) -> bool:
    """Prepare the search for deviations from an algorithm, which the diagnosis continues; whether that succeeds."""
    case = near.case
    try:
        seen = case.with_more_steps([case.see(path) for path in case.plan.first_paths(PATHS)])
    except UserFunctionError:
        return False
    case.search = Search(case.reference, seen, rounds)
    return True


def _found(near: Near, silent: Sequence[Candidate]) -> None:
    """Note what explains the paths."""
    explained = [one for one in silent if near.case.reference.unit and _explain_noise(near.case, [one.player])]
    near.deviations = (explained or silent)[0].faults
    near.noise = not near.case.reference.unit or bool(explained)
    words = (re.findall(r"[\w-]+", fault.description) for fault in near.deviations)
    near.named = frozenset().union(*words)


def _explain_noise(case: Case, players: Sequence[Player], whole: bool = True) -> bool:
    """Whether one of the players explains the function's noise. First rounds are compared first, since they are
    quick, or only these."""
    try:
        for spread in case.plan.first_spreads:
            seen = case.see(spread)
            players = [player for player in players if explains(player, [seen])]
            if not players:
                return False
        return not whole or any(explains(player, _all_spreads(case)) for player in players)
    except UserFunctionError:
        return False


def _all_spreads(case: Case) -> Iterator[ObservedDifference]:
    return (case.see(spread) for spread in case.plan.spreads)


def _distance(seen: ObservedDifference, player: Player) -> float:
    """How far w is from a player's after the first round, relative to its move."""
    assert isinstance(seen.probe, Path)
    w = seen.probe.outcome(player, seen.choices)[0]
    found = float(np.linalg.norm(seen.value[0] - w) / max(float(np.linalg.norm(w - seen.probe.world.start)), 1e-300))
    return found if np.isfinite(found) else np.inf


def first_fitting(
    function: Callable[..., Any],
    parameters: Mapping[str, float],
    declared: Sequence[Fault] = (),
    *,
    seed: int = 0,
    **keywords: Any,
) -> Case | None:
    """The first algorithm whose hyper-parameters the function takes, whether it runs or not."""
    every = (_case(function, reference, parameters, declared, seed, keywords) for reference in references().values())
    return next((case for case in every if case is not None), None)


def _case(
    function: Callable[..., Any],
    reference: Reference,
    parameters: Mapping[str, float],
    declared: Sequence[Fault],
    seed: int,
    keywords: Mapping[str, Any],
) -> Case | None:
    """The comparison with an algorithm; None where it does not take the hyper-parameters."""
    try:
        subject, meant = Subject(function, reference), reference.meaning(declared)
        values = settings(meant, parameters, set(subject.taken.values()), **keywords)
    except InputError:
        return None
    return Case(meant, subject, Plan(meant, values, seed), 0, 1e-6, seed, given=parameters)


def _tried(case: Case) -> Near | None:
    """An algorithm without deviations; None where the function fails."""
    meant, subject = case.reference, case.subject
    players = [player_of(meant, reading) for reading in meant.readings]
    try:
        path = case.plan.first_paths(1)[0]
        found = probe_without_noise(subject, path.world, path.v, path.who)
        if np.array_equal(found.w, found.w.astype(np.float32)):
            case.plan = replace(case.plan, step=LONG_STEP)
            path = case.plan.first_paths(1)[0]
        noisy = found.numbers > 0
        near = Near(case, noisy == bool(meant.unit))
        near.distance = min(_distance(case.see(path), player) for player in players)
        for k in range(PATHS):
            one = [case.see(path) for path in case.plan.first_paths(k + 1)[k:]]
            players = [player for player in players if explains(player, one)]
            if not players:
                return near
        near.deviations, near.players = (), players
        near.noise = not noisy or _explain_noise(case, players, whole=False)
    except UserFunctionError:
        return None
    return near
