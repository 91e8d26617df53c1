"""The hyper-parameters of algorithms: symbol, meaning, unit, default, search range and other names, declared once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, get_type_hints

__all__ = [
    "INVERSE_SMOOTHNESS",
    "KINDS",
    "WHOLE",
    "Meaning",
    "Parameter",
    "Range",
    "Scale",
    "fits",
    "meanings",
    "summary",
]

KINDS = {
    "positive": "a positive number",
    "nonnegative": "a number that is not negative",
    "count": "a whole number of at least 1",
    "size": "a whole number of at least 0",
    "share": "a number in (0, 1]",
    "fraction": "a number in [0, 1)",
    "probability": "a number in (0, 1)",
}
"""The kinds of a number, and the values that each may take (`fits`)."""

WHOLE = {"count": 1, "size": 0}
"""The kinds of whole numbers, and the least of each."""

_RANGES: dict[str, Callable[[Any], Any]] = {
    "positive": lambda x: x > 0,
    "nonnegative": lambda x: x >= 0,
    "share": lambda x: 0 < x <= 1,
    "fraction": lambda x: 0 <= x < 1,
    "probability": lambda x: 0 < x < 1,
}

LARGEST = 1e300
"""The largest number that is accepted: computations with larger ones may overflow."""


def fits(value: Any, kind: str) -> bool:
    """Whether a value is a number of this kind.

    >>> fits(3, "count"), fits(0.5, "count"), fits(0, "nonnegative"), fits(True, "positive"), fits("1", "share")
    (True, False, True, False, False)
    >>> fits(0, "size"), fits(0, "count")
    (True, False)
    """
    number: Any = value
    if isinstance(value, bool) or not isinstance(value, Real) or not abs(number) <= LARGEST:
        return False
    if kind in WHOLE:
        return bool(number >= WHOLE[kind]) and float(number).is_integer()
    return bool(_RANGES[kind](number))


@dataclass(frozen=True)
class Meaning:
    """The meaning of an argument in words, and its unit: the metadata of its type.

    >>> Meaning("local step", "X^2/F").text, Meaning("clients").text
    ('local step [X^2/F]', 'clients')
    """

    words: str
    unit: str = ""

    @property
    def text(self) -> str:
        """Meaning and unit."""
        return f"{self.words} [{self.unit}]" if self.unit else self.words


def meanings(constructor: Any) -> dict[str, Meaning]:
    """The arguments of a function or the fields of a data class that declare their meaning.

    >>> from typing import Annotated
    >>> def scaled(length: Annotated[float, Meaning("the norm", "X")], seed: int = 0) -> None: ...
    >>> meanings(scaled)
    {'length': Meaning(words='the norm', unit='X')}
    """
    types = get_type_hints(constructor, include_extras=True)
    declared = {name: getattr(of, "__metadata__", ()) for name, of in types.items()}
    return {name: one for name, found in declared.items() for one in found if isinstance(one, Meaning)}


def summary(of: Any) -> str:
    """The first paragraph of a documentation string, as plain text.

    >>> def made() -> None: "Vectors of ``R^d``.\\n\\n    More."
    >>> summary(made)
    'Vectors of R^d'
    """
    return " ".join((inspect.getdoc(of) or "").partition("\n\n")[0].split()).replace("`", "").rstrip(".")


@dataclass(frozen=True)
class Scale:
    """The unit in which a hyper-parameter is measured on a problem.

    text: in words, for help texts and schemas. of: its value, from an algorithm whose earlier parameters are set, and
    from the problem's scales (`dpfl_theory.problems.scales.Scales`). by_problem: whether it depends on the problem.

    >>> Scale("1/L", lambda a, problem: 1.0 / problem.L).text
    '1/L'
    """

    text: str
    of: Callable[[Any, Any], float]
    by_problem: bool = True


INVERSE_SMOOTHNESS = Scale("1/L", lambda a, problem: 1.0 / problem.L)
"""The scale of step sizes."""


@dataclass(frozen=True)
class Range:
    """The values that a search tries, as multiples of the parameter's scale.

    values: in ascending order; between: whether all values between the first and the last are also tried.

    >>> Range((1e-3, 2.0)).between, Range((1, 2, 4), between=False).values
    (True, (1, 2, 4))
    """

    values: tuple[float, ...]
    between: bool = True


@dataclass(frozen=True)
class Parameter:
    """A hyper-parameter of an algorithm, a class attribute of its description.

    Args:
        symbol: the paper's symbol, which is its name in options, configurations and answers.
        meaning: in words, without the unit.
        unit: powers of F (objective) and X (parameters), empty for a number.
        kind: one of `KINDS`.
        aliases: other names in users' code.
        scale: the unit of its default and of its search range; None for absolute numbers.
        default: its usual value, as a multiple of the scale; None where a value must be given.
        search: the values that a search tries; None where it is not searched.
        trials: two values for tests of a user's function: numbers, or functions of the parameters before it. A function
            that does not take the parameter is compared at the first one.
        shared: whether all replicates of one run have the same value.

    >>> class Example:
    ...     step = Parameter("eta", "local step", "X^2/F", aliases=("lr",))
    >>> Example.step.text, Example().step
    ('local step [X^2/F]', None)
    """

    symbol: str
    meaning: str
    unit: str = ""
    kind: str = "positive"
    aliases: tuple[str, ...] = ()
    scale: Scale | None = None
    default: float | None = 1.0
    search: Range | None = None
    trials: tuple[Any, Any] = (1.0, 1.0)
    shared: bool = False
    attribute: str = field(default="", compare=False)

    def __set_name__(self, owner: type, name: str) -> None:
        object.__setattr__(self, "attribute", name)

    def __get__(self, instance: Any, owner: type) -> Any:
        """The declaration, on a class; on an instance without a value None (a value shadows this)."""
        return self if instance is None else None

    @property
    def text(self) -> str:
        """Meaning and unit."""
        return Meaning(self.meaning, self.unit).text

    @property
    def usual(self) -> str:
        """Its usual value in words; empty where a value must be given.

        >>> Parameter("eta", "local step", scale=INVERSE_SMOOTHNESS).usual, Parameter("E", "steps", kind="count").usual
        ('1/L', '1')
        """
        if self.default is None or self.scale is None:
            return "" if self.default is None else f"{self.default:g}"
        return self.scale.text if self.default == 1.0 else f"{self.default:g} times {self.scale.text}"

    @property
    def names(self) -> tuple[str, ...]:
        """The symbol and the other names."""
        return (self.symbol, *self.aliases)

    def number(self, value: float) -> float:
        """A value as a plain number: an int where it is whole by its kind.

        >>> Parameter("E", "local steps", kind="count").number(2.0), Parameter("eta", "step").number(2)
        (2, 2.0)
        """
        return int(value) if self.kind in WHOLE else float(value)

    def value(self, run: Any, scales: Any, multiple: float) -> float:
        """A multiple of its scale, for a run whose earlier parameters are set."""
        found = multiple if self.scale is None else multiple * self.scale.of(run, scales)
        return int(found) if self.kind in WHOLE else found

    def multiple(self, run: Any, scales: Any, value: float) -> float:
        """The inverse of `value`."""
        return value if self.scale is None else value / self.scale.of(run, scales)

    def fits(self, value: Any) -> bool:
        """Whether it may take this value.

        >>> Parameter("E", "local steps", kind="count").fits(2.5)
        False
        """
        return fits(value, self.kind)
