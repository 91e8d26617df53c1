"""The inputs of each method: the data that a check's ``build`` returns.

algebra: `Outcome`; worst-case: `WorstCase`; exact: `Values`, or an `Outcome` without a comparison; monte-carlo:
`Experiment`; privacy: `GaussianClaim`, `PrivacyClaim` or `ConstantClaim`. They hold values of the symbols; the sides
are the statement's own. Only a check that declares which `part` of the statement it decides gives sides: `Performance`,
`Case`. `dpfl_theory.checks` decides them; it imports this module, never the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from dpfl_theory.lazy import mpmath

if TYPE_CHECKING:
    from dpfl_theory.core.statement import Sides
    from dpfl_theory.problems.base import Array, Problem
    from dpfl_theory.simulation import Algorithm
    from dpfl_theory.simulation.observables import Reach

__all__ = [
    "Case",
    "ConstantClaim",
    "Escape",
    "Experiment",
    "GaussianClaim",
    "Outcome",
    "Performance",
    "PrivacyClaim",
    "PrivacyPoint",
    "Values",
    "WorstCase",
    "claim",
    "restated",
]

Number = Any
"""A float, or an mpmath number where a float would underflow (a delta of 1e-1000) or round too much."""
SQUARE = "^2"
"""Suffix of the name of a symbol of which only the square is known."""


@dataclass(frozen=True)
class Outcome:
    """The result of an algebra check: ``true`` (None when neither proved nor refuted) and one sentence of reason; notes
    may carry the expressions as text.

    >>> Outcome(None, "no proof was found").verdict
    'inconclusive'
    """

    true: bool | None
    reason: str
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """The check's verdict."""
        return {True: "holds", False: "violated", None: "inconclusive"}[self.true]


@dataclass(frozen=True, eq=False)
class Performance:
    """left <= right over all functions of a class.

    problem: the PEPit problem, without normalisation and metric; left, right: PEPit expressions, homogeneous of degree
    two; description: the inequality in words. ``also`` names problems that are solved for information only (outside the
    hypotheses, or with sharper constants); their worst ratios are kept in the evidence's notes.
    """

    problem: Any
    left: Any
    right: Any
    description: str
    also: Mapping[str, Callable[[], Performance | WorstCase]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class WorstCase:
    """The statement over all functions of a class.

    problem: the PEPit problem, without normalisation and metric; values: of every symbol, a number or a PEPit
    expression of degree two, in which the sides must be linear; ``NAME^2`` is the square of a symbol of which only the
    square is known. direction: which half of an equality it concerns, ``<=`` or ``>=``; None for both, and for the
    statement's own relation.

    The sides are compared so that neither is negative if no quantity is: terms with a minus sign change sides
    (`dpfl_theory.checks.pep_inequality`). ``left`` names the symbols on the left instead, whatever their sign;
    ``shift`` is added to both sides, for quantities that may be negative. ``unit``: the square of a length, where norms
    are fixed as multiples of that length. The symbols' numbers are then in units of that length; terms of the sides
    without quantities are multiples of ``unit``. ``squared``: the squares of the sides are compared, of norms that are
    not negative. ``solved``: a quantity in which the right side is not linear but increasing. The least value with
    which the right side reaches the left one is compared with it. ``capped``: symbols that the problem bounds only from
    above, as the least of several values; they must be on the smaller side. ``description`` and ``also`` as for
    `Performance`; ``sides``: other sides than the statement's, for the problems that ``also`` names.
    """

    problem: Any
    values: Mapping[str, Any]
    description: str = ""
    left: tuple[str, ...] | None = None
    shift: Any = None
    direction: Literal["<=", ">="] | None = None
    unit: Any = None
    squared: bool = False
    solved: str = ""
    capped: tuple[str, ...] = ()
    also: Mapping[str, Callable[[], Performance | WorstCase]] = field(default_factory=dict)
    sides: Callable[..., Sides] | None = None


@dataclass(frozen=True)
class Values:
    """One instance: a value for every symbol, a fraction or a number of sympy, such as a root. ``instance`` names it in
    evidence, where the values of the symbols would be too long.

    >>> Values({"eta": Fraction(1, 3)}).evidence_instance
    {'eta': Fraction(1, 3)}
    """

    symbol_values: Mapping[str, Any]
    instance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def evidence_instance(self) -> Mapping[str, Any]:
        """The name of the instance in evidence."""
        return self.instance or self.symbol_values


@dataclass(frozen=True)
class Case:
    """One instance, named by its ``values``, with both sides of the statement on it.

    Floats are rejected: a side that was rounded is no longer exact.

    >>> Case({"n": 2}, Fraction(3, 2), Fraction(1)).excess
    Fraction(1, 2)
    """

    values: Mapping[str, Any]
    lhs: Fraction
    rhs: Fraction
    terms: Mapping[str, Fraction] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, side in (("left", self.lhs), ("right", self.rhs)):
            if not isinstance(side, (Fraction, int)):
                raise TypeError(f"the {name} side is {side!r}, a {type(side).__name__}: give a Fraction")

    @property
    def excess(self) -> Fraction:
        """The amount by which the left side exceeds the right one; negative if it is smaller."""
        return self.lhs - self.rhs


@dataclass(frozen=True)
class Experiment:
    """The input of a Monte-Carlo check: the run, the values of the statement's symbols, and the run's reach. ``random``
    is False for a run that draws nothing, whose expectations are its values. ``width``: how close to the right side,
    relative to it, limits must be for an equality to hold.

    A statement that compares two runs marks some expectations as those of the other run (`Expected.rival`). They come
    from the run ``rival``, over its own number of rounds. It has the same seed and replicates, so both runs share the
    noise that they draw in the same way. ``known``: for a run whose left side is known exactly, the mean of each column
    that the statement uses (`Expected.column`). Even far below its bound, such a side reveals a run that is not the
    intended one. ``instead``: observables that are streamed in place of those that the statement names, by name. Where
    a statement's side is one link of a chain of inequalities, it is another link of that chain."""

    problem: Problem
    algorithm: Algorithm
    rounds: int
    start: Array
    values: Mapping[str, float]
    replicates: int = 2048
    reach: Reach | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)
    random: bool = True
    rival: Experiment | None = None
    width: float = 0.05
    known: Mapping[str, float] = field(default_factory=dict)
    instead: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class GaussianClaim:
    """The claim: standard deviation s(delta) Delta_2/epsilon gives (epsilon, delta) for all epsilon and delta in a box.

    scale: s as a function of delta (mpmath number or decimal text), decreasing; epsilons, deltas: increasing grids of
    decimal texts. The box is (0, last epsilon] x [first delta, last delta]; the largest ratio is searched on the grid.
    """

    scale: Callable[[Any], Any]
    epsilons: tuple[str, ...]
    deltas: tuple[str, ...]

    def noise_multiplier(self, epsilon: Any, delta: Any) -> Any:
        """Standard deviation over sensitivity."""
        with mpmath.workdps(65):
            return self.scale(delta) / mpmath.mpf(epsilon)


@dataclass(frozen=True)
class PrivacyPoint:
    """The claimed value at one point, and certified limits of the truth there.

    instance: the point's symbols; claimed: the claimed value; low <= truth <= high, where the truth is the smallest
    value that would be right (the smallest delta, epsilon, noise multiplier or constant; the number of rounds).

    >>> PrivacyPoint({"epsilon": 1}, claimed=1e-5, low=2e-5, high=3e-5).low
    2e-05
    """

    instance: Mapping[str, object]
    claimed: Number
    low: Number
    high: Number

    def __post_init__(self) -> None:
        where = ", ".join(f"{k} = {v}" for k, v in self.instance.items())
        if not self.low <= self.high:
            raise ValueError(f"the limits {self.low} and {self.high} at {where} enclose nothing")
        if not self.claimed >= 0:
            raise ValueError(f"the claimed value at {where} is {self.claimed}: give a number that is at least 0")


@dataclass(frozen=True, eq=False)
class PrivacyClaim:
    """The claim that a stated privacy parameter is enough (``<=``: truth <= claimed) or exact (``==``) at every point.

    quantity: the quantity that low and high enclose, in words; points: evaluates the claim over its stated range;
    proof: one sentence of argument, which no code computes, for everything between these points, or None. ``instance``
    of a point must name every symbol that the statement's hypotheses read; points outside them decide nothing. For
    ``==`` the limits must lie within the relative ``width`` of the claimed value.
    """

    quantity: str
    points: Callable[[], Sequence[PrivacyPoint]]
    proof: str | None = None
    relation: Literal["<=", "=="] = "<="
    width: float = 1e-10


def claim(
    quantity: str, proof: str | None = None, relation: Literal["<=", "=="] = "<=", width: float = 1e-10
) -> Callable[[Callable[..., Iterable[PrivacyPoint]]], Callable[..., PrivacyClaim]]:
    """From a function that yields the points of a statement at an instance, the function that makes the claim there.

    >>> made = claim("delta")(lambda statement, instance: [PrivacyPoint(instance, 1e-5, 0, 2e-5)])
    >>> [point.high for point in made("a lemma", {"epsilon": 1}).points()]
    [2e-05]
    """

    def build(points: Callable[..., Iterable[PrivacyPoint]]) -> Callable[..., PrivacyClaim]:
        def made(statement: Any, instance: Mapping[str, Any]) -> PrivacyClaim:
            return PrivacyClaim(quantity, lambda: list(points(statement, instance)), proof, relation, width)

        return made

    return build


@dataclass(frozen=True)
class Escape:
    """An instance inside the hypotheses at which the noise that two candidate constants prescribe is too small.

    instance: a value for every symbol that the hypotheses read, the candidates included; claimed: the claimed delta;
    low, high: certified limits of the true one.
    """

    instance: Mapping[str, Any]
    claimed: Number
    low: Number
    high: Number = 1.0


@dataclass(frozen=True, eq=False)
class ConstantClaim:
    """The claim that suitable constants exist, or, without ``escape``, that a stated constant is enough.

    The first reads: "there exist constants u and v such that, for every epsilon in a range that u sets, noise with the
    constant v is enough".

    constant: v's symbol; needed: the smallest valid v, as limits, at instances of the range, each with the stated
    constant (``claimed``; inf where only existence is stated). escape(u, v): an instance at which the candidates fail;
    candidates: the pairs at which this is verified, the hardest (small u, large v) included. argument: for a refuted
    claim the proof that every other pair fails too; for one without escape, that the stated constant is enough
    everywhere. Without it nothing is decided beyond the instances.
    """

    constant: str
    needed: Callable[[], Sequence[PrivacyPoint]]
    escape: Callable[[Number, Number], Escape] | None = None
    candidates: tuple[tuple[float, float], ...] = ()
    argument: str = ""


def restated(built: Any, stated: Mapping[str, str]) -> Any:
    """The object that a check built, with other values of some symbols: times a fraction or, with a sign, plus it.

    >>> restated(Values({"L": Fraction(2), "K": 3}), {"L": "99/100", "K": "+1/50"}).symbol_values
    {'L': Fraction(99, 50), 'K': Fraction(151, 50)}
    """

    def of(values: Mapping[str, Any]) -> dict[str, Any]:
        return {**values, **{name: _changed(values.get(name, 0), by) for name, by in stated.items()}}

    if isinstance(built, (Experiment, WorstCase)):
        return replace(built, values=of(built.values))
    if isinstance(built, Values):
        return replace(built, symbol_values=of(built.symbol_values))
    if isinstance(built, PrivacyClaim):
        return replace(built, points=lambda: [replace(p, instance=of(p.instance)) for p in built.points()])
    return [restated(one, stated) for one in built]


def _changed(value: Any, by: str) -> Any:
    amount: Any = Fraction(by) if isinstance(value, (int, Fraction)) else float(Fraction(by))
    return value + amount if by[0] in "+-" else value * amount
