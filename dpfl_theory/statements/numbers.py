r"""Numbers within the words of statements, each with the computation that gives it.

``{{EXPRESSION:DIGITS}}`` in a Markdown file of the catalogue is the value of a Python expression, with that many
significant digits; ``{{EXPRESSION:DIGITS up}}`` and ``down`` round a limit to its safe side. The expression may use

* ``evidence(CHECK, FIELD)``: a value of a check's evidence, of another statement with ``of=ID``;
* ``script(NAME, N)``: the N-th number that the script of a counterexample prints;
* the functions of the paper's module ``_computed.py``, those of `math`, and ``this``, the statement itself.

A value that replicates of a Monte-Carlo check estimate is printed with its standard error, ``1.44 (+- 0.02)``, and with
no more digits than that has. `dpfl_theory.checks.numbers` evaluates all of them; their values are a section of the
table of evidence, from which texts are filled. A number that was chosen, or is printed in the paper, is typed as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from dpfl_theory.runtime.evidence_table import section

_PLACE = re.compile(r"\{\{((?:(?!\}\}).)+):(\d+)(?: (up|down))?\}\}")
_ROUND: Mapping[str, Callable[[float], int]] = {"": round, "up": ceil, "down": floor}
Value = float | Sequence[float]
"""A value, or a value and its standard error."""
SMALLEST = 1e-3
"""Smaller numbers, and those from 10^6 on, are printed with a power of ten."""


@dataclass(frozen=True)
class Number:
    r"""A number of a text: its expression, its significant digits, and to which side it is rounded.

    >>> Number("-", 3).shown(0.00011754), Number("-", 3).shown(7.0159), Number("-", 3, "up").shown(7.0159)
    ('1.18e-4', '7.02', '7.02')
    >>> print(Number("-", 2).shown(0.00011754, formula=True), Number("-", 4).shown(6))
    1.2 \cdot 10^{-4} 6.000
    """

    expression: str
    digits: int
    side: str = ""

    def shown(self, value: Value, formula: bool = False) -> str:
        """The value as the text prints it; formula: as LaTeX."""
        if not isinstance(value, (int, float)):
            return self._with_error(value[0], value[1], formula)
        exponent = floor(log10(abs(value))) if value else 0
        # A limit that was itself found to nine digits is not moved by a rounding error in the tenth.
        scaled = round(value * 10.0 ** (self.digits - 1 - exponent), 9 - self.digits)
        units = _ROUND[self.side](scaled)
        if abs(units) >= 10**self.digits:
            units, exponent = _ROUND[self.side](units / 10), exponent + 1
        places = self.digits - 1 - exponent
        if SMALLEST <= abs(value) < 1e6 or not value:
            return f"{units / 10.0**places:.{max(places, 0)}f}"
        mantissa = f"{units / 10.0 ** (self.digits - 1):.{self.digits - 1}f}"
        if formula:
            return rf"{mantissa} \cdot 10^{{{exponent}}}" if mantissa != "1" else f"10^{{{exponent}}}"
        return f"{mantissa}e{exponent}"

    def _with_error(self, value: float, error: float, formula: bool) -> str:
        r"""A value and its standard error, both to the error's first digit.

        >>> print(Number("-", 3).shown((2.0306, 0.0051)), "or", Number("-", 3).shown((2.0306, 0.0051), formula=True))
        2.031 ($\pm 0.005$) or 2.031 \pm 0.005
        """
        places = max(0, -floor(log10(error))) if error else self.digits
        printed = rf"\pm {max(error, 10.0**-places):.{places}f}"
        return f"{value:.{places}f} {printed}" if formula else f"{value:.{places}f} (${printed}$)"


def _number(place: re.Match[str]) -> Number:
    return Number(place[1], int(place[2]), place[3] or "")


def numbers_in(text: str) -> Iterator[Number]:
    """The numbers of a text, in order.

    >>> [n.digits for n in numbers_in('It is {{evidence("exact: one step", "ratio"):3}} times $r$.')]
    [3]
    """
    return map(_number, _PLACE.finditer(text))


def recorded() -> Mapping[str, Mapping[str, Value]]:
    """The recorded values: an entry's id -> expression -> value."""
    return section("numbers")


def filled(id_: str, text: str) -> str:
    """A text of an entry with its numbers; one that is not recorded shows its expression in brackets."""
    values = recorded().get(id_, {}) if "{{" in text else {}

    def shown(place: re.Match[str]) -> str:
        number = _number(place)
        if number.expression not in values:
            return f"[{number.expression}]"
        within = text[: place.start()].replace(r"\$", "").count("$") % 2 == 1
        return number.shown(values[number.expression], within)

    return _PLACE.sub(shown, text)
