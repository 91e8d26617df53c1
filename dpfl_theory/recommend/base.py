"""Documents of recommendations, rules, and the numbers that inputs may have."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

from dpfl_theory.errors import InputError
from dpfl_theory.notebook import Tabular

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpfl_theory.recommend.setting import Setting

__all__ = ["Document", "Recommendation", "Rule", "finite", "fits", "quote_option", "refusals"]

Document = dict[str, Any]
"""Plain data, ready for JSON."""


class Recommendation(Document, Tabular):
    """The result of `dpfl_theory.recommend`: plain data that a notebook shows as a table.

    >>> Recommendation(eta=1.0, p=0.1, bound=8.0, terms={"optimisation": 8.0}).records()
    [{'eta': 1.0, 'p': 0.1, 'bound': 8.0}]
    """

    def records(self) -> list[dict[str, Any]]:
        """A row for each compared algorithm; for a rule, one row with its hyper-parameters and its bound."""
        if "algorithms" not in self:
            return [{name: value for name, value in self.items() if isinstance(value, (int, float, str))}]
        best = set(self["recommended_by_unit"].values())
        return [
            {
                "algorithm": row["name"],
                "protects": row["protects"],
                "recommended": row["name"] in best,
                "suboptimality": row["suboptimality"]["mean"],
                "error": row["suboptimality"]["error"],
                **row["hyperparameters"],
            }
            for row in self["algorithms"]
        ]

    def plot(self) -> Figure:
        """The comparison of the algorithms, or the neighbourhood that ``confirm`` ran. Raises ValueError for a rule's
        recommendation that was not confirmed."""
        from dpfl_theory.recommend import figure

        if "algorithms" in self:
            return figure.draw(self)
        if "confirmed" not in self:
            raise ValueError("a rule's recommendation has no runs to plot: call recommend(..., confirm=True)")
        return figure.neighbourhoods(self["confirmed"])


LARGEST = 1e300
NEEDS = {
    "positive": "a positive number",
    "nonnegative": "a number that is not negative",
    "count": "a whole number of at least 1",
    "share": "a number in (0, 1]",
    "probability": "a number in (0, 1)",
}


def quote_option(name: str) -> str:
    """The name of an input for a message: the command line shows a name in these quotes as its option.

    >>> quote_option("strong_convexity")
    '`strong_convexity`'
    """
    return f"`{name}`"


def finite(document: Document, where: str = "") -> Document:
    """The document. Raises InputError, with the name, for a number in it that is not finite."""
    for name, value in document.items():
        if isinstance(value, dict):
            finite(value, f"{where}{name} ")
        elif isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"{where}{name} is beyond double precision for these inputs: give less extreme ones")
    return document


@dataclass(frozen=True)
class Rule:
    """A rule: its name, a sentence that describes it, and the function from inputs to the recommendation.

    chooses: whether it chooses those hyper-parameters that are not given as inputs.
    """

    name: str
    text: str
    apply: Callable[[Setting, bool], Document]
    chooses: bool = False


def refusals(name: str, value: Any, kind: str, choices: tuple[str, ...] = ()) -> Iterator[str]:
    """The error of an input's value: a number that is not of the kind, or a word that is not a choice.

    >>> list(refusals("clip", -1.0, "positive"))
    ['`clip` is -1.0: give a positive number']
    """
    if choices:
        if value not in choices:
            yield f"{quote_option(name)} is {value!r}: choose one of {', '.join(choices)}"
    elif not fits(value, kind):
        yield f"{quote_option(name)} is {value!r}: give {NEEDS[kind]}"


def fits(value: Any, kind: str) -> bool:
    """Whether a value is a number of the required kind (`NEEDS`).

    >>> fits(3, "count"), fits(0.5, "count"), fits(0, "nonnegative"), fits(True, "positive")
    (True, False, True, False)
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not abs(float(value)) <= LARGEST:
        return False
    number = float(value)
    if kind == "count":
        return number >= 1 and number.is_integer()
    if kind == "nonnegative":
        return number >= 0
    if kind == "share":
        return 0 < number <= 1
    return number > 0 and (kind == "positive" or number < 1)
