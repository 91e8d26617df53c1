"""The algorithms that a function comes nearest to: with how few deviations each explains its rounds without noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpfl_theory.conform.case import Case, player_of
from dpfl_theory.conform.fault_search import MOST, Candidate, ObservedDifference, explains, find
from dpfl_theory.conform.probes import Plan, probe_without_noise
from dpfl_theory.conform.references import Reference, references
from dpfl_theory.conform.settings import settings
from dpfl_theory.conform.user_function import Subject, UserFunctionError
from dpfl_theory.core.algorithm import Fault
from dpfl_theory.errors import InputError

__all__ = ["Near", "assumed", "nearest"]

PATHS = 3
"""How many paths are compared."""
SECONDS = 0.5
"""Processor time of the search for deviations from one algorithm."""
UNEXPLAINED, ANOTHER = 99, "another noise"


@dataclass(frozen=True)
class Near:
    """An algorithm that was tried.

    deviations: the names of those with which it explains the paths, None where none do; missing: the number of its
    hyper-parameters that the function does not take; same_noise: whether it adds noise as the function does.
    """

    name: str
    deviations: tuple[str, ...] | None
    missing: int
    same_noise: bool

    @property
    def rank(self) -> tuple[Any, ...]:
        """The order: nearest first."""
        count = UNEXPLAINED if self.deviations is None else len(self.deviations)
        return (not self.same_noise, count, self.missing, self.name)

    def __str__(self) -> str:
        if self.deviations is None:
            return f"{self.name}, not explained"
        return f"{self.name}, with {', '.join(self.deviations)}" if self.deviations else self.name


def assumed(reference: Reference, v: Mapping[str, Any], asked: set[str], given: Mapping[str, float]) -> dict[str, Any]:
    """The hyper-parameters that are neither arguments of the function nor given, with their assumed values."""
    noise = {"sigma", "noise_multiplier"}
    known = noise if noise & (asked | set(given)) else set[str]()
    known |= asked | {p.symbol for p in reference.parameters if {*p.names} & set(given)}
    return {p.symbol: v[p.symbol] for p in reference.parameters if p.symbol not in known}


def nearest(
    function: Callable[..., Any],
    parameters: Mapping[str, float],
    declared: Sequence[Fault] = (),
    *,
    most: int = MOST,
    leave_out: str = "",
    **keywords: Any,
) -> list[Near]:
    """The algorithms whose hyper-parameters the function takes, nearest first. most: the largest number of deviations
    that are sought where no algorithm is the function's.

    keywords: clients, cohort, scheme, relation of `settings`.
    """
    tried = [
        one
        for name, reference in references().items()
        if name != leave_out and (one := _tried(function, reference, parameters, declared, keywords)) is not None
    ]
    tried.sort(key=lambda one: one[0].rank)
    found = [near for near, _, _ in tried]
    if not tried or not most or any(near.deviations == () and near.same_noise for near in found):
        return found
    same_noise = any(near.same_noise for near in found)
    for k, (near, case, seen) in enumerate(tried):
        if (
            near.deviations is None
            and near.same_noise == same_noise
            and most > 0
            and (silent := find(case.reference, seen, SECONDS, most).silent)
        ):
            names = [fault.name for fault in silent[0].faults]
            if case.reference.unit and near.same_noise and not _same_spread(case, silent):
                names.append(ANOTHER)
            found[k] = replace(near, deviations=tuple(names))
            most = len(names) - 1  # others are nearer only with fewer
    return sorted(found, key=lambda one: one.rank)


def _same_spread(case: Case, suspects: Sequence[Candidate]) -> bool:
    """Whether one of the suspects explains the function's noise."""
    try:
        noise = [case.see(spread) for spread in case.plan.spreads]
    except UserFunctionError:
        return False
    return any(explains(one.player, noise) for one in suspects)


def _tried(
    function: Callable[..., Any],
    reference: Reference,
    parameters: Mapping[str, float],
    declared: Sequence[Fault],
    keywords: Mapping[str, Any],
) -> tuple[Near, Case, list[ObservedDifference]] | None:
    """An algorithm without deviations, with what the function does in its place; None where it does not take the
    hyper-parameters."""
    try:
        subject, meant = Subject(function, reference), reference.meaning(declared)
        asked = set(subject.taken.values())
        values = settings(meant, parameters, asked, **keywords)
    except InputError:
        return None
    case = Case(meant, subject, Plan(meant, values), 0, 1e-6, 0)
    path = case.plan.paths[0]
    try:
        seen = [case.see(path) for path in case.plan.paths[:PATHS]]
        noisy = probe_without_noise(subject, path.world, path.v, path.who).numbers > 0
        same = [player_of(meant, reading) for reading in meant.readings]
        same = [player for player in same if explains(player, seen)]
        deviations: tuple[str, ...] | None = () if same else None
        if same and noisy:
            noise = [case.see(spread) for spread in case.plan.spreads]
            deviations = () if any(explains(player, noise) for player in same) else (ANOTHER,)
    except UserFunctionError:
        return None
    missing = len(assumed(meant, values[0], asked, parameters))
    near = Near(reference.name, deviations, missing, noisy == bool(meant.unit))
    return near, case, seen if deviations == () else case.with_more_steps(seen)
