"""The privacy of one round: the pair of data sets that it distinguishes best, and an audit with live noise."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpfl_theory.conform.case import Case
from dpfl_theory.conform.comparisons import neighbours, sampled
from dpfl_theory.conform.comparisons.diagnose import UNKNOWN
from dpfl_theory.conform.comparisons.neighbours import Pair
from dpfl_theory.conform.comparisons.noise_linearity import NOT_GAUSSIAN, bent
from dpfl_theory.conform.probes import LONG_SPREAD, Path
from dpfl_theory.conform.references import Values
from dpfl_theory.conform.result import Finding
from dpfl_theory.conform.user_function import UserFunctionError

DELTA = 1e-5
RELEASED = "the noise of what is released besides w was not explained"
BENT = "w is no linear function of it, as with Adam on the server"
"""The reason why distances of w do not measure privacy: a noisy average may be transformed in any way, at no cost."""
MOST = 50.0
"""The default limit of a claimed epsilon, and the number from which there is no protection in practice."""
FAR = 1e6
"""The mu from which its epsilon is mu^2/2 to all digits that are printed."""
CLAIM = "a claimed epsilon above {:g}"
FEWEST = 200
"""Number of runs on each data set that an audit needs."""


def claim(case: Case) -> list[Finding]:
    """The claimed epsilon of the declared noise multiplier, if it is no protection whatever the round does."""
    largest, at = 0.0, None
    for v in case.plan.values:
        z = float(v.get("noise_multiplier") or 0.0)
        if z > 0.0 and (epsilon := _claimed(v, z, case.reference.unit)) > largest:
            largest, at = epsilon, v
    if at is None or largest <= case.max_epsilon:
        return []
    unit, most = case.reference.unit, case.max_epsilon
    said = (
        f"the noise multiplier {at['noise_multiplier']:.4g} claims epsilon = {largest:.4g} at delta = {DELTA:g} for "
        f"{_of_what(at, unit)}, and the limit is {most:g}"
        f"{' (above 50 it guarantees next to nothing)' if most >= MOST else ''}: the multiplier must be at least "
        f"{_needed(at, unit, most):.4g}"
    )
    return [Finding(CLAIM.format(most), said, lines=case.lines("noise"), about="claim")]


def _of_what(v: Values, unit: str) -> str:
    """What a claimed epsilon is for."""
    share = float(v.get("s", 1.0))
    return f"one round and a {unit} that takes part" if share == 1.0 else f"one local step, amplified by s = {share:g}"


def _needed(v: Values, unit: str, most: float) -> float:
    """The smallest noise multiplier whose claimed epsilon is at most this, rounded up to four digits."""
    low, high = 1e-6, 1e6
    while high > low * (1.0 + 1e-6):
        z = math.sqrt(low * high)
        low, high = (low, z) if _claimed(v, z, unit) <= most else (z, high)
    digits = 3 - math.floor(math.log10(high))
    return math.ceil(high * 10.0**digits) / 10.0**digits


def _claimed(v: Values, z: float, unit: str) -> float:
    """The claimed epsilon of one round. If records are protected and all of them take part, it is that of all local
    steps together. If batches are drawn, it is that of one step, amplified."""
    share = float(v.get("s", 1.0))
    mu = 1.0 / z if unit == "client" or share < 1.0 else float(v["local_steps"]) ** 0.5 / z
    epsilon = _epsilon(mu, min(DELTA / share, 0.5))
    if mu > FAR:
        return epsilon
    return epsilon if share == 1.0 else max(0.0, epsilon + math.log(share + (1.0 - share) * math.exp(-epsilon)))


def _epsilon(mu: float, delta: float) -> float:
    """The epsilon of mu-GDP at this delta, for every mu."""
    from dpfl_theory.audit.bounds import gaussian_epsilon

    if mu > FAR:
        return 0.5 * mu**2 if mu < 1e150 else math.inf
    return gaussian_epsilon(mu, delta)


def private(case: Case, previous: Sequence[Finding]) -> list[Finding]:
    """Compare neighbouring data sets, report the pair whose results are furthest apart, and audit the function."""
    values = [dict(v) for v in case.plan.values if v.get("noise_multiplier")]
    if not values:
        return []
    try:
        pairs = neighbours.compared(case, values)
    except UserFunctionError as error:
        case.notes.append(f"no neighbouring data sets were compared: {error}")
        return []
    if not pairs:
        case.notes.append("no epsilon of a round was computed: the sensitivity of w is not known in these settings")
        return []
    far = max(pairs, key=_excess)
    usual = [pair for pair in pairs if pair.usual] or pairs  # some may have given no finite numbers
    loud = max(usual, key=lambda pair: round(pair.mu / pair.claimed, 6))
    same = [pair for pair in pairs if pair.path.v is loud.path.v]  # with the same hyper-parameters
    here = max((pair for pair in same if pair.refutes or pair.usual or pair is loud), key=_excess)
    unit = case.reference.unit
    spoiled, released = next((fault.name for fault in previous if fault.unaccounted), ""), _released(case, loud.path.v)
    if not spoiled and any(fault.name == UNKNOWN for fault in previous) and bent(case) is not None:
        spoiled = BENT
    spoiled = spoiled or ("" if math.isfinite(released) or case.explained else RELEASED)
    mu = math.inf if spoiled else math.hypot(loud.mu, released)
    epsilon, claimed = (_epsilon(m, DELTA) for m in (mu, loud.claimed))
    loudest = max(pair.mu for pair in pairs if pair.path.v is loud.path.v)
    alone = math.hypot(loudest, released) > mu * (1.0 + LONG_SPREAD)
    there = (
        f"for the actual noise ({spoiled}) this test knows no finite epsilon"
        if spoiled
        else _actual(case, epsilon, loud, alone, far.distance <= far.allowed * (1.0 + neighbours.ROUNDING))
    )
    if any(fault.name == UNKNOWN for fault in previous):
        there += ", in a first round, and what later rounds reveal was not tested"
    most = max(pair.distance for pair in same)
    everywhere = here.distance >= most * (1.0 - neighbours.ROUNDING)
    among = (
        "in all comparisons"
        if everywhere
        else "in cohorts of the expected size"
        if unit == "client"
        else f"if its client has {here.records} records"
    )
    setting = case.setting(loud.path.v)
    case.privacy = {
        "pair": loud.description,
        "distance": here.distance,
        "sensitivity": here.allowed,
        "mu": mu if math.isfinite(mu) else None,
        "mu_claimed": loud.claimed,
        "delta": DELTA,
        "epsilon": epsilon if math.isfinite(epsilon) else None,
        "epsilon_claimed": claimed,
        "told": (
            f"two data sets that differ in one {unit} move w by at most {here.distance:.4g} {among}{setting}, and the "
            f"hyper-parameters allow {here.allowed:.4g}; {there}, and {claimed:.4g} is claimed"
            + (" of one client's messages" if unit == "record" and not case.reference.algorithm.lots else "")
            + case.reference.algorithm.released_again
        ),
    }
    found = []
    if far.refutes and spoiled != BENT:
        said = (
            f"one {unit} moves w by {far.distance:.4g}, and the declared sensitivity is {far.allowed:.4g}: no "
            "accounting that depends on it holds"
        )
        where = case.lines("clip") or case.lines("average")
        found.append(Finding("more than the declared sensitivity", said, far.description, where, private=True))
    case.excess = max(pair.mu / max(pair.claimed, pair.own) for pair in pairs)
    if case.runs:
        found += _audit(case, loud, bool(previous) or bool(found))
    return found


def _excess(pair: Pair) -> tuple[bool, float]:
    """How far a pair exceeds the allowed distance, where rounding does not decide between equals."""
    return pair.refutes, float(f"{pair.distance / pair.allowed:.6g}")


def _released(case: Case, v: Values) -> float:
    """mu of what a round releases besides w, by the description of the round that the function is; infinite where no
    description explains it. Both together are one Gaussian mechanism, whose mu is the root of the sum of squares."""
    if not case.reference.released(v):
        return 0.0
    if not case.explained:
        return math.inf
    own = [(one.reading.parts, *(fault.parts for fault in one.faults)) for one in case.suspects]
    return max(case.reference.with_parts(*parts).released(v) for parts in own)


def _actual(case: Case, epsilon: float, loud: Pair, alone: bool, within: bool) -> str:
    """The epsilon of the actual noise in words. It is exact where the round keeps the declared sensitivity; else the
    pairs that were compared need not be the worst ones. loud: the pair of this epsilon. alone: whether it is larger for
    an only participant. within: whether no pair exceeds the sensitivity."""
    unit = case.reference.unit
    if math.isinf(epsilon):
        return f"with the actual noise, no finite epsilon holds for a {unit} that takes part"
    faults = [fault for one in case.suspects for fault in one.faults]
    exact = within and case.suspects and all(fault.role == "noise" or not fault.private for fault in faults)
    if unit == "record" and not case.reference.algorithm.lots:
        return (
            f"with the actual noise, epsilon is {epsilon:.4g} at delta = {DELTA:g} in these test problems, for a "
            "record that takes part, towards those who see w alone; other data may give more"
        )
    size = " in a cohort of the expected size, and more in a smaller cohort" if alone else ""
    once = " once" if loud.path.v["scheme"] == "with-replacement" else ""
    share = case.reference.message_multiplier(loud.path.v)
    of_messages = case.reference.algorithm.noise_in_messages or _is_of_clients(case)
    whom = ", towards those who see w alone" if share or of_messages else ""
    if share and not faults:
        seen = f"{_epsilon(loud.claimed / share, DELTA):.4g} towards those who see its message"
        whom += f" ({seen}, where each client adds its own noise)"
    return (
        f"with the actual noise, {'that is epsilon =' if exact else 'epsilon is at least'} {epsilon:.4g} at delta = "
        f"{DELTA:g} for a {unit} that takes part{once}{size}{whom}"
    )


def _is_of_clients(case: Case) -> bool:
    """Whether each client adds noise by the reading, where by another one the server does."""
    return case.reading is not None and case.reading.once != any(one.once for one in case.reference.readings)


def _audit(case: Case, pair: Pair, known: bool) -> list[Finding]:
    """Audit with live noise: test that the noise is the recorded one, and compute a lower limit for mu."""
    from dpfl_theory.audit.bounds import mu_lower_bound

    path = Path(pair.path.v, pair.one, pair.path.who)
    other = Path(pair.path.v, pair.other, pair.path.who)
    one, zero = (
        sampled.sample(case.subject, path, case.runs, case.seed),
        sampled.sample(case.subject, other, case.runs, case.seed + 10**6),
    )
    case.compared["runs with live noise"] = 2 * case.runs
    if path.v.get("p", 1.0) < 1.0:  # rounds that do not communicate have no information
        one, zero = (w[np.any(w != path.world.start, axis=1)] for w in (one, zero))
    if min(len(one), len(zero)) < FEWEST:
        few = min(len(one), len(zero))
        said = f"only {few} runs communicate" if few < case.runs else f"there are {few} runs"
        case.notes.append(f"{said}: the audit needs {FEWEST}")
        return []
    if not (np.isfinite(one).all() and np.isfinite(zero).all()):
        case.notes.append("the function gives numbers that are not finite with live noise: there is no audit")
        return []
    direction, claimed = pair.shift / max(pair.distance, 1e-300), pair.claimed
    low = mu_lower_bound(one @ direction, zero @ direction, confidence=1.0 - case.alpha / 4).mu
    case.privacy["mu_low"] = low
    if low > claimed:
        said = (
            f"runs distinguish the two data sets better than the claimed noise allows: with error probability "
            f"{case.alpha / 4:g}, mu is at least {low:.4g}, and {claimed:.4g} is claimed"
        )
        if not known:
            return [Finding("refuted by the audit", said, pair.description, case.lines("noise"), private=True)]
        case.notes.append(said)
    mean, covariance = sampled.expected(case.subject, path, case.plan.step)
    differs = sampled.disagreement(one, mean, covariance, case.alpha / 4)
    if differs is not None and any(one.general for one in case.reference.declared):
        case.notes.append(
            "samples with live noise were not compared with the silent one: the declared choices differ from run to run"
        )
        return []
    if differs is not None and not known:
        said = f"with live noise, the function differs from itself with silent noise: {differs}"
        return [Finding("randomness that was not recorded", said, lines=case.lines("noise"))]
    if case.reference.unit == "client" and not known and not sampled.gaussian(one):
        said = (
            "with live noise, the noise is not Gaussian, but the accounting of the Gaussian mechanism needs Gaussian "
            "noise"
        )
        return [Finding(NOT_GAUSSIAN, said, lines=case.lines("noise"), private=True, unaccounted=True)]
    return []
