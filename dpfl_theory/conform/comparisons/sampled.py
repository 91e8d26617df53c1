"""Tests on samples with a stated error, for noise that cannot be recorded and for runs with live noise.

Each test errs with probability at most alpha over the number of tests. Means and covariances of Gaussian noise are
compared with exact ones, those of readings and faults. The fourth moment detects noise that is not Gaussian.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Sequence

import numpy as np

from dpfl_theory.conform.case import Case, failure, player_of
from dpfl_theory.conform.comparisons.diagnose import UNKNOWN, fault_text
from dpfl_theory.conform.comparisons.noise_linearity import NOT_GAUSSIAN
from dpfl_theory.conform.fault_search import FAILURES
from dpfl_theory.conform.probes import STEP, Path, Spread, play, probe_without_noise
from dpfl_theory.conform.quantiles import chi_square_over_degrees, normal
from dpfl_theory.conform.randomness import RecordingGenerator
from dpfl_theory.conform.references import Player
from dpfl_theory.conform.result import Finding
from dpfl_theory.conform.user_function import UserFunctionError, generators_kept, seeded
from dpfl_theory.core.algorithm import Fault
from dpfl_theory.problems.base import Array

MIXED = "randomness that is not Gaussian"
RUNS = 800
"""Default number of runs of the function on each of two neighbouring data sets."""


def sample(player: Player, path: Path, runs: int, seed: int) -> Array:
    """w after the first round in ``runs`` independent runs, (runs, d)."""
    found = []
    with generators_kept():
        for k in range(runs):
            seeded(seed + k)
            found.append(play(player, path.world, path.v, path.who[:1], RecordingGenerator(seed + k).live())[0])
    return np.array(found)


def expected(player: Player, path: Path, step: float = STEP) -> tuple[Array, Array]:
    """The mean (d,) and the covariance (d, d) of w after the first round, for a player whose noise is recorded.
    step: by which numbers of the noise are moved, as for a `Spread`."""
    one = Path(path.v, path.world, path.who[:1])
    return probe_without_noise(player, one.world, one.v, one.who).w[0], Spread(one, step, step > STEP).outcome(player)


def disagreement(w: Array, mean: Array, covariance: Array, alpha: float) -> str | None:
    """A sentence if a sample (runs, d) does not have this mean and covariance; None if it may have them.

    Errs with probability at most alpha if the sample has them and is Gaussian.
    """
    runs, d = w.shape
    if not np.isfinite(mean).all() or not np.isfinite(covariance).all():
        return "numbers that are not finite are expected"
    if (finite := int(np.isfinite(w).all(axis=1).sum())) < runs:
        return f"w is not finite in {runs - finite} of {runs} runs"
    share = alpha / (2 * d + d * (d - 1) / 2)
    quantile = normal(share / 2)
    variances = np.diag(covariance)
    rounding = 1e-9 * (float(np.max(np.abs(mean), initial=0.0)) + 1e-30)
    error = np.abs(w.mean(axis=0) - mean)
    allowed = quantile * np.sqrt(variances / runs) + rounding
    if np.any(error > allowed):
        j = int(np.argmax(error - allowed))
        return (
            f"coordinate {j} is on average {w[:, j].mean():.6g} over {runs} runs, and {mean[j]:.6g} +- "
            f"{allowed[j]:.2g} is expected"
        )
    low, high = (chi_square_over_degrees(p, runs - 1) for p in (share / 2, 1 - share / 2))
    found = w.var(axis=0, ddof=1)
    bad = (found > high * variances + rounding**2) | (found < low * variances - rounding**2)
    if np.any(bad):
        j = int(np.argmax(bad))
        return (
            f"the noise of coordinate {j} has standard deviation {found[j] ** 0.5:.6g} over {runs} runs, and "
            f"{variances[j] ** 0.5:.6g} (times {low**0.5:.3g} to {high**0.5:.3g}) is expected"
        )
    for i in range(d):
        for j in range(i):
            if variances[i] <= 0.0 or variances[j] <= 0.0:
                continue
            given = covariance[i, j] / (variances[i] * variances[j]) ** 0.5
            seen = float(np.corrcoef(w[:, i], w[:, j])[0, 1])
            if abs(
                np.arctanh(np.clip(seen, -1 + 1e-12, 1 - 1e-12)) - np.arctanh(np.clip(given, -1 + 1e-12, 1 - 1e-12))
            ) > (quantile / (runs - 3) ** 0.5):
                return (
                    f"the noise of coordinates {j} and {i} has correlation {seen:.3g} over {runs} runs, not {given:.3g}"
                )
    return None


def standard(w: Array) -> Array:
    """A sample scaled to mean 0 and variance 1 in each coordinate; unchanged where it does not vary."""
    centred = w - w.mean(axis=0)
    spread = centred.std(axis=0)
    return np.asarray(centred / np.where(spread > 0.0, spread, 1.0))


def gaussian(w: Array) -> bool:
    """Whether the fourth moment of a sample may be that of Gaussian noise (eight standard errors)."""
    runs, d = w.shape
    centred = w - w.mean(axis=0)
    spread = centred.std(axis=0)
    if np.any(spread <= 1e-12 * (np.abs(w).max() + 1e-30)):
        return True
    kurtosis = ((centred / spread) ** 4).mean()
    return bool(abs(kurtosis - 3.0) <= 8.0 * (24.0 / (runs * d)) ** 0.5 * d**0.5)


def by_samples(case: Case, why: str) -> list[Finding]:
    """Compare means and covariances of samples with those of readings and faults. why: the reason why noise is not
    recorded."""
    obstacle = ""
    if any(v.get("p", 1.0) != 1.0 or v.get("s", 1.0) != 1.0 or v.get("B", 0) for v in case.plan.values):
        obstacle = "rounds have other randomness"
    elif any(one.general for one in case.reference.declared):  # the reference has no distribution of these
        obstacle = "the declared choices of clients, steps or records are the function's own in each run"
    elif case.reference.unit and not case.plan.linear:  # the mean of w is then not w without noise
        obstacle = "w is no linear function of it"
    if obstacle:
        case.undecided = True
        case.notes.append(f"{why}, so that it was not recorded; and {obstacle}, so nothing was compared")
        return []
    runs = max(case.runs, RUNS)
    worlds = [p for p in case.plan.paths if p.v is case.plan.values[0]]
    worlds += [p for p in case.plan.paths if p.v is not case.plan.values[0]][:2]
    case.compared = {"runs with live noise": runs * len(worlds)}
    try:
        samples = [sample(case.subject, path, runs, case.seed) for path in worlds]
    except UserFunctionError as error:
        return [failure(error)]
    alpha = case.alpha / (4 * len(samples))
    coarse = max(
        float(w.std(axis=0).max()) / runs**0.5 / max(path.scale(w), 1e-300) for path, w in zip(worlds, samples)
    )
    case.notes.append(
        f"{why}, so that it was not recorded: only means and covariances of first rounds were tested, from {runs} "
        f"runs of each of {len(worlds)} problems. A change of the mean by less than about {100 * 6 * coarse:.2g} % of "
        "the path is not detected, and neighbouring data sets were not compared"
    )

    def fits(player: Player) -> str | None:
        for path, w in zip(worlds, samples):
            mean, covariance = expected(player, path)
            if (said := disagreement(w, mean, covariance, alpha)) is not None:
                return said
        return None

    if case.reference.unit and not gaussian(np.concatenate([standard(w) for w in samples])):
        return [_not_gaussian(case, runs)]
    wrong = {reading.text: fits(player_of(case.reference, reading)) for reading in case.reference.readings}
    agreeing = [reading for reading in case.reference.readings if wrong[reading.text] is None]
    if agreeing:
        case.reading, case.several_readings, case.undecided = agreeing[0], len(agreeing) > 1, _keeps_state(case)
        return []
    first = next(iter(wrong.values())) or ""
    known = [variant for fault in case.reference.faults() if not fault.general for variant in fault.variants()]
    fitting: dict[str, Fault] = {}
    for reading, fault in itertools.product(case.reference.readings, known):
        if fault.name in fitting:
            continue
        with contextlib.suppress(*FAILURES):  # of parts that do not fit together
            if fits(case.reference.with_parts(reading.parts, fault.parts).round) is None:
                fitting[fault.name] = fault
    if fitting:
        return [_listed(case, list(fitting.values()), first)]
    said = "samples of w do not agree with the algorithm, and no named deviation explains them"
    return [Finding(UNKNOWN, said, first, case.lines("noise"))]


def _not_gaussian(case: Case, runs: int) -> Finding:
    """The finding on samples that are not Gaussian. Where clients have nothing to send, a choice of clients or records
    does not matter, and only noise is left."""
    where = case.lines("noise")
    try:  # twice as many runs: one sample of ``runs`` does not tell uniform noise from Gaussian noise
        alone = sample(case.subject, case.plan.silent_round, 2 * runs, case.seed)
    except UserFunctionError:
        alone = np.zeros((2, case.plan.silent_round.world.d))
    if not gaussian(alone):
        said = "the noise is not Gaussian, and the accounting of the Gaussian mechanism does not cover it"
        return Finding(NOT_GAUSSIAN, said, lines=where, private=True)
    said = (
        "w is not Gaussian over runs, though what is left where clients have nothing to send may be. One of: a random "
        "choice of clients or records that the round makes itself; noise that is not Gaussian, or is bounded, where "
        "clients send something"
    )
    return Finding(MIXED, said, lines=where)


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
