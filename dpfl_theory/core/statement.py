"""A statement: frozen data, plus small functions that build its sympy expressions on demand.

Nothing here imports sympy, NumPy or a solver, so that a catalogue of statements is listed fast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from typing import Any

from dpfl_theory.core.check import Battery, Check
from dpfl_theory.core.errata import Erratum, Remark
from dpfl_theory.core.hypothesis import Hypothesis
from dpfl_theory.core.methods import UNITS, known
from dpfl_theory.core.notation import Expected, Notation, Symbol

KINDS = ("theorem", "lemma", "corollary", "definition", "step", "table", "fact")
RELATIONS = ("<=", "==", ">=", "claim", "exists")
"""The first three relate two sides; a statement without sides is a claim, or says that something exists."""
PROVENANCES = ("read", "restored", "derived")
DERIVED = (".repaired", ".sharpened")
"""Ends of the ids of forms that are ours, whatever form of the paper they belong to."""


@dataclass(frozen=True)
class Source:
    """Where a statement is printed: paper id, place in words, equation number if it has one, and how it was read.

    provenance: how its formula is known. ``read``: the available copy has it; ``restored``: the copy lost it, and
    ``restoration`` says from what it was restored and which of its symbols are a judgement; ``derived``: it is ours.
    """

    paper: str
    where: str
    equation: str = ""
    note: str = ""
    provenance: str = "read"
    restoration: str = ""

    def __post_init__(self) -> None:
        if self.provenance not in PROVENANCES:
            raise ValueError(f"the provenance {self.provenance!r} is unknown: choose one of {', '.join(PROVENANCES)}")


NOWHERE = Source("", "")
"""The source of a statement that names none, which is refused."""


@dataclass(frozen=True)
class Sides:
    """The two sides of a statement, each a mapping from a term's name to its sympy expression (summed)."""

    lhs: Mapping[str, Any]
    rhs: Mapping[str, Any]


class _FromChecks(str):
    """A verdict that follows from the checks, so that `replace` with other checks gives another one."""

    __slots__ = ()


@dataclass(frozen=True, eq=False)
class Statement:
    """An executable theorem, lemma, claim or step of a proof, exactly as printed.

    Where the paper's words allow two readings, each is a statement. The literal one has the catalogue's id, another one
    ``<id>.<reading>`` with ``reading_of`` = id; ``reading`` gives the reading of each in one sentence. Only a formula
    that was read in the paper can have an ``erratum``; ``remark`` is for restored formulas and words that claim no
    theorem.

    symbols is a tuple, or the paper's `Notation`, of which the statement has what it reads, expectations too where none
    are given; a form derived by `replace` has what it reads itself.

    sides(s) builds the two sides as named sympy terms from the symbols ``s`` (``s.rho``; None for statements that are
    not one inequality); prescription(s) maps hyper-parameters to sympy expressions. `dpfl_theory.core.formula`
    calls them and evaluates their results. ``homogeneous``
    records whether the printed formula passes the units check that every formula gets. ``uses`` names the statements
    that its proof depends on; ``typos`` are misprints and loose words next to it that change no verdict, a sentence
    each. ``universal`` is False if the formula is not claimed wherever the hypotheses hold: an instance is said to
    exist, or the checks' instances name a choice (a constant of O(.), a best step) that no hypothesis describes.
    ``smoke`` names its checks, that of its units included, that belong to the smoke set
    (`dpfl_theory.checks.profiles`); a form that is derived from this one by `replace` names its own. ``checks`` is a
    tuple, or a `battery` that makes them of the statement. ``expected``: the verdict that the statement is known to
    have. Left out, it is ``violated`` where a check's is, or where the units are wrong, and ``holds`` otherwise.
    ``unnoticed``: the terms of a right side that holds whose absence no check detects, each with the reason why no
    check can.
    """

    id: str
    kind: str
    title: str = ""
    source: Source = NOWHERE
    text: str = ""
    symbols: Sequence[Symbol] = ()
    expectations: Sequence[Expected] = ()
    hypotheses: tuple[Hypothesis, ...] = ()
    relation: str = "<="
    sides: Callable[..., Sides] | None = None
    prescription: Callable[..., Mapping[str, Any]] | None = None
    checks: tuple[Check, ...] = ()
    expected: str = ""
    homogeneous: bool = True
    erratum: Erratum | None = None
    remark: Remark | None = None
    reading: str = ""
    reading_of: str = ""
    uses: tuple[str, ...] = ()
    typos: tuple[str, ...] = ()
    universal: bool = True
    unnoticed: Mapping[str, str] = field(default_factory=dict)
    smoke: InitVar[tuple[str, ...]] = ()
    units_in_smoke: bool = field(default=False, init=False)

    def __post_init__(self, smoke: tuple[str, ...]) -> None:
        seen: Sequence[Expected] = self.expectations
        if isinstance(self.symbols, Notation) and (isinstance(seen, Notation) or not seen):
            seen = self.symbols
        for name, kind, quantities in (("symbols", Symbol, self.symbols), ("expectations", Expected, seen)):
            if isinstance(quantities, Notation):
                object.__setattr__(self, name, quantities.of(self, kind))
        if isinstance(self.checks, Battery):
            object.__setattr__(self, "checks", tuple(self.checks.of(self)))
        if strange := set(smoke) - {UNITS, *(c.name for c in self.checks)}:
            raise ValueError(f"{self.id} has no check {', '.join(map(repr, sorted(strange)))} for the smoke set")
        if not self.expected or isinstance(self.expected, _FromChecks):
            refuted = not self.homogeneous or any(c.expected == "violated" for c in self.checks)
            object.__setattr__(self, "expected", _FromChecks("violated" if refuted else "holds"))
        marked = tuple(replace(c, smoke=True) if c.name in smoke else c for c in self.checks)
        object.__setattr__(self, "checks", marked)
        object.__setattr__(self, "units_in_smoke", UNITS in smoke)

    @property
    def paper(self) -> str:
        """The paper's id."""
        return self.source.paper

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that check this statement, cheap ones first."""
        used = {c.method for c in self.checks}
        if self.sides is not None:
            used.add("algebra")  # every displayed formula is tested for homogeneous units
        return tuple(m for m in known() if m in used)

    @property
    def quantities(self) -> tuple[Symbol | Expected, ...]:
        """Everything that may occur in a formula: symbols, then expectations."""
        return (*self.symbols, *self.expectations)

    @property
    def units(self) -> dict[str, tuple[int, int]]:
        """Symbol or expectation name -> unit."""
        return {symbol.name: symbol.unit for symbol in self.quantities}

    @property
    def provenance(self) -> str:
        """The provenance of its formula; a repaired or sharpened form is ours, whatever form of the paper it belongs
        to."""
        return "derived" if self.id.endswith(DERIVED) else self.source.provenance

    @property
    def printed(self) -> bool:
        """Whether it counts as a statement that the paper prints: it was read there, and is not a second reading."""
        return self.provenance == "read" and not self.reading_of
