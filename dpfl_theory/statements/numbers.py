r"""The decimals in errata, remarks and typos, and the source of each of them.

A decimal of the prose has one of three sources. The first is a value of some check's evidence: ``numbers.json`` next to
this module names the check and has the full value; `dpfl_theory.checks.numbers` writes it from a run. The second is a
value that a paper's ``_numbers.py`` computes. The third is a number that no code computes, since it was chosen (a
parameter of a counterexample) or is printed in the paper: ``_numbers.py`` says where. Whole numbers and fractions are
not traced.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dpfl_theory.core import Statement
from dpfl_theory.core.prose import plain

__all__ = [
    "FILE",
    "Decimal",
    "DecimalSource",
    "Key",
    "computed",
    "decimals",
    "known_decimals",
    "occurrences",
    "prose",
    "recorded",
    "symbol_of",
]

FILE = Path(__file__).with_name("numbers.json")

Key = tuple[str, str]
"""A statement's id, and a decimal as its prose prints it."""

_REFERENCE = re.compile(
    r"(Theorem|Lemma|Section|Appendix|Algorithm|Table|Figure|Claim|Corollary|Definition|Fact|Equation|Step|Assumption|"
    r"Observation|Proposition|Footnote)s? \(?(?:[A-Z]\.)*[A-Z]?\d*(\.\d+)+\)?( (to|and) [A-Z]?\d+(\.\d+)*)?"
    r"|[a-z]+20\d\d(\.[A-Za-z0-9_-]+)+|(?:^| )[A-Z]\.\d+(\.\d+)*"
)
_DECIMAL = re.compile(r"(?<![\w.^/])-?(?:\d+\.\d+(?:e[-+]?\d+)?|\d+e[-+]?\d+)(?![\w/]|\.\d)")
_AT_LEAST = re.compile(r"(at least|above|exceeds?|more than|over|>=?)\s*$")
_AT_MOST = re.compile(r"(at most|below|less than|under|<=?)\s*$")
_NAMED = re.compile(
    r"(\|[^|]+\||[^\s,;:()=<>]+)\s*(?:=|<=?|>=?)\s*(?:-?[\d.]+(?:e[-+]?\d+)?(?:/\d+)?(?:,| and|, and| or| to)\s+)*$"
)
"""A symbol and its relation, with the values before in a list: ``delta = 1e-6, 1e-30, ``."""
_HALVES = ("15", "25", "75")


@dataclass(frozen=True)
class Decimal:
    """A decimal of the prose: as printed, whether the text calls it a limit from below (``least``) or above, and the
    symbol that it is a value of, where one is printed.

    >>> found = decimals("By Theorem 4.1 it is at least 0.38, and 0.4 times 2 for s = 0.1.")
    >>> [(d.printed, d.limit, d.symbol) for d in found]
    [('0.38', 'least', ''), ('0.4', '', ''), ('0.1', '', 's')]
    """

    printed: str
    limit: str = ""
    symbol: str = ""

    def agrees(self, value: float) -> bool:
        """Whether a value, up to its sign, is the printed one: rounded, or cut off on the safe side for a limit.

        >>> Decimal("1.12").agrees(1.1249), Decimal("1.12").agrees(1.1251), Decimal("3e-5").agrees(-2.96e-5)
        (True, False, True)
        >>> Decimal("1.12", "least").agrees(1.1299), Decimal("1.12", "least").agrees(1.1199)
        (True, False)
        """
        low, high = _interval(self.printed)
        if self.limit:
            middle, half = (low + high) / 2, (high - low) / 2
            slack = half * 1e-6
            outward = (self.limit == "least") != self.printed.startswith("-")
            low, high = (middle - slack, middle + 2 * half) if outward else (middle - 2 * half, middle + slack)
        return low <= abs(value) <= high

    @property
    def common(self) -> bool:
        """Whether too many numbers print like this one, so that an agreement does not show its source: one digit, or a
        half or a quarter of one.

        >>> [Decimal(printed).common for printed in ("0.5", "1e-6", "1.5", "0.25", "0.50", "1.9")]
        [True, True, True, True, False, False]
        """
        digits = self.printed.lstrip("-").partition("e")[0].replace(".", "").lstrip("0")
        return len(digits) == 1 or digits in _HALVES


@dataclass(frozen=True)
class DecimalSource:
    """The source of a decimal: a statement's check (method and name), the field of its evidence, and its value.

    If a counterexample's script prints the number, the script takes the place of the check.
    """

    statement: str
    check: str
    field: str
    value: float


def _interval(printed: str) -> tuple[float, float]:
    """The values, all positive, that are rounded to a decimal."""
    mantissa, _, exponent = printed.lstrip("-").partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    value, slack = abs(float(printed)), unit * 1e-9
    return value - unit / 2 - slack, value + unit / 2 + slack


def decimals(text: str) -> tuple[Decimal, ...]:
    """The decimals of a text, in order, without numbers of theorems, sections and statements."""
    text = _REFERENCE.sub("", text)
    found = []
    for match in _DECIMAL.finditer(text):
        before = text[: match.start()]
        limit = "least" if _AT_LEAST.search(before) else "most" if _AT_MOST.search(before) else ""
        found.append(Decimal(match.group(0), limit, symbol_of(before)))
    return tuple(found)


def symbol_of(previous: str) -> str:
    """The symbol that a number is a value of, from the text before it; empty where no symbol is printed.

    >>> symbol_of("at s = 1/15, 1/70, delta = 1e-6, "), symbol_of("|w_0 - w*| = "), symbol_of("s = 2 it is ")
    ('delta', '|w_0 - w*|', '')
    """
    match = _NAMED.search(previous)
    return match.group(1) if match else ""


def occurrences(statement: Statement) -> Mapping[str, tuple[Decimal, ...]]:
    """The decimals of a statement's prose by how they are printed, each with every way in which it occurs."""
    found: dict[str, dict[Decimal, None]] = {}
    for _, text in prose(statement):
        for decimal in decimals(text):
            found.setdefault(decimal.printed, {})[decimal] = None
    return {printed: tuple(ways) for printed, ways in found.items()}


def prose(statement: Statement) -> Iterator[tuple[str, str]]:
    """The texts that judge a statement, as plain text, each after its place: ``corrected``, ``effect``, ``typo 1``."""
    for place, text in _judging(statement):
        yield place, plain(text)


def _judging(statement: Statement) -> Iterator[tuple[str, str]]:
    if (e := statement.erratum) is not None:
        yield from (
            ("corrected", e.corrected),
            ("why", e.why),
            ("counterexample", e.counterexample),
            ("effect", e.effect.statement),
        )
    if statement.remark is not None:
        yield "remark", statement.remark.text
    yield from ((f"typo {i}", text) for i, text in enumerate(statement.typos, 1))


def _module(paper: str) -> Any:
    name = f"{__package__}.{paper}._numbers"
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def computed(paper: str) -> Mapping[Key, Callable[[], float]]:
    """The decimals that a paper's ``_numbers.py`` computes: a function for each."""
    return getattr(_module(paper), "COMPUTED", {})


def known_decimals(paper: str) -> Mapping[Key, str]:
    """The decimals of a paper's errata that no code computes, each with its source."""
    return getattr(_module(paper), "GIVEN", {})


@cache
def recorded() -> Mapping[Key, DecimalSource]:
    """The sources on record, from ``numbers.json``."""
    read = json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}
    return {
        (id_, printed): DecimalSource(**source) for id_, sources in read.items() for printed, source in sources.items()
    }
