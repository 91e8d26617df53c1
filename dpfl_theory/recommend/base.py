"""What every algorithm's module says: the inputs that its formulas need, and how they are checked."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import MISSING, dataclass, field, fields
from numbers import Real
from typing import Any, ClassVar

from dpfl_theory.errors import InputError

__all__ = ["Document", "Setting", "calibration", "finite", "named", "parameter"]

Document = dict[str, Any]
"""Plain data, ready for JSON."""

LARGEST = 1e300
NEEDS = {
    "positive": "a positive number",
    "nonnegative": "a number that is not negative",
    "count": "a whole number of at least 1",
    "share": "a number in (0, 1]",
    "probability": "a number in (0, 1)",
}


def parameter(
    help_: str,
    kind: str,
    *,
    choices: tuple[str, ...] = (),
    default: Any = None,
    optional: bool = False,
    measured: str = "",
) -> Any:
    """A field with the text of its command-line option and the numbers (``NEEDS``) or words that it takes.

    measured: which constant of a problem it is (a key of `measured.MEASURES`), for what data give.
    """
    said = {"help": help_, "kind": kind, "choices": choices, "optional": optional, "measured": measured}
    return field(default=default, metadata=said)


def calibration() -> Any:
    """The field of the noise's source, which every algorithm has."""
    text = "where the noise comes from: the paper's formula with `constant`, or a certified accountant"
    return parameter(text, "word", choices=("paper", "accountant"), default="paper")


def named(name: str) -> str:
    """An input in a message: the command line shows what stands in such marks as its own option.

    >>> named("strong_convexity")
    '`strong_convexity`'
    """
    return f"`{name}`"


def finite(document: Document, where: str = "") -> Document:
    """The document, or InputError naming a number in it that is not finite."""
    for name, value in document.items():
        if isinstance(value, dict):
            finite(value, f"{where}{name} ")
        elif isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"{where}{name} is beyond double precision for these inputs: give less extreme ones")
    return document


@dataclass(frozen=True, kw_only=True)
class Setting(ABC):
    """The inputs of one algorithm's formulas.

    Raises:
        InputError: on construction, for an input that is missing, out of range, or contradicts another.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]

    def __post_init__(self) -> None:
        for f in fields(self):
            value, said = getattr(self, f.name), f.metadata
            if value is None:
                if not said["optional"]:
                    raise self.lacks(f.name)
            elif said["kind"] == "word":
                if value not in said["choices"]:
                    raise InputError(f"{named(f.name)} is {value!r}: choose one of {', '.join(said['choices'])}")
            elif not _fits(value, said["kind"]):
                raise InputError(f"{named(f.name)} is {value!r}: give {NEEDS[said['kind']]}")
            elif said["kind"] == "count":
                object.__setattr__(self, f.name, int(value))
            elif type(value) not in (int, float):  # NumPy's numbers become Python's, which are JSON
                object.__setattr__(self, f.name, float(value))
        self.validate()

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of the inputs."""
        return tuple(f.name for f in fields(cls))

    @classmethod
    def required(cls, name: str) -> bool:
        """Whether an input has to be given."""
        (f,) = (f for f in fields(cls) if f.name == name)
        return f.default in (None, MISSING) and not f.metadata["optional"]

    @classmethod
    def lacks(cls, name: str) -> InputError:
        """The error for a required input that is missing."""
        (help_,) = (f.metadata["help"] for f in fields(cls) if f.name == name)
        return InputError(f"{cls.name} needs {named(name)}: give the {help_}")

    def validate(self) -> None:
        """Raise InputError for inputs that do not fit together."""
        return

    def inputs(self) -> Document:
        """The inputs that were given, as plain data."""
        return {name: getattr(self, name) for name in self.names() if getattr(self, name) is not None}

    @abstractmethod
    def printed(self) -> Document:
        """What the paper prescribes."""

    def paper_only(self, what: str) -> None:
        """Raise InputError for noise by an accountant, where the prescription is made of the paper's own noise."""
        if getattr(self, "calibration", "paper") != "paper":
            raise InputError(
                f"`calibration` is 'accountant': {self.source} makes {what} of the paper's own noise formula; use "
                "`calibration=paper`, and dpfl-theory privacy account for what that noise gives"
            )

    def refuse(self, name: str, why: str, remedy: str) -> InputError:
        """The error for an input that has the wrong value."""
        return InputError(f"{named(name)} is {getattr(self, name)!r}: {why}; {remedy}")


def _fits(value: Any, kind: str) -> bool:
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
