"""The common parts of the algorithms' modules: the inputs of their formulas, and the checks of these."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dpfl_theory.errors import InputError
from dpfl_theory.notebook import Tabular

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpfl_theory.privacy import Mechanism
    from dpfl_theory.recommend.bound_minimizers import Optimum

__all__ = [
    "Document",
    "Recommendation",
    "Rule",
    "Setting",
    "calibration",
    "finite",
    "fits",
    "parameter",
    "quote_option",
    "relation",
    "view",
]

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


def parameter(
    help_: str,
    kind: str,
    *,
    choices: tuple[str, ...] = (),
    default: Any = None,
    optional: bool = False,
    free: bool = False,
    measured: str = "",
    symbol: str = "",
) -> Any:
    """A field with the text of its command-line option and its allowed numbers (``NEEDS``) or words.

    free: a hyper-parameter that a rule may choose itself; other rules need it as an input. measured: the constant of a
    problem that data give for it (a key of `constants_from_data.MEASURES`). symbol: in the paper.
    """
    said = {"help": help_, "kind": kind, "choices": choices, "optional": optional, "free": free, "measured": measured}
    said |= {"symbol": symbol}
    return field(default=default, metadata=said)


def calibration(default: str = "accountant") -> Any:
    """The field for the source of the noise, which every algorithm has."""
    text = "source of the noise: a certified accountant (default), or the paper's formula with `constant`"
    return parameter(text, "word", choices=("paper", "accountant"), default=default)


def relation(*choices: str) -> Any:
    """The field for the neighbouring relation that the noise is certified for."""
    text = "neighbouring relation that the noise is certified for; zero-out for clients, replace for records"
    return parameter(text, "word", choices=choices, default=choices[0])


def view(default: str) -> Any:
    """The field for the view that the noise is certified for."""
    text = "observer: sees the averages of all rounds, or every message"
    return parameter(text, "word", choices=("third-party", "server"), default=default)


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


@dataclass(frozen=True, kw_only=True)
class Setting(ABC):
    """The inputs of one algorithm's formulas.

    Raises:
        InputError: on construction, for all inputs that are missing or out of range; if none are, for all that
        contradict others.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    paper_noise_only: ClassVar[str] = ""
    """The purpose of the paper's own noise formula, where no accountant can replace it."""
    power: ClassVar[int] = 2
    """The noise multiplier to this power is proportional to the constant of the paper's noise."""
    usual_constant: ClassVar[float | None] = None
    """The constant of the paper's noise where it is not given, if the paper has one."""
    speaks_of_noise: ClassVar[str] = ""
    """The noise of the bound."""
    if TYPE_CHECKING:
        calibration: str = ""
        constant: float | None = None
    else:
        constant = None  # for algorithms whose paper's noise has no constant

    def __post_init__(self) -> None:
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        if wrong := self.faults(given, free=True) or list(self.contradictions()):
            raise InputError("; and ".join(wrong))
        for f in fields(self):
            value = given[f.name]
            if value is not None and f.metadata["kind"] == "count":
                object.__setattr__(self, f.name, int(value))
            elif value is not None and type(value) not in (int, float, str):  # NumPy's numbers become Python's
                object.__setattr__(self, f.name, float(value))

    @classmethod
    def faults(cls, known: Mapping[str, Any], *, free: bool = False, measured: bool = False) -> list[str]:
        """The errors of single inputs: one text for all missing inputs, and one for each that is out of range.

        free, measured: whether inputs that a rule may choose, and those that data give, may be missing.
        """
        found = cls._missing(known, free, measured)
        for f in fields(cls):
            value, said = known.get(f.name), f.metadata
            if value is None:
                continue
            if said["kind"] == "word":
                if value not in said["choices"]:
                    found.append(f"{quote_option(f.name)} is {value!r}: choose one of {', '.join(said['choices'])}")
            elif not fits(value, said["kind"]):
                found.append(f"{quote_option(f.name)} is {value!r}: give {NEEDS[said['kind']]}")
        if cls.paper_noise_only and known.get("calibration") == "accountant":
            found.append(
                f"`calibration` is 'accountant': {cls.source} computes {cls.paper_noise_only} from the paper's own "
                "noise formula; use `calibration=paper`, and dpfl-theory privacy account for the privacy of that noise"
            )
        return found

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of the inputs."""
        return tuple(f.name for f in fields(cls))

    @classmethod
    def required(cls, name: str) -> bool:
        """Whether every rule needs this input."""
        (f,) = (f for f in fields(cls) if f.name == name)
        return f.default is None and not f.metadata["optional"] and not f.metadata["free"]

    @classmethod
    def _missing(cls, known: Mapping[str, Any], free: bool, measured: bool) -> list[str]:
        found = [
            f"{quote_option(f.name)}: give the {f.metadata['help']}"
            for f in fields(cls)
            if known.get(f.name) is None
            and f.default is None
            and not f.metadata["optional"]
            and not (free and f.metadata["free"])
            and not (measured and f.metadata["measured"])
        ]
        found += cls.undecided(known)
        return [f"{cls.name} needs {'; '.join(found)}"] if found else []

    @classmethod
    def undecided(cls, known: Mapping[str, Any]) -> list[str]:
        """Required inputs with several alternatives, if none of these is given."""
        return []

    def contradictions(self) -> Iterator[str]:
        """All contradictions between inputs."""
        return iter(())

    def inputs(self) -> Document:
        """The given inputs as plain data."""
        return {name: getattr(self, name) for name in self.names() if getattr(self, name) is not None}

    def symbols(self) -> dict[str, float]:
        """The values of the paper's symbols that the inputs give."""
        given = {f.metadata["symbol"]: getattr(self, f.name) for f in fields(self) if f.metadata["symbol"]}
        return {name: value for name, value in given.items() if value is not None}

    def target_budget(self) -> tuple[float, float] | None:
        """epsilon and delta; None where the noise is given in another way."""
        epsilon, delta = getattr(self, "epsilon", None), getattr(self, "delta", None)
        return None if epsilon is None or delta is None else (epsilon, delta)

    def paper_constant(self) -> float | None:
        """The constant of the paper's noise: given, or the default."""
        return self.usual_constant if self.constant is None else self.constant

    def at_constant(self, constant: float | None) -> Self:
        """The same inputs with this constant of the noise."""
        return self if constant is None else replace(self, constant=constant)

    def paper_over_own(self, found: Document) -> float:
        """The ratio of the paper's noise to a recommendation's at the same constant."""
        return 1.0

    def paper_constant_of(self, found: Document) -> float | None:
        """The constant with which the paper's noise equals a recommendation's."""
        return None if self.constant is None else self.constant / self.paper_over_own(found) ** self.power

    def noise_by_server(self) -> bool:
        """Whether the certified noise is on the average, not on the clients' messages."""
        return False

    @abstractmethod
    def released(self, found: Document, printed: bool = False) -> Mechanism:
        """The releases of a run of a recommendation, with its noise; printed: with noise where the paper adds it."""

    @abstractmethod
    def printed(self) -> Document:
        """The prescription of the paper."""

    @abstractmethod
    def answer(self, choice: Document) -> Document:
        """The recommendation with these hyper-parameters, their bound and noise."""

    def chosen(self, document: Document) -> Document:
        """The choice from which a recommendation was made."""
        return document

    @abstractmethod
    def trivial(self) -> tuple[float, str]:
        """A bound of the left side without any run, and its formula."""

    @abstractmethod
    def optimum(self) -> Optimum:
        """The minimum of the bound over all hyper-parameters that are not given."""

    def bound_infimum(self) -> float:
        """The infimum of the bound, infinite where no choice meets the hypotheses."""
        return self.optimum().bound

    def levers(self) -> dict[str, float]:
        """Inputs whose change may lower the bound, each with the farthest useful value."""
        return {"epsilon": math.inf, "clients": math.inf, "dim": 1}

    def varied(self, name: str, value: float) -> Self:
        """The same inputs with another value of a lever."""
        return replace(self, **{name: value})  # type: ignore[arg-type]

    def refused(self, name: str, why: str, remedy: str) -> str:
        """The message for an input with a wrong value."""
        return f"{quote_option(name)} is {getattr(self, name)!r}: {why}; {remedy}"


@dataclass(frozen=True)
class Rule:
    """A rule: its name, a sentence that describes it, and the function from inputs to the recommendation.

    chooses: whether it chooses those hyper-parameters that are not given as inputs.
    """

    name: str
    text: str
    apply: Callable[[Setting, bool], Document]
    chooses: bool = False


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
