"""The privacy of one round: the pair of data sets that it tells apart best, and an audit of the function as it runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpfl_theory.conform import neighbours, sampled
from dpfl_theory.conform.case import Case
from dpfl_theory.conform.neighbours import Pair
from dpfl_theory.conform.probes import Path, Spread, heard
from dpfl_theory.conform.result import Finding
from dpfl_theory.conform.subject import Raised
from dpfl_theory.problems.base import Array

__all__ = ["private"]

DELTA = 1e-5
FEWEST = 200
"""Runs of each data set that an audit needs."""


def private(case: Case, before: Sequence[Finding]) -> list[Finding]:
    """The pair of neighbouring data sets that a round's results lie furthest apart for, and the audit."""
    from dpfl_theory.privacy.audit.bounds import gaussian_epsilon

    values = [dict(v) for v in case.plan.values if v.get("noise_multiplier")]
    if not values:
        return []
    try:
        pair = neighbours.worst(case.subject, case.reference, values)
    except Raised as error:
        case.notes.append(f"no neighbouring data sets were compared: {error}")
        return []
    if pair is None:
        return []
    who, v = pair.path.who, pair.path.v
    shift = heard(case.subject, pair.one, v, who).w[-1] - heard(case.subject, pair.other, v, who).w[-1]
    covariance = Spread(Path(v, pair.one, who)).of(case.subject)
    mu = _mu(shift, covariance)
    steps = int(v["local_steps"]) if case.reference.unit == "record" else 1
    claimed = steps**0.5 / float(v["noise_multiplier"])
    epsilons = [gaussian_epsilon(m, DELTA) if math.isfinite(m) else math.inf for m in (mu, claimed)]
    case.privacy = {
        "pair": pair.told,
        "distance": pair.distance,
        "sensitivity": pair.allowed,
        "mu": mu if math.isfinite(mu) else None,
        "mu_claimed": claimed,
        "delta": DELTA,
        "epsilon": epsilons[0] if math.isfinite(epsilons[0]) else None,
        "epsilon_claimed": epsilons[1],
        "told": (
            f"two data sets that differ in one {case.reference.unit} move w by at most {pair.distance:.4g} as far as "
            f"was seen, and {pair.allowed:.4g} is what the letters say; with the noise that is there, that is epsilon "
            f"= {epsilons[0]:.4g} at delta = {DELTA:g} for a {case.reference.unit} that takes part, and "
            f"{epsilons[1]:.4g} is claimed" + (" of one client's messages" if case.reference.unit == "record" else "")
        ),
    }
    found = []
    if pair.refutes:
        said = (
            f"one {case.reference.unit} moves w by {pair.distance:.4g}, and the sensitivity that is declared is "
            f"{pair.allowed:.4g}: no accounting that rests on it holds"
        )
        where = case.lines("clip") or case.lines("average")
        found.append(Finding("more than the declared sensitivity", said, pair.told, where, private=True))
    if case.runs:
        found += _audit(case, pair, shift, claimed, bool(before) or bool(found))
    return found


def _audit(case: Case, pair: Pair, shift: Array, claimed: float, known: bool) -> list[Finding]:
    """The function as it really runs: its noise is that which was heard, and a lower limit for mu."""
    from dpfl_theory.privacy.audit.bounds import mu_lower_bound

    path = Path(pair.path.v, pair.one, pair.path.who)
    other = Path(pair.path.v, pair.other, pair.path.who)
    one, zero = (
        sampled.sample(case.subject, path, case.runs, case.seed),
        sampled.sample(case.subject, other, case.runs, case.seed + 10**6),
    )
    case.compared["runs with live noise"] = 2 * case.runs
    if path.v.get("p", 1.0) < 1.0:  # rounds that do not communicate tell nothing
        one, zero = (w[np.any(w != path.world.start, axis=1)] for w in (one, zero))
    if min(len(one), len(zero)) < FEWEST:
        case.notes.append(f"only {min(len(one), len(zero))} runs communicate: the audit needs {FEWEST}")
        return []
    direction = shift / max(float(np.linalg.norm(shift)), 1e-300)
    low = mu_lower_bound(one @ direction, zero @ direction, confidence=1.0 - case.alpha / 4).mu
    case.privacy["mu_low"] = low
    if low > claimed:
        said = (
            f"runs tell the two data sets apart better than the claimed noise allows: mu is at least {low:.4g}, "
            f"not {claimed:.4g}"
        )
        if not known:
            return [Finding("refuted by the audit", said, pair.told, case.lines("noise"), private=True)]
        case.notes.append(said)
    mean, covariance = sampled.expected(case.subject, path)
    differs = sampled.disagreement(one, mean, covariance, case.alpha / 4)
    if differs is not None and not known:
        said = f"as it really runs, the function is another one than with silent noise: {differs}"
        return [Finding("randomness that is not heard", said, lines=case.lines("noise"))]
    return []


def _mu(shift: Array, covariance: Array) -> float:
    """The mu of a Gaussian with this covariance and shift; infinite where no noise lies along a part of the shift."""
    values, vectors = np.linalg.eigh(covariance)
    along = vectors.T @ shift
    noisy = values > 1e-12 * max(float(values[-1]), 1e-300)
    if float(np.linalg.norm(along[~noisy])) > 1e-6 * float(np.linalg.norm(shift)):
        return math.inf
    return float(np.sqrt(np.sum(along[noisy] ** 2 / values[noisy])))
