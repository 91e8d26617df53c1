"""The privacy of a mechanism, the noise that it needs, and the number of rounds that a budget allows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpfl_theory.errors import InputError
from dpfl_theory.lazy import optimize
from dpfl_theory.privacy.events import Event, simplified
from dpfl_theory.privacy.gaussian_inverse import gaussian_multiplier
from dpfl_theory.privacy.mechanisms import Mechanism
from dpfl_theory.privacy.mechanisms.base import LARGEST, SMALLEST
from dpfl_theory.privacy.pld import (
    CertifiedInterval,
    delta_limits,
    epsilon_high,
    epsilon_limits,
    epsilon_low,
    one_gaussian,
)
from dpfl_theory.privacy.rdp import Moments, moments_bound

PRECISION = 1e-5
"""Relative precision of a calibrated noise multiplier with sampling; the value returned is always certified."""

GIVEN_AWAY = 1e-6
"""Share of delta that an attack's failures may take."""

MOST_ROUNDS = 10**8

LARGEST_EPSILON = 1e100

USELESS = 50.0
"""An epsilon above this gives no protection in practice."""


@dataclass(frozen=True)
class Account:
    """The privacy of one run: limits of epsilon at delta (or of delta at epsilon), and the mechanism that was accounted
    for.

    ``moments`` is the bound by Renyi divergences, where dp-accounting has this mechanism.
    """

    mechanism: Mechanism
    epsilon: CertifiedInterval
    delta: CertifiedInterval
    moments: Moments | None
    warnings: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """The account as plain data for JSON."""
        return {
            "epsilon": vars(self.epsilon),
            "delta": vars(self.delta),
            "mechanism": self.mechanism.describe(),
            "setting": self.mechanism.setting(),
            "notes": list(self.mechanism.notes()),
            "warnings": list(self.warnings),
            "moments": None if self.moments is None else vars(self.moments),
        }


def account(mechanism: Mechanism, *, delta: float | None = None, epsilon: float | None = None) -> Account:
    r"""The smallest epsilon for a delta, or the smallest delta for an epsilon, of one run.

    Args:
        mechanism: the algorithm with its parameters, `dpfl_theory.privacy.mechanisms`.
        delta: in (0, 1); exactly one of the two is given.
        epsilon: at least 0.

    Returns:
        `Account`; limits are certified: low <= truth <= high.

    Raises:
        InputError: when both or neither are given or out of range, or the mechanism lacks a parameter.

    >>> from dpfl_theory.privacy.mechanisms import get
    >>> run = get("dp-fedavg")(clients=100, noise_multiplier=10.0, rounds=100)
    >>> print(f"{account(run, delta=1e-5).epsilon.high:.4f}")  # as one release with noise multiplier 1
    4.3772
    """
    if (delta is None) == (epsilon is None):
        raise InputError("give either `delta` or `epsilon`, and the other is computed")
    moments, warnings = None, list[str]()
    if delta is not None:
        found = epsilon_spent(mechanism, delta)
        moments = moments_bound(mechanism, delta)
        if moments is not None and moments.warning:
            warnings.append(moments.warning)
        if not math.isfinite(found.high):
            warnings.append("No finite epsilon is certified for this mechanism.")
        warnings += [*meaningless_epsilon(found.low, mechanism.protects), *large_delta(delta, mechanism)]
        return Account(mechanism, found, CertifiedInterval(delta, delta, delta), moments, tuple(warnings))
    assert epsilon is not None
    checked_epsilon(epsilon, zero=True)
    event = mechanism.event()
    found = delta_limits(event, epsilon)
    if _bounded(mechanism, event):
        found = _with_low(found, lowest_delta(mechanism, epsilon))
    given = CertifiedInterval(epsilon, epsilon, epsilon)
    said = (*meaningless_epsilon(epsilon, mechanism.protects), *large_delta(found.low, mechanism))
    return Account(mechanism, given, found, None, said)


def meaningless_epsilon(epsilon: float, unit: str) -> tuple[str, ...]:
    """A warning for an epsilon that is too large to protect anything, as a tuple; empty for a smaller one.

    >>> meaningless_epsilon(3.0, "client")
    ()
    """
    if epsilon <= USELESS:
        return ()
    return (
        f"An epsilon above {USELESS:g} protects nothing in practice: it allows outcomes to be e^{USELESS:g} times "
        f"(more than 10^21 times) as likely with one {unit}'s data as with other data or none.",
    )


def large_delta(delta: float, mechanism: Mechanism) -> tuple[str, ...]:
    """A warning for a delta of at least one over the number of clients (records), as a tuple; empty for a smaller one.

    >>> from dpfl_theory.privacy.mechanisms import get
    >>> large_delta(0.01, get("dp-fedavg")(clients=99))
    ()
    """
    unit = mechanism.protects
    sizes = [getattr(mechanism, name, None) for name in (("users", "records") if unit == "record" else ("clients",))]
    if None in sizes or delta * (n := math.prod(size for size in sizes if size)) < 1:
        return ()
    return (
        f"A delta of {delta:g} is not below 1/{n}: who publishes all data of one {unit}, drawn at random among {n}, "
        "has such a delta.",
    )


def epsilon_spent(mechanism: Mechanism, delta: float) -> CertifiedInterval:
    """The epsilon of `account` without the moments bound, which takes up to a second.

    >>> from dpfl_theory.privacy.mechanisms import get
    >>> run = get("dp-fedavg")(clients=100, noise_multiplier=10.0, rounds=100)
    >>> epsilon_spent(run, 1e-5) == account(run, delta=1e-5).epsilon
    True
    """
    checked_delta(delta)
    event = mechanism.event()
    found = epsilon_limits(event, delta)
    return _with_low(found, lowest_epsilon(mechanism, delta)) if _bounded(mechanism, event) else found


def calibrate(mechanism: Mechanism, *, epsilon: float, delta: float, limit: str = "high", start: float = 1.0) -> float:
    """The smallest noise multiplier that is certified to give (epsilon, delta). It has five correct digits where
    clients or records are sampled, and 13 where they are not.

    With ``limit="low"``, the largest one, to the same number of digits, that is known to be insufficient (or, where
    the analysis is exact, the same value).

    Raises InputError when a parameter other than the noise multiplier is missing or out of range.

    >>> from dpfl_theory.privacy.mechanisms import get
    >>> print(f"{calibrate(get('dp-fedavg')(clients=100, rounds=100), epsilon=1.0, delta=1e-5):.3f}")
    37.306
    """
    checked_epsilon(epsilon)
    checked_delta(delta)
    if (exact := _gaussian(mechanism.with_(noise_multiplier=1.0))) is not None:
        found = _calibrated(mechanism, epsilon, delta, exact, limit)
        if _gaussian(mechanism.with_(noise_multiplier=found)) is not None:  # attacks may depend on the noise
            return found

    def spent(log_z: float) -> float:
        changed = mechanism.with_(noise_multiplier=_multiplier(log_z))
        return epsilon_high(changed.event(), delta) if limit == "high" else lowest_epsilon(changed, delta)

    def excess(log_z: float) -> float:
        return math.log(max(min(spent(log_z) / epsilon, 1e9), 1e-9))

    low, high = _bracket(lambda log_z: spent(log_z) > epsilon, math.log(start))
    root = float(optimize.brentq(excess, low, high, xtol=PRECISION / 4))
    while limit == "high" and spent(root) > epsilon:
        root += PRECISION / 2
    return _multiplier(root)


def _multiplier(log_z: float) -> float:
    """The noise multiplier with this logarithm, within the range of the accounting."""
    return min(max(math.exp(log_z), SMALLEST), LARGEST)


def _gaussian(mechanism: Mechanism) -> tuple[float, float] | None:
    """`one_gaussian` of a mechanism whose attacks show all of its event; else None."""
    event = mechanism.event()
    return None if _bounded(mechanism, event) else one_gaussian(simplified(event))


def _calibrated(mechanism: Mechanism, epsilon: float, delta: float, exact: tuple[float, float], limit: str) -> float:
    """The noise multiplier of a mechanism that is one Gaussian release. ``exact`` is that release for the multiplier
    1; its noise is proportional to the multiplier."""
    low, high = (z / exact[0] for z in gaussian_multiplier(epsilon, delta, exact[1]))
    if limit == "low":
        return low
    while epsilon_high(mechanism.with_(noise_multiplier=high).event(), delta) > epsilon:
        high *= 1 + 2e-15  # for the rounding of the mechanism's own arithmetic
    return high


def largest_rounds(mechanism: Mechanism, *, epsilon: float, delta: float) -> int:
    """The largest number of rounds certified to give (epsilon, delta); 0 when one round is too many.

    Raises InputError when a parameter other than the rounds is missing, or when 10^8 rounds are still private enough.

    >>> from dpfl_theory.privacy.mechanisms import get
    >>> largest_rounds(get("dp-fedavg")(clients=100, noise_multiplier=37.31), epsilon=1.0, delta=1e-5)
    100
    """
    checked_epsilon(epsilon)
    checked_delta(delta)
    return largest(lambda rounds: epsilon_high(mechanism.with_(rounds=rounds).event(), delta), epsilon)


def largest(cost: Callable[[int], float], budget: float) -> int:
    """The largest whole number whose cost is within the budget, for a growing cost; 0 when 1 costs too much.

    >>> largest(lambda n: n**0.5, 12.0)
    144
    """
    low, paid = 0, 0.0
    high, due = 1, cost(1)
    while due <= budget:
        low, paid = high, due
        room = budget / due if due > 0 else 5.0
        growth = max(1.1 * min(room, 290.0) ** 1.2, 1.3)
        if low == MOST_ROUNDS:
            raise InputError(
                f"at least {MOST_ROUNDS} rounds fit: the noise is beyond any use, so lower `noise_multiplier`"
            )
        high = min(max(low + 1, int(low * growth)), MOST_ROUNDS)
        due = cost(high)
    halve = False
    while high - low > 1:
        middle = (low + high) // 2
        if not halve and low > 0 and 0 < paid < due < math.inf:
            # Log-log interpolation; halving every other time bounds the search however the cost jumps.
            share = math.log(budget / paid) / math.log(due / paid)
            if math.isnan(share):  # both ratios are beyond the largest double
                share = 0.5
            middle = min(max(round(low * (high / low) ** share), low + 1), high - 1)
        halve = not halve
        now = cost(middle)
        if now <= budget:
            low, paid = middle, now
        else:
            high, due = middle, now
    return low


def lowest_epsilon(mechanism: Mechanism, delta: float) -> float:
    """A certified lower limit of epsilon, by the mechanism's attacks.

    An attack that fails with probability w has at least its event's delta less (1 + e^epsilon) w.
    """
    found = 0.0
    for event, failing in mechanism.attacks():
        if 2 * failing >= GIVEN_AWAY * delta:
            continue
        most = math.log(GIVEN_AWAY * delta / failing - 1) if failing else math.inf
        shown = epsilon_low(event, delta * (1 + GIVEN_AWAY) if failing else delta)
        found = max(found, min(most, shown))
        if shown <= most:
            break  # later attacks show less
    return found


def lowest_delta(mechanism: Mechanism, epsilon: float) -> float:
    """A certified lower limit of delta at an epsilon, by the mechanism's attacks."""
    found = 0.0
    for event, failing in mechanism.attacks():
        shown, lost = delta_limits(event, epsilon).low, (1 + _exp(epsilon)) * failing if failing else 0.0
        found = max(found, shown - lost)
        if lost <= GIVEN_AWAY * shown:
            break
    return found


def _exp(x: float) -> float:
    """e^x, inf where no double is as large."""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def checked_delta(delta: float) -> None:
    """Raise InputError unless 0 < delta < 1."""
    if not 0 < delta < 1:
        raise InputError(f"`delta` is {delta}: it must lie in (0, 1)")


def checked_epsilon(epsilon: float, zero: bool = False) -> None:
    """Raise InputError unless epsilon is a positive number that is not too large (or 0 where allowed)."""
    if not (0 < epsilon <= LARGEST_EPSILON or (zero and epsilon == 0)):
        raise InputError(f"`epsilon` is {epsilon}: give a positive number of at most {LARGEST_EPSILON:g}")


def _bounded(mechanism: Mechanism, event: Event) -> bool:
    """Whether the event is only an upper bound of what attacks show."""
    return mechanism.attacks() != ((event, 0.0),)


def _with_low(found: CertifiedInterval, low: float) -> CertifiedInterval:
    low = min(low, found.high)
    return CertifiedInterval(low, max(low, found.estimate), found.high)


def _bracket(too_much: Callable[[float], bool], start: float) -> tuple[float, float]:
    """Logarithms of a noise multiplier that costs too much and of a larger one that does not, within the range of the
    accounting."""
    short = too_much(start)
    end, step, nearer = (math.log(LARGEST), 0.25, min) if short else (math.log(SMALLEST), -0.25, max)
    near, far = start, nearer(start + step, end)
    while too_much(far) == short:
        if far == end:
            raise InputError(
                "no finite noise multiplier is certified: check the other parameters"
                if short
                else "any noise is enough for this epsilon and delta: there is nothing to calibrate"
            )
        step *= 2
        near, far = far, nearer(far + step, end)
    return min(near, far), max(near, far)
