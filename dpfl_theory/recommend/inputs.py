"""The inputs of recommendations: fields of data classes, each declared once with symbol, meaning, unit and range.

An input of a paper's formulas is described by the symbol that it is in the paper. The budget, the options of data and
the constants in their place are common to all algorithms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import Any, get_args

from dpfl_theory.core import Symbol
from dpfl_theory.core.algorithm import Algorithm, Relation, Sampling, View
from dpfl_theory.core.parameter import KINDS, Meaning, Parameter

Document = dict[str, Any]
"""Plain data, ready for JSON."""

PROTECTED = {"client": "each client's data", "record": "single records"}
"""The meaning of each unit of privacy."""

DOMAINS = {"integer": "count"}
"""The kinds of the symbols' domains that have another name."""

CONSTANTS = {
    "largest smoothness": Meaning("L, smoothness of every client's objective", "F/X^2"),
    "smoothness": Meaning("L of f, the clients' mean", "F/X^2"),
    "strong convexity": Meaning("mu, strong convexity of every client's objective", "F/X^2"),
    "lipschitz": Meaning("G, bound on every client's gradients", "F/X"),
    "distance": Meaning("distance of the minimiser from the start, 0", "X"),
    "gap": Meaning("f(0) - inf f", "F"),
    "heterogeneity": Meaning("heterogeneity: mean of f_i(w*) - inf f_i", "F"),
}
"""The constants of a problem that every report lists (keys of `constants_from_data.MEASURES`)."""


CLIENTS = 10
"""The number of clients among whom records without a client are divided, if it is not given."""


def quote_option(name: str) -> str:
    """The name of an input for a message: the command line shows a name in these quotes as its option.

    >>> quote_option("strong_convexity")
    '`strong_convexity`'
    """
    return f"`{name}`"


@dataclass(frozen=True)
class Input(Parameter):
    """An input: a number of one of the `KINDS`, or a ``word``.

    Args:
        choices: the words; empty for any.
        optional: whether it may be missing.
        free: whether it is a hyper-parameter that a rule may choose itself; other rules need it as an input.
        measured: the constant of a problem that data give for it (a key of `constants_from_data.MEASURES`).
        remark: added to its text.
    """

    choices: tuple[str, ...] = ()
    optional: bool = False
    free: bool = False
    measured: str = ""
    remark: str = ""

    @property
    def text(self) -> str:
        """Meaning, unit and remark."""
        return Parameter.text.fget(self) + self.remark  # type: ignore[attr-defined, no-any-return]

    def plain(self, value: Any) -> Any:
        """A value as Python's own number: NumPy's are converted, and a count is an int."""
        if self.kind == "count":
            return int(value)
        return value if type(value) in (int, float, str) else float(value)


@cache
def inputs_of(kind: type) -> dict[str, Input]:
    """The inputs among the fields of a data class, by name."""
    return {f.name: f.metadata["input"] for f in fields(kind) if "input" in f.metadata}


def options_of(kind: type) -> dict[str, str]:
    """The fields that are inputs, by their names as arguments and options of `recommend`.

    >>> options_of(DataOptions)["label_column"]
    'label'
    """
    return {(one.aliases or (name,))[0]: name for name, one in inputs_of(kind).items()}


def refusals(name: str, value: Any, one: Input) -> Iterator[str]:
    """The error of an input's value: a number that is not of the kind, or a word that is not a choice.

    >>> list(refusals("clip", -1.0, Input("C", "threshold")))
    ['`clip` is -1.0: give a positive number']
    """
    if one.choices:
        if value not in one.choices:
            yield f"{quote_option(name)} is {value!r}: choose one of {', '.join(one.choices)}"
    elif not one.fits(value):
        yield f"{quote_option(name)} is {value!r}: give {KINDS[one.kind]}"


def parameter(
    meaning: str, kind: str = "positive", *, symbol: str = "", default: Any = None, optional: bool = False, **more: Any
) -> Any:
    """A field that is an input; more: the other arguments of `Input`. It needs no value if it has a default."""
    one = Input(symbol, meaning, kind=kind, optional=optional or default not in (None, MISSING), **more)
    return field(default=default, metadata={"input": one})


def given(symbol: Symbol, measured: str = "", *, kind: str = "", **more: Any) -> Any:
    """The field of a symbol, whose meaning, unit and domain it has; kind: where less is allowed than in the domain.

    >>> given(Symbol("L", "smoothness constant of every f_i", (1, -2), "positive")).metadata["input"].text
    'smoothness constant of every f_i (L) [F/X^2]'
    """
    meaning, kind = symbol.meaning.removeprefix("the "), kind or DOMAINS.get(symbol.domain, symbol.domain)
    unit = unit_text(symbol.unit)
    return parameter(f"{meaning} ({symbol.name})", kind, symbol=symbol.name, unit=unit, measured=measured, **more)


def unit_text(powers: tuple[int, int]) -> str:
    """A unit as a fraction.

    >>> unit_text((1, -2)), unit_text((0, 1)), unit_text((2, -2))
    ('F/X^2', 'X', 'F^2/X^2')
    """
    above, below = (
        "".join(base + (f"^{sign * e}" if sign * e > 1 else "") for base, e in zip("FX", powers) if sign * e > 0)
        for sign in (1, -1)
    )
    return f"{above}/{below}" if below else above


def of_budget(name: str, **more: Any) -> Any:
    """The field for epsilon or delta."""
    return parameter(f"{name} of the budget", "probability" if name == "delta" else "positive", symbol=name, **more)


def calibration(default: str = "accountant") -> Any:
    """The field for the source of the noise, which every algorithm has."""
    text = "source of the noise: a certified accountant (default), or the paper's formula with `constant`"
    return parameter(text, "word", choices=("paper", "accountant"), default=default)


def relation(algorithm: type[Algorithm] | None = None) -> Any:
    """The field for the neighbouring relation that the noise is certified for."""
    text = "neighbouring relation that the noise is certified for; zero-out for clients, replace for records"
    choices: tuple[str, ...] = get_args(Relation) if algorithm is None else algorithm.relations
    default = None if algorithm is None else choices[0]
    return parameter(text, "word", choices=choices, default=default, optional=True)


def view(default: str = "third-party") -> Any:
    """The field for the view that the noise is certified for."""
    text = "observer: sees the averages of all rounds, or every message"
    return parameter(text, "word", choices=get_args(View), default=default)


def constant(symbol: str, usual: float | None = None) -> Any:
    """The field for the constant of the paper's noise."""
    text = "constant of the noise" if usual is None else f"constant of the noise, {usual:g} by default"
    return parameter(text, optional=True, symbol=symbol)


@dataclass(frozen=True)
class Budget:
    """The budget, which is the same for all algorithms: epsilon and delta of the whole run, the observer, and the
    communication."""

    epsilon: float = of_budget("epsilon", default=MISSING)
    delta: float = of_budget("delta", default=MISSING)
    rounds: int = parameter("largest number of vectors that a client may send", "count", default=500)
    relation: str | None = relation()
    view: str = view()
    cohort: float | None = parameter("clients in a round on average; all by default", optional=True)
    sampling: str | None = parameter(
        "sampling scheme of a cohort; by default the algorithm's own",
        "word",
        choices=("full", *get_args(Sampling)),
        optional=True,
    )


@dataclass(frozen=True)
class DataOptions:
    """The user's own data, or a bundled set: logistic regression for two classes, softmax regression for more."""

    data: str = parameter(
        "bundled data set's name, or a CSV, Parquet, NPZ, LIBSVM or IDX file", "word", default=MISSING
    )
    ridge: float = parameter(
        "ridge of the data's problem", "nonnegative", unit="F/X^2", remark="; 0 by default", default=0.0
    )
    partition: str | None = parameter(
        "partition of the records among clients; by default the file's clients, or else iid",
        "word",
        choices=("iid", "shards", "similarity"),
    )
    features: int | None = parameter("principal components of the data; all features by default", "count")
    row_norm: float | None = parameter("length of the longest record, to which the data are scaled")
    label: str | None = parameter(
        "column of labels in the file; by default label, y or the last", "word", aliases=("label_column",)
    )
    client: str | None = parameter(
        "column of clients in the file; by default client, if there is one", "word", aliases=("client_column",)
    )


def _of_problem(constant: str, kind: str, default: Any = MISSING) -> Any:
    """The field of a constant."""
    known = CONSTANTS[constant]
    return parameter(known.words, kind, unit=known.unit, default=default, optional=default is not MISSING)


@dataclass(frozen=True)
class ConstantOptions:
    """Constants of a problem in place of data."""

    clients: int = parameter("number of clients", "count", default=MISSING)
    dim: int = parameter("dimension", "count", default=MISSING)
    smoothness: float = _of_problem("largest smoothness", "positive")
    distance: float = _of_problem("distance", "positive")
    strong_convexity: float = _of_problem("strong convexity", "nonnegative", 0.0)
    lipschitz: float | None = _of_problem("lipschitz", "positive", None)
    heterogeneity: float = _of_problem("heterogeneity", "nonnegative", 0.0)
