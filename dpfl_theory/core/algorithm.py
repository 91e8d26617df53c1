"""The description of an algorithm: its parameters, the named parts of its round, its faults and its privacy.

A round is written in the operations of an `Operations` object, ``o``. So one description runs on arrays with a user's
clients, on replicates of a simulation, in fractions, and in worst cases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Literal, Self

from dpfl_theory.core.parameter import Parameter
from dpfl_theory.errors import InputError

__all__ = [
    *("Algorithm", "Extends", "Fault", "PlainGradient", "Reading", "Relation", "Sampling", "Setting", "View", "fault"),
    "with_number",
]

Relation = Literal["zero-out", "replace", "add-remove"]
"""The neighbouring relations."""
View = Literal["third-party", "server"]
"""The observers: of the averages, or of every message."""
Sampling = Literal["poisson", "fixed", "with-replacement"]
"""The ways of drawing a cohort."""

NOISE_MULTIPLIER = Parameter(
    "noise_multiplier",
    "standard deviation over sensitivity",
    kind="nonnegative",
    aliases=("z",),
    trials=(1.3, 0.6),
)
"""The noise of every private algorithm, in place of its own parameter."""


@dataclass(frozen=True)
class Extends:
    """A replaced part that uses the part in its place: ``of(inner, a, o, ...)``, where ``inner(o, ...)`` is that part.

    Several of these can extend one part, one after the other.

    >>> class Example(Algorithm):
    ...     def value(self, o): return 1
    >>> more = {"value": Extends(lambda inner, a, o: inner(o) + 1)}
    >>> Example.with_parts(more).with_parts(more)().value(None)
    3
    """

    of: Callable[..., Any]

    def over(self, below: Callable[..., Any]) -> Callable[..., Any]:
        """The part that extends this one."""
        return lambda a, *arguments: self.of(partial(below, a), a, *arguments)


@dataclass(frozen=True)
class Fault:
    """A mistake that implementations make: parts of the round, replaced.

    name: a few words. description: what is wrong and what it should be, one sentence. plain: the same for an algorithm
    that protects no one, where ``description`` concerns clipping, noise or accounting. role: which lines to look at.
    parts: the replaced parts of the round, each a function whose first arguments are the algorithm and ``o``.
    seen: code in which it was reported. private: whether it breaks the claimed privacy. once: whether one vector of
    noise is drawn in a round. unaccounted: whether the accounting of one round does not hold for it, so that no epsilon
    is known. equivalent_to: the name of another fault that by algebra gives the same w in all rounds.
    sized: the same mistake with a free number in it. usual: the most frequent numbers in code. general: whether its
    numbers are the function's own observed choices, so that it is named only where nothing more special explains them.
    """

    name: str
    description: str
    role: str
    parts: Mapping[str, Callable[..., Any] | Extends]
    seen: str = ""
    private: bool = False
    sized: Callable[[float], Fault] | None = None
    usual: tuple[float, ...] = ()
    plain: str = ""
    once: bool = False
    equivalent_to: str = ""
    general: bool = False
    unaccounted: bool = False

    def variants(self) -> tuple[Fault, ...]:
        """The fault itself; with a free number, the fault with each usual number."""
        return self._variants

    @cached_property
    def _variants(self) -> tuple[Fault, ...]:
        return (self,) if self.sized is None else tuple(map(self.sized, self.usual))

    def read_as(self, reading: Reading) -> Fault:
        """This fault together with the parts of a reading, which its description names."""
        parts, sized = {**self.parts, **reading.parts}, self.sized
        of = None if sized is None else lambda number: sized(number).read_as(reading)
        return replace(self, description=f"{self.description} ({reading.name})", parts=parts, sized=of)


def fault(
    name: str,
    description: str,
    role: str,
    seen: str = "",
    private: bool = False,
    plain: str = "",
    equivalent_to: str = "",
    once: bool = False,
    unaccounted: bool = False,
    **parts: Callable[..., Any] | Extends,
) -> Fault:
    """A fault, its parts as keywords."""
    facts = {"plain": plain, "once": once, "equivalent_to": equivalent_to, "unaccounted": unaccounted}
    return Fault(name, description, role, parts, seen, private, **facts)  # type: ignore[arg-type]


def with_number(description: str, usual: tuple[float, ...], of: Callable[[float], Fault]) -> Fault:
    """A fault with a free number: its text without a number, the usual numbers, and the fault with a given one."""
    return replace(of(usual[0]), description=description, sized=of, usual=usual)


@dataclass(frozen=True)
class Reading:
    """Another round that the words of the same algorithm allow, and that conforms: its name, the parts that differ,
    and its weights in words, which are not said where others are declared. once: as for a fault."""

    name: str
    parts: Mapping[str, Callable[..., Any] | Extends] = field(default_factory=dict)
    weights: str = ""
    once: bool = False

    @property
    def text(self) -> str:
        """The name and the weights."""
        return ", ".join(filter(None, (self.name, self.weights)))


@dataclass(frozen=True)
class Setting:
    """Where a run takes place: clients, cohort (None for all) and how it is drawn, the neighbouring relation, the
    observer, the number of rounds, and of the smallest client's records."""

    clients: int
    cohort: float | None
    sampling: str
    relation: str
    view: str
    rounds: int
    records: int = 1


@dataclass(frozen=True)
class PlainGradient:
    """The gradient of client i as the direction of its local steps: an interpretation may do all the steps at once."""

    o: Any
    i: Any

    def __call__(self, y: Any) -> Any:
        return self.o.gradient(self.i, y)


class Algorithm:
    """An algorithm as its paper prints it. An instance has values for the parameters.

    A subclass sets the class attributes below, declares parameters (`Parameter`) and writes `round`, from parts that
    are methods. A part takes ``o`` first. Values are given by attribute, symbol or alias.

    >>> class Descent(Algorithm):
    ...     name = "descent"
    ...     step = Parameter("eta", "step", "X^2/F", aliases=("lr",))
    ...     def round(self, o, w, state):
    ...         return w - self.step * o.gradient(0, w), state
    >>> Descent(lr=0.5).step, list(Descent.parameters)
    (0.5, ['step'])
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    source: ClassVar[str] = ""
    protects: ClassVar[str] = ""
    """The unit of privacy, "client" or "record"; empty without noise."""
    samplings: ClassVar[tuple[str, ...]] = ()
    """How the clients of a round may be drawn, the paper's way first; empty where all take part."""
    relations: ClassVar[tuple[str, ...]] = ("zero-out", "replace")
    """The neighbouring relations of its accounting, the default first."""
    mechanism: ClassVar[str] = ""
    """The class of its releases by name, one of `dpfl_theory.privacy.mechanisms`, where it protects something."""
    sigma_of: ClassVar[str] = "average"
    """The noise that the parameter sigma belongs to: that of the "average" or of one "message"."""
    clips: ClassVar[bool] = True
    """Whether messages below the threshold stay as they are."""
    rounds: ClassVar[str] = "rounds"
    """The name of the number of rounds."""
    lots: ClassVar[bool] = False
    """Whether the records of a step are drawn independently, so that their number varies."""
    amplified: ClassVar[bool] = True
    """Whether the accounting relies on random cohorts, where there are any."""
    released_again: ClassVar[str] = ""
    """What the epsilon of one round leaves out, as the end of a sentence."""
    noise_in_messages: ClassVar[bool] = False
    """Whether each message has noise of its own, by which it is protected."""
    has_sigma: ClassVar[bool] = True
    """Whether its noise, where there is any, may be given by sigma: a standard deviation, or the multiplier itself."""
    noise_rounds: ClassVar[int] = 2
    """The number of successive rounds in which every dependence of the noise on earlier rounds shows."""
    vectors: ClassVar[int] = 1
    """The number of vectors that a client sends in a communication."""
    is_reference: ClassVar[bool] = True
    """Whether users' code is compared with it."""
    observed: ClassVar[tuple[str, ...]] = ()
    """The parts of the round whose values observables of a simulation may read."""
    compared: ClassVar[int] = 3
    """The number of rounds in which users' code is compared with it: more where clients add up what they remember."""
    level: ClassVar[str] = "threshold"
    """The parameter, if it has one, at whose length the bound on a message begins."""
    readings: ClassVar[tuple[Reading, ...]] = (Reading("as printed"),)
    declared_readings: ClassVar[Mapping[str, Reading]] = {}
    """A second reading of a declared variation, by its name."""
    counts: ClassVar[Mapping[str, str]] = {}
    """Attributes besides the parameters that change the run, whole numbers from 0, and what they count."""
    replaced_parts: ClassVar[tuple[str, ...]] = ()
    """The parts of the round that were replaced."""
    parameters: ClassVar[Mapping[str, Parameter]] = {}
    """The parameters by attribute, in the order of declaration."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if len(cls.__bases__) == 1 and not any(
            isinstance(value, Parameter) or name in cls.parameters for name, value in vars(cls).items()
        ):
            return  # the parameters are those of its base
        found: dict[str, Parameter] = {}
        for kind in reversed(cls.__mro__):
            for name, value in vars(kind).items():
                if isinstance(value, Parameter):
                    found[name] = value
                elif name in found:  # the value is fixed
                    del found[name]
        cls.parameters = found

    def __init__(self, **values: Any) -> None:
        named = self.attributes()
        for name, value in values.items():
            if name not in named:
                raise InputError(f"{self.name} has no parameter {name!r}: it has {', '.join(named)}")
            self.__dict__[named[name]] = value

    @classmethod
    def attributes(cls) -> dict[str, str]:
        """The attribute of each symbol, alias and attribute."""
        found = {other: attribute for attribute, p in cls.parameters.items() for other in p.aliases}
        found |= {name: attribute for attribute, p in cls.parameters.items() for name in (attribute, p.symbol)}
        return found | ({"noise_multiplier": "noise_multiplier"} if cls.protects else {})

    @classmethod
    def without_noise(cls) -> dict[str, Parameter]:
        """The parameters but the noise, by attribute; those that others are relative to come first."""
        found = {name: p for name, p in cls.parameters.items() if name != cls.noise_parameter()}
        return dict(sorted(found.items(), key=lambda item: not item[1].shared))

    @classmethod
    def from_symbols(cls, values: Mapping[str, Any]) -> Self:
        """The algorithm with values by symbol, as plain counts where they are counts; other names are left out."""
        own = {p.symbol: p for p in cls.parameters.values()}
        return cls(**{n: int(v) if own[n].kind == "count" else v for n, v in values.items() if n in own})

    @classmethod
    def with_parts(cls, parts: Mapping[str, Callable[..., Any] | Extends]) -> type[Self]:
        """The algorithm with some parts of its round replaced.

        >>> Algorithm.with_parts({"round": lambda a, o, w, state: (w, state)})().round(None, 1.0, None)
        (1.0, None)
        """
        names = dict.fromkeys((*cls.replaced_parts, *parts))
        own = {
            name: part.over(getattr(cls, name)) if isinstance(part, Extends) else part for name, part in parts.items()
        }
        return type(cls.__name__, (cls,), {**own, "replaced_parts": tuple(names)}) if parts else cls

    def with_values(self, **values: Any) -> Self:
        """The same algorithm with other values, by attribute."""
        found = object.__new__(type(self))
        found.__dict__ |= {**self.__dict__, **values}
        return found

    def with_defaults(self) -> Self:
        """The same algorithm with those missing values that do not depend on a problem.

        >>> class Example(Algorithm):
        ...     steps = Parameter("E", "local steps", kind="count")
        >>> Example().with_defaults().steps
        1
        """
        found = self.with_values()
        for attribute, p in self.parameters.items():
            default, by_problem = p.default, p.scale is not None and (p.default != 1.0 or p.scale.by_problem)
            if default is not None and not by_problem and getattr(self, attribute) is None:
                found.__dict__[attribute] = p.scale.of(found, None) if p.scale else p.value(found, None, default)
        return found

    def replaced(self, **parts: Callable[..., Any] | Extends) -> Self:
        """The same values in the algorithm with some parts of its round replaced."""
        found = object.__new__(type(self).with_parts(parts))
        found.__dict__ |= self.__dict__
        return found

    noise_multiplier: Any = None

    @classmethod
    def noise_parameter(cls) -> str:
        """The attribute of its noise: the standard deviation, or where it has none the multiplier."""
        return "sigma" if "sigma" in cls.parameters else "noise_multiplier"

    @classmethod
    def sampling(cls) -> str:
        """How the paper draws the clients of a round."""
        return (*cls.samplings, "full")[0]

    def releases(self, setting: Setting) -> dict[str, Any]:
        """The parameters of the mechanism of a run, but for the noise multiplier."""
        raise NotImplementedError(f"{self.name} has no mechanism")

    def under(self, setting: Setting) -> Self:
        """The reading of the algorithm that a setting asks for."""
        return self

    def steps_are_plain(self) -> bool:
        """Whether local steps are along the gradient and nothing else."""
        return False

    def normals(self, clients: int) -> float:
        """The expected number of vectors of noise that a simulated round draws."""
        return 1.0

    def communications(self) -> float:
        """The expected number of communications in a round."""
        return 1.0

    def initial(self, o: Any, w: Any) -> Any:
        """The state before the first round, which starts at w."""
        return None

    def round(self, o: Any, w: Any, state: Any) -> tuple[Any, Any]:
        """The server's vector after a round, and the state for the next one. Before the first it is `initial`, or
        None."""
        raise NotImplementedError(f"{self.name} has no round")

    def message(self, o: Any, w: Any, i: Any) -> Any:
        """What client i would send from w without a bound."""
        raise NotImplementedError(f"{self.name} has no message")

    def length(self, o: Any, w: Any, i: Any) -> float:
        """The length of what client i bounds at w."""
        return float(o.length(self.message(o, w, i)))

    @classmethod
    def faults(cls) -> Sequence[Fault]:
        """Known mistakes in code."""
        return ()

    def noise_unit(self, o: Any) -> float:
        """The noise parameter of noise multiplier 1, where one client changes a message by at most its bound."""
        raise NotImplementedError(f"{self.name} adds no noise")

    def message_multiplier(self, o: Any) -> float | None:
        """The noise multiplier of a single message over that of the average of all, where others see each message; None
        where they see the average alone."""
        return None

    def released(self, o: Any) -> float:
        """mu of the Gaussian mechanism by which a round releases something besides the server's vector; 0 where it
        releases nothing else, infinite without noise."""
        return 0.0

    def sensitivity(self, o: Any) -> float | None:
        """How far one client moves the server's vector in a round, where it changes its message by the bound; None
        where this is not known."""
        raise NotImplementedError(f"{self.name} adds no noise")
