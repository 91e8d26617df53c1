"""Fallback for noise that is not recorded: means and covariances of samples, compared with those of readings and
faults."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from dpfl_theory.conform.case import Case, failure, player_of
from dpfl_theory.conform.comparisons import sampled
from dpfl_theory.conform.comparisons.diagnose import UNKNOWN, fault_text
from dpfl_theory.conform.comparisons.noise_linearity import NOT_GAUSSIAN
from dpfl_theory.conform.randomness import RecordingGenerator
from dpfl_theory.conform.references import Player
from dpfl_theory.conform.result import Finding
from dpfl_theory.conform.user_function import UserFunctionError
from dpfl_theory.core.algorithm import Fault

__all__ = ["by_samples"]


def by_samples(case: Case, why: str) -> list[Finding]:
    """Compare means and covariances of samples with those of readings and faults. why: the reason why noise is not
    recorded."""
    if any(v.get(parameter, 1.0) != 1.0 for v in case.plan.values for parameter in ("p", "s")):
        case.undecided = True
        case.notes.append(
            f"{why}, so that it was not recorded; and rounds have other randomness, so nothing was compared"
        )
        return []
    runs = max(case.runs, sampled.RUNS)
    worlds = [p for p in case.plan.paths if p.v is case.plan.values[0]]
    worlds += [p for p in case.plan.paths if p.v is not case.plan.values[0]][:2]
    case.compared = {"runs with live noise": runs * len(worlds)}
    try:
        samples = [sampled.sample(case.subject, path, runs, case.seed) for path in worlds]
    except UserFunctionError as error:
        return [failure(error)]
    alpha = case.alpha / (4 * len(samples))
    coarse = max(
        float(w.std(axis=0).max()) / runs**0.5 / max(path.scale(w), 1e-300) for path, w in zip(worlds, samples)
    )
    case.notes.append(
        f"{why}, so that it was not recorded: only means and covariances of first rounds were tested, from {runs} runs "
        f"in each of {len(worlds)} worlds. A change of the mean by less than about {100 * 6 * coarse:.2g} % of the "
        "path is not detected, and neighbouring data sets were not compared"
    )

    def fits(player: Player) -> str | None:
        for path, w in zip(worlds, samples):
            mean, covariance = sampled.expected(player, path)
            if (said := sampled.disagreement(w, mean, covariance, alpha)) is not None:
                return said
        return None

    if case.reference.unit and not sampled.gaussian(np.concatenate([sampled.standard(w) for w in samples])):
        said = "the noise is not Gaussian, and the accounting of the Gaussian mechanism does not cover it"
        return [Finding(NOT_GAUSSIAN, said, lines=case.lines("noise"), private=True)]
    first = ""
    for reading in case.reference.readings:
        wrong = fits(player_of(case.reference, reading))
        if wrong is None:
            case.reading, case.undecided = reading, _keeps_state(case)
            return []
        first = first or wrong
    known = [variant for fault in case.reference.faults() for variant in fault.variants()]
    fitting: dict[str, Fault] = {}
    for reading, fault in itertools.product(case.reference.readings, known):
        if fault.name in fitting:
            continue
        if fits(case.reference.with_parts({**reading.parts, **fault.parts}).round) is None:
            fitting[fault.name] = fault
    if fitting:
        return [_listed(case, list(fitting.values()), first)]
    said = "samples of w do not agree with the algorithm, and no named deviation explains them"
    return [Finding(UNKNOWN, said, first, case.lines("noise"))]


def _listed(case: Case, faults: Sequence[Fault], seen: str) -> Finding:
    """The fault that explains the samples, or all faults that do."""
    one, private = faults[0], bool(case.reference.unit)
    if len(faults) == 1:
        return Finding(one.name, fault_text(case, one), seen, case.lines(one.role), one.seen, one.private and private)
    said = (
        f"{len(faults)} deviations explain the samples of first rounds, which do not separate them: "
        f"{'; or '.join(f'{fault.name}: {fault_text(case, fault)}' for fault in faults)}"
    )
    names = " or ".join(fault.name for fault in faults)
    return Finding(names, said, seen, case.lines(one.role), private=private and all(f.private for f in faults))


def _keeps_state(case: Case) -> bool:
    """Whether rounds depend on each other through more than w, which samples of first rounds do not show."""
    path = case.plan.paths[0]
    _, state = case.subject(path.world.start, None, path.world.clients(), path.who[0], RecordingGenerator(0), path.v)
    return state is not None
