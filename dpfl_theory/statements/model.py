"""The model of a statement: frozen data, plus small functions that build its sympy expressions on demand.

Nothing here imports sympy, NumPy or a solver, so that a catalogue of statements is listed fast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import InitVar, dataclass, field, replace
from typing import Any

from dpfl_theory import methods
from dpfl_theory.core.hypothesis import Hypothesis
from dpfl_theory.methods.algebra import UNITS
from dpfl_theory.statements.errata import Cause, Effect, Erratum, Remark
from dpfl_theory.statements.power import recorded

__all__ = [
    "PROVENANCES",
    "UNITS",
    "Cause",
    "Check",
    "Effect",
    "Erratum",
    "Expected",
    "Remark",
    "Sides",
    "Source",
    "Statement",
    "Symbol",
    "checks",
]

TIMES = ("mean", "end", "least")
KINDS = ("theorem", "lemma", "corollary", "definition", "step", "table", "fact")
RELATIONS = ("<=", "==", ">=", "claim", "exists")
"""The first three relate two sides; a statement without sides is a claim, or says that something exists."""
DOMAINS = ("positive", "nonnegative", "real", "integer", "probability")
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
        if (self.provenance == "restored") != bool(self.restoration):
            raise ValueError("a restored formula, and no other, says from what it was restored: set restoration")


@dataclass(frozen=True)
class Symbol:
    """A symbol of a statement: its name in expressions, its meaning, its unit (exponents of F and X), its domain, its
    LaTeX."""

    name: str
    meaning: str
    unit: tuple[int, int] = (0, 0)
    domain: str = "positive"
    latex: str = ""


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


@dataclass(frozen=True)
class Sides:
    """The two sides of a statement, each a mapping from a term's name to its sympy expression (summed)."""

    lhs: Mapping[str, Any]
    rhs: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Check:
    """One way in which a statement is checked: a method, an instance (plain JSON data) and its builder.

    ``build(statement, instance)`` returns the input of the method's runner in `dpfl_theory.checks`: values for the
    statement's symbols, at which the runner evaluates its sides. ``expected`` is the verdict that this very check is
    known to give; the statement's own expected verdict follows from all of its checks. ``part``: for a check that
    decides a step towards the comparison of the two sides, not the comparison itself. It is one sentence on which step,
    and on what remains. ``smoke``: whether it belongs to the smoke set.
    """

    method: str
    name: str
    build: Callable[..., Any]
    instance: Mapping[str, Any] = field(default_factory=dict)
    expected: str = "holds"
    part: str = ""
    smoke: bool = False

    def make(self, statement: Statement, instance: Mapping[str, Any] | None = None) -> Any:
        """The object that ``build`` makes of the statement and the instance, or another one.

        ``stated`` in an instance changes the stated values of some symbols from those of ``build``, so that a
        hypothesis fails: by a factor (``"99/100"``) or, with a sign, by an addend (``"+1/50"``).
        """
        data = self.instance if instance is None else instance
        if "stated" not in data:
            return self.build(statement, data)
        from dpfl_theory.statements.claims import restated

        return restated(self.build(statement, {k: v for k, v in data.items() if k != "stated"}), data["stated"])


def checks(
    method: str,
    build: Callable[..., Any],
    instances: Mapping[str, Mapping[str, Any]],
    expected: str | Mapping[str, str] = "holds",
    part: str = "",
) -> tuple[Check, ...]:
    """A check by one method for each named instance. expected: one verdict for all, or the verdicts of the instances
    that do not hold, by name.

    >>> [c.expected for c in checks("exact", print, {"a": {}, "b": {}}, {"b": "violated"})]
    ['holds', 'violated']
    """
    known = {} if isinstance(expected, str) else expected
    if strange := set(known) - set(instances):
        raise ValueError(f"a verdict is recorded for {', '.join(sorted(strange))}, which is not an instance")
    usual = expected if isinstance(expected, str) else "holds"
    return tuple(Check(method, name, build, i, known.get(name, usual), part) for name, i in instances.items())


@dataclass(frozen=True, eq=False)
class Statement:
    """An executable theorem, lemma, claim or step of a proof, exactly as printed.

    Where the paper's words allow two readings, each is a statement. The literal one has the catalogue's id, another one
    ``<id>.<reading>`` with ``reading_of`` = id; ``reading`` gives the reading of each in one sentence. Only a formula
    that was read in the paper can have an ``erratum``; ``remark`` is for restored formulas and words that claim no
    theorem.

    sides(s) builds the two sides as named sympy terms from the symbols ``s`` (``s.rho``; None for statements that are
    not one inequality); prescription(s) maps hyper-parameters to sympy expressions. `dpfl_theory.statements.formula`
    calls them and evaluates their results. ``homogeneous``
    records whether the printed formula passes the units check that every formula gets. ``uses`` names the statements
    that its proof depends on; ``typos`` are misprints and loose words next to it that change no verdict, a sentence
    each. ``universal`` is False if the formula is not claimed wherever the hypotheses hold: an instance is said to
    exist, or the checks' instances name a choice (a constant of O(.), a best step) that no hypothesis describes.
    ``smoke`` names its checks, that of its units included, that belong to the smoke set (`dpfl_theory.checks.smoke`); a
    form that is derived from this one by `replace` names its own. ``unnoticed``: the terms of a right side that holds
    whose absence no check detects, each with the reason why no check can.
    """

    id: str
    kind: str
    title: str
    source: Source
    text: str
    symbols: tuple[Symbol, ...] = ()
    expectations: tuple[Expected, ...] = ()
    hypotheses: tuple[Hypothesis, ...] = ()
    relation: str = "<="
    sides: Callable[..., Sides] | None = None
    prescription: Callable[..., Mapping[str, Any]] | None = None
    checks: tuple[Check, ...] = ()
    expected: str = "holds"
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
        if strange := set(smoke) - {UNITS, *(c.name for c in self.checks)}:
            raise ValueError(f"{self.id} has no check {', '.join(map(repr, sorted(strange)))} for the smoke set")
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
        return tuple(m for m in methods.known() if m in used)

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

    def summary(self) -> dict[str, Any]:
        """The statement's line in `list --format json`."""
        erratum = remark = None
        power = recorded(self.id)
        if self.erratum is not None:
            e = self.erratum
            erratum = {
                "printed": e.printed,
                "corrected": e.corrected,
                "true": e.corrected,  # as the key was called before
                "grade": e.grade,
                "cause": e.cause.id,
                "why": " ".join(filter(None, (e.cause.text, e.why))),
                "counterexample": e.counterexample,
                "effect": {"value": e.effect.value, "text": e.effect.text},
                "repaired": e.repaired or None,
                "affects": list(e.affects),
                "survives": dict(e.survives),
            }
        if self.remark is not None:
            r = self.remark
            remark = {"text": r.text, "shown_by": r.shown_by, "repaired": r.repaired or None}
        return {
            "id": self.id,
            "paper": self.paper,
            "kind": self.kind,
            "title": self.title,
            "methods": list(self.methods),
            "expected": self.expected,
            "provenance": self.provenance,
            "reading": self.reading or None,
            "reading_of": self.reading_of or None,
            "grade": None if self.erratum is None else self.erratum.grade,
            "cause": None if self.erratum is None else self.erratum.cause.id,
            "power": None if power is None else power.to_json(),
            "erratum": erratum,
            "remark": remark,
        }
