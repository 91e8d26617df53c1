"""Findings that do not depend on the algorithm: numbers that are not finite, other noise, coins, batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpfl_theory.algorithms.faults.scaffnew import COINS
from dpfl_theory.conform.case import Case
from dpfl_theory.conform.comparisons.batches import batches
from dpfl_theory.conform.fault_search import ObservedDifference
from dpfl_theory.conform.probes import LONG_STEP, Path, probe_without_noise, responses
from dpfl_theory.conform.quantiles import binomial
from dpfl_theory.conform.result import Finding
from dpfl_theory.conform.traces import chosen
from dpfl_theory.conform.user_function import UserFunctionError

TOSSES = 400
"""Number of first rounds in which the coin is observed."""
IN_PART = "a communication of some clients only"


def common(case: Case, seen: Sequence[ObservedDifference], named: Sequence[Finding]) -> list[Finding]:
    """All of these findings, in addition to those already named."""
    return [*_kinds(case), *_coin(case, named), *batches(case, seen, named), *_of_nobody(case)]


def not_finite(case: Case, seen: Sequence[ObservedDifference]) -> list[Finding]:
    """The finding that the function gives numbers that are not finite where the algorithm gives finite ones."""
    for one in seen:
        path = one.path
        if not np.isfinite(one.value).all() and np.isfinite(path.outcome(case.reference.round, one.choices)).all():
            said = "the function gives numbers that are not finite where the algorithm gives finite ones"
            return [Finding("numbers that are not finite", said, one.probe.name, case.lines("clip"))]
    return []


def _kinds(case: Case) -> list[Finding]:
    """Noise that is not Gaussian in the vector that the server sends on. Noise that goes only into a threshold is not
    a part of the claimed mechanism."""
    path = case.plan.spreads[0].path.first
    draws = probe_without_noise(case.subject, path.world, path.v, path.who).draws
    if not case.reference.unit or all(draw.kind == "normal" for draw in draws):
        return []
    moves = [bool(np.any(response)) for response in responses(case.subject, path, LONG_STEP)]
    other, first = [], 0
    for draw in draws:
        if draw.kind != "normal" and draw.largest > 0.0 and any(moves[first : first + draw.count]):
            other.append(draw)
        first += draw.count
    if not other:
        return []
    said = (
        "the noise is not Gaussian, and the accounting of the Gaussian mechanism does not cover it: draw normal numbers"
    )
    return [
        Finding(
            f"{other[0].kind.capitalize()} noise",
            said,
            "",
            tuple({d.place for d in other}),
            private=True,
            unaccounted=True,
        )
    ]


def _coin(case: Case, named: Sequence[Finding]) -> list[Finding]:
    """The frequency of communication, where one coin decides it."""
    path = case.plan.paths[-1]
    p = float(path.v.get("p", 1.0))
    if p == 1.0 or COINS in {one.name for one in named}:
        return []
    one = [
        Path(path.v, replace(path.world, seed=seed), path.who[:1])
        for seed in range(1000 * case.seed, 1000 * case.seed + TOSSES)
    ]
    count = sum(any(path.moves(path.outcome(case.subject))) for path in one)
    if count == TOSSES:  # also rounds without a communication may move w
        count = sum(chosen(case.subject, path)[0]["moved"] for path in one)
    low, high = (binomial(q, TOSSES, p) for q in (case.alpha / 8, 1 - case.alpha / 8))
    if low <= count <= high:
        return []
    if parts := sum(_in_part(case, path) for path in one):
        said = (
            "after some rounds a part of the clients goes on from one common vector, and the others from their own: "
            "one coin should decide for all clients"
        )
        return [Finding(IN_PART, said, f"after {parts} of {TOSSES} first rounds, p = {p:g}")]
    depend = "the control variates and the accounting depend" if case.reference.unit else "the control variates depend"
    said = f"rounds communicate with a probability other than p, on which {depend}"
    return [Finding("a wrong probability of communication", said, f"{count} of {TOSSES} rounds, p = {p:g}")]


def _in_part(case: Case, path: Path) -> bool:
    """Whether some clients, but not all, start the second round at one point, other than the first start, where
    clients without a gradient stay."""
    points = chosen(case.subject, replace(path, who=path.who * 2))[1]["points"]
    starts = Counter(own[0].tobytes() for own in points.values() if np.any(own[0] != path.world.start))
    return 1 < max(starts.values(), default=0) < len(points)


def _of_nobody(case: Case) -> list[Finding]:
    """A round without participants, and a step without records."""
    for paths, name, where in (
        (case.plan.empty, "fails without clients", "a round in which no client takes part"),
        (case.empty_lot, "fails in an empty lot", "a step whose lot is empty"),
    ):
        said = f"{where}, as happens under independent sampling"
        for path in paths:
            try:
                w = probe_without_noise(case.subject, path.world, path.v, path.who).w
            except UserFunctionError as error:
                return [Finding(name, f"{said}: {error}", lines=(error.place,) if error.place else ())]
            if not np.isfinite(w).all():
                return [Finding(name, f"{said}, gives numbers that are not finite", lines=case.lines("average"))]
    return []
