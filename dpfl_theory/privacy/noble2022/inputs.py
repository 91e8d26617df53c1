"""Checks of the arguments of the four entry points, and their result type."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral

from dpfl_theory.errors import InputError


@dataclass(frozen=True)
class PrivacyBound:
    """A privacy bound: epsilon, the order alpha at which it is attained, and warnings.

    `x` is the share of delta that B.4 gives to the conversion (delta' = x delta/Tl); None without a conversion.
    `warning` is None or clauses joined by semicolons: an optimum at the edge of the search range, a product of rate
    and number that the algorithm rounds down, or a bound beyond the largest float.
    """

    epsilon: float
    order: int
    warning: str | None = None
    x: float | None = None


def count(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise InputError(f"{name} is {value!r}: give a whole number that is at least 1")
    return int(value)


def above(name: str, value: float, low: float) -> float:
    number = _real(name, value)
    if not (low < number < math.inf):
        raise InputError(f"{name} is {value!r}: give a finite number above {low:g}")
    return number


def inside(name: str, value: float, low: float, high: float) -> float:
    number = _real(name, value)
    if not (low < number < high):
        raise InputError(f"{name} is {value!r}: give a number strictly between {low:g} and {high:g}")
    return number


def _real(name: str, value: float) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} is {value!r}: give a number") from None


@dataclass(frozen=True)
class PrivacySetting:
    """The checked parameters of DP-SCAFFOLD and DP-FedAvg that privacy depends on."""

    users: int
    records: int
    user_rate: float
    record_rate: float
    local_steps: int
    noise_multiplier: float

    def __post_init__(self) -> None:
        count("the number of users M", self.users)
        count("the number of records R", self.records)
        inside("the user rate l", self.user_rate, 0, 1)
        inside("the record rate s", self.record_rate, 0, 1)
        count("the number of local steps K", self.local_steps)
        above("the noise multiplier sigma_g", self.noise_multiplier, 0)
        if self.users_per_round < 1:
            raise InputError(
                f"the user rate l = {self.user_rate} picks floor(lM) = 0 of {self.users} users: "
                "raise it to 1/M at least"
            )
        if self.records_per_step < 1:
            raise InputError(
                f"the record rate s = {self.record_rate} picks floor(sR) = 0 of {self.records} records: "
                "raise it to 1/R at least"
            )

    @property
    def users_per_round(self) -> int:
        """floor(lM), line 2 of Algorithms 1 and 2."""
        return math.floor(_decimal(self.user_rate) * self.users)

    @property
    def records_per_step(self) -> int:
        """floor(sR), line 8 of Algorithm 1."""
        return math.floor(_decimal(self.record_rate) * self.records)

    @property
    def aggregate_variance(self) -> float:
        """lM sigma_g^2, which Step 1 of B.4 uses, with the exact lM, not rounded down."""
        return self.user_rate * self.users * float(self.noise_multiplier) ** 2

    def rounding(self, aggregate: bool = True) -> str | None:
        """A warning about the formulas when lM (for an aggregate) or sR is not an integer."""
        parts = []
        if aggregate and _decimal(self.user_rate) * self.users != self.users_per_round:
            parts.append(
                f"lM = {self.user_rate * self.users:g} is not a whole number: the algorithm picks "
                f"{self.users_per_round} "
                "users, whose noise is less than the lM sigma_g^2 of the printed formula, so epsilon may be understated"
            )
        if _decimal(self.record_rate) * self.records != self.records_per_step:
            parts.append(
                f"sR = {self.record_rate * self.records:g} is not a whole number: the algorithm picks "
                f"{self.records_per_step} records, fewer than the rate s of the printed formula"
            )
        return "; ".join(parts) or None


def _decimal(rate: float) -> Fraction:
    """The decimal number a rate is written as: 0.29 of 100 users are 29, not the 28 of floor(0.29 * 100)."""
    return Fraction(repr(float(rate)))
