"""The inputs of an algorithm's rules, and what its paper says about them.

The symbols, the prescribed hyper-parameters, the bound with its terms and the hypotheses are the statements' own. The
releases are those of the algorithm's description. A paper (`dpfl_theory.recommend.papers`) adds its choices.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dpfl_theory.core.algorithm import Algorithm
from dpfl_theory.core.algorithm import Setting as Place
from dpfl_theory.core.formula import sides_of
from dpfl_theory.core.inverse import value
from dpfl_theory.core.prose import plain
from dpfl_theory.errors import InputError
from dpfl_theory.recommend.inputs import Document, inputs_of, quote_option, refusals, unit_text
from dpfl_theory.statements import get
from dpfl_theory.statements.runs import completed, run_symbols
from dpfl_theory.statements.summary import summary

if TYPE_CHECKING:
    from dpfl_theory.core import Expected, Statement
    from dpfl_theory.privacy import Mechanism
    from dpfl_theory.recommend.bound_minimizers import Optimum

NEARLY = 1e-12
"""A count within this relative distance of a whole number is that number: inputs such as 0.1 are not exact."""


@dataclass(frozen=True, kw_only=True)
class Setting(ABC):
    """The inputs of one algorithm's formulas.

    Raises:
        InputError: on construction, for all inputs that are missing or out of range; if none are, for all that
        contradict others.
    """

    described: ClassVar[type[Algorithm]]
    """The description of the algorithm."""
    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    bounding: ClassVar[str]
    """The statement whose bound it is."""
    noise_of: ClassVar[str]
    """The statement with the paper's noise."""
    bounds: ClassVar[str] = ""
    """The left side of the bound, where its expectation's own words do not suffice."""
    choices: ClassVar[Mapping[str, str]]
    """The arguments of `answer`, each with its symbol."""
    shown: ClassVar[Mapping[str, str]] = {}
    """The other hyper-parameters in an answer, each with its symbol."""
    of_runs: ClassVar[str] = ""
    """The statement of a run's hyper-parameters, if it is another one."""
    empty: ClassVar[Document] = {}
    """Other keys of an answer, with the values that they have without a prescription."""
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
        relation: str = ""
        view: str = ""
        constant: float | None = None
        rounds: int | None = None
    else:
        constant = None  # for algorithms whose paper's noise has no constant

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "described" in vars(cls):
            cls.name, cls.title = cls.described.name, cls.described.title

    def __post_init__(self) -> None:
        given = self.inputs()
        if wrong := self.faults(given, free=True) or list(self.contradictions()):
            raise InputError("; and ".join(wrong))
        for name, one in inputs_of(type(self)).items():
            if name in given:
                object.__setattr__(self, name, one.plain(given[name]))

    # Inputs.

    @classmethod
    def faults(cls, known: Mapping[str, Any], *, free: bool = False, measured: bool = False) -> list[str]:
        """The errors of single inputs: one text for all missing inputs, and one for each that is out of range.

        free, measured: whether inputs that a rule may choose, and those that data give, may be missing.
        """
        found = cls._missing(known, free, measured)
        for name, one in inputs_of(cls).items():
            if known.get(name) is not None:
                found += refusals(name, known[name], one)
        if cls.paper_noise_only and known.get("calibration") == "accountant":
            found.append(
                f"`calibration` is 'accountant': {cls.source} computes {cls.paper_noise_only} from the paper's own "
                "noise formula; use `calibration=paper`, and dpfl-theory privacy account for the privacy of that noise"
            )
        return found

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of the inputs."""
        return tuple(inputs_of(cls))

    @classmethod
    def _missing(cls, known: Mapping[str, Any], free: bool, measured: bool) -> list[str]:
        found = [
            f"{quote_option(name)}: give the {one.text}"
            for name, one in inputs_of(cls).items()
            if known.get(name) is None and not (one.optional or (free and one.free) or (measured and one.measured))
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

    def refused(self, name: str, why: str, remedy: str) -> str:
        """The message for an input with a wrong value."""
        return f"{quote_option(name)} is {getattr(self, name)!r}: {why}; {remedy}"

    def not_above(self, name: str, other: str, remedy: str) -> Iterator[str]:
        """The contradiction that an input exceeds another one, which is its limit."""
        given, most = getattr(self, name), getattr(self, other)
        if given is not None and given > most:
            yield self.refused(name, f"it exceeds `{other}={most!r}`", remedy)

    # The noise.

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

    def place(self, rounds: int) -> Place:
        """Where a run of this many rounds takes place."""
        given: Any = self
        clients, cohort = given.clients, getattr(self, "cohort", None)
        some = cohort is not None and cohort < clients
        drawn = (cohort, self.described.sampling()) if some else (None, "full")
        return Place(clients, *drawn, self.relation, getattr(self, "view", "third-party"), rounds)

    def noise_by_server(self) -> bool:
        """Whether the certified noise is on the average, not on the clients' messages."""
        decides = getattr(self.described(), "server_adds_noise", None)
        return decides is not None and bool(decides(self.place(1)))

    def released(self, found: Document, printed: bool = False) -> Mechanism:
        """The releases of a run of a recommendation, with its noise; printed: with noise where the paper adds it."""
        from dpfl_theory.privacy.mechanisms import get as mechanism

        kind, threshold = self.described, self.described.parameters.get("threshold")
        releases = kind.from_symbols(found).releases(self.place(found[kind.rounds]))
        if printed and "noise" in releases:
            releases["noise"] = "per-client"
        run: Mechanism = mechanism(self.name)(**releases)
        bound = 1.0 if threshold is None else {**self.symbols(), **found}[threshold.symbol]
        return run.with_(noise_multiplier=run.multiplier(found["noise"]["sigma"], bound))

    def noise(self, at: Mapping[str, float]) -> Document:
        """The standard deviation that the paper's formula prescribes, and its meaning."""
        known = completed(run_symbols()[self.name], at)
        sigma = known["sigma"] if "sigma" in known else math.sqrt(known["noise_variance"])
        text = self.described.parameters[self.described.noise_parameter()].text
        return {"sigma": sigma, "meaning": f"standard deviation per coordinate of the {text}"}

    # The bound.

    def symbols(self) -> dict[str, float]:
        """The values of the paper's symbols that the inputs give."""
        known = inputs_of(type(self))
        return {known[name].symbol: number for name, number in self.inputs().items() if known[name].symbol}

    def theorem(self, choice: Document) -> Statement:
        """The statement that bounds a choice."""
        return get(choice.get("statement", self.bounding))

    def at(self, choice: Document) -> dict[str, float]:
        """The values of the inputs' symbols, and of those of a choice."""
        chosen = {symbol: choice[name] for name, symbol in self.choices.items() if name in choice}
        return {**self.symbols(), **chosen}

    def terms(self, theorem: Statement, at: Mapping[str, float]) -> dict[str, float]:
        """The terms of the right side, by name, without expectations."""
        return terms(theorem, {**at, **dict.fromkeys((e.name for e in theorem.expectations), 0.0)})

    def coefficient(self, theorem: Statement, at: Mapping[str, float]) -> float:
        """The left side over the quantity that is to be bounded."""
        return 1.0

    def failing(self, theorem: Statement, at: Mapping[str, float]) -> list[str]:
        """The reasons why the statement does not apply at these values."""
        return failures(theorem, at)

    def unmet(self, choice: Document) -> list[str]:
        """The reasons why the statement does not apply to a choice."""
        return self.failing(self.theorem(choice), self.at(choice))

    def bound(self, choice: Document) -> float:
        """The bound of that quantity, infinite where its coefficient is not positive."""
        theorem, at = self.theorem(choice), self.at(choice)
        coefficient = self.coefficient(theorem, at)
        return math.fsum(self.terms(theorem, at).values()) / coefficient if coefficient > 0 else math.inf

    def claimed(self, choice: Document) -> float | None:
        """The same; None where it has no value, or none that is known before a run."""
        unclaimed = self.unknown() or self.coefficient(self.theorem(choice), self.at(choice)) <= 0
        return None if unclaimed else self.bound(choice)

    def unknown(self) -> str | None:
        """The reason why the right side has no value before a run, if so."""
        return None

    @abstractmethod
    def trivial(self) -> tuple[float, str]:
        """A bound of the left side without any run, and its formula."""

    # Recommendations.

    def following(self, at: Mapping[str, float]) -> Document:
        """What else an answer says about a choice."""
        return {}

    def cited(self, theorem: Statement, at: Mapping[str, float]) -> list[Document]:
        """The statements behind an answer."""
        return [cite("bound", theorem, at), cite("noise", get(self.noise_of))]

    def warnings(self) -> list[str]:
        """The warnings of each recommendation."""
        return []

    def answer(self, choice: Document) -> Document:
        """The recommendation with these hyper-parameters, their bound and noise."""
        theorem, at = self.theorem(choice), self.at(choice)
        unmet, found, coefficient = self.failing(theorem, at), self.terms(theorem, at), self.coefficient(theorem, at)
        bound = None if unmet or self.unknown() or coefficient <= 0 else math.fsum(found.values()) / coefficient
        trivial, what = self.trivial()
        vacuous = None if bound is None else bound >= trivial
        said = [f"The bound is not below {what} = {trivial:.6g}, which needs no run: it promises nothing."]
        return {
            **{name: at[symbol] for name, symbol in {**self.shown, **self.choices}.items()},
            "bound": bound,
            **self.following(at),
            "terms": found,
            "noise": {"calibration": self.calibration, **self.noise(at)},
            **self.empty,
            "certificate": {
                "bounds": self.bounds or _left(theorem),
                "applies": not unmet,
                "vacuous": vacuous,
                "trivial": trivial,
                "statements": self.cited(theorem, at),
            },
            "warnings": [
                *(f"No bound is claimed: {text}." for text in unmet),
                *(said if vacuous else []),
                *self.warnings(),
            ],
        }

    @abstractmethod
    def printed(self) -> Document:
        """The prescription of the paper."""

    def chosen(self, document: Document) -> Document:
        """The choice from which a recommendation was made."""
        return {name: document[name] for name in self.choices}

    @abstractmethod
    def least(self) -> Optimum:
        """The choice with the least bound, of all hyper-parameters that are not given."""

    def optimum(self) -> Optimum:
        """The minimum of the bound over all hyper-parameters that are not given."""
        found = self.least()
        unmet = found.unmet or (*self.unmet(found.choice), *filter(None, [self.unknown()]))
        if unmet or found.lower == math.inf:
            return type(found)(found.choice, unmet=unmet or ("no value within these inputs meets them",))
        bound = self.bound(found.choice)
        return replace(found, bound=bound, lower=min(found.lower, bound))

    def bound_infimum(self) -> float:
        """The infimum of the bound, infinite where no choice meets the hypotheses."""
        return self.optimum().bound

    def levers(self) -> dict[str, float]:
        """Inputs whose change may lower the bound, each with the farthest useful value."""
        return {"epsilon": math.inf, "users" if "users" in self.names() else "clients": math.inf, "dim": 1}

    def varied(self, name: str, value: float) -> Self:
        """The same inputs with another value of a lever; a cohort grows with the clients."""
        changes: Document = {name: value}
        if name == "clients" and hasattr(self, "cohort"):
            size = self.cohort * value / getattr(self, name)
            changes = {
                name: int(value),
                "cohort": max(1, round(size)) if self.described.sampling() == "fixed" else size,
            }
        return replace(self, **changes)


def terms(statement: Statement, values: Mapping[str, Any]) -> dict[str, float]:
    """The named terms of the right side at these values."""
    return {name: value(statement, term, values) for name, term in sides_of(statement).rhs.items()}


def rounded_up(number: float) -> int:
    """A count that is prescribed as a real number, rounded up to a whole number of at least 1.

    >>> rounded_up(2.1), rounded_up(2.0000000000000004), rounded_up(-3.5)
    (3, 2, 1)
    """
    if not math.isfinite(number):
        raise OverflowError("a count is not finite")
    return max(1, math.ceil(number - NEARLY * abs(number)))


def failures(statement: Statement, values: Mapping[str, Any]) -> list[str]:
    """One sentence for each hypothesis that these values do not meet. Hypotheses on the problem are assumed: no
    problem is available here."""
    found = ((a.text, a.test(None, values)) for a in statement.hypotheses)
    return [f"the hypothesis '{text}' of {statement.id} is not met: {why}" for text, why in found if why is not None]


def cite(role: str, statement: Statement, values: Mapping[str, Any] | None = None) -> Document:
    """The catalogue's record of a statement: its verdict, the source of its formula, its erratum or remark, and the
    hypotheses that fail here."""
    found = summary(statement)
    said: Document = {
        "role": role,
        "id": statement.id,
        "where": statement.source.where,
        "verdict": statement.expected,
        "provenance": statement.provenance,
        "reading": found["reading"],
        "erratum": found["erratum"],
        "remark": found["remark"],
    }
    if values is not None:
        said["failures"] = failures(statement, values)
    return said


def bounded(theorem: Statement) -> Expected:
    """The expectation on the left side."""
    symbols = {str(symbol) for left in sides_of(theorem).lhs.values() for symbol in left.free_symbols}
    (found,) = (e for e in theorem.expectations if e.name in symbols)
    return found


def _left(theorem: Statement) -> str:
    """That in words, with its unit."""
    expectation = bounded(theorem)
    return f"{plain(expectation.meaning)} [{unit_text(expectation.unit)}]"
