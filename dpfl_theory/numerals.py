"""Parsing of numbers given as text, for the command line and configurations."""

from __future__ import annotations

import math
import sys
from typing import Any

from dpfl_theory.errors import InputError


def number_of(label: str, text: str) -> float:
    """Parse a number; NaN where the text is not one. Raises InputError where a float would round it to 0 or infinity.

    >>> number_of("--delta", "1e-5"), number_of("--delta", "small"), number_of("--delta", "inf")
    (1e-05, nan, inf)
    >>> number_of("--delta", "1e-400")
    Traceback (most recent call last):
      ...
    dpfl_theory.errors.InputError: --delta is '1e-400', which rounds to 0: give 0, or at least 2.2e-308 in size
    """
    try:
        value = float(text)
    except ValueError:
        return math.nan
    digits = [int(c) for c in text.lower().partition("e")[0] if c.isdecimal()]
    if value == 0.0 and any(digits):
        raise vanishes(label, text)
    if math.isinf(value) and digits:
        raise InputError(
            f"{label} is {text!r}, which rounds to infinity: give at most {sys.float_info.max:.1e} in size"
        )
    return value


def vanishes(label: str, text: str) -> InputError:
    """The error for a number other than 0 that a float would round to 0."""
    return InputError(f"{label} is {text!r}, which rounds to 0: give 0, or at least {sys.float_info.min:.2g} in size")


def finite(value: Any) -> bool:
    """Whether a value is a finite number.

    >>> finite(1), finite(True), finite("1"), finite(float("nan"))
    (True, False, False, False)
    """
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
