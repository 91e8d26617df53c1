"""Decisions: confidence limits of E Z, or of min_k E Z_k, against a bound B, and the resulting verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpfl_theory.checks.confidence import asymptotic_limits, least_lower_limit, lower_limit, upper_limit

_LOOKS = 16
"""How often asymptotic limits may be computed while replicates are added: each time at alpha/16."""
_FEWEST = 256
"""Asymptotic limits do not end a run with fewer replicates than this that may still get more."""
_ROUNDING = 1e-9
"""The rounding error allowed in the result of a run without randomness, relative to it and to the bound."""
_ENDLESS = "the right side is {} in floating point, which cannot be compared: take values at which it is finite"
_TRUNCATION = 10.0
"""Asymptotic limits truncate Z this many bounds away on the side that does not matter, which only widens them there."""


@dataclass(frozen=True)
class BoundLimits:
    """Confidence limits of E Z against the bound.

    low_valid and high_valid say whether low and high hold at finite sample size (then for all sample sizes at once).
    broken counts replicates that are NaN or +inf: unbounded those of runs that did not diverge, infinite the others
    that are +inf. equal says that all replicates are one number. exact says that the run draws nothing, so that low and
    high differ from the value only by rounding."""

    bound: float
    mean: float
    low: float
    high: float
    low_valid: bool
    high_valid: bool
    asymptotic_low: float
    asymptotic_high: float
    replicates: int
    broken: int
    infinite: int = 0
    unbounded: int = 0
    equal: bool = False
    exact: bool = False

    @property
    def decided(self) -> bool:
        """Whether a limit that is valid at finite sample size decides the check."""
        if self.broken:
            return False
        return (self.high_valid and self.high <= self.bound) or (self.low_valid and self.low > self.bound)

    def rigorous_out_of_sight(self, maximum: int) -> bool:
        """Whether the asymptotic limits decide, but the rigorous ones would not within ``maximum`` replicates."""
        if self.broken or self.asymptotic_high > self.bound or self.replicates < min(maximum, _FEWEST):
            return False
        if not self.high_valid:
            return True
        width, slack = self.high - self.mean, self.bound - self.mean
        return slack <= 0 or self.replicates * width / slack > 2.0 * maximum

    def verdict(self, moved: float, cut: bool) -> tuple[str, str]:
        """The verdict and its reason. ``moved``, the mean of the bound's random terms (which Z has on its own side), is
        added to both sides in the text; ``cut`` says whether the time budget ended the run."""
        bound = self.bound + moved
        if not math.isfinite(bound):
            return "inconclusive", _ENDLESS.format(bound)
        if self.exact:
            word, side = "inconclusive", "is, up to rounding,"
            if self.decided:
                word, side = ("violated", "exceeds") if self.low > self.bound else ("holds", "is at most")
            return word, f"the value {self.mean + moved:.6g} of a run without randomness {side} the bound {bound:.6g}"
        if self.broken:
            return "inconclusive", self._without_numbers(bound)
        if self.high_valid and self.high <= self.bound:
            what = f"the upper confidence limit {self.high + moved:.6g} is at most the bound {bound:.6g}"
            return "holds", f"{what} (valid at finite sample size)"
        if self.low_valid and self.low > self.bound:
            what = f"the lower confidence limit {self.low + moved:.6g} exceeds the bound {bound:.6g}"
            return "violated", f"{what} (valid at finite sample size)"
        low, high = self.asymptotic_low + moved, self.asymptotic_high + moved
        if self.asymptotic_high <= self.bound:
            return "holds", f"the asymptotic upper limit {high:.6g} is at most the bound {bound:.6g}"
        if self.asymptotic_low > self.bound:
            what = f"the asymptotic lower limit {low:.6g} exceeds the bound {bound:.6g}"
            return "inconclusive", f"{what}, but no limit valid at finite sample size does; more replicates may decide"
        if self.equal:
            return "inconclusive", self._without_limits(moved, "the bound")
        why = "the time budget cut the run short" if cut else f"{self.replicates} replicates do not separate them"
        return "inconclusive", f"the asymptotic limits [{low:.6g}, {high:.6g}] contain the bound {bound:.6g}: {why}"

    def _without_numbers(self, bound: float) -> str:
        """Why replicates that are NaN or +inf decide nothing. An infinite left side in floating point may be beyond the
        largest number, or an effect of rounding; it proves nothing even within the hypotheses."""
        lost = self.broken - self.unbounded
        odd = (
            f"in {self.unbounded} of {self.replicates} replicates the left side is infinite or undefined where the run"
        )
        odd = f"{odd} stayed finite (for example a weight C/||u|| at a zero update), so there is no mean to compare"
        if not lost:
            return odd
        kinds = [f"without a value in {lost - self.infinite}"] * (lost > self.infinite)
        kinds += [f"infinite in {self.infinite}, beyond the bound {bound:.6g}"] * (self.infinite > 0)
        message = (
            f"the run diverged in {lost} of {self.replicates} replicates: in floating point its left side is "
            f"{', '.join(kinds)}"
        )
        message += ", which is suspicious but not a proof" if self.infinite else ", which proves nothing"
        message += "; take a smaller step, or a start nearer to the minimiser"
        return f"{message}; {odd}" if self.unbounded else message

    def _without_limits(self, moved: float, side: str) -> str:
        """Why equal replicates decide nothing: they contain no information about rare values."""
        what = f"all {self.replicates} replicates are equal" if self.replicates > 1 else "there is one replicate"
        message = (
            f"{what}, {self.mean + moved:.6g}, which gives no asymptotic limit, and {side} is {self.bound + moved:.6g}"
        )
        return (
            f"{message}; set random=False if the run draws nothing; if rare values are possible, a reach that bounds "
            "the left side, and more replicates, may decide"
        )

    @property
    def differs(self) -> bool:
        """Whether a limit that is valid at finite sample size separates the value from the bound, on either side."""
        return not self.broken and (
            (self.low_valid and self.low > self.bound) or (self.high_valid and self.high < self.bound)
        )

    def equality(self, moved: float, width: float, cut: bool) -> tuple[str, str]:
        """The verdict on *equal to the bound*, and its reason: it holds where limits that contain the bound are no
        farther from it than the share ``width``. Arguments as for `verdict`."""
        bound = self.bound + moved
        if not math.isfinite(bound):
            return "inconclusive", _ENDLESS.format(bound)
        if self.exact:
            word, what = ("violated", "differs from") if self.differs else ("holds", "is, up to rounding,")
            return (
                word,
                f"the value {self.mean + moved:.6g} of a run without randomness {what} the right side {bound:.6g}",
            )
        if self.broken:
            return "inconclusive", self._without_numbers(bound)
        if self.differs:
            above = self.low_valid and self.low > self.bound
            which, end = ("lower", self.low) if above else ("upper", self.high)
            side = "exceeds" if above else "is below"
            what = f"the {which} confidence limit {end + moved:.6g} {side} the right side {bound:.6g}"
            return "violated", f"{what} (valid at finite sample size)"
        if self.equal:
            return "inconclusive", self._without_limits(moved, "the right side")
        low, high = self.asymptotic_low + moved, self.asymptotic_high + moved
        limits = f"the asymptotic limits [{low:.6g}, {high:.6g}]"
        if not low <= bound <= high:
            why = "but no limit valid at finite sample size does; more replicates may decide"
            return "inconclusive", f"{limits} leave the right side {bound:.6g} out, {why}"
        if max(high - bound, bound - low) <= width * abs(bound):
            return "holds", f"{limits} contain the right side {bound:.6g} and are within {width:.3g} of it"
        why = "the time budget cut the run short" if cut else f"{self.replicates} replicates do not make them narrower"
        return "inconclusive", f"{limits} of the right side {bound:.6g} are wider than {width:.3g} of it: {why}"

    def detectable(self, moved: float) -> float | None:
        """The smallest violation factor lhs/rhs that these limits could have detected."""
        bound, mean, low = self.bound + moved, self.mean + moved, self.low + moved
        if bound <= 0 or not self.low_valid or not math.isfinite(mean - low):
            return None
        # Near the bound the limits would be wider, in proportion to the left side: mean/low says how much.
        return max(1.0 + (mean - low) / bound, mean / low if low > 0 else 1.0)


def decide(
    z: NDArray[np.float64],
    bound: float,
    minimum: float,
    maximum: float,
    alpha: float,
    stayed: NDArray[np.bool_] | None = None,
) -> BoundLimits:
    """Limits of E Z from replicates z (replicates,) in [least, most] (infinite where no range is known), alpha in all;
    ``stayed`` as for `undecided`.

    A replicate of -inf is allowed (a weight at a zero update on the bound's side): it only lowers E Z, so upper limits
    may put any smaller-than-infinite value in its place. NaN and +inf leave the check undecided.
    """
    broken = np.asarray(np.isnan(z) | (z == np.inf))
    if broken.any():
        return undecided(z, broken, bound, stayed)
    reach = _TRUNCATION * max(abs(bound), 1e-300)
    raised = np.maximum(z, min(bound, 0.0) - reach)  # E Z <= E raised
    lowered = np.minimum(z, max(bound, 0.0) + reach)  # E Z >= E lowered
    # Both the truncated and the plain replicates give a limit, each at half of alpha: when all of them lie beyond the
    # truncation, only the plain ones vary.
    share, plain = alpha / (2 * _LOOKS), z if np.isfinite(z).all() else raised
    asymptotic_high = min(asymptotic_limits(raised, share)[1], asymptotic_limits(plain, share)[1])
    asymptotic_low = -math.inf
    if np.isfinite(z).all():
        asymptotic_low = max(asymptotic_limits(lowered, share)[0], asymptotic_limits(z, share)[0])
    low_valid, high_valid = math.isfinite(minimum), math.isfinite(maximum)
    return BoundLimits(
        bound=bound,
        mean=float(z.mean()),
        low=lower_limit(z, alpha / 2.0, minimum) if low_valid else asymptotic_low,
        high=upper_limit(raised, alpha / 2.0, maximum) if high_valid else asymptotic_high,
        low_valid=low_valid,
        high_valid=high_valid,
        asymptotic_low=asymptotic_low,
        asymptotic_high=asymptotic_high,
        replicates=len(z),
        broken=0,
        equal=bool(np.all(z == z[0])),
    )


def decide_least(
    z: NDArray[np.float64],
    bound: float,
    minimum: float,
    maximum: float,
    alpha: float,
    stayed: NDArray[np.bool_] | None = None,
) -> BoundLimits:
    """Limits of ``min_k E Z_k`` from replicates z (replicates, rounds), each Z_k in [least, most], alpha in all.

    The upper limit of any round is one of the least expectation. That of the round with the smallest sample mean is
    taken; since the data choose it, each round has alpha/rounds. The least of the rounds' lower limits needs no such
    share: it exceeds the least expectation only if the lower limit of that very round does.

    Truncation, and what is asymptotic, are as in `decide`; the asymptotic lower limit is that of ``E min_k Z_k <=
    min_k E Z_k``.
    """
    rounds, broken = z.shape[1], np.asarray(~np.isfinite(z).all(axis=1))
    if broken.any():
        return undecided(z, broken, bound, stayed)
    means = z.mean(axis=0)
    # Equal replicates (of the common start) give no asymptotic limit, so that another round is chosen if there is one.
    moving = np.ptp(z, axis=0) > 0.0
    best = int(np.argmin(np.where(moving, means, math.inf) if moving.any() else means))
    above = decide(z[:, best], bound, -math.inf, maximum, alpha / rounds)
    below = decide(z.min(axis=1), bound, -math.inf, math.inf, alpha)
    low_valid = math.isfinite(minimum)
    return replace(
        above,
        mean=float(means.min()),
        low=least_lower_limit(z, alpha / 2.0, minimum) if low_valid else below.asymptotic_low,
        low_valid=low_valid,
        asymptotic_low=below.asymptotic_low,
    )


def undecided(
    z: NDArray[np.float64], broken: NDArray[np.bool_], bound: float, stayed: NDArray[np.bool_] | None = None
) -> BoundLimits:
    """No limits at all, since the ``broken`` (replicates,) of the replicates z are NaN or +inf. ``stayed``
    (replicates,): which runs did not diverge; False for all if it is not known."""
    rows = z.reshape(len(z), -1)
    unbounded = np.zeros(len(z), dtype=bool) if stayed is None else broken & stayed
    infinite = broken & ~unbounded & (rows == np.inf).any(axis=1) & ~np.isnan(rows).any(axis=1)
    counts = (len(z), int(broken.sum()), int(infinite.sum()), int(unbounded.sum()))
    return BoundLimits(bound, math.nan, -math.inf, math.inf, False, False, -math.inf, math.inf, *counts)


def certain(
    values: NDArray[np.float64], bound: float, scale: float = 0.0, stayed: NDArray[np.bool_] | None = None
) -> BoundLimits:
    """Limits of a number that a run without randomness gives: the values (replicates,) of its replicates may differ
    only by rounding. ``scale``: the size of what was subtracted to get them; ``stayed`` as for `undecided`.

    Raises ValueError when they differ by more.

    >>> certain(np.array([2.0, 2.0]), 3.0).verdict(0.0, cut=False)[0]
    'holds'
    """
    if not np.isfinite(values).all():
        return undecided(values, ~np.isfinite(values), bound, stayed)
    slack = _ROUNDING * max(abs(bound), float(np.abs(values).max()), scale)
    low, high = float(values.min()), float(values.max())
    if high - low > slack:
        raise ValueError(f"a run declared as drawing nothing gives both {low!r} and {high!r} in its replicates")
    low, high, mean = low - slack, high + slack, float(values.mean())
    return BoundLimits(bound, mean, low, high, True, True, low, high, len(values), 0, exact=True)
