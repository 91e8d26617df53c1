"""What the symbols of formulas mean; and a paper's notation, of which each statement has what it reads.

Nothing here imports sympy before a formula is read, so that a catalogue of statements is listed fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dpfl_theory.core.expressions import Symbols
from dpfl_theory.core.hypothesis import OF_PROBLEM
from dpfl_theory.lazy import sympy as sp

if TYPE_CHECKING:
    from dpfl_theory.core.statement import Statement

TIMES = ("mean", "end", "least")
_FLAGS: dict[str, dict[str, bool]] = {
    "positive": {"positive": True},
    "nonnegative": {"nonnegative": True},
    "real": {"real": True},
    "integer": {"integer": True, "positive": True},
    "probability": {"positive": True, "probability": True},  # a fact that sympy only carries along
}
DOMAINS = tuple(_FLAGS)


@dataclass(frozen=True)
class Symbol:
    """A symbol of a statement: its name in expressions, its meaning, its unit (exponents of F and X), its domain, its
    LaTeX."""

    name: str
    meaning: str
    unit: tuple[int, int] = (0, 0)
    domain: str = "positive"
    latex: str = ""

    @property
    def in_formulas(self) -> Any:
        """Sympy's symbol, with the assumptions of the domain."""
        return sp.Symbol(self.name, **_FLAGS[self.domain])


@dataclass(frozen=True)
class Expected:
    """An expectation in a statement, of ``O = sum_j coefficient_j observable_j`` over the K rounds of a run.

    when: ``mean``, (1/K) sum_k E O_k;  ``end``, E O_K after the last round (for an observable that exists there, of the
    last round otherwise); ``least``, min_k E O_k over k = 0..K-1, which is not a linear expectation and must be the
    only term. Splitting an observable into nonnegative parts lets rigorous confidence limits treat each by its own
    range. rival: whether the observables are those of the run that a statement compares with.
    """

    name: str
    parts: tuple[tuple[str, int], ...]
    unit: tuple[int, int]
    latex: str
    meaning: str
    when: str = "mean"
    rival: bool = False

    def __post_init__(self) -> None:
        if self.when not in TIMES:
            raise ValueError(f"the expectation {self.name} is taken at {self.when!r}: choose one of {TIMES}")

    def column(self, observable: str) -> str:
        """The name of the stream of one of its parts: the observable, of which run, and when it is taken."""
        return f"{'rival:' if self.rival else ''}{observable}{'' if self.when == 'mean' else f' ({self.when})'}"

    @property
    def in_formulas(self) -> Any:
        """Sympy's symbol."""
        return sp.Symbol(self.name, real=True)


class _Reader(Symbols):
    """Symbols that remember which were read."""

    __slots__ = ("read",)

    def __init__(self, known: dict[str, Any], of: str) -> None:
        super().__init__(known, of)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)


def _letters(expressions: Iterable[Any]) -> set[str]:
    return {x.name for one in expressions for x in sp.sympify(one).free_symbols}


@dataclass(frozen=True, eq=False)
class Notation(Sequence[Any]):
    """A paper's symbols and expectations. A statement whose ``symbols`` or ``expectations`` are the notation has those
    that its sides, its prescription and its hypotheses read: its own ones, then the others, in the table's order.

    constants: the symbols that stand for constants of the problem, by the names that hypotheses have for these. A name
    may be that of a symbol and of an expectation: on the left side of a statement it is the expectation.
    Hypotheses need no value of their partial symbols, so that these are not read.

    >>> paper = Notation((Symbol("eta", "step size"), Symbol("K", "rounds"), Symbol("L", "smoothness constant")))
    >>> from dpfl_theory.core import Hypothesis, Sides, Statement
    >>> short = Hypothesis(lambda s: s.eta <= 1 / s.L)
    >>> [s.name for s in Statement("a", "fact", symbols=paper, hypotheses=(short,)).symbols]
    ['eta', 'L']
    >>> own = paper(Symbol("D", "distance"))
    >>> [s.name for s in Statement("a", "fact", symbols=own, sides=lambda s: Sides({}, {"rate": s.D / s.K})).symbols]
    ['D', 'K']
    """

    table: tuple[Symbol | Expected, ...]
    constants: Mapping[str, str] = field(default_factory=dict)
    own: tuple[Symbol | Expected, ...] = ()
    besides: tuple[str, ...] = ()
    statement: Statement | None = None
    kind: type = object

    def __call__(self, *own: Symbol | Expected) -> Notation:
        """The notation of statements that have these, also in place of others with their names."""
        named = {one.name for one in own}
        return replace(self, own=(*own, *(one for one in self.own if one.name not in named)))

    def also(self, *names: str) -> Notation:
        """The notation of a statement that has these as well: its proof needs them."""
        return replace(self, besides=names)

    def of(self, statement: Statement, kind: type) -> Notation:
        """The symbols or the expectations that a statement reads."""
        return replace(self, statement=statement, kind=kind)

    @cached_property
    def _found(self) -> tuple[Any, ...]:
        """What the statement reads, found when it is first asked for: listing a catalogue needs no formula."""
        if (statement := self.statement) is None:
            return (*self.own, *self.table)
        written = (statement.symbols, statement.expectations)
        own = (*self.own, *(one for part in written if not isinstance(part, Notation) for one in part))
        named = {one.name for one in own}
        every = (*own, *(one for one in self.table if one.name not in named))
        s, left = _Reader({one.name: one.in_formulas for one in every}, statement.id), set[str]()
        s.read.update(self.besides)
        try:
            if statement.sides:
                sides = statement.sides(s)
                left, right = (_letters(side.values()) for side in (sides.lhs, sides.rhs))
                s.read.update(left | right)
            s.read.update(statement.prescription(s) if statement.prescription else ())
            for hypothesis in statement.hypotheses:
                s.read.update(_letters(hypothesis.relations).difference(hypothesis.partial))
            s.read.update(name for constant, name in self.constants.items() if OF_PROBLEM + constant in s.read)
        except Exception:  # which is reported where the formula is evaluated
            s.read.update(one.name for one in every)
        kinds = {(one.name, type(one)) for one in every}

        def seen(one: Symbol | Expected) -> bool:
            other = Symbol if isinstance(one, Expected) else Expected
            both = (one.name, other) in kinds
            return one.name in s.read and (not both or (one.name in left) == isinstance(one, Expected))

        return tuple(one for one in every if isinstance(one, self.kind) and seen(one))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __getitem__(self, place: Any) -> Any:
        return self._found[place]
